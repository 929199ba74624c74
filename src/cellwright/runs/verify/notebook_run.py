"""One run of a notebook from top to bottom in a kernel that starts empty.

Its outputs, its acceptance checks, what it opened.

Acceptance checks are tests in cells, cells that are tests, and cells that assert.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast

from cellwright.errors import KernelLost
from cellwright.ids import CellId
from cellwright.kernel.functions.cell_functions import NotebookValue
from cellwright.kernel.observation import CellFinishedEvent, CellOutcome, Event, KernelEnd, Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.edits import CreateCell
from cellwright.notebook.files import NotebookFile
from cellwright.notebook.marimo_check import tests_code, tests_in
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.syntax_trees import syntax_tree
from cellwright.runs.verify.fresh_environment import FreshEnvironment
from cellwright.runs.verify.input_files import opened_inside

CheckKind = Literal["test", "cell"]
"""test: a test function or class, run after the notebook has run. cell: a cell that fails by failing."""

CheckVerdict = Literal["passed", "failed", "skipped", "needs pytest"]
_MOST: Final = 500
_NAME: Final = 300
_MESSAGE: Final = 2_000
_NAMED: Final = 3
"""So many of the variables of a hollow test are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One acceptance check and how it went."""

    cell: CellId
    name: str
    kind: CheckKind
    outcome: CheckVerdict
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HollowTest:
    """A test that passes whatever is changed in what it reads."""

    name: str
    reads: tuple[str, ...]
    """The variables whose changes it does not notice."""

    @property
    def notices(self) -> str:
        """What it does not do."""
        variables = ", ".join(f"`{name}`" for name in self.reads[:_NAMED])
        more = f" and {len(self.reads) - _NAMED:,} more" if len(self.reads) > _NAMED else ""
        return f"notices no change of {variables}{more}"

    @property
    def says(self) -> str:
        """In a sentence."""
        return f"{self.name} {self.notices}"


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


def results_of(cell: CellWithTests, value: NotebookValue | None, problem: str) -> list[CheckResult]:
    """What the runner told, checked: it comes from the notebook's own process."""
    failed: list[tuple[str, CheckVerdict, str]]
    failed = [(test, "failed", problem or "its tests did not run") for test in cell.tests]
    rows = [row for row in map(_row, _items(value)) if row]
    return [
        CheckResult(cell=cell.cell, name=name, kind="test", outcome=outcome, message=message)
        for name, outcome, message in rows[:_MOST] or failed
    ]


def _row(row: object) -> tuple[str, CheckVerdict, str] | None:
    if not isinstance(row, dict):
        return None
    found = cast("dict[str, Any]", row)
    name, message = str(found.get("name", ""))[:_NAME], str(found.get("message", ""))[:_MESSAGE]
    match found.get("outcome"):
        case "passed" | "skipped" as verdict:
            return name, verdict, message
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
    tree = syntax_tree(cell.code)
    if tree is None or tests_in(cell.code):
        return False
    return cell.name.startswith("test_") or any(isinstance(node, ast.Assert) for node in tree.body)


OnProgress = Callable[[str], None]

