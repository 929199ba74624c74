"""The program in the cage that converts: a notebook of Jupyter on descriptor 3, the cells of a new one back.

`python -I -S convert_main.py PACKAGES…`. Nothing of the notebook runs, but for the import of a module that a cell
imports everything of: which names that are only the module knows.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]

import ast
import builtins
import importlib
import os
import re
import warnings
from collections.abc import Sequence
from typing import Final

import msgspec

from cellwright_guest.jupyter.display_calls import append_last, mend_display, replaced, with_probes
from cellwright_guest.jupyter.ipynb import NotJupyter, executed_order, read_cells
from cellwright_guest.jupyter.magics import mend_magics
from cellwright_guest.jupyter.records import ConvertedCell, JupyterCell, NotebookConversion
from cellwright_guest.jupyter.versions import NamedCell, give_versions, ranges_to_join

_DESCRIPTOR: Final = 3
_CHUNK_BYTES: Final = 1 << 16


def main() -> None:
    """Answer, and end."""
    data = bytearray()
    while chunk := os.read(_DESCRIPTOR, _CHUNK_BYTES):
        data += chunk
    left = memoryview(msgspec.json.encode(convert(bytes(data).decode("utf-8", "replace"))))
    while left:
        left = left[os.write(_DESCRIPTOR, left) :]


def convert(text: str) -> NotebookConversion:
    """The notebook as cells of marimo."""
    warnings.simplefilter("ignore")
    try:
        sources, language = read_cells(text)
    except NotJupyter as error:
        return NotebookConversion(problem=str(error))
    if language not in {"python", "python3", "ipython"}:
        return NotebookConversion(language=language)
    requirements = list[str]()
    mended = _mended([cell for cell in sources if cell.kind == "code" and cell.source.strip()], requirements)
    joined = _joined(mended)
    give_versions(joined)
    cells = _in_order(sources, joined)
    return NotebookConversion(
        cells=(_MARIMO, *cells) if any(re.search(r"\bmo\.", cell.code) for cell in cells) else cells,
        requirements=tuple(dict.fromkeys(requirements)),
        order=executed_order(sources),
    )


_MARIMO: Final = ConvertedCell(sources=(), code="import marimo as mo", probe="import marimo as mo")


def _mended(sources: Sequence[JupyterCell], requirements: list[str]) -> list[NamedCell]:
    """Each cell in plain Python and in marimo's words."""
    cells, imported = list[NamedCell](), dict[str, str]()
    names = frozenset(name for cell in sources for name in re.findall(r"(?m)^\s*(\w+)\s*(?:,|=[^=]|:)", cell.source))
    for cell in sources:
        magics = mend_magics(cell.source, names)
        requirements += magics.requirements
        named = NamedCell(sources=[cell.number], code=magics.code, notes=magics.notes, refused=magics.refused)
        try:
            ast.parse(named.code)
        except (SyntaxError, ValueError, RecursionError) as error:
            named.refused.append(f"it is no Python: {str(error)[:200]}")
            cells.append(named)
            continue
        shown = mend_display(named.code, imported)
        named.code = shown.code
        named.notes += dict.fromkeys(shown.notes)
        named.refused += dict.fromkeys(shown.refused)
        cells.append(named)
    _resolve_stars(cells)
    return cells


def _resolve_stars(cells: list[NamedCell]) -> None:
    """`from module import *` with the names that are meant: marimo has to know who binds what."""
    used = {name for cell in cells for name in (*cell.uses.all_read, *cell.uses.changed)}
    for cell in cells:
        if "*" not in cell.code or not _is_python(cell.code):
            continue
        changes = list[tuple[ast.AST, str]]()
        for node in ast.walk(ast.parse(cell.code)):
            if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
                changes.append((node, _without_star(node, used, cell)))
        cell.code = replaced(cell.code, changes)


def _without_star(node: ast.ImportFrom, used: set[str], cell: NamedCell) -> str:
    try:
        module = importlib.import_module("." * node.level + (node.module or ""))
    except (ImportError, ValueError, TypeError):
        cell.refused.append(f"what `from {node.module} import *` binds is not known: it cannot be imported here")
        return f"pass  # from {node.module} import *"
    there = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    meant = sorted(name for name in there if name in used)
    if not meant:
        return "pass  # nothing of its star import is used"
    hidden = [name for name in meant if hasattr(builtins, name)]
    cell.notes.append(f"`import *` names what is used: {', '.join(meant[:8])}" + (" …" if len(meant) > 8 else ""))
    if hidden:
        cell.notes.append(f"it takes the place of Python's own {', '.join(hidden[:5])}")
    return f"from {node.module} import {', '.join(meant)}"


def _is_python(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _joined(cells: list[NamedCell]) -> list[NamedCell]:
    stretches = dict(ranges_to_join([cell.uses for cell in cells]))
    joined, at = list[NamedCell](), 0
    while at < len(cells):
        last = stretches.get(at, at)
        part = cells[at : last + 1]
        joined.append(part[0] if len(part) == 1 else _join(part))
        at = last + 1
    return joined


def _join(part: list[NamedCell]) -> NamedCell:
    sources = [number for cell in part for number in cell.sources]
    codes = [append_last(cell.code) if _is_python(cell.code) else cell.code for cell in part]
    # All that is shown is shown the same way: a last expression would replace what was appended.
    return NamedCell(
        sources=sources,
        code="\n\n".join(codes),
        notes=[
            f"cells {', '.join(map(str, sources))} are one: a function in them reads or binds what others bind again",
            *(note for cell in part for note in cell.notes),
        ],
        refused=[words for cell in part for words in cell.refused],
    )


def _in_order(sources: Sequence[JupyterCell], joined: Sequence[NamedCell]) -> tuple[ConvertedCell, ...]:
    """Texts and code where they stood; of joined cells, where the first stood."""
    by_first = {cell.sources[0]: cell for cell in joined}
    cells = list[ConvertedCell]()
    for source in sources:
        if source.kind == "code" and source.number in by_first:
            cell = by_first[source.number]
            cells.append(
                ConvertedCell(
                    sources=tuple(cell.sources),
                    code=cell.code,
                    probe=with_probes(cell.code, cell.sources[0]),
                    defines=tuple(cell.defines.items()),
                    notes=tuple(dict.fromkeys(cell.notes)),
                    refused=tuple(dict.fromkeys(cell.refused)),
                )
            )
        elif source.kind != "code" and source.source.strip():
            cells.append(_text_cell(source))
    return tuple(cells)


def _text_cell(source: JupyterCell) -> ConvertedCell:
    text = source.source.strip()
    if source.kind == "raw":
        code = "\n".join(f"# {line}".rstrip() for line in text.split("\n"))
    elif '"""' in text or text.endswith(('"', "\\")):
        code = f"mo.md({text!r})"
    else:
        code = f'mo.md(r"""\n{text}\n""")'
    notes = ("attached pictures are not carried over",) if "](attachment:" in text else ()
    return ConvertedCell(sources=(source.number,), code=code, probe=code, is_text=True, notes=notes)


if __name__ == "__main__":
    main()
