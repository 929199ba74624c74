"""Questions about an action or an envelope, and the standing grants that follow from a yes.

A standing grant is an event of a stream of its own, folded into what holds now.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

import anyio.to_thread

from cellwright.errors import Defect, UserError
from cellwright.journal.events import FormerFact, Recorded, RoomEvent
from cellwright.journal.flow import Flow
from cellwright.journal.questions import OpenQuestion
from cellwright.journal.questions import Question as Asking
from cellwright.journal.values import Json, masked_json
from cellwright.policy.actions import Action
from cellwright.policy.approvals import (
    Answered,
    ApprovalQuestion,
    Grant,
    Pending,
    QuestionId,
    about_fingerprint,
    answer,
    revoke,
)
from cellwright.policy.envelope import Envelope
from cellwright.policy.masking.masker import Masker
from cellwright.policy.serialization import parse_question, question_json

STREAM: Final = "approvals"
Grants = Mapping[QuestionId, Grant]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantGiven(RoomEvent):
    """A person said yes for longer than once."""

    LINE: ClassVar[str] = "grant {0.grant.id} by {0.grant.by.name}"
    WAS: ClassVar[FormerFact | None] = FormerFact(topic="grant-given", text="grant", is_json=True)
    grant: Grant


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRevoked(RoomEvent):
    """A person took such a yes back."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="grant-revoked", subject="grant", text="by")
    grant: str
    by: str
    """Who, and at which interface."""


def with_event(grants: Grants, recorded: Recorded) -> Grants:
    """The grants after one more event. What cannot be read allows nothing, so it asks again."""
    match recorded.event:
        case GrantGiven(grant=grant) if grant.id not in grants:
            return {**grants, grant.id: grant}
        case GrantRevoked(grant=number) if (found := grants.get(QuestionId(number))) is not None:
            return {**grants, found.id: revoke(found, datetime.fromtimestamp(recorded.at_ms / 1000, UTC))}
        case _:
            return grants


async def read_grants(read: Callable[[str], AsyncIterable[Recorded]]) -> Grants:
    """Every standing grant by its question, those that are over included; `read` is a log's or a flow's."""
    grants: Grants = {}
    async for recorded in read(STREAM):
        grants = with_event(grants, recorded)
    return grants


APPROVAL: Final = "approval"
"""The topic of a question about an action or an envelope."""


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
    while (answered := read_approval_answer(question, await flow.ask(asking))) is None:
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


# ── how the journal keeps it ──


def read_approval(row: OpenQuestion) -> ApprovalQuestion:
    """The question under the journal's number. Raises `UserError`."""
    return replace(parse_question(row.question.body).question, id=QuestionId(row.id))


def approval_answer_body(said: Answered) -> Json:
    """Who said what about which fingerprint; the action itself stands in the question already."""
    return {**question_json(said), "question": said.question.id, "fingerprint": said.question.fingerprint}


def read_approval_answer(question: ApprovalQuestion, kept: Any) -> Answered | None:
    """The answer of what was kept; None for what no inbox has written, or about something else."""
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
