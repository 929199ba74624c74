"""The typed events of runs, agents and tools; the facts they were in version 0.1; and what they add up to."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from cellwright.agents.events import (
    AGENT_EVENT_TYPES,
    AgentSpoke,
    ArtifactWritten,
    EvidenceNoted,
    HandOverAsked,
    PauseAsked,
    PersonSaid,
    PromptStored,
    StopAsked,
    UnpauseAsked,
)
from cellwright.journal import verify
from cellwright.journal.events import (
    Event,
    Fact,
    QuestionAnswered,
    Recorded,
    RoomEvent,
    RunEnded,
    RunRecovered,
    StepErred,
    StepFinished,
    StepStarted,
    TaskChanged,
    UnknownEvent,
    encode,
    kind_of,
)
from cellwright.journal.log import with_text
from cellwright.journal.projections import fold, timeline
from cellwright.journal.records import Records
from cellwright.runs.deliver.delivery import ComparedWay, Comparison, Delivery, delivery_json
from cellwright.runs.events import (
    EVENT_TYPES,
    RUN_EVENT_TYPES,
    TOOL_EVENT_TYPES,
    AlternativesCompared,
    CardRejected,
    CellReported,
    ChangeReviewed,
    CheckDisputed,
    DocumentExtracted,
    FilesNotKept,
    FindingJudged,
    GoalSet,
    HandedOff,
    HostVisited,
    NewGoal,
    PlanAdopted,
    PlanChanged,
    QuestionsRaised,
    ResearchRead,
    ResearchWritten,
    RunCarriedOver,
    RunDelivered,
    RunWaiting,
    StageEntered,
)
from cellwright.runs.goal.goal import Goal, goal_json
from cellwright.runs.plan.handoffs import HandOff
from cellwright.runs.plan.plan import DropTask, Plan, Task, plan_json
from cellwright.runs.research.report import ResearchReport
from cellwright.runs.review.findings import Finding, JudgedFinding, ReviewQuestion
from cellwright.runs.views.run_view import RunView, read_view, update_view
from cellwright.tools.evidence.card import EvidenceCard
from cellwright.tools.evidence.library import LibraryContents
from cellwright.tools.notebook.trial_records import BranchDropped, TrialCheck, TrialRecord, trial_json

PLAN = Plan(title="Eggs", tasks=(Task(id="read", title="Read them", todo="Read eggs.csv"),))
GOAL = Goal(
    words="How many eggs?", notebook="/p/eggs.py", project="/p", person="ann", budget_usd=Decimal("1.50"), plan=PLAN
)
DELIVERY = Delivery(status="done", goal=GOAL.words, answer="Twelve.", caveats=("None were counted twice.",))
COMPARISON = Comparison(task="Count", ways=(ComparedWay(name="mean", status="passed", ms=2.5),))
TRIAL = TrialRecord(
    branch="r/c1", purpose="mean", status="passed", checks=(TrialCheck(check="a", has_passed=True),), is_kept=True
)


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# What version 0.1 wrote, and what it is today.
FORMER: list[tuple[Fact, RoomEvent]] = [
    (Fact(topic="run", subject=GOAL.words, text=text(goal_json(GOAL))), GoalSet(goal=GOAL)),
    (Fact(topic="stage", subject="check", text="again"), StageEntered(stage="check", note="again")),
    (Fact(topic="plan", subject="Eggs", text=text(plan_json(PLAN))), PlanAdopted(plan=PLAN)),
    (
        Fact(topic="cell", subject="eggs", text="ok", numbers={"seconds": 0.25}),
        CellReported(name="eggs", status="ok", seconds=0.25),
    ),
    (Fact(topic="waits", subject="Another run."), RunWaiting(why="Another run.")),
    (Fact(topic="files", subject="No file was kept."), FilesNotKept(text="No file was kept.")),
    (
        Fact(
            topic="compared",
            subject="Count",
            text='{"task": "Count", "ways": [{"name": "mean", "status": "passed", "ms": 2.5}]}',
        ),
        AlternativesCompared(comparison=COMPARISON),
    ),
    (Fact(topic="delivery", subject="done", text=text(delivery_json(DELIVERY))), RunDelivered(delivery=DELIVERY)),
    (
        Fact(
            topic="review",
            subject="abcd",
            text='{"change": "r/c1", "verdict": "rejected", "comment": "No.", "by": "ann"}',
        ),
        ChangeReviewed(change="r/c1", cell="abcd", verdict="rejected", comment="No.", by="ann"),
    ),
    (Fact(topic="run-goal", subject="ann", text="And hens?"), NewGoal(words="And hens?", by="ann")),
    (
        Fact(topic="run-plan", subject="ann", text='{"op": "drop", "task": "read"}'),
        PlanChanged(edit=DropTask(task="read"), by="ann"),
    ),
    (
        Fact(
            topic="network",
            subject="data.example:443",
            text="denied: no",
            numbers={"bytes_in": 1, "bytes_out": 2, "milliseconds": 3},
        ),
        HostVisited(host="data.example:443", verdict="denied: no", bytes_in=1, bytes_out=2, milliseconds=3),
    ),
    (Fact(topic="carried-over", subject="r2", text="It goes on."), RunCarriedOver(run="r2", text="It goes on.")),
    (Fact(topic="says", subject="r/agent:1", text="I look."), AgentSpoke(workflow="r/agent:1", text="I look.")),
    (
        Fact(topic="agent-context", subject="r/agent:1#2", text="ab12", numbers={"tokens": 9, "parts": 3, "step": 2}),
        PromptStored(call="r/agent:1#2", prompt="ab12", tokens=9),
    ),
    (
        Fact(topic="artifact", subject="plan.md", text="ab12 r/agent:1"),
        ArtifactWritten(name="plan.md", text="ab12", by="r/agent:1"),
    ),
    (Fact(topic="agent-say", subject="ann", text="Use medians."), PersonSaid(by="ann", text="Use medians.")),
    (Fact(topic="agent-stop", subject="ann", text="Enough."), StopAsked(by="ann", reason="Enough.")),
    (
        Fact(topic="agent-hand-over", subject="ann", text="A new goal.", numbers={"order": 4}),
        HandOverAsked(by="ann", reason="A new goal.", order=4),
    ),
    (Fact(topic="agent-pause", subject="ann"), PauseAsked(by="ann")),
    (Fact(topic="agent-go-on", subject="ann"), UnpauseAsked(by="ann")),
    (
        Fact(topic="branch-tried", subject="r/c1", text=text(trial_json(TRIAL)), numbers={"ms": 0.0, "is_kept": 1.0}),
        TRIAL,
    ),
    (Fact(topic="branch-dropped", subject="r/c1", text="ann"), BranchDropped(branch="r/c1", by="ann")),
]
# Told for the first time after version 0.1.
NEW: list[RoomEvent] = [
    FindingJudged(
        number=1,
        judged=JudgedFinding(
            finding=Finding(claim="It is 4.", found="It is 5.", shows="assert eggs == 5"), standing="shown"
        ),
    ),
    QuestionsRaised(questions=(ReviewQuestion(kind="sentinel", says="-999 among eggs."),)),
    CheckDisputed(test="test_eggs", why="Broken ones count.", instead="", decided="drop", by="ann"),
    HandedOff(handed=HandOff(task="count", title="Count", by="r/agent:1"), to=("tell",)),
    ResearchRead(contents=LibraryContents(skipped=("eggs.pdf: it is scanned",))),
    EvidenceNoted(
        card=EvidenceCard(
            id="c1234567",
            source="s",
            name="eggs.md",
            page=1,
            start=0,
            end=12,
            quote="Twelve eggs.",
            says="There are 12.",
        )
    ),
    ResearchWritten(report=ResearchReport(question="How many eggs?", title="Eggs", summary="12.", sections=())),
    CardRejected(card="c1234567", by="ann"),
    DocumentExtracted(document="eggs.pdf", number=1, of=2, rows=3),
]
EVENTS = [*(event for _, event in FORMER), *NEW]


def told(*events: Event) -> list[Recorded]:
    return [
        Recorded(stream="run:r", sequence=number, at_ms=1_000 + number, event=event, link="")
        for number, event in enumerate(events, start=1)
    ]


@pytest.mark.parametrize(("fact", "event"), FORMER, ids=lambda each: getattr(each, "topic", ""))
def test_a_fact_of_version_0_1_is_read_as_the_event_it_is_today(fact: Fact, event: RoomEvent) -> None:
    assert EVENT_TYPES.decode("fact", encode(fact).decode()) == event


def test_every_event_of_a_room_but_grants_was_a_fact_above() -> None:
    known = {*RUN_EVENT_TYPES, *AGENT_EVENT_TYPES, *TOOL_EVENT_TYPES}
    assert {kind_of(event) for event in EVENTS} == {kind for kind in _kinds(known) if not kind.startswith("grant-")}


def _kinds(types: set[type[RoomEvent]]) -> set[str]:
    return {"".join(f"-{c.lower()}" if c.isupper() else c for c in each.__name__)[1:] for each in types}


@pytest.mark.parametrize("event", EVENTS, ids=kind_of)
def test_an_event_comes_back_as_it_was_and_is_one_line(event: RoomEvent) -> None:
    assert EVENT_TYPES.decode(kind_of(event), encode(event).decode()) == event
    assert event.line()
    assert "\n" not in event.line()


@pytest.mark.parametrize(
    "fact",
    [
        Fact(topic="run", subject="x", text="{"),
        Fact(topic="plan", subject="x", text='{"title": 3}'),
        Fact(topic="stage", subject="another"),
        Fact(topic="review", subject="abcd", text='"no object"'),
        Fact(topic="agent-context", subject="r#x", text="ab12"),
        Fact(topic="nobody's", subject="x"),
    ],
    ids=lambda fact: fact.topic,
)
def test_a_fact_that_cannot_be_such_an_event_stays_a_fact(fact: Fact) -> None:
    assert EVENT_TYPES.decode("fact", encode(fact).decode()) == fact


def test_an_event_nobody_knows_or_can_read_is_shown_and_changes_nothing() -> None:
    strange = [EVENT_TYPES.decode("moon-landed", '{"at": 1}'), EVENT_TYPES.decode("goal-set", '{"goal": 3}')]
    assert strange == [
        UnknownEvent(kind="moon-landed", body='{"at": 1}'),
        UnknownEvent(kind="goal-set", body='{"goal": 3}'),
    ]
    assert [line.text for line in fold(timeline, (), told(*strange))] == [
        'moon-landed: {"at": 1}',
        'goal-set: {"goal": 3}',
    ]
    [first, *_] = told(*strange)
    assert (first.json()["kind"], first.json()["event"]) == ("moon-landed", {"body": '{"at": 1}'})
    view = fold(update_view, RunView(run="r"), told(*strange))
    assert view == RunView(run="r", began_ms=1_001, last_ms=1_002)


def test_secrets_are_masked_however_deep_they_stand() -> None:
    def mask(words: str) -> str:
        return words.replace("hunter2", "****")

    task = replace(PLAN.tasks[0], todo="Log in with hunter2")
    event = GoalSet(goal=replace(GOAL, words="hunter2", plan=replace(PLAN, tasks=(task,))))
    masked = with_text(event, mask)
    assert isinstance(masked, GoalSet)
    assert "hunter2" not in encode(masked).decode()
    assert masked.goal.plan is not None
    assert (masked.goal.words, masked.goal.plan.tasks[0].todo) == ("****", "Log in with ****")


def test_what_is_no_such_event_without_its_secret_is_told_as_a_fact() -> None:
    def mask(words: str) -> str:
        return words.replace("rejected", "****")

    review = ChangeReviewed(change="r/c1", cell="abcd", verdict="rejected")
    kept = with_text(review, mask)
    assert isinstance(kept, Fact)
    assert kept.topic == "change-reviewed"
    assert "rejected" not in kept.text


async def test_reading_old_facts_as_events_leaves_every_byte_and_the_chain_as_they_are(tmp_path: Path) -> None:
    async with Records.open(tmp_path / "journal.db", types=EVENT_TYPES) as records:
        await records.log.append("run:r", *(fact for fact, _ in FORMER))

        async def stored() -> list[Any]:
            select = "SELECT kind, body, link FROM cellwright_event ORDER BY sequence"
            return await records.database.read(lambda cursor: [tuple(row) for row in cursor.execute(select).all()])

        before = await stored()
        read = [recorded.event async for recorded in records.log.read_all("run:r")]
        assert read == [event for _, event in FORMER]
        assert await stored() == before
        assert {kind for kind, *_ in before} == {"fact"}
        assert (await verify.verify(records.log)).damage == ()


@pytest.mark.parametrize("pick", [itemgetter(0), itemgetter(1)], ids=["facts", "events"])
async def test_a_run_looks_the_same_told_by_version_0_1_and_by_this_one(
    tmp_path: Path, pick: Callable[[tuple[Fact, RoomEvent]], Event]
) -> None:
    async with Records.open(tmp_path / "journal.db", types=EVENT_TYPES) as records:
        await records.log.append("run:r", *map(pick, FORMER))
        view = await read_view(records.log.read_all, "r")
    assert (view.goal, view.stage, view.note, view.plan) == (GOAL, "check", "again", PLAN)
    assert (view.cell, view.waits, view.files, view.delivery) == ("eggs: ok", "", "No file was kept.", DELIVERY)
    assert view.reviews[("r/c1", "abcd")].comment == "No."
    assert [(lane.tried, lane.decision) for lane in view.branches.values()] == [(TRIAL, "dropped")]
    assert view.now == "I look."


def test_a_view_follows_tasks_and_steps_of_any_workflow() -> None:
    steps: list[Event] = [
        TaskChanged(task="t1", title="Load", state="planned"),
        StepStarted(workflow="r", step=2, name="load"),
        StepFinished(workflow="r", step=2, name="load", milliseconds=12, effect="r/load"),
        TaskChanged(task="t1", title="Load", state="done"),
        StepStarted(workflow="r/plot:1", step=2, name="plot"),
    ]
    half = fold(update_view, RunView(run="r"), told(*steps))
    assert (half.steps_running, half.steps_done, half.outcome) == ({("r/plot:1", 2)}, 1, "going")
    assert [(task.task, task.state) for task in half.tasks.values()] == [("t1", "done")]
    assert half.change_made_ms("r/load.1") == 1_003
    ends: list[Event] = [
        RunRecovered(workflow="r", lost_worker="w1", attempt=1),
        StepErred(workflow="r/plot:1", step=2, name="plot", milliseconds=3, error="ValueError: no data"),
        QuestionAnswered(question="r#5", answer="yes", by="ada"),
        RunEnded(workflow="r/plot:1", name="plot", outcome="failed", error="x"),
    ]
    going = fold(update_view, half, told(*ends))
    assert (going.outcome, going.steps_running, going.steps_done) == ("going", frozenset(), 2)
    assert fold(update_view, going, told(RunEnded(workflow="r", name="build", outcome="done"))).outcome == "done"


def test_no_two_events_are_stored_under_one_kind_or_were_one_topic() -> None:
    types = (*RUN_EVENT_TYPES, *AGENT_EVENT_TYPES, *TOOL_EVENT_TYPES)
    former = [each for each in types if each not in {type(event) for event in NEW}]
    assert len({each.WAS.topic for each in former if each.WAS is not None}) == len(former)
    assert all(fields(each) for each in types)
