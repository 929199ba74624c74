"""Functions of ours as cells: their source text, without the annotations that a notebook has no names for. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from cellwright.analyst.drafts import CellDraft

_MODULES: Final = ("picture_tables.py", "notebook_words.py")
_ANNOTATION: Final = re.compile(r": (?:dict\[str, )?Any\]?(?=[,)])| -> Any(?=:)")


def source_cells(names: Iterable[str]) -> tuple[CellDraft, ...]:
    """One cell for each of these functions and for each that they call, callees first. Their code is folded away."""
    ordered: dict[str, str] = {}
    for name in names:
        _add(name, ordered)
    return tuple(CellDraft(name=f"method_{name}", code=code, is_words=True) for name, code in ordered.items())


def source_names() -> frozenset[str]:
    """All names that these functions may take in a notebook: nothing else should be called so."""
    return frozenset(_sources())


def _add(name: str, ordered: dict[str, str]) -> None:
    if name in ordered:
        return
    code = _sources()[name]
    called = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    for other in _sources():
        if other in called and other != name:
            _add(other, ordered)
    ordered[name] = code


@cache
def _sources() -> dict[str, str]:
    """Every function by its name. Read as text: the host needs no pandas for it."""
    found: dict[str, str] = {}
    for module in _MODULES:
        text = Path(__file__).with_name(module).read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
                found[node.name] = _ANNOTATION.sub("", "\n".join(lines))
    return found
