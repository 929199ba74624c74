"""`/questions` and `/grants`: what runs ask, a person's answers, and every standing grant."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path

from cellwright.errors import UserError
from cellwright.journal.questions import OpenQuestion
from cellwright.policy.approvals import AnswerRefused, Grant
from cellwright.runs.views.questions import answer_view, open_question_view, run_inbox
from cellwright.server.http.auth.dependencies import Approver, Reader, RunName, check_run
from cellwright.server.http.errors import Conflict, ResourceNotFound
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.schemas import runs as shapes
from cellwright.tools import TypedAnswer
from cellwright.tools.approval.inbox import NoSuchQuestion

QuestionName = Annotated[str, Path(min_length=1, max_length=400, description="A question, as `/questions` names it.")]


def questions_routes(resources: ApiResources) -> APIRouter:
    """Questions and standing grants."""
    router = APIRouter(tags=["approvals"])
    records, inbox = resources.live.records, run_inbox(resources.live.records, resources.masker)

    @router.get("/questions", operation_id="list_questions", summary="What waits for an answer")
    async def list_questions(_: Reader) -> shapes.AskedQuestions:
        return shapes.AskedQuestions(questions=asked_now(resources, await records.questions.pending()))

    @router.get("/runs/{run}/questions", operation_id="list_run_questions", summary="What one run asks")
    async def list_run_questions(_: Reader, run: RunName) -> shapes.AskedQuestions:
        await check_run(records, run)
        return shapes.AskedQuestions(questions=asked_now(resources, await records.questions.pending(run)))

    @router.post(
        "/questions/{question:path}/answer", operation_id="answer_question", summary="Answer; the first answer stands"
    )
    async def answer_question(caller: Approver, question: QuestionName, said: shapes.AnswerBody) -> shapes.AnswerTaken:
        typed = TypedAnswer(words=said.answer, reach=said.reach, feedback=said.feedback)
        try:
            outcome = await inbox.answer(question, typed, caller.as_person, said.fingerprint)
        except NoSuchQuestion as problem:
            raise ResourceNotFound(problem.message, hint="GET /questions lists what is asked.") from problem
        if isinstance(outcome, AnswerRefused):
            raise Conflict(outcome.message, hint="Look at it again: GET /questions shows how it stands.")
        return shapes.AnswerTaken(id=question, says=str(answer_view(outcome)["says"]))

    @router.get("/grants", operation_id="list_grants", summary="Every yes that still allows something")
    async def list_grants(_: Approver) -> shapes.GrantList:
        found = await inbox.grants(datetime.now(UTC))
        return shapes.GrantList(grants=[_grant(grant) for grant in found])

    @router.delete("/grants/{grant:path}", operation_id="revoke_grant", summary="Take a yes back: it asks again")
    async def revoke_grant(caller: Approver, grant: QuestionName) -> shapes.GrantShape:
        try:
            found = await inbox.revoke(grant, caller.as_person)
        except UserError as problem:
            raise ResourceNotFound(problem.message, hint="GET /grants lists them.") from problem
        if isinstance(found, AnswerRefused):
            raise Conflict(found.message)
        return _grant(found)

    return router


def asked_now(resources: ApiResources, found: Iterable[OpenQuestion]) -> list[shapes.AskedQuestion]:
    """The questions as they are shown. One that cannot be read does not hide the others."""
    items = run_inbox(resources.live.records, resources.masker).read(found)
    return [
        shapes.AskedQuestion(**open_question_view(item), run=item.question.run, asked_ms=item.asked_ms)
        for item in items
    ]


def _grant(grant: Grant) -> shapes.GrantShape:
    return shapes.GrantShape(
        id=grant.id,
        covers=grant.scope.describe(),
        project=grant.project,
        reach=grant.reach,
        run=grant.run,
        by=grant.by.name,
        door=grant.by.door,
        at_ms=_ms(grant.at),
        expires_ms=None if grant.expires_at is None else _ms(grant.expires_at),
    )


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
