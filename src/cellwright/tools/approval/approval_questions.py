"""Questions about an action or an envelope, and the standing grants that follow from a yes.

A standing grant is an event of a stream of its own, folded into what holds now.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import anyio.to_thread
from pydantic import TypeAdapter, ValidationError

from cellwright.errors import Defect, UserError
from cellwright.journal import Fact, Flow, Json, OpenQuestion, Recorded, masked_json
from cellwright.journal import Question as Asking
from cellwright.policy.actions import Action
from cellwright.policy.approvals import (
    Answered,
    ApprovalQuestion,
    Grant,
    Pending,
    Person,
    QuestionId,
    about_fingerprint,
    answer,
    revoke,
)
from cellwright.policy.envelope import Envelope
from cellwright.policy.masking.masker import Masker
from cellwright.policy.serialization import parse_question, question_json

STREAM: Final = "approvals"
_GIVEN: Final = "grant-given"
_REVOKED: Final = "grant-revoked"
_GRANT: Final = TypeAdapter(Grant)

Grants = Mapping[QuestionId, Grant]


def grant_given(grant: Grant) -> Fact:
    """The event of a person saying yes for longer than once."""
    return Fact(topic=_GIVEN, subject=grant.id, text=_GRANT.dump_json(grant).decode())


def grant_revoked(grant: Grant, person: Person) -> Fact:
    """The event of a person taking a yes back."""
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
    """Every standing grant by its question, those that are over included; `read` is a log's or a flow's."""
    grants: Grants = {}
    async for recorded in read(STREAM):
        grants = with_event(grants, recorded)
    return grants


def _read_grant(text: str) -> Grant | None:
    try:
        return _GRANT.validate_json(text)
    except ValidationError:
        return None


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
