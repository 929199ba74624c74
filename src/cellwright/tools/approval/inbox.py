"""The inbox: where runs put their questions and people answer them, from any interface and in any process.

A yes that lasts is a standing grant: an event of a stream of its own, folded into what holds now.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, assert_never

import anyio.to_thread
from pydantic import TypeAdapter, ValidationError

from cellwright.errors import Defect, UserError
from cellwright.journal import Fact, Flow, Json, OpenQuestion, Recorded, Records, masked_json
from cellwright.journal import Question as Asking
from cellwright.policy import (
    Action,
    Answered,
    AnswerRefused,
    ApprovalQuestion,
    Envelope,
    Grant,
    Lapsed,
    Masker,
    No,
    Pending,
    Person,
    QuestionId,
    QuestionState,
    Reply,
    Yes,
    active,
    answer,
    grant_of,
    parse_question,
    question_json,
    revoke,
)
from cellwright.policy.approvals import about_fingerprint
from cellwright.tools.approval import budget_questions
from cellwright.tools.approval.budget_questions import BUDGET, BudgetAnswered, BudgetQuestion, BudgetReply

STREAM: Final = "approvals"
_GIVEN: Final = "grant-given"
_REVOKED: Final = "grant-revoked"
_GRANT: Final = TypeAdapter(Grant)

Grants = Mapping[QuestionId, Grant]


def grant_given(grant: Grant) -> Fact:
    """What is told when a person says yes for longer than once."""
    return Fact(topic=_GIVEN, subject=grant.id, text=_GRANT.dump_json(grant).decode())


def grant_revoked(grant: Grant, person: Person) -> Fact:
    """What is told when a person takes a yes back."""
    return Fact(topic=_REVOKED, subject=grant.id, text=f"{person.name} at {person.door}")


def with_event(grants: Grants, recorded: Recorded) -> Grants:
    """The grants after one more event. What cannot be read allows nothing, so it asks again."""
    event = recorded.event
    if isinstance(event, Fact) and event.topic == _GIVEN:
        grant = _read_grant(event.text)
        return grants if grant is None or grant.id in grants else {**grants, grant.id: grant}
    if isinstance(event, Fact) and event.topic == _REVOKED:
        found = grants.get(QuestionId(event.subject))
        now = datetime.fromtimestamp(recorded.at_ms / 1000, UTC)
        return grants if found is None else {**grants, found.id: revoke(found, now)}
    return grants


async def read_grants(read: Callable[[str], AsyncIterable[Recorded]]) -> Grants:
    """Every lasting yes by its question, those that are over included; `read` is a log's or a flow's."""
    grants: Grants = {}
    async for recorded in read(STREAM):
        grants = with_event(grants, recorded)
    return grants


def _read_grant(text: str) -> Grant | None:
    try:
        return _GRANT.validate_json(text)
    except ValidationError:
        return None


logger = logging.getLogger(__name__)
APPROVAL: Final = "approval"
"""The topic of a question about an action or an envelope."""

RecordedAnswer = Answered | BudgetAnswered
"""An answer that counts."""


async def ask_approval(flow: Flow, about: Action | Envelope, *, reason: str, project: str, masker: Masker) -> Answered:
    """What a person says to this, however long it takes; survives restarts."""

    async def put() -> Json:
        # The journal numbers questions; the answer brings the number along.
        question = _question(flow.id, flow.run, about, reason, project)
        return await anyio.to_thread.run_sync(_shown_body, question, masker)

    body = await flow.step("ask for approval", put)
    question = parse_question(body).question
    if (question.masked_from or question.fingerprint) != about_fingerprint(about):
        raise Defect(
            f"{flow.id!r} asked about something else than it wants now.",
            hint="A replayed workflow must want the same: make the action inside a step.",
        )
    asking = Asking(topic=APPROVAL, text=question.about.describe().split("\n", 1)[0], body=body)
    while (answered := _read_answer(question, await flow.ask(asking))) is None:
        pass
    # The person was shown the masked one; the workflow goes on with what stands behind it.
    return replace(answered, question=replace(answered.question, about=about, masked_from=None))


def can_be_shown(about: Action | Envelope, project: str, masker: Masker) -> bool:
    """Whether it is still something one can be asked about once its secrets are masked."""
    try:
        _shown_body(_question("", "", about, "", project), masker)
    except UserError:
        return False
    return True


def _question(number: str, run: str, about: Action | Envelope, reason: str, project: str) -> ApprovalQuestion:
    return ApprovalQuestion(
        id=QuestionId(number), run=run, project=project, about=about, reason=reason, asked_at=datetime.now(UTC)
    )


def _shown_body(question: ApprovalQuestion, masker: Masker) -> Json:
    """The question as it is kept and shown, without secrets. Raises `UserError` if then nothing can be asked."""
    shown = parse_question(masked_json(question_json(Pending(question=question)), lambda text: masker.mask(text).text))
    is_same = shown.question.about == question.about
    masked_from = None if is_same else about_fingerprint(question.about)
    return question_json(Pending(question=replace(shown.question, masked_from=masked_from)))


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """A question where it stands. A door shows `question.describe()` and sends back `question.fingerprint`."""

    question: ApprovalQuestion | BudgetQuestion
    state: Literal["open", "answered", "withdrawn"]
    answer: RecordedAnswer | None = None


class Inbox:
    """All questions of a journal's runs, and every yes that lasts."""

    def __init__(self, records: Records, *, masker: Masker) -> None:
        self._records = records
        self._masker = masker

    async def pending(self) -> list[InboxItem]:
        """What people should answer, oldest first."""
        found = await self._records.questions.pending()
        asked = [_readable(kept) for kept in found if kept.question.topic in {APPROVAL, BUDGET}]
        return [question for question in asked if question is not None]

    async def show(self, number: str) -> InboxItem:
        """One question, whatever became of it. Raises `UserError` if there is none."""
        kept = await self._records.questions.get(number)
        if kept is None or kept.question.topic not in {APPROVAL, BUDGET}:
            raise UserError(f"No question {number!r}.", hint="See `cellwright approvals list`.")
        return _inbox_item(kept)

    async def answer(
        self, number: str, reply: Reply | BudgetReply, person: Person, shown_fingerprint: str
    ) -> RecordedAnswer | AnswerRefused:
        """Answer for a person whom a door has recognised, about what it showed them. The first answer stands.

        The answer, its event and the lasting yes that follows from it are kept together or not at all.
        """
        found = await self.show(number)
        said = _answer(found, reply, person, shown_fingerprint, datetime.now(UTC))
        if isinstance(said, AnswerRefused):
            return said
        grant = _standing_grant(said)
        if grant is not None and self._masker.find(grant_given(grant).text):
            return AnswerRefused(
                why="not-offered", message="What it would cover holds a secret, which is not kept: possible is once."
            )
        try:
            also = [] if grant is None else [(STREAM, grant_given(grant))]
            await self._records.questions.answer(number, _answer_body(said), by=person.name, also=also)
        except UserError:
            # Somebody was faster; anything else is still an error.
            refused = _answer(await self.show(number), reply, person, shown_fingerprint, datetime.now(UTC))
            if isinstance(refused, AnswerRefused):
                return refused
            raise
        return said

    async def grants(self, now: datetime) -> tuple[Grant, ...]:
        """Every yes that still allows something: for always until it expires, for a run until that has ended."""
        runs = {status.run for status in await self._records.runs() if status.standing not in {"done", "failed"}}
        grants = active((await read_grants(self._records.log.read_all)).values(), now)
        return tuple(grant for grant in grants if grant.reach == "always" or grant.run in runs)

    async def revoke(self, number: str, person: Person) -> Grant | AnswerRefused:
        """Take a lasting yes back; the next time it asks again. Raises `UserError` if there is none."""
        if type(person) is not Person:
            return AnswerRefused(why="not-a-person", message="Only a person at a door can take back what one gave.")
        grant = (await read_grants(self._records.log.read_all)).get(QuestionId(number))
        if grant is None:
            raise UserError(f"No lasting yes {number!r}.", hint="See `cellwright approvals grants`.")
        if grant.revoked_at is None:
            await self._records.log.append(STREAM, grant_revoked(grant, person))
        return (await read_grants(self._records.log.read_all))[grant.id]


