"""The inbox: where runs put their questions and people answer them, from any interface and in any process.

All questions share one model and one way to answer. A kind says what is particular: how a question of its topic is
read, what typed words mean for it, and what an answer does. A topic without a kind of its own is a plain question.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from cellwright.errors import UserError
from cellwright.journal.events import encode
from cellwright.journal.questions import OpenQuestion, QuestionState
from cellwright.journal.records import Records
from cellwright.journal.values import Json
from cellwright.policy.approvals import (
    Answered,
    AnswerRefused,
    ApprovalQuestion,
    Grant,
    No,
    Pending,
    Person,
    QuestionId,
    Reply,
    Yes,
    active,
    answer,
    grant_of,
)
from cellwright.policy.display_text import shown
from cellwright.policy.masking.masker import Masker
from cellwright.remedies import remedy
from cellwright.tools.approval import budget_questions
from cellwright.tools.approval.approval_questions import (
    APPROVAL,
    STREAM,
    GrantGiven,
    GrantRevoked,
    approval_answer_body,
    read_approval,
    read_approval_answer,
    read_grants,
)
from cellwright.tools.approval.budget_questions import BUDGET, BudgetAnswered, BudgetQuestion, BudgetReply
from cellwright.tools.approval.typed_answers import TypedAnswer, parse_choice, parse_reply

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainQuestion:
    """A question that is answered with one of its choices, or with any words if it has none."""

    id: QuestionId
    run: str
    text: str
    offers: tuple[str, ...]
    body: Json
    asked_at: datetime
    fingerprint: str = ""
    """Always empty: its answer need not say what was shown."""

    def describe(self) -> str:
        """Everything the person must see."""
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainAnswered:
    """What the person said."""

    question: PlainQuestion
    reply: str
    by: str
    """The person's name; the journal keeps no more of who answered."""
    at: datetime


InboxQuestion = ApprovalQuestion | BudgetQuestion | PlainQuestion
RecordedAnswer = Answered | BudgetAnswered | PlainAnswered
"""An answer that counts."""


InboxReply = Reply | BudgetReply | str
"""What a typed answer means; a string: exactly this choice, or these words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """A question where it stands. An interface shows `question.describe()` and sends back `question.fingerprint`."""

    question: InboxQuestion
    topic: str
    state: QuestionState
    asked_ms: int
    answer: RecordedAnswer | None = None

    @property
    def offers(self) -> tuple[str, ...]:
        """The answers that are possible; none: any words."""
        is_plain = isinstance(self.question, PlainQuestion)
        return self.question.offers if is_plain else (*self.question.offers, "no")


class NoSuchQuestion(UserError):
    """Nobody has asked that."""


class Inbox:
    """All questions of a journal's runs, and every standing grant."""

    def __init__(self, records: Records, *, masker: Masker, kinds: Sequence[PlainKind] = ()) -> None:
        self.records = records
        self._kinds = {kind.topic: kind for kind in (ApprovalKind(masker), BudgetKind(BUDGET), *kinds)}

    async def pending(self, run: str | None = None) -> list[InboxItem]:
        """What people should answer, oldest first."""
        return self.read(await self.records.questions.pending(run))

    def read(self, rows: Iterable[OpenQuestion]) -> list[InboxItem]:
        """The questions of rows that were read already; one that cannot be read does not hide the others."""
        items: list[InboxItem] = []
        for row in rows:
            try:
                items.append(self._kind(row.question.topic).read(row))
            except UserError as problem:
                logger.warning("The question %s cannot be shown: %s", row.id, problem)
        return items

    async def show(self, number: str) -> InboxItem:
        """One question, whatever became of it. Raises `NoSuchQuestion`."""
        row = await self._row(number)
        return self._kind(row.question.topic).read(row)

    def parse(self, item: InboxItem, typed: TypedAnswer) -> InboxReply:
        """What typed words mean as an answer to this question. Raises `UserError`."""
        return self._kind(item.topic).parse(item, typed)

    async def answer(
        self, number: str, said: InboxReply | TypedAnswer, person: Person, shown_fingerprint: str = ""
    ) -> RecordedAnswer | AnswerRefused:
        """Answer for a person whom an interface has recognised, about what it showed them. The first answer stands.

        The answer, its event and the standing grant that follows from it are kept together or not at all. Raises
        `NoSuchQuestion`, and `UserError` for words that are no answer.
        """
        # An exact type, as in policy: a subclass made elsewhere proves nothing about who speaks.
        if type(person) is not Person:
            return AnswerRefused(why="not-a-person", message="Only a person at an interface can answer.")
        row = await self._row(number)
        if refused := _refusal_if_closed(row):
            return refused
        kind = self._kind(row.question.topic)
        item = kind.read(row)
        reply = kind.parse(item, said) if isinstance(said, TypedAnswer) else said
        try:
            return await kind.apply(self.records, item, reply, person, shown_fingerprint)
        except UserError:
            # Somebody was faster, or the run has ended; anything else is still an error.
            if refused := _refusal_if_closed(await self._row(number)):
                return refused
            raise

    async def grants(self, now: datetime) -> tuple[Grant, ...]:
        """Every yes that still allows something: for always until it expires, for a run until that has ended."""
        runs = {status.run for status in await self.records.runs() if status.standing not in {"done", "failed"}}
        grants = active((await read_grants(self.records.log.read_all)).values(), now)
        return tuple(grant for grant in grants if grant.reach == "always" or grant.run in runs)

    async def revoke(self, number: str, person: Person) -> Grant | AnswerRefused:
        """Revoke a standing grant; the next time it asks again. Raises `UserError` if there is none."""
        if type(person) is not Person:
            return AnswerRefused(why="not-a-person", message="Only a person can revoke what one gave.")
        grant = (await read_grants(self.records.log.read_all)).get(QuestionId(number))
        if grant is None:
            raise UserError(f"No standing grant {number!r}.", hint=remedy("see_grants"))
        if grant.revoked_at is None:
            await self.records.log.append(STREAM, GrantRevoked(grant=grant.id, by=f"{person.name} at {person.door}"))
        return (await read_grants(self.records.log.read_all))[grant.id]

    def _kind(self, topic: str) -> PlainKind:
        return self._kinds.get(topic) or PlainKind(topic)

    async def _row(self, number: str) -> OpenQuestion:
        row = await self.records.questions.get(number)
        if row is None:
            raise NoSuchQuestion(f"No question {number!r}.", hint=remedy("see_inbox"))
        return row


