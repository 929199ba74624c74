"""Masking a text that grows: what is given out is masked, and holds no beginning of a secret that is not whole yet."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from cellwright.policy.masking.masker import Masker, replaced

_HELD_CHARACTERS: Final = 32
"""Held back at the end: the masker needs up to 17 characters of a secret, and blanks may stand between them."""
_CONTEXT_CHARACTERS: Final = 512
"""What stands before a secret and tells that it is one (`password = `) is shorter."""
_BLANKS: Final = " \t\n\r\f\v"


class StreamMask:
    """The masked text of one source whose text only grows.

    What is known by its look has no blank in it, but perhaps only its end tells (`://name:password@`): a word is given
    out once it has ended. What was given out is a beginning of all that is given out later, unless it turns out to have
    been part of a secret.
    """

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._raw = ""
        self._settled = 0
        """So many characters of the text are masked for good, as `_shown`."""
        self._shown = ""

    def show(self, raw: str, *, is_whole: bool = False) -> str:
        """What may be shown of the text so far; all of it, masked, once it is whole."""
        if not raw.startswith(self._raw):
            self._forget()
        self._raw = raw
        # Only what is new is looked through: a draft is looked at many times a second.
        begin = max(0, self._settled - _CONTEXT_CHARACTERS)
        found = self._masker.find(raw[begin:])
        found = [replace(each, start=each.start + begin, end=each.end + begin) for each in found]
        if any(each.start < self._settled < each.end for each in found):
            self._forget()
            return self.show(raw, is_whole=is_whole)
        found = [each for each in found if each.start >= self._settled]
        end = len(raw) if is_whole else max(self._settled, _stable_end(raw))
        # What reaches into the rest may go on there.
        end = min([end, *(each.start for each in found if not is_whole and each.end > end)])
        inside = [
            replace(each, start=each.start - self._settled, end=each.end - self._settled)
            for each in found
            if each.end <= end
        ]
        self._shown += replaced(raw[self._settled : end], inside)
        self._settled = end
        return self._shown

    def _forget(self) -> None:
        self._settled, self._shown = 0, ""


def _stable_end(raw: str) -> int:
    """Up to where it is certain what is a secret and what is not."""
    word = max(raw.rfind(blank) for blank in _BLANKS) + 1
    # Nothing is a secret by its look for what is not ASCII, and some scripts have no blanks.
    while word < len(raw) and not raw[word].isascii():
        word += 1
    return max(0, min(word, len(raw) - _HELD_CHARACTERS))
