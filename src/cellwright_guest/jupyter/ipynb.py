"""`.ipynb` files as cells: formats 3 and 4, whatever else may be wrong with them."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from cellwright_guest.jupyter.records import MOST_CELLS, JupyterCell

_MOST_SOURCE: Final = 400_000
_KINDS: Final = {"code": "code", "markdown": "markdown", "heading": "markdown", "html": "markdown"}


class NotJupyter(Exception):
    """It is no notebook of Jupyter; why is the message."""


def read_cells(text: str) -> tuple[tuple[JupyterCell, ...], str]:
    """Its cells, and their language. Raises `NotJupyter`."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotJupyter(f"it is not JSON: {str(error)[:200]}") from error
    if not isinstance(notebook, dict):
        raise NotJupyter("its JSON is no object")
    listed = notebook.get("cells")
    if listed is None and isinstance(notebook.get("worksheets"), list):
        sheets = [sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        listed = [cell for sheet in sheets for cell in sheet.get("cells") or ()]
    if not isinstance(listed, list):
        raise NotJupyter("it has no list of cells")
    if len(listed) > MOST_CELLS:
        raise NotJupyter(f"it has {len(listed):,} cells; {MOST_CELLS:,} at most")
    cells = tuple(_cell(number, cell) for number, cell in enumerate(listed, start=1))
    return cells, _language(notebook)


def _cell(number: int, cell: Any) -> JupyterCell:
    if not isinstance(cell, dict):
        raise NotJupyter(f"cell {number} is no object")
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str) or len(source) > _MOST_SOURCE:
        raise NotJupyter(f"the source of cell {number} is no text, or longer than {_MOST_SOURCE:,} characters")
    count = cell.get("execution_count", cell.get("prompt_number"))
    kind: Any = _KINDS.get(str(cell.get("cell_type")), "raw")
    if cell.get("cell_type") == "heading":
        level = cell.get("level")
        source = f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {source}"
    source = re.sub(r"\r\n?", "\n", source).encode("utf-8", "replace").decode()
    return JupyterCell(
        number=number, kind=kind, source=source, count=count if isinstance(count, int) and count is not True else None
    )


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    for place in ("kernelspec", "language_info"):
        found = metadata.get(place)
        if isinstance(found, dict):
            language = found.get("language") or (found.get("name") if place == "language_info" else None)
            if isinstance(language, str) and language:
                return language.lower()[:40]
    return "python"


def executed_order(cells: tuple[JupyterCell, ...]) -> tuple[int, ...]:
    """The cells in the order they were executed, where that is not from top to bottom; else nothing."""
    counted = [(cell.count, cell.number) for cell in cells if cell.kind == "code" and cell.count is not None]
    in_order = [number for _, number in sorted(counted)]
    return tuple(in_order) if in_order != [number for _, number in counted] else ()
