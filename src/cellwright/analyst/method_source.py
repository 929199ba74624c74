"""Methods as cells: the source text of the functions a notebook asks for, and of all that those call."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from cellwright.analyst.drafts import CellDraft
from cellwright.errors import Defect

_MODULES: Final = ("columns", "pairs", "independence", "course", "spans", "examination", "telling")
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
    return {method.name: method for module in _MODULES for method in _methods_in(module)}


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
