"""Durable questions: a run waits for a person, for as long as it takes, across restarts.

The question stands in a table of its own, so any door can show and answer it, in any process.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import anyio
import anyio.to_thread

from cellwright.errors import Unavailable, UserError
from cellwright.journal.crash import CrashPoint
from cellwright.journal.database import Cursor, Row
from cellwright.journal.events import Event, QuestionAnswered, QuestionAsked, QuestionWithdrawn
from cellwright.journal.log import EventLog
from cellwright.journal.names import QuestionId, run_of, stream_of
from cellwright.journal.values import Json, Mask, dump, load, masked_json

logger = logging.getLogger(__name__)
QuestionState = Literal["open", "answered", "withdrawn"]
_COLUMNS: Final = "id, workflow, topic, text, choices, body, state, asked_ms, answer, answered_by, answered_ms"
_POLL_INTERVAL_SECONDS: Final = 0.5
_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked."""

    text: str
    topic: str = "question"
    """What kind of question it is, for the door that draws it."""
    choices: tuple[str, ...] = ()
    """The answers that are accepted; none: any answer is."""
    body: Json = None
    """Whatever the door needs to show exactly what will happen."""

    def masked(self, mask: Mask) -> Question:
        """The question as it is kept: people read it, so it holds no secret."""
        choices = tuple(mask(choice) for choice in self.choices)
        return replace(self, text=mask(self.text), choices=choices, body=masked_json(self.body, mask))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A question where it stands."""

    id: QuestionId
    run: str
    workflow: str
    question: Question
    state: QuestionState
    asked_ms: int
    answer: Any = None
    answered_by: str = ""
    answered_ms: int = 0


class Withdrawn(Exception):
    """The wait is over without an answer."""


class Questions:
    """All questions of a journal."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._database = log.database
        self._waiting: dict[QuestionId, anyio.Event] = {}
        self._somebody_waits = anyio.Event()

    async def open(self, question_id: QuestionId, workflow: str, question: Question) -> None:
        """Ask, unless it was asked before. Questions are masked here and nowhere else."""
        if self._log.mask is not None:
            # A long diff takes a while.
            question = await anyio.to_thread.run_sync(question.masked, self._log.mask)

        def work(cursor: Cursor) -> None:
            cursor.execute(
                "INSERT INTO cellwright_question (id, run, workflow, topic, text, choices, body, state, asked_ms) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ?) ON CONFLICT (id) DO NOTHING",
                (
                    question_id,
                    run_of(workflow),
                    workflow,
                    question.topic,
                    question.text,
                    dump(list(question.choices)),
                    dump(question.body),
                    cursor.now_ms(),
                ),
            )
            if cursor.changed:
                asked = QuestionAsked(workflow=workflow, question=question_id, topic=question.topic, text=question.text)
                self._log.append_inside(cursor, stream_of(workflow), [asked])

        await self._database.write(work)
        self._log.growth.hint()

    async def answer(
        self, question_id: str, answer: Json, *, by: str, also: Sequence[tuple[str, Event]] = ()
    ) -> OpenQuestion:
        """Answer an open question. Raises `UserError` if there is none, it is closed, or the answer is no choice.

        `also`: what follows from the answer, each with its stream; told in the transaction that keeps the answer.
        """

        def work(cursor: Cursor) -> OpenQuestion:
            workflow = _check_answer(question_id, _get(cursor, question_id), answer).workflow
            cursor.execute(
                "UPDATE cellwright_question SET state = 'answered', answer = ?, answered_by = ?, answered_ms = ? "
                "WHERE id = ? AND state = 'open'",
                (dump(answer), by, cursor.now_ms(), question_id),
            )
            if not cursor.changed:
                raise UserError(f"The question {question_id!r} was answered just now.", hint="Nothing to do.")
            shown = answer if isinstance(answer, str) else dump(answer)
            told = QuestionAnswered(question=question_id, answer=shown, by=by)
            self._log.append_inside(cursor, stream_of(workflow), [told])
            for stream, event in also:
                self._log.append_inside(cursor, stream, [event])
            answered = _get(cursor, question_id)
            assert answered is not None
            self._log.at(CrashPoint.ANSWER_COMMITTING)
            return answered

        answered = await self._database.write(work)
        self._log.at(CrashPoint.ANSWER_COMMITTED)
        self._wake(answered.id)
        self._log.growth.hint()
        return answered

    async def withdraw(self, run: str, reason: str) -> None:
        """Close every open question of a run."""

        def work(cursor: Cursor) -> list[QuestionId]:
            select = "SELECT id FROM cellwright_question WHERE run = ? AND state = 'open'"
            ids = [QuestionId(row[0]) for row in cursor.execute(select, (run,)).all()]
            cursor.execute(
                "UPDATE cellwright_question SET state = 'withdrawn' WHERE run = ? AND state = 'open'", (run,)
            )
            told = [QuestionWithdrawn(question=question_id, reason=reason) for question_id in ids]
            self._log.append_inside(cursor, stream_of(run), told)
            return ids

        for question_id in await self._database.write(work):
            self._wake(question_id)
        self._log.growth.hint()

    async def pending(self, run: str | None = None) -> list[OpenQuestion]:
        """The questions somebody should answer, oldest first."""
        which, values = ("AND run = ?", (run,)) if run is not None else ("", ())
        select = f"SELECT {_COLUMNS} FROM cellwright_question WHERE state = 'open' {which} ORDER BY asked_ms, id"
        rows = await self._database.read(lambda cursor: cursor.execute(select, values).all())
        return [_question(row) for row in rows]

    async def get(self, question_id: str) -> OpenQuestion | None:
        """One question, whatever became of it."""
        return await self._database.read(lambda cursor: _get(cursor, question_id))

    async def wait(self, question_id: QuestionId) -> Any:
        """The answer, once there is one. Raises `Withdrawn`."""
        while True:
            event = self._waiting.setdefault(question_id, anyio.Event())
            self._somebody_waits.set()
            found = await self._get_patiently(question_id)
            if found is not None and found.state != "open":
                self._waiting.pop(question_id, None)
                if found.state == "withdrawn":
                    raise Withdrawn(question_id)
                return found.answer
            await event.wait()

    async def watch(self) -> None:
        """Notice answers given in other processes: one look for everyone who waits."""
        while True:
            if not self._waiting:
                self._somebody_waits = anyio.Event()
                await self._somebody_waits.wait()
            with anyio.move_on_after(_POLL_INTERVAL_SECONDS):
                await self._log.growth.next().wait()
            try:
                closed = await self._closed(list(self._waiting))
            except Unavailable as problem:
                logger.warning("Cannot look for answers: %s", problem)
                continue
            for question_id in closed:
                self._wake(question_id)

    async def _get_patiently(self, question_id: QuestionId) -> OpenQuestion | None:
        """A database that is away for a while must not end a wait of days."""
        while True:
            try:
                return await self.get(question_id)
            except Unavailable as problem:
                logger.warning("Cannot look for the answer to %r: %s", question_id, problem)
                await anyio.sleep(_POLL_INTERVAL_SECONDS)

    async def _closed(self, ids: list[QuestionId]) -> list[QuestionId]:
        def work(cursor: Cursor) -> list[QuestionId]:
            closed: list[QuestionId] = []
            for start in range(0, len(ids), _AT_ONCE):
                some = ids[start : start + _AT_ONCE]
                marks = ", ".join("?" * len(some))
                select = f"SELECT id FROM cellwright_question WHERE state <> 'open' AND id IN ({marks})"
                closed += [QuestionId(row[0]) for row in cursor.execute(select, some).all()]
            return closed

        return await self._database.read(work)

    def _wake(self, question_id: QuestionId) -> None:
        if event := self._waiting.pop(question_id, None):
            event.set()


