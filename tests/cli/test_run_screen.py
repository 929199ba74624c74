"""What somebody sees who watches a run: the picture its events add up to, and how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inline_snapshot import snapshot
from rich.console import Console

from cellwright.agents.draft_sections import DraftSection
from cellwright.agents.drafts import DraftView
from cellwright.agents.events import AgentSpoke
from cellwright.cli.render.run_output import drawn
from cellwright.journal.events import CostRecorded, Event, Recorded, RunEnded, RunResumed, StepStarted
from cellwright.runs.events import CellReported, GoalSet, PlanAdopted, RunWaiting, StageEntered, task_event
from cellwright.runs.views.run_view import RunView, update_view
from tests.cli.told_runs import COMPARE, PLAN, READ, a_goal


def seen(*events: Event) -> RunView:
    picture = RunView(run="r")
    for number, event in enumerate(events, start=1):
        recorded = Recorded(stream="run:r", sequence=number, at_ms=number * 1_000, event=event, link="")
        picture = update_view(picture, recorded)
    return picture


def screen(picture: RunView, width: int = 80, drafts: Sequence[DraftView] = ()) -> str:
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(drawn(picture, 75.0, drafts))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def cost(microdollars: int, tokens: int = 100) -> CostRecorded:
    return CostRecorded(
        what="near:one", microdollars=microdollars, input_tokens=tokens, is_price_known=bool(microdollars)
    )


def done(task: str) -> Event:
    return task_event(type(READ)(id=task, title=task, status="done"))


def test_the_screen_has_the_plan_the_cell_the_cost_and_the_time() -> None:
    picture = seen(
        GoalSet(goal=a_goal("Why did revenue fall?\nIn Q3.")),
        StageEntered(stage="build"),
        PlanAdopted(plan=PLAN),
        done(READ.id),
        cost(1_200),
        CellReported(name="sales", status="ok", seconds=0.2),
        StepStarted(workflow="r/agent:2", step=4, name="tool apply"),
    )
    assert screen(picture) == snapshot(
        """\
Why did revenue fall?
building · 1 min 14 s · $0.0012 · run r
Revenue in Q3
├── ✓ read-sales  Read the sales
└── ○ compare  Compare the quarters (after read-sales)
cell sales: ok
… uses apply\
"""
    )
    assert all(len(line) <= 30 for line in screen(picture, width=30).splitlines())


def test_before_anything_is_told_the_screen_says_so_much() -> None:
    assert screen(RunView(run="r")) == "run r\nwaiting for its turn · 0 s · $0.0000 · run r"


def test_what_has_no_known_price_is_said_to_have_none() -> None:
    assert seen(cost(1_200)).cost == "$0.0012"
    assert seen(cost(0)).cost == "price unknown of 100 tokens"
    assert seen(cost(2_500_000), cost(0, tokens=4_000)).cost == "$2.50 + price unknown of 4,000 tokens"


def test_why_it_waits_goes_before_what_is_done_and_is_gone_when_it_goes_on() -> None:
    waiting = [StepStarted(workflow="r", step=1, name="hear"), RunWaiting(why="Another run works on this notebook.")]
    assert "Another run works on this notebook." in screen(seen(*waiting))
    assert "Another run" not in screen(seen(*waiting, StageEntered(stage="brief")))


def test_what_agents_wrote_is_shown_on_one_line_without_hidden_characters() -> None:
    evil = "line one\nline two\x1b[2J\u202e" + "x" * 500
    for event in (
        AgentSpoke(workflow="coder", text=evil),
        CellReported(name=evil, status="ok", seconds=1.0),
        RunWaiting(why=evil),
    ):
        shown = screen(seen(GoalSet(goal=a_goal()), event), width=120)
        assert not {"\x1b", "\u202e"} & set(shown)
        assert max(map(len, shown.splitlines())) <= 120


def test_an_end_is_forgotten_when_the_run_goes_on() -> None:
    ended = RunEnded(workflow="r", name="run", outcome="cancelled", error="stopped by ada")
    assert seen(ended).ended == "stopped by ada"
    assert seen(ended, RunResumed(workflow="r", by="ada")).ended == ""


def test_a_task_that_failed_says_why() -> None:
    failed = task_event(type(COMPARE)(id="compare", title="Compare", status="failed", note="no such column"))
    assert "✗ compare  Compare the quarters: no such column" in screen(seen(PlanAdopted(plan=PLAN), failed))


def test_the_end_of_what_is_being_written_is_on_the_screen_without_hidden_characters() -> None:
    code = "\n".join(f"x_{number} = {number}\x1b[2J" for number in range(40))
    sections = (DraftSection(kind="words", text="I add."), DraftSection(kind="code", call=1, title="total", text=code))
    going = DraftView(agent="r/agent:1", step=1, draft="a", sections=sections)
    lines = screen(seen(GoalSet(goal=a_goal())), drafts=[going]).splitlines()
    assert [line.strip() for line in lines[-2:]] == ["│ x_38 = 38\\u001b[2J", "│ x_39 = 39\\u001b[2J"]
    assert len([line for line in lines if "│" in line]) == 12
    done = replace(going, is_done=True)
    assert "x_39" not in screen(seen(GoalSet(goal=a_goal())), drafts=[done])
