"""The source text of functions that a notebook carries with it, as cells: those asked for and all that they call.

Read as text, never imported: the host needs no pandas or scipy for it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from cellwright.analyst.drafts import CellDraft
from cellwright.errors import Defect

_METHODS: Final = ("pairs", "independence", "time_series", "battery")
"""From the bottom up: a function stands after those it calls, as far as it can."""
_IMPORTS: Final = {
    "alt": "import altair as alt", "mo": "import marimo as mo", "np": "import numpy as np",
    "pd": "import pandas as pd", "stats": "from scipy import stats",
}  # fmt: skip
_ANNOTATION: Final = re.compile(r": (?:dict\[str, |list\[)?Any\]?(?=[,)]| = )| -> Any(?=:)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Function:
    """A function, or a constant that one uses."""

    code: str
    uses: frozenset[str]
    """Every other name that occurs in it."""


@cache
def _functions(*modules: str) -> dict[str, _Function]:
    """All in these modules, by name."""
    found: dict[str, _Function] = {}
    for module in modules:
        text = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            match node:
                case ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                    uses = frozenset(part.id for part in ast.walk(node) if isinstance(part, ast.Name)) - {name}
                    found[name] = _Function(code=ast.get_source_segment(text, node) or "", uses=uses)
                case _:
                    continue
    return found


def method_cells(names: Iterable[str]) -> tuple[CellDraft, ...]:
    """The methods asked for and those they call, one cell each, in a stable order."""
    return tuple(CellDraft(name=f"method_{name}".lower(), code=found.code) for name, found in _needed(names).items())


def method_imports(names: Iterable[str]) -> tuple[str, ...]:
    """The import lines that those cells need to find in the notebook: `import pandas as pd`."""
    used = {name for found in _needed(names).values() for name in found.uses}
    return tuple(line for name, line in _IMPORTS.items() if name in used)


def _needed(names: Iterable[str]) -> dict[str, _Function]:
    known = _functions(*_METHODS)
    wanted, found = list(names), set[str]()
    while wanted:
        name = wanted.pop()
        if name not in known:
            raise Defect(f"There is no method {name!r}.", hint=f"Known: {', '.join(sorted(known))}.")
        if name not in found:
            found.add(name)
            wanted += known[name].uses & known.keys()
    return {name: function for name, function in known.items() if name in found}


def source_cells(names: Iterable[str]) -> tuple[CellDraft, ...]:
    """One cell for each of these functions and for each that they call, callees first. Their code is folded away."""
    known, ordered = _functions("presentation"), dict[str, str]()

    def add(name: str) -> None:
        if name not in ordered:
            for other in known:
                if other in known[name].uses:
                    add(other)
            ordered[name] = _ANNOTATION.sub("", known[name].code)

    for name in names:
        add(name)
    return tuple(CellDraft(name=f"method_{name}", code=code, is_words=True) for name, code in ordered.items())


def helper_cells(names: Iterable[str]) -> tuple[CellDraft, ...]:
    """The helpers of a short notebook, one cell each, their code folded away."""
    known, wanted = _functions("brief") | {"escaped": _functions(*_METHODS)["escaped"]}, set(names)
    codes = ((name, _ANNOTATION.sub("", found.code)) for name, found in known.items() if name in wanted)
    return tuple(CellDraft(name=f"define_{name}", code=code, is_words=True) for name, code in codes)


def conversion_cells(names: Iterable[str]) -> tuple[CellDraft, ...]:
    """One cell per function, named `define_…`, as its source stands there."""
    known = _functions("conversions")
    return tuple(CellDraft(name=f"define_{name}", code=known[name].code) for name in names)
