"""The acceptance checks a notebook carries: tests in cells, cells that are tests, and cells that assert."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from cellwright.ids import CellId
from cellwright.kernel import CellOutcome, Value
from cellwright.notebook import Cell, CreateCell, Document, graph
from cellwright.notebook.marimo_check import tests_code, tests_in

Kind = Literal["test", "cell"]
"""test: a test function or class, run after the notebook has run. cell: a cell that fails by failing."""

_MOST: Final = 500
_NAME: Final = 300
_MESSAGE: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One acceptance check and how it went."""

    cell: CellId
    name: str
    kind: Kind
    outcome: Literal["passed", "failed", "skipped", "needs pytest"]
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellWithTests:
    """A cell with tests, and the cell that runs them."""

    cell: CellId
    tests: tuple[str, ...]
    defined: frozenset[str]
    result: str
    """The name under which the results are found in the kernel."""

    def runner(self) -> CreateCell:
        """Added to the notebook in memory only, behind everything else."""
        return CreateCell(code=tests_code(self.result, self.tests, self.defined))


def cells_with_tests(document: Document, free_name: str) -> tuple[CellWithTests, ...]:
    """The cells that define tests; `free_name` is one that the notebook does not use."""
    nodes = graph(document).nodes
    found = [(cell, tests_in(cell.code)) for cell in document.cells if not cell.config.disabled]
    return tuple(
        CellWithTests(cell=cell.id, tests=tests, defined=nodes[cell.id].defs, result=f"{free_name}_checks_{number}")
        for number, (cell, tests) in enumerate(found)
        if tests
    )


def results_of(cell: CellWithTests, value: Value | None, problem: str) -> list[CheckResult]:
    """What the runner told, checked: it comes from the notebook's own process."""
    rows = value.json if value is not None and value.is_whole else None
    told = [row for row in map(_row, cast("list[object]", rows)) if row] if isinstance(rows, list) else []
    if not told:
        why = problem or "its tests did not run"
        return [
            CheckResult(cell=cell.cell, name=test, kind="test", outcome="failed", message=why) for test in cell.tests
        ]
    return [
        CheckResult(cell=cell.cell, name=name, kind="test", outcome=outcome, message=message)
        for name, outcome, message in told[:_MOST]
    ]


def _row(row: object) -> tuple[str, Literal["passed", "failed", "skipped", "needs pytest"], str] | None:
    if not isinstance(row, dict):
        return None
    told = cast("dict[str, Any]", row)
    name, message = str(told.get("name", ""))[:_NAME], str(told.get("message", ""))[:_MESSAGE]
    match told.get("outcome"):
        case "passed":
            return name, "passed", message
        case "skipped":
            return name, "skipped", message
        case "needs pytest":
            return name, "needs pytest", f"needs pytest: {message}"
        case _:
            return name, "failed", message


def cell_checks(document: Document, outcomes: Mapping[CellId, CellOutcome]) -> list[CheckResult]:
    """Cells named `test_…` and cells with an `assert`: passed when they ran."""
    found: list[CheckResult] = []
    for number, cell in enumerate(document.cells, start=1):
        outcome = outcomes.get(cell.id)
        if outcome is None or outcome.status == "disabled" or not _fails_by_failing(cell):
            continue
        is_ok = outcome.status == "ok"
        message = "" if is_ok else outcome.error.message if outcome.error else f"it did not run: {outcome.status}"
        name = cell.name if cell.name not in ("", "_") else f"cell {number}"
        how = "passed" if is_ok else "failed"
        found.append(CheckResult(cell=cell.id, name=name, kind="cell", outcome=how, message=message[:_MESSAGE]))
    return found


def _fails_by_failing(cell: Cell) -> bool:
    if tests_in(cell.code):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(cell.code)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return cell.name.startswith("test_") or any(isinstance(node, ast.Assert) for node in tree.body)
