"""Secrets recognised by their look: key formats, tokens, passwords in addresses and assignments.

Each pattern is tried only where its literal beginning occurs, so ordinary text costs a few substring searches.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cellwright.policy.masking.known_secrets import SecretFinding

REPLACED: Final = b"[masked"
"""How the replacement of a secret begins; it is no secret itself."""


@dataclass(frozen=True, slots=True)
class SecretLook:
    """How one kind of secret looks. What is hidden is the group `secret` of the pattern."""

    name: str
    begins: tuple[bytes, ...]
    """One of these must occur, in lower case, for the pattern to be tried at all."""
    pattern: bytes
    least_entropy: float = 0.0
    """Bits per character below which it is a word rather than a key."""


# `x(?<!\wx)`: looking behind only after the literal lets the search skip to it.
_LOOKS: Final = (
    SecretLook("anthropic-key", (b"sk-ant-",), rb"(?P<secret>sk-ant-(?<![A-Za-z0-9]sk-ant-)[A-Za-z0-9_-]{16,})"),
    SecretLook(
        "openai-key",
        (b"sk-",),
        rb"(?P<secret>sk-(?<![A-Za-z0-9]sk-)(?!ant-)(?=[A-Za-z_-]{0,60}[0-9])(?=[a-z0-9_-]{0,60}[A-Z])[A-Za-z0-9_-]{20,})",
        least_entropy=3.0,
    ),
    SecretLook("stripe-key", (b"_live_", b"_test_"), rb"(?P<secret>[sr]k_(?:live|test)_[A-Za-z0-9]{16,})"),
    SecretLook("github-token", (b"gh",), rb"(?P<secret>gh[pousr]_(?<![A-Za-z0-9]gh[pousr]_)[A-Za-z0-9]{36,})"),
    SecretLook("github-token", (b"github_pat_",), rb"(?P<secret>github_pat_[A-Za-z0-9_]{30,})"),
    SecretLook("gitlab-token", (b"glpat-",), rb"(?P<secret>glpat-[A-Za-z0-9_-]{20,})"),
    SecretLook(
        "aws-key-id", (b"akia", b"asia"), rb"(?P<secret>A[KS]IA(?<![A-Za-z0-9]A[KS]IA)[0-9A-Z]{16})(?![A-Za-z0-9])"
    ),
    SecretLook("slack-token", (b"xox",), rb"(?P<secret>xox[abeoprs]-(?<![A-Za-z0-9]xox[abeoprs]-)[A-Za-z0-9-]{10,})"),
    SecretLook("google-key", (b"aiza",), rb"(?P<secret>AIza(?<![A-Za-z0-9]AIza)[0-9A-Za-z_-]{35})"),
    SecretLook(
        "huggingface-token", (b"hf_",), rb"(?P<secret>hf_(?<![A-Za-z0-9]hf_)[A-Za-z0-9]{30,})", least_entropy=3.0
    ),
    SecretLook("npm-token", (b"npm_",), rb"(?P<secret>npm_(?<![A-Za-z0-9]npm_)[A-Za-z0-9]{36})", least_entropy=3.0),
    SecretLook("pypi-token", (b"pypi-age",), rb"(?P<secret>pypi-AgE[A-Za-z0-9_-]{40,})"),
    SecretLook(
        "json-web-token",
        (b"eyj",),
        rb"(?P<secret>eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})",
    ),
    SecretLook(
        "private-key",
        (b"private key",),
        rb"(?P<secret>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        rb".*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z))",
    ),
    SecretLook("password-in-address", (b"://",), rb"://[^\s/:@\"'<>]{0,128}:(?P<secret>[^\s/@\"'<>]{1,256})@"),
)

_HEADER: Final = re.compile(rb"authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:bearer|basic|token)\s{1,4}")
_BEARER: Final = re.compile(rb"bearer\s{1,4}(?<![a-z0-9]bearer\s)")
_HEADER_VALUE: Final = re.compile(rb"[A-Za-z0-9+/=._~-]{8,}")
_NAMED: Final = re.compile(
    rb"(?:password|passwd|passphrase|pwd|secret|token|api_?-?key|access_?-?key|private_?-?key|account_?-?key)"
    rb"(?:_?(?:id|value|key))?\\?[\"']?\s{0,8}(?::=|=>|[=:](?!=))\s{0,8}"
)
_STAND_IN: Final = re.compile(rb"cellwright-secret:[a-z][a-z0-9_]{0,39}(?![A-Za-z0-9+/=._~-])")
"""What a cell writes where a connection's secret belongs: a name, which is no secret."""
_BEFORE_SECRET: Final = len("cellwright-")
_NAMES: Final = (b"passw", b"passphrase", b"pwd", b"secret", b"token", b"key")
_QUOTED: Final = re.compile(rb"(?:[rbfu]{0,2})(?P<quote>\\?[\"'])(?P<secret>[^\s\"'\\]{8,256})(?P=quote)")
_BARE: Final = re.compile(rb"(?P<secret>[^\s\"'&,;<>(){}\[\]\\]{8,256})")
_PLACEHOLDER: Final = re.compile(
    rb"[*.x-]+|<.*>|\$.*|\{.*\}|%.*%"
    rb"|(?:your|my|the|an?|some|example|dummy|fake|test|changeme|redacted|none|null|true|false)(?:[_-].*)?",
    flags=re.IGNORECASE | re.DOTALL,
)


