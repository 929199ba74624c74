"""Whether a run goes by the roles and skills of its project: read at its beginning, asked about once, decided for good.

What was read is kept by a step and what was decided follows from steps: after a crash, and in a fork, the run has the
same roles and skills, whatever has become of the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.agents.project_additions import Addition, find_additions, roles_with
from cellwright.agents.trust_question import counted, question_text, title
from cellwright.agents.trust_store import TrustStore
from cellwright.journal.events import QuestionAnswered, QuestionAsked
from cellwright.journal.flow import Flow
from cellwright.journal.names import stream_of
from cellwright.journal.questions import Question
from cellwright.journal.values import Json, from_json, to_json
from cellwright.policy.display_text import shown
from cellwright.policy.masking.masker import Masker
from cellwright.remedies import Hint, remedy
from cellwright.runs.events import StageEntered
from cellwright.runs.execute.files import make_notebook
from cellwright.runs.goal.goal import Goal, named_worker
from cellwright.runs.views.questions import TRUST

ACCEPT: Final = "accept"
WITHOUT: Final = "go on without"
_NAMED: Final = 5
"""So many that are not used are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBeginning:
    """What a run finds when it begins, as its first step keeps it."""

    is_new: bool = False
    """It made the notebook."""
    accepted: tuple[Addition, ...] = ()
    offered: tuple[Addition, ...] = ()
    """What nobody has accepted yet."""
    question: str = ""
    """About these, masked."""
    problems: tuple[str, ...] = ()
    """Of what cannot be read, where nobody is there to mend it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedAdditions:
    """What the run goes by, and what is to be told about the rest."""

    used: tuple[Addition, ...] = ()
    caveats: tuple[Hint, ...] = ()


async def begin(goal: Goal, trust: TrustStore, masker: Masker) -> Json:
    """The project as it is now, then its notebook. Raises `UserError` for a mistake, if somebody can mend it."""
    found = await anyio.to_thread.run_sync(_read_project, goal, trust, masker)
    return to_json(replace(found, is_new=await make_notebook(goal)), RunBeginning)


def parse_beginning(kept: Json) -> RunBeginning:
    """What such a step kept. For the version before that was whether the notebook was made: its runs keep our roles."""
    return RunBeginning(is_new=kept) if isinstance(kept, bool) else from_json(kept, RunBeginning)


def _read_project(goal: Goal, trust: TrustStore, masker: Masker) -> RunBeginning:
    if (worker := named_worker(goal)) is not None and worker.who == "analyst":
        # It has no agents.
        return RunBeginning()
    found = find_additions(Path(goal.project))
    if goal.approve != "never":
        found.sound()
    seen = trust.look_at(Path(goal.project), found)
    roles_with(seen.accepted)
    return RunBeginning(
        accepted=seen.accepted,
        offered=seen.offered,
        question=question_text(seen, lambda text: masker.mask(text).text) if seen.offered else "",
        problems=tuple(shown(masker.mask(problem.message).text) for problem in found.problems),
    )


async def decide_additions(flow: Flow, goal: Goal, beginning: RunBeginning, trust: TrustStore) -> DecidedAdditions:
    """Asks about what nobody has accepted, before any agent reads it; where nobody may be asked it does not count."""
    offered = beginning.offered
    if not offered and not beginning.problems:
        return DecidedAdditions(used=beginning.accepted)
    if goal.approve == "never":
        caveat = remedy("trust_project", lead=_left_out(offered, beginning.problems), project=goal.project)
        await flow.tell(StageEntered(stage="brief", note=_short(offered, beginning.problems)))
        return DecidedAdditions(used=beginning.accepted, caveats=(caveat,))
    text = beginning.question.split("\n", 1)[0]
    answer = await flow.ask(Question(topic=TRUST, text=text, choices=(ACCEPT, WITHOUT), body=beginning.question))
    if answer != ACCEPT:
        return DecidedAdditions(used=beginning.accepted, caveats=(_left_out(offered, (), "a person went on without"),))

    async def accept() -> None:
        by = await _answered_by(flow)
        await anyio.to_thread.run_sync(lambda: trust.accept(Path(goal.project), offered, by=by))

    await flow.step("accept what the project brings along", accept)
    used = sorted((*beginning.accepted, *offered), key=lambda each: each.path)
    return DecidedAdditions(used=tuple(used))


async def _answered_by(flow: Flow) -> str:
    asked, by = "", ""
    async for recorded in flow.read(stream_of(flow.run)):
        match recorded.event:
            case QuestionAsked(question=question, topic=topic) if topic == TRUST:
                asked = question
            case QuestionAnswered(question=question, by=name) if question == asked:
                by = name
            case _:
                pass
    return by


def _left_out(offered: Sequence[Addition], problems: Sequence[str], why: str = "nobody has accepted that") -> str:
    named = [*map(title, offered[:_NAMED])]
    more = f" and {len(offered) - _NAMED:,} more" if len(offered) > _NAMED else ""
    said = [f"The project's own {'; '.join(named)}{more} did not count: {why}."] if named else []
    said += [f"Something the project brings along did not count: {problem}" for problem in problems[:_NAMED]]
    return " ".join(said)


def _short(offered: Sequence[Addition], problems: Sequence[str]) -> str:
    count = counted(offered) or f"{len(problems)} unreadable"
    return f"{count} of the project left out, as nobody has accepted that"
