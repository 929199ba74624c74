"""Text that is safe to send and never longer than promised."""

from __future__ import annotations

from typing import Final

BYTES_PER_TOKEN: Final = 3
"""Low on purpose: prose has four bytes a token, tables and numbers have fewer."""

ELLIPSIS: Final = "…"
_ELLIPSIS_BYTES: Final = 3

_CONTROL: Final = {code: "�" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"} | {13: None}


def room_of(tokens: int) -> int:
    """How many UTF-8 bytes fit into `tokens`; at least a few, so that there is room to say something."""
    return max(tokens, 8) * BYTES_PER_TOKEN


def bounded(text: str, room: int) -> str:
    """`text` without control characters, cut to `room` UTF-8 bytes with an ellipsis. Looks only at what it keeps."""
    if len(text) <= room and text.isascii() and text.isprintable():
        return text
    was_cut = len(text) > room
    kept = text[:room].translate(_CONTROL).encode("utf-8", "replace")
    if was_cut or len(kept) > room:
        kept = kept[: max(room - _ELLIPSIS_BYTES, 0)]
        return kept.decode("utf-8", "ignore") + ELLIPSIS
    return kept.decode("utf-8")


def one_line(text: str) -> str:
    """Runs of white space as one blank."""
    return " ".join(text.split())


def exact(text: str) -> str:
    """A real `str` of the same characters, whatever a subclass pretends to be."""
    return text if type(text) is str else str.__str__(text)