_LINES: Final = 20
"""Progress lines for one run at most."""
_LISTENER: Final = textwrap.dedent("""
    def NAME_listen(file):
        import os, pathlib, sys

        # Where nothing can be mounted, the project stands elsewhere than its name says.
        project = os.getcwd()
        for _ in range(file.count("/") - 2):
            project = os.path.dirname(project)
        opened = []
        seen = set()

        def hear(event, arguments):
            if event not in ("open", "sqlite3.connect") or len(opened) >= 2000:
                return
            path = arguments[0]
            if type(path) is bytes:
                path = os.fsdecode(path)
            elif isinstance(path, pathlib.PurePath):
                path = str(path)
            if type(path) is str and path not in seen and "\\0" not in path:
                seen.add(path)
                try:
                    whole = os.path.join(os.getcwd(), path)
                except OSError:
                    return
                if whole.startswith(project + "/"):
                    opened.append("/project" + whole[len(project) : 1000])

        sys.addaudithook(hear)
        return opened


    NAME = NAME_listen(__file__)
""").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookRun:
    """What one run showed."""

    number: int
    outcomes: tuple[CellOutcome, ...]
    """In notebook order."""
    checks: tuple[CheckResult, ...] = ()
    hollow: tuple[HollowTest, ...] = ()
    """Of the first run only."""
    opened: tuple[str, ...] = ()
    """Files of the project that Python opened, relative to it."""
    hidden: tuple[str, ...] = ()
    kernel_end: KernelEnd | None = None
    problem: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether every cell that was to run did."""
        bad = {"failed", "interrupted", "cancelled", "lost"}
        return self.kernel_end is None and not self.problem and not any(one.status in bad for one in self.outcomes)


async def run_once(
    environment: FreshEnvironment, file: NotebookFile, number: int, *, seconds: float, on_progress: OnProgress
) -> NotebookRun:
    """Run the notebook as it is on disk; nothing that is added here is ever saved."""
    document = file.document
    free = _free_name(document)
    async with environment.open(file, number) as notebook:
        await notebook.apply([CreateCell(code=_LISTENER.replace("NAME", free))], seconds=seconds)
        cells = [cell.id for cell in document.cells]
        seen = await _followed(notebook, cells, "first run" if number == 1 else "second run", seconds, on_progress)
        ran = NotebookRun(
            number=number,
            outcomes=tuple(outcome for outcome in seen.cells if document.find(outcome.id) is not None),
            hidden=notebook.provisioner.hidden,
            kernel_end=seen.kernel_end,
            problem=seen.problem,
        )
        return await _with_checks(notebook, document, ran, free, seconds)


async def _followed(
    notebook: OpenNotebook, cells: Sequence[CellId], what: str, seconds: float, on_progress: OnProgress
) -> Observation:
    last: Event | None = None
    done, every = 0, max(1, len(cells) // _LINES)
    on_progress(f"{what}: {len(cells)} cells")
    async for last in notebook.run(cells, seconds=seconds):
        if isinstance(last, CellFinishedEvent):
            done += 1
            if done % every == 0 or done == len(cells):
                on_progress(f"{what}: {done}/{len(cells)}")
    assert isinstance(last, Observation)
    return last


async def _with_checks(
    notebook: OpenNotebook, document: Document, ran: NotebookRun, free: str, seconds: float
) -> NotebookRun:
    """The run, its checks, and what was opened until the checks were over."""
    tests = cells_with_tests(document, free)
    outcomes = {outcome.id: outcome for outcome in ran.outcomes}
    checks = cell_checks(document, outcomes)
    opened: list[str] = []
    for test in tests:
        if (status := outcomes[test.cell].status if test.cell in outcomes else "lost") != "ok":
            checks += results_of(test, None, f"its cell did not run: {status}")
    if ran.kernel_end is None:
        ready = [test for test in tests if test.cell in outcomes and outcomes[test.cell].status == "ok"]
        checks += await _tested(notebook, ready, seconds)
        opened = [path for path in _items((await _values(notebook, [free])).get(free)) if isinstance(path, str)]
    hollow = await _hollow(notebook, checks) if ran.number == 1 else ()
    return replace(ran, checks=tuple(checks), hollow=hollow, opened=tuple(dict.fromkeys(opened_inside(opened))))


async def _hollow(notebook: OpenNotebook, checks: Sequence[CheckResult]) -> tuple[HollowTest, ...]:
    """The tests that notice nothing. Last of all: the kernel is of no use to anybody afterwards."""
    passed = [check.name for check in checks if check.kind == "test" and check.outcome == "passed"][:_MOST]
    if not passed or notebook.live.kernel is None or notebook.live.kernel.is_over:
        return ()
    try:
        mutated = await notebook.side_calls.mutate_tests(passed)
    except KernelLost:
        return ()
    return tuple(
        HollowTest(name=test.name[:_NAME], reads=tuple(name[:_NAME] for name in test.reads))
        for test in mutated
        if test.tried > 0 and test.noticed == 0 and test.reads
    )


async def _tested(notebook: OpenNotebook, tests: Sequence[CellWithTests], seconds: float) -> list[CheckResult]:
    if not tests:
        return []
    before = {cell.id for cell in notebook.document.cells}
    seen = await notebook.apply([test.runner() for test in tests], seconds=seconds)
    added = [cell.id for cell in notebook.document.cells if cell.id not in before]
    by_cell = {outcome.id: outcome for outcome in seen.cells}
    values = await _values(notebook, [test.result for test in tests])
    found: list[CheckResult] = []
    for test, runner in zip(tests, added, strict=True):
        found += results_of(test, values.get(test.result), _problem(by_cell.get(runner), seen))
    return found


async def _values(notebook: OpenNotebook, names: Sequence[str]) -> dict[str, NotebookValue]:
    """These values, as long as their kernel lives: another would first run everything again."""
    if notebook.live.kernel is None or notebook.live.kernel.is_over:
        return {}
    try:
        return await notebook.values(names)
    except KernelLost:
        return {}


def _problem(outcome: CellOutcome | None, seen: Observation) -> str:
    if outcome is not None and outcome.error is not None:
        return f"{outcome.error.type}: {outcome.error.message}"
    if seen.kernel_end is not None:
        return f"the kernel ended: {seen.kernel_end.reason}"
    return "" if outcome is None else f"it did not run: {outcome.status}"


def _items(value: NotebookValue | None) -> list[object]:
    """Of a list that came whole out of the kernel; none for anything else."""
    held = value.json if value is not None and value.is_whole else None
    return cast("list[object]", held) if isinstance(held, list) else []


def _free_name(document: Document) -> str:
    """A name that no cell defines or reads."""
    taken = {name for node in graph(document).nodes.values() for name in (*node.defs, *node.refs)}
    name = "cellwright_verify"
    while any(one.startswith(name) for one in taken):
        name += "_"
    return name
