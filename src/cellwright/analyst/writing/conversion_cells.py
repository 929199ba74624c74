"""The functions of `conversions` as cells. Read as text: the host needs no pandas for it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from cellwright.analyst.drafts import CellDraft


def conversion_cells(functions: Iterable[str]) -> tuple[CellDraft, ...]:
    """One cell per function, named `define_…`, as its source stands there."""
    return tuple(CellDraft(name=f"define_{name}", code=_sources()[name]) for name in functions)


@cache
def _sources() -> dict[str, str]:
    text = Path(__file__).with_name("conversions.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in functions}
