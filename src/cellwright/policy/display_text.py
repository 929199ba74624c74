"""Text as a person may safely see it: nothing invisible, nothing that reorders or overwrites what stands beside it."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Control, format (bidi, zero-width), surrogate, private and unassigned characters, and every separator but the space.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_SUSPECT: Final = re.compile(r"[^ -~]")


def shown(text: str) -> str:
    """`text` on one line, hidden characters written as escapes."""
    return _SUSPECT.sub(_escape, text)


def shown_block(text: str) -> str:
    """`text` with its line breaks kept, other hidden characters written as escapes."""
    return "\n".join(shown(line) for line in text.split("\n"))


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
