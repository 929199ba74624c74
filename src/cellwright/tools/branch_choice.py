"""A person decides which of several tried branches is kept: the question, its answers, and what was said to them."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cellwright.journal import Fact, Flow, Json, Question, QuestionAnswered, QuestionAsked, Recorded, stream_of
from cellwright.tools.branch_trials import BranchTried

BRANCH_CHOICE: Final = "branch-choice"
"""The topic of the question which branch is kept."""
BRANCH_DROPPED: Final = "branch-dropped"
"""The topic of the fact that a person dropped one branch of several. Its subject is the branch, its text who did."""
NONE: Final = "none of them"
"""The answer that keeps nothing."""
_VARIABLES: Final = 3
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What people said to branches that waited."""

    accepted: str = ""
    """The branch; empty: none of them."""
    by: str = ""
    dropped: Mapping[str, str] = field(default_factory=dict[str, str])
    """Branches that were dropped one by one before, and by whom."""


def choices_of(tried: Sequence[BranchTried]) -> dict[str, str]:
    """The answers that accept a branch, each with that branch: its name, with its number where two have the same."""
    choices: dict[str, str] = {}
    for each in tried:
        if each.waits:
            name = " ".join(each.purpose.split()) or each.branch
            is_taken = name in choices or name == NONE
            choices[f"{name} ({each.branch.rpartition('.')[2]})" if is_taken else name] = each.branch
    return choices


def choice_question(tried: Sequence[BranchTried]) -> Question:
    """Which of these is kept? Those that did not run cannot be."""
    choices = choices_of(tried)
    lines = ["Which of these is kept in the notebook?", *(f"- {_line(each)}" for each in tried)]
    body: Json = {"branches": list(choices.values())}
    return Question(topic=BRANCH_CHOICE, text="\n".join(lines), choices=(*choices, NONE), body=body)


def _line(tried: BranchTried) -> str:
    said = [tried.status if tried.waits else f"{tried.status}, cannot be kept"]
    said += [f"checks {tried.checks_passed}/{len(tried.checks)}"] if tried.checks else []
    said += [f"{each.name} = {_short(each.after)}" for each in tried.variables[:_VARIABLES] if each.after]
    return f"{tried.purpose or tried.branch}: {', '.join(said)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def dropped_told(branch: str, by: str) -> Fact:
    """A person dropped this branch; others still wait."""
    return Fact(topic=BRANCH_DROPPED, subject=branch, text=by)


async def ask_which(flow: Flow, tried: Sequence[BranchTried]) -> Decision:
    """What a person decides, however long it takes; survives restarts."""
    said: Any = await flow.ask(choice_question(tried))
    answer = said.get("choice") if isinstance(said, dict) else said

    async def look() -> Json:
        by, dropped = await _who_decided(flow.read, flow.run, flow.id)
        return {"by": by, "dropped": dropped}

    who: Any = await flow.step("who decided", look)
    return Decision(accepted=choices_of(tried).get(str(answer), ""), by=who["by"], dropped=who["dropped"])


async def _who_decided(
    read: Callable[[str], AsyncIterable[Recorded]], run: str, workflow: str
) -> tuple[str, dict[str, str]]:
    """Who answered the last such question of this workflow, and who dropped single branches."""
    question, by, dropped = "", "", dict[str, str]()
    async for recorded in read(stream_of(run)):
        match recorded.event:
            case QuestionAsked(topic=topic, workflow=asking, question=asked) if (topic, asking) == (
                BRANCH_CHOICE,
                workflow,
            ):
                question = asked
            case QuestionAnswered(question=answered, by=person) if answered == question:
                by = person
            case Fact(topic=topic, subject=branch, text=person) if topic == BRANCH_DROPPED:
                dropped[branch] = person
            case _:
                pass
    return by, dropped
