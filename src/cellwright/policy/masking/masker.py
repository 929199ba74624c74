"""The masker: what it finds in a text is replaced, everything else stays as it was."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Final

from cellwright.errors import Defect
from cellwright.policy.masking.known_secrets import WINDOW, KnownSecrets, SecretFinding
from cellwright.policy.masking.patterns import find_by_look

SHORTEST_SECRET: Final = WINDOW
"""Known values with fewer bytes cannot be told from ordinary words; `Masker.too_short` lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A value that must not be shown, and what to call it."""

    name: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """A text safe to show, and what was taken out of it."""

    text: str
    found: tuple[SecretFinding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Masker:
    """Finds known values, whole or in part, and what looks like a secret. Holds prints of values, not values."""

    known: KnownSecrets
    too_short: tuple[str, ...] = ()
    """Names of values that are not looked for, because they are shorter than eight bytes."""

    @classmethod
    def of(cls, secrets: Iterable[Secret] = (), *, salt: bytes) -> Masker:
        """A masker for these secrets. `salt` is 16 to 64 random bytes, new for each process and never kept."""
        if not 16 <= len(salt) <= 64:
            raise Defect(f"A salt has 16 to 64 bytes, not {len(salt)}.")
        values, too_short = dict[str, bytes](), list[str]()
        for secret in secrets:
            value = secret.value.strip().encode("utf-8", "surrogatepass")
            if len(value) < SHORTEST_SECRET:
                too_short.append(secret.name)
            else:
                values[_free_name(secret.name, values)] = value
        return cls(known=_without_telling_names(KnownSecrets.of(values, salt)), too_short=tuple(too_short))

    def mask(self, text: str) -> Masked:
        """The text with every secret replaced; the very same text if there is none."""
        found = self.find(text)
        return Masked(text=replaced(text, found), found=found) if found else Masked(text=text)

    def find(self, text: str) -> tuple[SecretFinding, ...]:
        """What would be replaced, in order and without overlaps."""
        raw = text.encode("utf-8", "surrogatepass")
        findings = _merged([*self.known.find(raw), *find_by_look(raw)])
        if not findings:
            return ()
        return tuple(findings) if text.isascii() else tuple(_in_characters(findings, raw))


def replaced(text: str, findings: Iterable[SecretFinding]) -> str:
    """The text with each finding replaced by its name."""
    parts, at = list[str](), 0
    for finding in findings:
        parts += (text[at : finding.start], replacement(finding))
        at = finding.end
    return "".join([*parts, text[at:]])


def replacement(finding: SecretFinding) -> str:
    """What stands where a secret stood."""
    return f"[masked {finding.name}]"


def _free_name(name: str, taken: Iterable[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


def _without_telling_names(known: KnownSecrets) -> KnownSecrets:
    """A name that holds a part of a secret would show it with every replacement."""
    names = {name for _, name in known.prints.values()}
    telling = {name for name in names if any(known.find(name.encode("utf-8", "surrogatepass")))}
    prints = {found: (chain, "secret" if name in telling else name) for found, (chain, name) in known.prints.items()}
    return replace(known, prints=prints)


def _merged(found: list[SecretFinding]) -> list[SecretFinding]:
    """Findings without overlaps. Where a known value and a look overlap, the known value gives the name."""
    findings = list[SecretFinding]()
    for each in sorted(found, key=lambda one: (one.start, not one.is_known)):
        last = findings[-1] if findings else None
        if last is None or each.start >= last.end:
            findings.append(each)
        else:
            names_it = last if last.is_known or not each.is_known else each
            findings[-1] = replace(names_it, start=last.start, end=max(last.end, each.end))
    return findings


def _in_characters(findings: list[SecretFinding], raw: bytes) -> Iterator[SecretFinding]:
    """Byte positions as character positions; a character touched at all is taken whole."""
    starts = list(compress(range(len(raw)), raw.translate(_STARTS_CHARACTER)))
    for finding in findings:
        start, end = bisect_right(starts, finding.start) - 1, bisect_left(starts, finding.end)
        yield replace(finding, start=start, end=end)


_STARTS_CHARACTER: Final = bytes(byte & 0xC0 != 0x80 for byte in range(256))
