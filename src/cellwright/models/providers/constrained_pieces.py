"""What can be told of a constrained model's JSON while it is written: an answer's text, a call's arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from pydantic_core import from_json

_CALL: Final = re.compile(
    r'\s*(?:```(?:json)?\s*)?\{\s*(?:"reply"\s*:\s*\{\s*)?"tool"\s*:\s*"([^"\\]*)"\s*,\s*"arguments"\s*:\s*(?=\{)'
)
"""As the schema has it. A reply in another order, or with prose before it, is told once it is whole."""
_LONGEST_HEAD: Final = 1000
"""Characters. What has not begun with a call by then is none."""


@dataclass(slots=True)
class AnswerText:
    """The text inside `{"reply": {"answer": "…` while it is still being written."""

    _json: str = field(default="", init=False)
    _emitted: int = field(default=0, init=False)

    def feed(self, piece: str) -> str:
        """What has become readable with this piece."""
        self._json += piece
        try:
            match from_json(self._json, allow_partial="trailing-strings"):
                case {"reply": {"answer": str(answer)}}:
                    emitted, self._emitted = self._emitted, len(answer)
                    return answer[emitted:]
                case _:
                    return ""
        except ValueError:
            return ""


@dataclass(slots=True)
class CallText:
    """The arguments inside `{"reply": {"tool": "…", "arguments": {…` while they are still being written."""

    tool: str = field(default="", init=False)
    """The tool that is called, as soon as its arguments begin."""
    _head: str = field(default="", init=False)
    _depth: int = field(default=0, init=False)
    _is_text: bool = field(default=False, init=False)
    _is_escaped: bool = field(default=False, init=False)
    _is_over: bool = field(default=False, init=False)

    def feed(self, piece: str) -> str:
        """The JSON text of the arguments that came with this piece, and nothing behind their end."""
        if self._is_over:
            return ""
        if self.tool:
            return self._arguments_in(piece)
        self._head += piece
        if (found := _CALL.match(self._head)) is not None:
            self.tool = found[1]
            return self._arguments_in(self._head[found.end() :])
        self._is_over = len(self._head) > _LONGEST_HEAD
        return ""

    def _arguments_in(self, text: str) -> str:
        for place, letter in enumerate(text):
            if self._is_escaped:
                self._is_escaped = False
            elif self._is_text:
                self._is_escaped, self._is_text = letter == "\\", letter != '"'
            elif letter == '"':
                self._is_text = True
            elif letter in "{}":
                self._depth += 1 if letter == "{" else -1
                if not self._depth:
                    self._is_over = True
                    return text[: place + 1]
        return text
