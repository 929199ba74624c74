"""Both notebooks of a task, each run in a real caged kernel and reviewed by code; and what was counted."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellwright.app.notebooks import open_notebook, open_pool
from cellwright.data.files import parse_data
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.profiler import Profiler
from cellwright.runs.review.code_review import CodeReview, review_by_code
from cellwright.sandbox.host.tiers import probe
from cellwright.tools.notebook.editor import NotebookEditor
from eval.review.pairs import Side, SolutionNotebook, solution_notebook
from eval.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class PairReview:
    """What the review said of a task's two notebooks."""

    task: str
    right: CodeReview | None = None
    wrong: CodeReview | None = None
    problem: str = ""
    """Why there is no review."""

    @property
    def is_caught(self) -> bool:
        """Whether a finding is shown in the wrong one."""
        return self.wrong is not None and bool(self.wrong.findings)

    @property
    def is_false_alarm(self) -> bool:
        """Whether a finding is shown in the right one."""
        return self.right is not None and bool(self.right.findings)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        sides = {"right": self.right, "wrong": self.wrong}
        return {
            "task": self.task,
            "caught": self.is_caught,
            "false_alarm": self.is_false_alarm,
            "problem": self.problem,
            **{
                side: {
                    "findings": [{"kind": one.kind, "says": one.says, "shows": one.shows} for one in review.findings],
                    "questions": [
                        {"kind": one.kind, "says": one.says, "settled": one.settled} for one in review.questions
                    ],
                    "second": {"status": review.second.status, "says": review.second.says},
                }
                for side, review in sides.items()
                if review is not None
            },
        }


async def review_pairs(tasks: Sequence[Task]) -> list[PairReview]:
    """Each task's two notebooks, one after the other."""
    async with open_pool() as pool:
        return [await _pair(task, pool) for task in tasks]


def write_pairs(tasks: Sequence[Task], folder: Path) -> None:
    """`right/NAME/NAME.py` and `wrong/NAME/NAME.py` with the task's data beside each, and the answers. Blocking."""
    for task in tasks:
        sides: tuple[Side, ...] = ("right", "wrong")
        for side in sides:
            place = folder / side / task.id
            place.mkdir(parents=True, exist_ok=True)
            notebook = _written(task, side, place)
            (place / "answer.txt").write_text(f"{notebook.template}\n", encoding="utf-8")
            (place / "goal.txt").write_text(f"{task.goal}\n", encoding="utf-8")


def _written(task: Task, side: Side, folder: Path) -> SolutionNotebook:
    task.make(folder)
    notebook = solution_notebook(task, side)
    (folder / f"{task.id}.py").write_text(notebook.source, encoding="utf-8")
    return notebook


async def _pair(task: Task, pool: KernelPool) -> PairReview:
    try:
        right, wrong = await _review(task, "right", pool), await _review(task, "wrong", pool)
    except (ValueError, RuntimeError) as problem:
        return PairReview(task=task.id, problem=f"{type(problem).__name__}: {problem}"[:300])
    return PairReview(task=task.id, right=right, wrong=wrong)


async def _review(task: Task, side: Side, pool: KernelPool) -> CodeReview:
    folder = Path(tempfile.mkdtemp(prefix="cellwright-eval-"))
    try:
        solution = _written(task, side, folder)
        path = folder / f"{task.id}.py"
        async with open_notebook(path, pool=pool) as notebook:
            editor = await NotebookEditor.open(notebook, folder / "history.json")
            ran = await notebook.run("all")
            if not ran.is_ok:
                raise RuntimeError(
                    f"{side} did not run: {ran.problem or [cell.error for cell in ran.cells if cell.error]}"
                )
            filled = await notebook.side_calls.fill(solution.template)
            if filled.error:
                raise RuntimeError(f"{side} has no answer: {filled.error}")
            return await review_by_code(
                editor,
                goal=task.goal,
                data=parse_data(task.data, here=folder, notebook=path, project=folder),
                answer=filled.text,
                template=solution.template,
                profiler=Profiler(pool=pool, tier=probe().tier),
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def table(reviews: Sequence[PairReview], *, has_details: bool = True) -> str:
    """Caught and accused, one line each, and the sum."""
    lines: list[str] = []
    for review in reviews:
        marks = f"{'caught' if review.is_caught else '·':8}{'FALSE ALARM' if review.is_false_alarm else '·':13}"
        lines.append(
            f"{review.task:28}{review.problem or marks}".rstrip() if not review.problem or has_details else review.task
        )
        if has_details and review.right is not None and review.wrong is not None:
            for side, one in (("right", review.right), ("wrong", review.wrong)):
                lines += [f"    {side}: {each.kind}: {each.found}" for each in one.findings]
                lines += [
                    f"    {side} asks: {each.kind}: {each.says} [{each.settled or 'open'}]" for each in one.questions
                ]
                lines.append(f"    {side} second: {one.second.says}")
    caught, alarms = sum(each.is_caught for each in reviews), sum(each.is_false_alarm for each in reviews)
    failed = sum(bool(each.problem) for each in reviews)
    tail = f", {failed} could not be reviewed" if failed else ""
    return "\n".join([*lines, f"{caught} of {len(reviews)} caught, {alarms} false alarms{tail}."]) + "\n"
