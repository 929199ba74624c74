"""The marimo notebooks that lie in a folder, found by looking at the text of its files; none is run or imported."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from cellwright.app.live_notebooks import notebook_id
from cellwright.errors import CellwrightError
from cellwright.tools.project_files import ProjectFiles

_DEPTH: Final = 5
_MOST_FILES: Final = 3_000
_MOST_FOUND: Final = 300
_READ_BYTES: Final = 1 << 20
_IS_NOTEBOOK: Final = re.compile(rb"(?m)^app = marimo\.App\(")
_CELL: Final = re.compile(
    rb"(?m)^(?:@app\.(?:cell|function|class_definition)\b|with app\.setup\b|app\._unparsable_cell\()"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundNotebook:
    """A notebook on disk."""

    id: str
    path: Path
    cells: int


def find_notebooks(folder: Path) -> list[FoundNotebook]:
    """A bounded number of them, in order of their paths; nothing hidden, and no links. Blocking."""
    files = ProjectFiles(folder)
    entries = (entry for entry in files.walk(files.root, depth=_DEPTH) if not entry.is_folder)
    candidates = (files.root / entry.path for entry in entries if entry.path.endswith(".py"))
    found = (_look(files, path) for path in islice(candidates, _MOST_FILES))
    return [*islice((each for each in found if each is not None), _MOST_FOUND)]


def _look(files: ProjectFiles, path: Path) -> FoundNotebook | None:
    try:
        content, _ = files.read(path, _READ_BYTES)
    except CellwrightError:
        # It went, or became something else, while we looked.
        return None
    if _IS_NOTEBOOK.search(content) is None:
        return None
    return FoundNotebook(id=notebook_id(path), path=path, cells=len(_CELL.findall(content)))
