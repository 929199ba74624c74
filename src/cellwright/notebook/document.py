"""The document: a notebook's cells in order, as values. Nothing here reads a file or knows marimo.

A document is immutable; edits make a new one. It remembers, in `origin`, the text it was read from, so that
whatever is not edited can be written back byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cellwright.ids import CellId
from cellwright.notebook.layout import Layout

DEFAULT_NAME: Final = "_"
"""The name of a cell nobody named, and of one that holds a single function or class (its definition names it)."""
SETUP_NAME: Final = "setup"
SETUP_ID: Final = CellId("setup")
"""The setup cell runs first, can only be first, and always has this id, as in marimo."""

AppOption = str | bool | int | float | None | list[str]
"""What `marimo.App(...)` takes: width, app_title, css_file, layout_file …"""

_SCRIPT_BLOCK: Final = re.compile(r"(?m)^# /// script[ \t]*$\s(?P<content>(^#(| .*)$\s)+)^# ///[ \t]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellConfig:
    """How the editor and the kernel treat a cell; the fields of marimo 0.25."""

    column: int | None = None
    disabled: bool = False
    """The cell and everything that depends on it do not run."""
    hide_code: bool = False
    expand_output: bool = False


PLAIN: Final = CellConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell. `version` grows with every change, so an edit can say which text it saw."""

    id: CellId
    code: str
    name: str = DEFAULT_NAME
    config: CellConfig = PLAIN
    version: int = 1

    @property
    def is_setup(self) -> bool:
        """True for the one cell that runs before all others."""
        return self.id == SETUP_ID

    def has_same_content(self, other: Cell) -> bool:
        """True when both would be written the same; ids and versions aside."""
        return (self.code, self.name, self.config) == (other.code, other.name, other.config)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A notebook: cells in order, what stands before them, and the app's options."""

    cells: tuple[Cell, ...] = ()
    header: str = ""
    """Everything above `import marimo`: PEP 723 metadata, docstring, comments. Newlines are `\\n`."""
    options: Mapping[str, AppOption] = field(default_factory=dict[str, AppOption])
    origin: Origin | None = field(default=None, compare=False, repr=False)
    retired: Mapping[CellId, int] = field(default_factory=dict[CellId, int], compare=False, repr=False)
    """Deleted cells and their last versions: one that is brought back goes on counting, so no version comes twice."""

    @classmethod
    def new(cls, *, header: str = "", options: Mapping[str, AppOption] | None = None) -> Document:
        """A notebook without cells, not yet on disk."""
        return cls(header=header, options=dict(options or {}))

    def find(self, cell: CellId) -> Cell | None:
        """The cell with this id, if it is here."""
        return next((candidate for candidate in self.cells if candidate.id == cell), None)

    def named(self, name: str) -> tuple[Cell, ...]:
        """Every cell with this name; more than one only in files another tool wrote."""
        return tuple(cell for cell in self.cells if cell.name == name)

    def has_same_content(self, other: Document) -> bool:
        """True when both would be saved as the same notebook; ids and versions aside."""
        return (
            (self.header.strip(), dict(self.options)) == (other.header.strip(), dict(other.options))
            and len(self.cells) == len(other.cells)
            and all(mine.has_same_content(theirs) for mine, theirs in zip(self.cells, other.cells, strict=True))
        )

    @property
    def script_metadata(self) -> str | None:
        """The TOML of the PEP 723 `script` block, or None when the notebook has no such block."""
        blocks = [match["content"] for match in _SCRIPT_BLOCK.finditer(self.header + "\n")]
        if len(blocks) != 1:
            return None
        return "".join(line[2:] if line.startswith("# ") else line[1:] for line in blocks[0].splitlines(keepends=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The text a document was read from, where each cell stands in it, and what was read."""

    text: str
    layout: Layout
    document: Document
