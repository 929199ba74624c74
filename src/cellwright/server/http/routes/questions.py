"""`/questions` and `/grants`: what runs ask, a person's answers, and every standing grant."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Path

from cellwright.errors import UserError
from cellwright.journal.questions import OpenQuestion
from cellwright.policy.actions import QueryConnection
from cellwright.policy.approvals import AnswerRefused, ApprovalQuestion, Grant
from cellwright.policy.display_text import shown, shown_block
from cellwright.runs.views.questions import answer_view, grant_view, open_question_view
from cellwright.server.http.auth.dependencies import Approver, KnownRun, Reader
from cellwright.server.http.errors import Conflict, ResourceNotFound
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources
from cellwright.server.http.schemas import runs as shapes
from cellwright.tools.approval.inbox import InboxQuestion, NoSuchQuestion
from cellwright.tools.approval.typed_answers import TypedAnswer

router = ApiRouter(tags=["approvals"])
QuestionName = Annotated[str, Path(min_length=1, max_length=400, description="A question, as `/questions` names it.")]


@router.get("/questions")
async def list_questions(_: Reader, resources: Resources) -> shapes.AskedQuestions:
    """What waits for an answer."""
    return shapes.AskedQuestions(questions=asked_now(resources, await resources.records.questions.pending()))


@router.get("/runs/{run}/questions")
async def list_run_questions(_: Reader, resources: Resources, run: KnownRun) -> shapes.AskedQuestions:
    """What one run asks."""
    return shapes.AskedQuestions(questions=asked_now(resources, await resources.records.questions.pending(run)))


@router.post("/questions/{question:path}/answer")
async def answer_question(
    caller: Approver, resources: Resources, question: QuestionName, said: shapes.AnswerBody
) -> shapes.AnswerTaken:
    """Answer; the first answer stands."""
    typed = TypedAnswer(words=said.answer, reach=said.reach, feedback=said.feedback)
    try:
        outcome = await resources.inbox.answer(question, typed, caller.as_person, said.fingerprint)
    except NoSuchQuestion as problem:
        raise ResourceNotFound(problem.message, hint="GET /questions lists what is asked.") from problem
    if isinstance(outcome, AnswerRefused):
        raise Conflict(outcome.message, hint="Look at it again: GET /questions shows how it stands.")
    return shapes.AnswerTaken(id=question, says=str(answer_view(outcome)["says"]))


@router.get("/grants")
async def list_grants(_: Approver, resources: Resources) -> shapes.GrantList:
    """Every yes that still allows something."""
    found = await resources.inbox.grants(datetime.now(UTC))
    return shapes.GrantList(grants=[_grant(grant) for grant in found])


@router.delete("/grants/{grant:path}")
async def revoke_grant(caller: Approver, resources: Resources, grant: QuestionName) -> shapes.GrantShape:
    """Take a yes back: it asks again."""
    try:
        found = await resources.inbox.revoke(grant, caller.as_person)
    except UserError as problem:
        raise ResourceNotFound(problem.message, hint="GET /grants lists them.") from problem
    if isinstance(found, AnswerRefused):
        raise Conflict(found.message)
    return _grant(found)


def asked_now(resources: ApiResources, found: Iterable[OpenQuestion]) -> list[shapes.AskedQuestion]:
    """The questions as they are shown. One that cannot be read does not hide the others."""
    items = resources.inbox.read(found)
    return [
        shapes.AskedQuestion(
            **open_question_view(item), run=item.question.run, query=_statement(item.question), asked_ms=item.asked_ms
        )
        for item in items
    ]


def _statement(question: InboxQuestion) -> shapes.AskedStatement | None:
    match question:
        case ApprovalQuestion(about=QueryConnection() as about):
            return shapes.AskedStatement(
                connection=shown(about.connection),
                access=about.access,
                statement=shown_block(about.statement),
                touches=shown(about.touches),
            )
        case _:
            return None


def _grant(grant: Grant) -> shapes.GrantShape:
    expires_ms = None if grant.expires_at is None else _ms(grant.expires_at)
    return shapes.GrantShape(**grant_view(grant), at_ms=_ms(grant.at), expires_ms=expires_ms)


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
