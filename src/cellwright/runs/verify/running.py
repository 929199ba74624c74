"""One run of a notebook from top to bottom in a kernel that starts empty, its checks, and what it opened."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from cellwright.errors import KernelLost
from cellwright.ids import CellId
from cellwright.kernel import CellFinished, CellOutcome, Event, KernelEnd, Observation, OpenNotebook, Value
from cellwright.notebook import CreateCell, Document, graph
from cellwright.runs.verify.checks import CellWithTests, CheckResult, cell_checks, cells_with_tests, results_of
from cellwright.runs.verify.data_files import opened_inside
from cellwright.runs.verify.fresh import FreshPlace

Progress = Callable[[str], None]

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
class Run:
    """What one run showed."""

    number: int
    outcomes: tuple[CellOutcome, ...]
    """In notebook order."""
    checks: tuple[CheckResult, ...] = ()
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


async def run_once(place: FreshPlace, document: Document, number: int, *, seconds: float, tell: Progress) -> Run:
    """Run the notebook as it is on disk; nothing that is added here is ever saved."""
    free = _free_name(document)
    async with place.open(number) as notebook:
        await notebook.apply([CreateCell(code=_LISTENER.replace("NAME", free))], seconds=seconds)
        cells = [cell.id for cell in document.cells]
        seen = await _followed(notebook, cells, "first run" if number == 1 else "second run", seconds, tell)
        ran = Run(
            number=number,
            outcomes=tuple(outcome for outcome in seen.cells if document.find(outcome.id) is not None),
            hidden=notebook.hidden_files,
            kernel_end=seen.kernel_end,
            problem=seen.problem,
        )
        return await _with_checks(notebook, document, ran, free, seconds)


async def _followed(
    notebook: OpenNotebook, cells: Sequence[CellId], what: str, seconds: float, tell: Progress
) -> Observation:
    last: Event | None = None
    done, every = 0, max(1, len(cells) // _LINES)
    tell(f"{what}: {len(cells)} cells")
    async for last in notebook.run(cells, seconds=seconds):
        if isinstance(last, CellFinished):
            done += 1
            if done % every == 0 or done == len(cells):
                tell(f"{what}: {done}/{len(cells)}")
    assert isinstance(last, Observation)
    return last


async def _with_checks(notebook: OpenNotebook, document: Document, ran: Run, free: str, seconds: float) -> Run:
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
        opened = _texts((await _values(notebook, [free])).get(free))
    return Run(
        number=ran.number,
        outcomes=ran.outcomes,
        checks=tuple(checks),
        opened=tuple(dict.fromkeys(opened_inside(opened))),
        hidden=ran.hidden,
        kernel_end=ran.kernel_end,
        problem=ran.problem,
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


async def _values(notebook: OpenNotebook, names: Sequence[str]) -> dict[str, Value]:
    """These values, as long as their kernel lives: another would first run everything again."""
    if notebook.kernel is None or notebook.kernel.is_over:
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


def _texts(value: Value | None) -> list[str]:
    rows: Any = value.json if value is not None and value.is_whole else None
    return [row for row in cast("list[object]", rows) if isinstance(row, str)] if isinstance(rows, list) else []


def _free_name(document: Document) -> str:
    """A name that no cell defines or reads."""
    taken = {name for node in graph(document).nodes.values() for name in (*node.defs, *node.refs)}
    name = "cellwright_verify"
    while any(one.startswith(name) for one in taken):
        name += "_"
    return name