def find_by_look(raw: bytes) -> Iterator[SecretFinding]:
    """Every place that looks like a secret; places may overlap."""
    lowered = raw.lower()
    for look in _LOOKS:
        if any(literal in lowered for literal in look.begins):
            for found in re.finditer(look.pattern, raw, flags=re.DOTALL):
                if not found["secret"].startswith(REPLACED) and entropy(found["secret"]) >= look.least_entropy:
                    yield SecretFinding(
                        is_known=False, name=look.name, start=found.start("secret"), end=found.end("secret")
                    )
    yield from _headers(raw, lowered)
    if any(literal in lowered for literal in _NAMES):
        yield from _assignments(raw, lowered)


def entropy(text: bytes) -> float:
    """Bits per byte, by how often each byte occurs."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def _headers(raw: bytes, lowered: bytes) -> Iterator[SecretFinding]:
    for literal, pattern in ((b"authorization", _HEADER), (b"bearer", _BEARER)):
        for found in pattern.finditer(lowered) if literal in lowered else ():
            value = _HEADER_VALUE.match(raw, found.end())
            if value and _STAND_IN.match(raw, value.start()):
                continue
            if value and (pattern is _HEADER or _is_random(value.group())):
                yield SecretFinding(is_known=False, name="authorization", start=value.start(), end=value.end())


def _assignments(raw: bytes, lowered: bytes) -> Iterator[SecretFinding]:
    at = 0
    # On from the end of each value: a text of nothing but names would otherwise be read again and again.
    while named := _NAMED.search(lowered, at):
        quoted = _QUOTED.match(raw, named.end())
        value = quoted or _BARE.match(raw, named.end())
        at = value.end() if value else named.end()
        if value is None or value["secret"].startswith(REPLACED) or _PLACEHOLDER.fullmatch(value["secret"]):
            continue
        if _STAND_IN.match(raw, value.start("secret")) or _STAND_IN.match(raw, max(0, named.start() - _BEFORE_SECRET)):
            continue
        if entropy(value["secret"]) >= 2.0 if quoted else _is_random(value["secret"]):
            yield SecretFinding(is_known=False, name="assignment", start=value.start("secret"), end=value.end("secret"))


def _is_random(text: bytes) -> bool:
    """Whether unquoted text is a value rather than a name, a number or an expression."""
    has_digit, has_letter = re.search(rb"[0-9]", text), re.search(rb"[A-Za-z]", text)
    is_dotted_name = re.fullmatch(rb"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)+", text)
    return bool(has_digit and has_letter) and not is_dotted_name and entropy(text) >= 2.75
