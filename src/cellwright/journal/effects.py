"""Effects: steps that change the world, kept so that each happens once.

The intent is recorded before, the result after, in the transaction that records the step. An intent without a result
means: it may or may not have happened. Then the world is asked (`find`), and if that does not help, a person.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import anyio

from cellwright.journal import engine_tables
from cellwright.journal.crash import CrashPoint
from cellwright.journal.database import Cursor, Database
from cellwright.journal.events import EffectInDoubt
from cellwright.journal.log import EventLog
from cellwright.journal.names import QuestionId, stream_of
from cellwright.journal.questions import Question, Questions
from cellwright.journal.values import Json, dump, load

HAPPENED: Final = "it happened"
AGAIN: Final = "it did not happen: do it"
_POLL_INTERVAL_SECONDS: Final = 0.5
IN_DOUBT: Final = "effect-in-doubt"
"""The topic of the question about an effect that may or may not have happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectFound:
    """It did happen, with this result."""

    result: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectNotFound:
    """It certainly did not happen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectUnknown:
    """Nobody can tell."""


EffectFinding = EffectFound | EffectNotFound | EffectUnknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The name of a change of the world."""

    key: str
    """Two effects with the same key are the same effect, in whatever run: the second gets the first one's result."""
    describe: str = ""
    """What it does, for the person who may be asked whether it happened."""
    find: Callable[[], Awaitable[EffectFinding]] | None = field(default=None, repr=False)
    """Looks in the world whether it happened, e.g. by the key the provider was given."""


@dataclass(frozen=True, slots=True)
class _EffectRow:
    state: Literal["intended", "done", "failed"]
    workflow: str
    step: int
    attempt: int
    result: Json


class Effects:
    """All effects of a journal."""

    def __init__(self, log: EventLog, questions: Questions) -> None:
        self._log = log
        self._questions = questions
        self._at = log.at
        # An intent that a power failure takes back would let the effect happen twice.
        self._lasting: Database = log.database.lasting()

    async def once(
        self,
        effect: Effect,
        workflow: str,
        step: int,
        name: str,
        *,
        work: Callable[[], Awaitable[Json]],
        require_ownership: Callable[[], Awaitable[None]],
    ) -> Json:
        """The effect's result: from the record, from the world, from a person, or from doing it now.

        Ownership is required right before the work, so that a worker that was frozen does not do it late.
        """
        known = await self._intend(effect, workflow, step)
        while known is not None:
            if known.state == "done":
                return known.result
            if known.state == "intended" and await self._is_in_good_hands(known, workflow, step):
                with anyio.move_on_after(_POLL_INTERVAL_SECONDS):
                    await self._log.growth.next().wait()
                known = await self._intend(effect, workflow, step)
                continue
            match await self._settle(effect, known, workflow, step, name):
                case EffectFound(result=result):
                    return result
                case EffectNotFound():
                    known = await self._intend_again(effect, known, workflow, step)
        self._at(CrashPoint.EFFECT_INTENDED)
        await require_ownership()
        result = await work()
        self._at(CrashPoint.EFFECT_HAPPENED)
        return result

    def close(self) -> None:
        """Let go of the connections."""
        self._lasting.close()

    async def _intend(self, effect: Effect, workflow: str, step: int) -> _EffectRow | None:
        """Record the intent; what is known already, if it is not the first one."""

        def work(cursor: Cursor) -> _EffectRow | None:
            cursor.execute(
                "INSERT INTO cellwright_effect (key, workflow, step, attempt, state, changed_ms) "
                "VALUES (?, ?, ?, 1, 'intended', ?) ON CONFLICT (key) DO NOTHING",
                (effect.key, workflow, step, cursor.now_ms()),
            )
            if cursor.changed:
                return None
            select = "SELECT state, workflow, step, attempt, result FROM cellwright_effect WHERE key = ?"
            row = cursor.execute(select, (effect.key,)).one()
            assert row is not None
            state, owner, owner_step, attempt, result = row
            return _EffectRow(state, owner, owner_step, attempt, None if result is None else load(result))

        return await self._lasting.write(work)

    async def _intend_again(self, effect: Effect, known: _EffectRow, workflow: str, step: int) -> _EffectRow | None:
        """The next attempt, unless somebody else began it first."""

        def work(cursor: Cursor) -> bool:
            cursor.execute(
                "UPDATE cellwright_effect SET attempt = attempt + 1, state = 'intended', workflow = ?, step = ?, "
                "changed_ms = ? WHERE key = ? AND attempt = ? AND state <> 'done'",
                (workflow, step, cursor.now_ms(), effect.key, known.attempt),
            )
            return cursor.changed == 1

        return None if await self._lasting.write(work) else await self._intend(effect, workflow, step)

    async def _is_in_good_hands(self, known: _EffectRow, workflow: str, step: int) -> bool:
        """Whether another step has it in hand and will say what became of it. Our own step does not: it was cut off."""
        if (known.workflow, known.step) == (workflow, step):
            return False
        owner = await self._log.database.read(lambda cursor: engine_tables.workflow(cursor, known.workflow))
        return owner is not None and owner.is_going

    async def _settle(
        self, effect: Effect, known: _EffectRow, workflow: str, step: int, name: str
    ) -> EffectFound | EffectNotFound:
        if known.state == "failed":
            return EffectNotFound()
        found: EffectFinding = await effect.find() if effect.find is not None else EffectUnknown()
        if not isinstance(found, EffectUnknown):
            return found
        question_id = QuestionId(f"{workflow}#{step}.{known.attempt}")
        told = EffectInDoubt(workflow=workflow, name=name, effect=effect.key, question=question_id)
        await self._log.append(stream_of(workflow), told, key=f"doubt {question_id}")
        question = Question(
            topic=IN_DOUBT,
            text=f"{effect.describe or name} was begun and never confirmed: did it happen?",
            choices=(HAPPENED, AGAIN),
            body={"effect": effect.key, "step": name},
        )
        await self._questions.open(question_id, workflow, question)
        self._at(CrashPoint.QUESTION_OPENED)
        answer: Any = await self._questions.wait(question_id)
        self._at(CrashPoint.QUESTION_CLOSED)
        if isinstance(answer, dict):
            return EffectFound(result=answer.get("result")) if answer.get("choice") == HAPPENED else EffectNotFound()
        return EffectFound() if answer == HAPPENED else EffectNotFound()


def record_effect(cursor: Cursor, key: str, *, result: Json, is_done: bool) -> None:
    """What became of an effect, in the transaction that records its step."""
    cursor.execute(
        "UPDATE cellwright_effect SET state = ?, result = ?, changed_ms = ? WHERE key = ? AND state <> 'done'",
        ("done" if is_done else "failed", dump(result), cursor.now_ms(), key),
    )
