"""Somebody who watches a research sees cards as they come, by sub-goal, and not a line for each."""

from __future__ import annotations

from cellwright.agents.events import EvidenceNoted
from cellwright.journal.events import Event, Recorded
from cellwright.runs.events import PlanAdopted, StageEntered
from cellwright.runs.plan.plan import Plan, Task
from cellwright.runs.views.progress import progress_line
from cellwright.runs.views.run_view import RunView, update_view
from cellwright.tools.evidence.card import EvidenceCard

GOALS = ("Revenue", "Staff")


def card(number: int, task: str) -> EvidenceNoted:
    source = "s" if number < 3 else "t"
    made = EvidenceCard(
        id=f"c000000{number}", source=source, name="a", page=1, start=0, end=1, quote="q", says="s", task=task
    )
    return EvidenceNoted(card=made)


def told(*events: Event) -> tuple[list[str], RunView]:
    view, lines = RunView(run="r"), list[str]()
    for sequence, event in enumerate(events, 1):
        lines.append(progress_line(view, event))
        view = update_view(view, Recorded(stream="run:r", sequence=sequence, at_ms=sequence, event=event, link=""))
    return [line for line in lines if line], view


def test_counts_come_with_the_first_card_of_a_sub_goal_and_every_fifth() -> None:
    plan = Plan(title="Q", tasks=tuple(Task(id=title, title=title, status="running") for title in GOALS))
    begun = (PlanAdopted(plan=plan), StageEntered(stage="build"))
    cards = [*(card(number, "Revenue") for number in range(5)), card(0, "Revenue"), card(7, "Staff")]
    lines, view = told(*begun, *cards)
    assert lines[-3:] == [
        "… Revenue: 1 card from 1 document",
        "… Revenue: 5 cards from 2 documents",
        "… Staff: 1 card from 1 document",
    ]
    assert view.plan is not None
    assert [task.note for task in view.plan.tasks] == ["5 cards from 2 documents", "1 card from 1 document"]


def test_cards_that_an_earlier_run_found_are_no_progress() -> None:
    lines, view = told(StageEntered(stage="brief"), card(1, "Revenue"))
    assert len(lines) == 1
    assert view.noted == frozenset()