# ── decided purely ──


def _answer(
    found: InboxItem, reply: Reply | BudgetReply, person: Person, shown_fingerprint: str, now: datetime
) -> RecordedAnswer | AnswerRefused:
    match found.question:
        case ApprovalQuestion() as question if isinstance(reply, Yes | No):
            state = _state(question, found)
            return answer(state, reply, origin=person, shown_fingerprint=shown_fingerprint, now=now)
        case BudgetQuestion() as question if not isinstance(reply, Yes):
            if found.state != "open":
                why = "already-answered" if found.state == "answered" else "lapsed"
                return AnswerRefused(why=why, message=f"The question is {found.state} already.")
            return budget_questions.answer_budget(
                question, reply, origin=person, shown_fingerprint=shown_fingerprint, now=now
            )
        case question:
            return AnswerRefused(why="not-offered", message=f"Possible here: {', '.join(question.offers)}.")


def _state(question: ApprovalQuestion, found: InboxItem) -> QuestionState:
    match found.state:
        case "open":
            return Pending(question=question)
        case "answered" if isinstance(found.answer, Answered):
            return found.answer
        case "answered" | "withdrawn":
            return Lapsed(question=question, at=question.asked_at, why="withdrawn")
        case _:
            assert_never(found.state)


def _standing_grant(said: RecordedAnswer) -> Grant | None:
    """What the answer allows beyond the action that asked."""
    if not isinstance(said, Answered) or isinstance(said.reply, No) or said.reply.reach == "once":
        return None
    return grant_of(said)


