"""Texts too long for a model: it reads beginning and end, and the whole is kept for whoever wants to read on."""

from __future__ import annotations

from typing import Annotated, Final, Protocol

from pydantic import Field

from cellwright.notebook.prompt_summary import estimate_tokens
from cellwright.tools.tool import Done, Tool, ToolError, ToolResult, tool

_LINES: Final = 200
_HEAD_SHARE: Final = 0.7


class TextStore(Protocol):
    """Where whole texts are kept, by name."""

    async def store(self, key: str, text: str) -> str:
        """Keep the text of this key; its name. The same key and text have the same name."""

    async def read(self, name: str) -> str | None:
        """The text of this name, if it is here."""


def stored_text_tools(kept: TextStore) -> list[Tool]:
    """The tool that reads on where an answer was cut."""

    @tool()
    async def read_kept(
        name: str, from_line: Annotated[int, Field(ge=1)] = 1, lines: Annotated[int, Field(ge=1, le=2_000)] = _LINES
    ) -> ToolResult:
        """Read on in an answer that was too long. You get some lines of the text kept under this name."""
        text = await kept.read(name)
        if text is None:
            return ToolError(kind="not-found", message=f"No text is kept under {name[:80]!r}.")
        found = text.splitlines()
        shown = found[from_line - 1 : from_line - 1 + lines]
        until = from_line + len(shown) - 1
        return Done(text=f"Lines {from_line}-{until} of {len(found)}:\n" + "\n".join(shown), is_untrusted=True)

    return [read_kept]


def cut(text: str, tokens: int) -> str | None:
    """Beginning and end of a text that is over the bound, with a line between that says what is missing."""
    if estimate_tokens(text) <= tokens:
        return None
    characters = max(1, len(text) * tokens // estimate_tokens(text) - 80)
    while True:
        head, tail = int(characters * _HEAD_SHARE), characters - int(characters * _HEAD_SHARE)
        missing = len(text) - head - tail
        short = f"{text[:head]}\n… {missing:,} of {len(text):,} characters left out …\n{text[len(text) - tail :]}"
        if estimate_tokens(short) <= tokens or characters <= 1:
            return short
        characters = characters * 9 // 10
