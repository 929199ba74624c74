"""What is told of a failure: one line, bounded, without the secret in any spelling. Pure."""

from __future__ import annotations

import base64
import json
import re
from typing import Final
from urllib.parse import quote, quote_plus

from cellwright.data.worker.source import FailureKind, SourceFailed

MAX_CHARACTERS: Final = 2_000
_MASK: Final = "[secret]"
_ESCAPE: Final = re.compile(r"%([0-9A-F]{2})")


class SecretMask:
    """Takes one secret out of texts."""

    def __init__(self, user: str, secret: str) -> None:
        spellings = sorted(_spellings(user, secret), key=len, reverse=True) if secret else []
        # In an address the letters of an escape may be small or large.
        parts = (_ESCAPE.sub(r"%(?i:\1)", re.escape(spelling)) for spelling in spellings)
        self._pattern = re.compile("|".join(parts)) if spellings else None

    def __call__(self, text: str) -> str:
        """The text without it."""
        return text if self._pattern is None else self._pattern.sub(_MASK, text)

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
    basic = base64.b64encode(f"{user}:{secret}".encode()).decode()
    escaped = {secret.replace("\\", "\\\\").replace("'", "\\'"), json.dumps(secret)[1:-1], repr(secret)[1:-1]}
    # A secret of several lines is told in one.
    return {secret, " ".join(secret.split()) or secret, basic, *quoted, *escaped}