def reopen(cursor: Cursor, run: str) -> None:
    """Ask again what was withdrawn, because the run goes on."""
    cursor.execute("UPDATE cellwright_question SET state = 'open' WHERE run = ? AND state = 'withdrawn'", (run,))


def _get(cursor: Cursor, question_id: str) -> OpenQuestion | None:
    row = cursor.execute(f"SELECT {_COLUMNS} FROM cellwright_question WHERE id = ?", (question_id,)).one()
    return None if row is None else _question(row)


def _question(row: Row) -> OpenQuestion:
    question_id, workflow, topic, text, choices, body, state, asked_ms, answer, answered_by, answered_ms = row
    return OpenQuestion(
        id=QuestionId(question_id),
        run=run_of(workflow),
        workflow=workflow,
        question=Question(text=text, topic=topic, choices=tuple(load(choices)), body=load(body)),
        state=state,
        asked_ms=asked_ms,
        answer=None if answer is None else load(answer),
        answered_by=answered_by,
        answered_ms=answered_ms or 0,
    )


def _check_answer(question_id: str, found: OpenQuestion | None, answer: Json) -> OpenQuestion:
    if found is None:
        raise UserError(f"No question {question_id!r}.", hint="See the open questions of the run.")
    if found.state != "open":
        raise UserError(f"The question {question_id!r} is {found.state} already.", hint="Nothing to do.")
    choices = found.question.choices
    picked = answer.get("choice") if isinstance(answer, dict) else answer
    if choices and picked not in choices:
        raise UserError(f"{picked!r} is no answer to {question_id!r}.", hint=f"One of: {', '.join(choices)}.")
    return found
