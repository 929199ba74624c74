"""Where the parts of a notebook are in its text, and what marimo writes around a cell's body.

A file is `prologue + chunk + chunk + … + epilogue`. A chunk is one cell with the blank lines and comments above it.
Offsets only, so that unchanged bytes can be kept.
"""

from __future__ import annotations

import ast
import bisect
import re
import textwrap
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, assert_never

from cellwright.errors import Defect
from cellwright.ids import CellId

_LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")

ChunkKind = Literal["cell", "definition", "setup", "unparsable"]
"""cell: `@app.cell`. definition: `@app.function` or `@app.class_definition`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open range of characters."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The characters themselves."""
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One cell in the text."""

    kind: ChunkKind
    lead: Span
    """What stands above the cell: blank lines, comments, statements that are no cell."""
    span: Span
    """From its first decorator to the end of its last line that counts as code."""
    tail: Span
    """Not code for marimo, but tied to the cell: comments below its `return`, statements behind it on its line."""
    definition: int | None = None
    """For `@app.cell`: where `def` or `async def` stands; before it are the decorators."""
    returns: Span | None = None
    """For `@app.cell`: its final `return …`, if it has one."""
    indent: str | None = None
    """For `@app.cell`: the body's indentation; None when the body shares a line with the signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """All parts of a notebook's text."""

    newline: str
    header: Span
    version: Span | None
    """The string in `__generated_with = "…"`."""
    app: Span
    """`app = marimo.App(…)`."""
    prologue_end: int
    chunks: tuple[tuple[CellId, Chunk], ...]

    @property
    def epilogue_start(self) -> int:
        """Where the run guard and whatever follows the last cell begins."""
        return self.chunks[-1][1].tail.end if self.chunks else self.prologue_end


class Lines:
    """A text cut the way Python counts its lines; turns `ast` positions into offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in _LINE_BREAK.finditer(text))]

    def offset(self, line: int, column_bytes: int) -> int:
        """The offset of a 1-based line and a column counted in UTF-8 bytes, as `ast` gives them."""
        start = self.starts[line - 1]
        content = self.content(line)
        if content.isascii():
            return start + column_bytes
        return start + len(content.encode()[:column_bytes].decode())

    def content(self, line: int) -> str:
        """A 1-based line without its line break."""
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        return self.text[self.starts[line - 1] : end].rstrip("\r\n")

    def span(self, node: ast.stmt | ast.expr | ast.alias) -> Span:
        """Where a node stands; decorators not included."""
        start = self.offset(node.lineno, node.col_offset)
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return Span(start=start, end=self.offset(end_line, end_column))

    def line_of(self, offset: int) -> int:
        """The 1-based line that holds this offset."""
        return bisect.bisect_right(self.starts, offset)

    def end_of_line_if_only_a_comment_follows(self, offset: int) -> int:
        """The end of the offset's line, or the offset itself when more code follows on that line."""
        line_end = self.end_of_line(offset)
        rest = self.text[offset:line_end].strip()
        return line_end if not rest or rest.startswith("#") else offset

    def end_of_line(self, offset: int) -> int:
        """Where the offset's line ends, before its line break."""
        line = self.line_of(offset)
        return self.starts[line - 1] + len(self.content(line))

    def end_of_indented_lines(self, offset: int, limit: int) -> int:
        """Past the last indented line that follows `offset`'s line, blank lines between them included."""
        end, line = offset, self.line_of(offset) + 1
        while line <= len(self.starts) and self.starts[line - 1] < limit:
            content = self.content(line)
            if content.strip():
                if content[0] not in " \t":
                    break
                end = self.starts[line - 1] + len(content)
            line += 1
        return end

    @cached_property
    def newline(self) -> str:
        """The line break most lines use."""
        return "\r\n" if self.text.count("\r\n") * 2 > self.text.count("\n") else "\n"


def chunk_spans(lines: Lines, starts: Sequence[int], ends: Sequence[int], first: int) -> list[tuple[Span, Span, Span]]:
    """Lead, span and tail of each cell, given where each begins and where its code ends."""
    spans: list[tuple[Span, Span, Span]] = []
    previous_end = first
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        limit = starts[index + 1] if index + 1 < len(starts) else len(lines.text)
        tail_end = min(limit, max(lines.end_of_line(end), lines.end_of_indented_lines(end, limit)))
        spans.append((Span(start=previous_end, end=start), Span(start=start, end=end), Span(start=end, end=tail_end)))
        previous_end = tail_end
    return spans


def signature_end(text: str, definition: int) -> int:
    """Just past the colon of the `def` at this offset."""
    lines = Lines(text[definition:])
    numbers = iter(range(1, len(lines.starts) + 1))
    depth = 0
    for token in tokenize.generate_tokens(lambda: lines.content(next(numbers)) + "\n"):
        if token.string in ("(", "[", "{"):
            depth += 1
        elif token.string in (")", "]", "}"):
            depth -= 1
        elif token.string == ":" and depth == 0:
            row, column = token.end
            return definition + lines.starts[row - 1] + column
    raise Defect(f"No function stands at character {definition}.")


_INDENT: Final = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class CellWrapper:
    """What marimo writes around one cell's body."""

    kind: Literal["cell", "definition", "setup", "unparsable"]
    decorator: str = ""
    signature: str = ""
    returns: str = ""
    """`return (x,)`, its first line not indented."""
    has_blank_before_return: bool = False


def placeholder_of(code: str) -> str:
    """As many lines as the code, since marimo counts them; never the code itself, whose strings it would re-indent."""
    return "\n".join(["..."] * (code.rstrip().count("\n") + 1))


def split_wrapper(generated: str, placeholder: str) -> CellWrapper:
    """The shell in what marimo generated around a placeholder."""
    head, _, returns = generated.partition(f"\n{textwrap.indent(placeholder, _INDENT)}\n")
    definition = re.search(r"^(async )?def ", head, re.MULTILINE)
    assert definition is not None, "marimo writes a function for every cell"
    return CellWrapper(
        kind="cell",
        decorator=head[: definition.start() - 1],
        signature=head[definition.start() :],
        returns=returns.strip(),
        has_blank_before_return=returns.startswith("\n"),
    )


def wrap_code(code: str, shell: CellWrapper, *, needs_pass: bool) -> str:
    """The code in its shell, if it has one; `needs_pass` for a setup cell of comments alone, which Python refuses."""
    match shell.kind:
        case "cell":
            body = [_indented(code)] if code else []
            blank = [""] if shell.has_blank_before_return else []
            return "\n".join([shell.decorator, shell.signature, *body, *blank, _INDENT + shell.returns])
        case "definition":
            return f"{shell.decorator}\n{code}"
        case "setup":
            return "\n".join([shell.signature, _indented(code), *([_INDENT + "pass"] if needs_pass else [])])
        case "unparsable":
            return code
        case _:
            assert_never(shell.kind)


def _indented(code: str) -> str:
    # textwrap.indent would also break lines at form feeds and leave blank lines of strings alone: both change strings.
    return "\n".join(_INDENT + line if line else line for line in code.split("\n"))