def _refusal_if_closed(row: OpenQuestion) -> AnswerRefused | None:
    if row.state == "answered":
        return AnswerRefused(why="already-answered", message=f"{shown(row.answered_by)} has already answered.")
    if row.state == "withdrawn":
        return AnswerRefused(why="lapsed", message="The question was withdrawn.")
    return None


# ── kinds ──


class PlainKind:
    """What is particular to the questions of one topic. Here: a choice, or words."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def read(self, row: OpenQuestion) -> InboxItem:
        """The question of what the journal keeps. Raises `UserError`."""
        question, said = self._read(row)
        return InboxItem(question=question, topic=self.topic, state=row.state, asked_ms=row.asked_ms, answer=said)

    def _read(self, row: OpenQuestion) -> tuple[InboxQuestion, RecordedAnswer | None]:
        question = PlainQuestion(
            id=QuestionId(row.id),
            run=row.run,
            text=row.question.text,
            offers=row.question.choices,
            body=row.question.body,
            asked_at=_time(row.asked_ms),
        )
        if row.state != "answered":
            return question, None
        reply = row.answer if isinstance(row.answer, str) else json.dumps(row.answer, ensure_ascii=False)
        return question, PlainAnswered(question=question, reply=reply, by=row.answered_by, at=_time(row.answered_ms))

    def parse(self, item: InboxItem, typed: TypedAnswer) -> InboxReply:
        """What the words mean as an answer to this. Raises `UserError`."""
        parse = parse_choice if isinstance(item.question, PlainQuestion) else parse_reply
        return parse(typed, item.offers)

    async def apply(
        self, records: Records, item: InboxItem, reply: InboxReply, person: Person, shown_fingerprint: str
    ) -> RecordedAnswer | AnswerRefused:
        """Answer the open question, with all that follows from it. Raises `UserError` if it is closed meanwhile."""
        if not isinstance(item.question, PlainQuestion) or not isinstance(reply, str):
            return _not_offered(item)
        await records.questions.answer(item.question.id, reply, by=person.name)
        return PlainAnswered(question=item.question, reply=reply, by=person.name, at=datetime.now(UTC))


class ApprovalKind(PlainKind):
    """Whether an action may happen, or an envelope holds."""

    def __init__(self, masker: Masker) -> None:
        super().__init__(APPROVAL)
        self._masker = masker

    def _read(self, row: OpenQuestion) -> tuple[InboxQuestion, RecordedAnswer | None]:
        question = read_approval(row)
        return question, read_approval_answer(question, row.answer)

    async def apply(
        self, records: Records, item: InboxItem, reply: InboxReply, person: Person, shown_fingerprint: str
    ) -> RecordedAnswer | AnswerRefused:
        """Keep the answer and, for a yes that lasts, its grant."""
        if not isinstance(item.question, ApprovalQuestion) or not isinstance(reply, Yes | No):
            return _not_offered(item)
        said = answer(
            Pending(question=item.question),
            reply,
            origin=person,
            shown_fingerprint=shown_fingerprint,
            now=datetime.now(UTC),
        )
        if isinstance(said, AnswerRefused):
            return said
        grant = grant_of(said) if isinstance(reply, Yes) and reply.reach != "once" else None
        if grant is not None and self._masker.find(encode(GrantGiven(grant=grant)).decode()):
            return AnswerRefused(
                why="not-offered", message="What it would cover holds a secret, which is not kept: possible is once."
            )
        also = [] if grant is None else [(STREAM, GrantGiven(grant=grant))]
        await records.questions.answer(item.question.id, approval_answer_body(said), by=person.name, also=also)
        return said


class BudgetKind(PlainKind):
    """A limit that is reached, or a price that nobody knows."""

    def _read(self, row: OpenQuestion) -> tuple[InboxQuestion, RecordedAnswer | None]:
        question = budget_questions.read_question(row.question.body, row.id)
        return question, budget_questions.read_answer(question, row.answer)

    async def apply(
        self, records: Records, item: InboxItem, reply: InboxReply, person: Person, shown_fingerprint: str
    ) -> RecordedAnswer | AnswerRefused:
        """Keep the answer; the run changes its ledger by it."""
        if not isinstance(item.question, BudgetQuestion) or isinstance(reply, Yes | str):
            return _not_offered(item)
        said = budget_questions.answer_budget(
            item.question, reply, origin=person, shown_fingerprint=shown_fingerprint, now=datetime.now(UTC)
        )
        if isinstance(said, BudgetAnswered):
            await records.questions.answer(item.question.id, budget_questions.answer_body(said), by=person.name)
        return said


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _not_offered(item: InboxItem) -> AnswerRefused:
    return AnswerRefused(why="not-offered", message=f"Possible here: {', '.join(item.offers)}.")