# ── how the journal keeps it ──


def _readable(kept: OpenQuestion) -> InboxItem | None:
    """One question that cannot be read must not hide the others."""
    try:
        return _inbox_item(kept)
    except UserError as problem:
        logger.warning("The question %s cannot be shown: %s", kept.id, problem)
        return None


def _inbox_item(kept: OpenQuestion) -> InboxItem:
    if kept.question.topic == BUDGET:
        budget = budget_questions.read_question(kept.question.body, kept.id)
        return InboxItem(question=budget, state=kept.state, answer=budget_questions.read_answer(budget, kept.answer))
    question = replace(parse_question(kept.question.body).question, id=QuestionId(kept.id))
    return InboxItem(question=question, state=kept.state, answer=_read_answer(question, kept.answer))


def _answer_body(said: RecordedAnswer) -> Json:
    """Who said what about which fingerprint; the action itself stands in the question already."""
    if isinstance(said, BudgetAnswered):
        return budget_questions.answer_body(said)
    return {**question_json(said), "question": said.question.id, "fingerprint": said.question.fingerprint}


def _read_answer(question: ApprovalQuestion, kept: Any) -> Answered | None:
    """The answer of what was kept; None for what no desk has written, or about something else."""
    if not isinstance(kept, dict) or not isinstance(kept.get("question"), str):
        return None
    numbered = replace(question, id=QuestionId(kept["question"]))
    said = {name: kept.get(name) for name in ("state", "reply", "by", "at")}
    try:
        read = parse_question({**question_json(Pending(question=numbered)), **said})
    except UserError:
        return None
    if not isinstance(read, Answered):
        return None
    fingerprint = str(kept.get("fingerprint"))
    checked = answer(Pending(question=numbered), read.reply, origin=read.by, shown_fingerprint=fingerprint, now=read.at)
    return checked if isinstance(checked, Answered) else None
