"""The source text of functions that a notebook carries with it, as cells: those asked for and all that they call.

Read as text, never imported: the host needs no pandas or scipy for it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from cellwright.analyst.drafts import CellDraft
from cellwright.errors import Defect

_METHOD_MODULES: Final = ("pairs", "independence", "time_series", "battery")
"""From the bottom up: a function stands after those it calls, as far as it can. Read, never imported: scipy is slow."""
_IMPORTS: Final = {
    "alt": "import altair as alt",
    "mo": "import marimo as mo",
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "stats": "from scipy import stats",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Method:
    name: str
    code: str
    uses: frozenset[str]
    """Every name that occurs in it."""


def method_names() -> frozenset[str]:
    """All names that methods may take in a notebook: nothing else should be called so."""
    return frozenset(_methods())


def method_cells(names: Iterable[str]) -> tuple[CellDraft, ...]:
    """The methods asked for and those they call, one cell each, in a stable order."""
    return tuple(CellDraft(name=f"method_{name}".lower(), code=_methods()[name].code) for name in _needed(names))


def method_imports(names: Iterable[str]) -> tuple[str, ...]:
    """The import lines that those cells need to find in the notebook: `import pandas as pd`."""
    used = {name for needed in _needed(names) for name in _methods()[needed].uses}
    return tuple(line for name, line in _IMPORTS.items() if name in used)


def _needed(names: Iterable[str]) -> tuple[str, ...]:
    known = _methods()
    wanted, found = list(names), set[str]()
    while wanted:
        name = wanted.pop()
        if name not in known:
            raise Defect(f"There is no method {name!r}.", hint=f"Known: {', '.join(sorted(known))}.")
        if name not in found:
            found.add(name)
            wanted += [used for used in known[name].uses if used in known]
    return tuple(name for name in known if name in found)


@cache
def _methods() -> dict[str, _Method]:
    return {method.name: method for module in _METHOD_MODULES for method in _methods_in(module)}


def _methods_in(module: str) -> Iterator[_Method]:
    source = files("cellwright.analyst.methods").joinpath(f"{module}.py").read_text("utf-8")
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                uses = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} - {name}
                code = ast.get_source_segment(source, node) or ""
                yield _Method(name=name, code=code, uses=frozenset(uses))
            case _:
                continue


_PRESENTATION_MODULES: Final = ("presentation.py",)
_ANNOTATION: Final = re.compile(r": (?:dict\[str, )?Any\]?(?=[,)])| -> Any(?=:)")


def source_cells(names: Iterable[str]) -> tuple[CellDraft, ...]:
    """One cell for each of these functions and for each that they call, callees first. Their code is folded away."""
    ordered: dict[str, str] = {}
    for name in names:
        _add(name, ordered)
    return tuple(CellDraft(name=f"method_{name}", code=code, is_words=True) for name, code in ordered.items())


def _add(name: str, ordered: dict[str, str]) -> None:
    if name in ordered:
        return
    code = _presentation_sources()[name]
    called = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    for other in _presentation_sources():
        if other in called and other != name:
            _add(other, ordered)
    ordered[name] = code


@cache
def _presentation_sources() -> dict[str, str]:
    """Every function by its name. Read as text: the host needs no pandas for it."""
    found: dict[str, str] = {}
    for module in _PRESENTATION_MODULES:
        text = Path(__file__).with_name(module).read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
                found[node.name] = _ANNOTATION.sub("", "\n".join(lines))
    return found


def conversion_cells(functions: Iterable[str]) -> tuple[CellDraft, ...]:
    """One cell per function, named `define_…`, as its source stands there."""
    return tuple(CellDraft(name=f"define_{name}", code=_conversion_sources()[name]) for name in functions)


@cache
def _conversion_sources() -> dict[str, str]:
    text = Path(__file__).with_name("conversions.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in functions}
