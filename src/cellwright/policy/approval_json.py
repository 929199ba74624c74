"""Questions and answers as JSON, for whoever keeps them. Grants follow from answers: see `grant_of`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from cellwright.errors import UserError
from cellwright.policy.action_json import action_json, parse_action
from cellwright.policy.actions import Fingerprint
from cellwright.policy.approvals import (
    Answered,
    Door,
    Lapsed,
    No,
    Pending,
    Person,
    Question,
    QuestionId,
    QuestionState,
    Reach,
    Reply,
    Yes,
)
from cellwright.policy.envelope import Envelope


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Question(_Strict):
    id: str
    run: str
    project: str
    action: dict[str, Any] | None = None
    envelope: Envelope | None = None
    reason: str
    asked_at: datetime
    expires_at: datetime | None
    masked_from: str | None = None


class _Person(_Strict):
    name: str
    door: Door


class _Yes(_Strict):
    says: Literal["yes"] = "yes"
    reach: Reach
    lasts: timedelta


class _No(_Strict):
    says: Literal["no"] = "no"
    feedback: str


class _Pending(_Strict):
    state: Literal["pending"] = "pending"
    question: _Question


class _Answered(_Strict):
    state: Literal["answered"] = "answered"
    question: _Question
    reply: Annotated[_Yes | _No, Field(discriminator="says")]
    by: _Person
    at: datetime


class _Lapsed(_Strict):
    state: Literal["lapsed"] = "lapsed"
    question: _Question
    at: datetime
    why: Literal["expired", "withdrawn"]


_AnyState = Annotated[_Pending | _Answered | _Lapsed, Field(discriminator="state")]
_STATE: Final[TypeAdapter[_AnyState]] = TypeAdapter(_AnyState)


def question_json(state: QuestionState) -> dict[str, Any]:
    """A question and what became of it, as plain JSON values."""
    return _kept(state).model_dump(mode="json")


def parse_question(data: object) -> QuestionState:
    """The question of `question_json`. Raises `UserError`."""
    try:
        return _state(_STATE.validate_python(data))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError(f"No question, at {where!r}: {first['msg']}.", hint="Was the journal altered?") from error


def _kept(state: QuestionState) -> _AnyState:
    question = _kept_question(state.question)
    match state:
        case Pending():
            return _Pending(question=question)
        case Answered():
            by = _Person(name=state.by.name, door=state.by.door)
            return _Answered(question=question, reply=_kept_reply(state.reply), by=by, at=state.at)
        case Lapsed():
            return _Lapsed(question=question, at=state.at, why=state.why)
        case _:
            assert_never(state)


def _kept_question(question: Question) -> _Question:
    about = question.about
    return _Question(
        id=question.id,
        run=question.run,
        project=question.project,
        action=None if isinstance(about, Envelope) else action_json(about),
        envelope=about if isinstance(about, Envelope) else None,
        reason=question.reason,
        asked_at=question.asked_at,
        expires_at=question.expires_at,
        masked_from=question.masked_from,
    )


def _kept_reply(reply: Reply) -> _Yes | _No:
    return _No(feedback=reply.feedback) if isinstance(reply, No) else _Yes(reach=reply.reach, lasts=reply.lasts)


def _state(kept: _AnyState) -> QuestionState:
    question = _question(kept.question)
    match kept:
        case _Pending():
            return Pending(question=question)
        case _Answered():
            by = Person(name=kept.by.name, door=kept.by.door)
            return Answered(question=question, reply=_reply(kept.reply), by=by, at=kept.at)
        case _Lapsed():
            return Lapsed(question=question, at=kept.at, why=kept.why)
        case _:
            assert_never(kept)


def _question(kept: _Question) -> Question:
    if (kept.action is None) == (kept.envelope is None):
        raise UserError("A question is about an action or about an envelope.", hint="Was the journal altered?")
    return Question(
        id=QuestionId(kept.id),
        run=kept.run,
        project=kept.project,
        about=kept.envelope or parse_action(kept.action),
        reason=kept.reason,
        asked_at=kept.asked_at,
        expires_at=kept.expires_at,
        masked_from=None if kept.masked_from is None else Fingerprint(kept.masked_from),
    )


def _reply(kept: _Yes | _No) -> Reply:
    return No(feedback=kept.feedback) if isinstance(kept, _No) else Yes(reach=kept.reach, lasts=kept.lasts)
