"""Runs for tests of the terminal: a real journal, and a tiny workflow that tells and asks what a run tells and asks.

`python -m tests.cli.told_runs HOME WORDS` carries one out and watches it, as `cellwright run` does.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from cellwright.agents import steering
from cellwright.agents.steering import SteeringInput
from cellwright.journal.events import CostRecorded
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.questions import Question
from cellwright.policy.actions import UseNetwork
from cellwright.policy.approvals import No
from cellwright.policy.masking.masker import Masker
from cellwright.runs.deliver.delivery import DeliveredCheck, DeliveredFinding, Delivery, ToldReport, delivery_json
from cellwright.runs.deliver.first_screen import with_told, with_trust
from cellwright.runs.events import (
    EVENT_TYPES,
    CellReported,
    GoalSet,
    PlanAdopted,
    RunDelivered,
    RunWaiting,
    StageEntered,
    task_event,
)
from cellwright.runs.goal.goal import Goal, goal_json, parse_goal
from cellwright.runs.plan.plan import Plan, Task
from cellwright.tools.approval.approval_questions import ask_approval

READ = Task(id="read-sales", title="Read the sales")
COMPARE = Task(id="compare", title="Compare the quarters", after=("read-sales",))
PLAN = Plan(title="Revenue in Q3", tasks=(READ, COMPARE))
RATES = UseNetwork(host="api.example.com", port=443, purpose="exchange rates")
ROADS = Question(text="Which quarter first?", choices=("Q2", "Q3"))
FINDING = DeliveredFinding(
    says="Orders fell most in Bergen.", statistics="p = 0.01", bars=(("Bergen", 3.0), ("Oslo", 1.0))
)
MASKER = Masker.of(salt=b"s" * 16)
WORDS = "Why did revenue fall?"
News = Callable[[], Awaitable[anyio.Event]]
"""Set when something is written next."""


def a_goal(words: str = WORDS, folder: Path = Path("/project"), **more: Any) -> Goal:
    notebook = str(folder / "revenue.py")
    return Goal(words=words, notebook=notebook, project=str(folder), person="ada", **more)


async def carry_out(flow: Flow, goal: Goal, news: News) -> Any:
    """Plans, builds one task, does what its words want (ask, approve, work, break), delivers (a headline too)."""
    await flow.tell(
        GoalSet(goal=goal), StageEntered(stage="queued"), RunWaiting(why="Another run works on this notebook.")
    )
    await flow.tell(StageEntered(stage="brief"), PlanAdopted(plan=PLAN), StageEntered(stage="build"))
    await flow.tell(
        task_event(replace(READ, status="running")),
        CellReported(name="sales", status="ok", seconds=0.25),
        CostRecorded(what="near:one", microdollars=1_200, input_tokens=900, output_tokens=100),
        task_event(replace(READ, status="done", note="12 rows")),
        task_event(replace(COMPARE, status="running")),
    )
    said = await _wanted(flow, goal.words, news)
    delivery = Delivery(
        status="refused" if said == "refused" else "done",
        goal=goal.words,
        title="Revenue in Q3",
        answer=f"It fell by 4 %. {said}".strip(),
        why="ada said no." if said == "refused" else "",
        checks=(DeliveredCheck(name="test_total", says="The parts add up.", has_passed=True),),
        notebook=goal.notebook,
        microdollars=1_200,
        tokens=1_000,
        seconds=2.0,
    )
    if "headline" in goal.words:
        told = ToldReport(headline="Revenue fell by 4 %.", findings=(FINDING,), readings=("Q3 ends in September.",))
        report = Path(goal.notebook).with_name("revenue.report.html")
        delivery = with_trust(with_told(replace(delivery, report=str(report)), told))
    await flow.tell(RunDelivered(delivery=delivery), StageEntered(stage="over", note=delivery.status))
    return delivery_json(delivery)


async def _wanted(flow: Flow, words: str, news: News) -> str:
    if "ask" in words:
        return f"{await flow.ask(ROADS)} first."
    if "approve" in words:
        answered = await ask_approval(flow, RATES, reason="A rule asks.", project="/project", masker=MASKER)
        return "refused" if isinstance(answered.reply, No) else "With today's rates."
    if "work" in words:
        await _work_until_paused(flow, news)
        return "After a pause."
    if "break" in words:

        async def fail() -> None:
            raise ValueError("the disk is full")

        await flow.step("write it down", fail)
    return ""


async def _work_until_paused(flow: Flow, news: News) -> None:
    """Works until somebody lets it pause, as agents do; goes on when they let it."""

    async def work() -> SteeringInput:
        while True:
            changed = await news()
            heard = await steering.read_steering(flow.read, flow.id, SteeringInput())
            # Told to pause; or told so and then to go on, before it listened.
            if heard.pause or heard.upto:
                return heard
            await changed.wait()

    heard = await flow.step("work", work, returns=SteeringInput)
    if heard.pause:
        await flow.ask(steering.pause_question(heard.pause))


@asynccontextmanager
async def open_told(home: Path) -> AsyncGenerator[Journal]:
    """The journal of this state directory, and somebody who carries runs out."""
    opened: list[Journal] = []
    is_open = anyio.Event()

    async def news() -> anyio.Event:
        # A run that was cut off is taken up before the journal is open for others.
        await is_open.wait()
        return opened[0].log.growth.next()

    async def body(flow: Flow, argument: Any) -> Any:
        return await carry_out(flow, parse_goal(argument), news)

    async with Journal.open(
        home / "journal.db", version="1", workflows=[Workflow(name="run", body=body)], types=EVENT_TYPES
    ) as journal:
        opened.append(journal)
        is_open.set()
        yield journal


async def started(journal: Journal, run: str, words: str = WORDS, *, folder: Path = Path("/project")) -> str:
    return await journal.run("run", goal_json(a_goal(words, folder)), run=run)


async def has_ended(journal: Journal, run: str) -> None:
    with anyio.fail_after(120):
        await journal.result(run)


async def is_asking(journal: Journal, run: str) -> str:
    """The question it waits at."""
    with anyio.fail_after(120):
        news = journal.log.growth.next()
        while not (pending := await journal.records.questions.pending(run)):
            await news.wait()
            news = journal.log.growth.next()
    return pending[0].id


async def _watch(home: Path, words: str) -> tuple[Any, str]:
    from cellwright.cli.journal_options import open_records
    from cellwright.cli.render import run_output
    from cellwright.cli.render.console import is_interactive
    from cellwright.cli.run.watch import RunWatch

    async with open_told(home) as journal, open_records(str(home / "journal.db"), None, MASKER) as records:
        run = await started(journal, "r", words)

        async def cancel() -> None:
            await journal.cancel(run, reason="stopped by ada with Ctrl-C")

        watching = RunWatch(
            records=records,
            run=run,
            display=run_output.display_for(run, as_json=False),
            masker=MASKER,
            is_somebody_here=is_interactive(),
            cancel=cancel,
        )
        return await watching.until_over(), run


def main(home: str, words: str) -> None:
    """As `cellwright run` does it, with the tiny workflow in this process."""
    import typer

    from cellwright.cli.run.outcome import finish

    ended, run = anyio.run(_watch, Path(home), words)
    try:
        finish(ended, run, as_json=False, is_daemon=False)
    except typer.Exit as leaving:
        sys.exit(leaving.exit_code)


if __name__ == "__main__":
    main(*sys.argv[1:])
