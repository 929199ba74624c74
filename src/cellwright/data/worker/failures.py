"""What is told of a failure: one line, bounded, without the secret in any spelling. Pure."""

from __future__ import annotations

import base64
import json
from typing import Final
from urllib.parse import quote, quote_plus

from cellwright.data.worker.source import FailureKind, SourceFailed

MAX_CHARACTERS: Final = 2_000
_MASK: Final = "[secret]"


class SecretMask:
    """Takes one secret out of texts."""

    def __init__(self, user: str, secret: str) -> None:
        self._spellings = sorted(_spellings(user, secret), key=len, reverse=True) if secret else []

    def __call__(self, text: str) -> str:
        """The text without it."""
        for spelling in self._spellings:
            text = text.replace(spelling, _MASK)
        return text

    def line(self, text: str) -> str:
        """One line of at most so many characters; masked before it is cut, lest half a secret stays."""
        return " ".join(self(text).split())[:MAX_CHARACTERS]

    def reply(self, failure: SourceFailed, kind: FailureKind | None = None) -> dict[str, str]:
        """The frame that tells it."""
        return {
            "kind": "failed",
            "failure": kind or failure.kind,
            "why": self.line(failure.why) or "It failed, and the server did not say why.",
            "hint": self.line(failure.hint),
        }


def _spellings(user: str, secret: str) -> set[str]:
    """As drivers write it: in an address, in a header, in quotes."""
    quoted = {quote(secret), quote(secret, safe=""), quote_plus(secret)}
    lower = {_small_escapes(text) for text in quoted}
    basic = base64.b64encode(f"{user}:{secret}".encode()).decode()
    escaped = {secret.replace("\\", "\\\\").replace("'", "\\'"), json.dumps(secret)[1:-1], repr(secret)[1:-1]}
    # A secret of several lines is told in one.
    return {secret, " ".join(secret.split()) or secret, basic, *quoted, *lower, *escaped}


def _small_escapes(text: str) -> str:
    head, *rest = text.split("%")
    return "%".join((head, *(part[:2].lower() + part[2:] for part in rest)))
