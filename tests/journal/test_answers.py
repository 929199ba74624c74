"""An answer, its event and what follows from it are kept together, wherever the door that gave it dies."""

from __future__ import annotations

import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.journal.events import Fact, QuestionAnswered
from cellwright.journal.names import QuestionId, stream_of
from cellwright.journal.questions import Question
from cellwright.journal.records import Records
from tests.journal.door import GRANTS
from tests.journal.processes import Warm
from tests.journal.sixty import KEY

NUMBER = QuestionId("run#2")


async def kept(where: str) -> tuple[str, int, int]:
    """The question's state, how often its answer was told, and how often what follows from it."""
    async with Records.open(where, chain_key=KEY) as records:
        question = await records.questions.get(NUMBER)
        assert question is not None
        told = [recorded.event async for recorded in records.log.read_all(stream_of("run"))]
        granted = [recorded.event async for recorded in records.log.read_all(GRANTS)]
    answers = sum(isinstance(event, QuestionAnswered) for event in told)
    return question.state, answers, sum(isinstance(event, Fact) for event in granted)


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("point", "left"),
    [(CrashPoint.ANSWER_COMMITTING, ("open", 0, 0)), (CrashPoint.ANSWER_COMMITTED, ("answered", 1, 1))],
)
async def test_a_client_killed_while_it_answers_leaves_everything_or_nothing(
    warm: Warm, where: str, point: CrashPoint, left: tuple[str, int, int]
) -> None:
    async with Records.open(where, chain_key=KEY) as records:
        await records.questions.open(NUMBER, "run", Question(text="Go on?", choices=("yes", "no")))
    assert warm.run("door", where, point) == -9
    assert await kept(where) == left


async def test_what_follows_from_an_answer_is_not_told_when_the_answer_does_not_count(where: str) -> None:
    async with Records.open(where, chain_key=KEY) as records:
        await records.questions.open(NUMBER, "run", Question(text="Go on?", choices=("yes", "no")))
        with pytest.raises(Exception, match="no answer"):
            follows = Fact(topic="granted", subject=NUMBER)
            await records.questions.answer(NUMBER, "perhaps", by="ada", also=[(GRANTS, follows)])
    assert await kept(where) == ("open", 0, 0)
