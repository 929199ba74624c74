"""`/questions` and `/grants`: what runs ask, a person's answers, and every yes that lasts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Path

from cellwright.errors import UserError
from cellwright.journal import OpenQuestion
from cellwright.policy import AnswerRefused, Grant, No, Person, Reply, Yes
from cellwright.runs.execute import steering_commands
from cellwright.runs.views.questions import (
    INBOX_TOPICS,
    PAUSED,
    answer_view,
    describe_open_questions,
    match_choice,
    parse_typed_answer,
)
from cellwright.server.http.auth.dependencies import Approver, Reader, RunName, check_run
from cellwright.server.http.problems import Conflict, ResourceNotFound
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.schemas.questions import (
    AnswerBody,
    AnswerTaken,
    AskedQuestion,
    AskedQuestions,
    GrantList,
    GrantShape,
)
from cellwright.tools import BudgetReply, Inbox, InboxItem

logger = logging.getLogger(__name__)

QuestionName = Annotated[str, Path(min_length=1, max_length=400, description="A question, as `/questions` names it.")]
_TAGS: Final = ["approvals"]


def questions_routes(house: ApiResources) -> APIRouter:
    """Questions and lasting yeses."""
    router = APIRouter(tags=[*_TAGS])
    _add_questions(router, house)
    _add_answer(router, house)
    _add_grants(router, house)
    return router


def _add_questions(router: APIRouter, house: ApiResources) -> None:
    @router.get("/questions", operation_id="list_questions", summary="What waits for an answer")
    async def list_questions(_: Reader) -> AskedQuestions:
        return AskedQuestions(questions=await asked_now(house, await house.live.records.questions.pending()))

    @router.get("/runs/{run}/questions", operation_id="list_run_questions", summary="What one run asks")
    async def list_run_questions(_: Reader, run: RunName) -> AskedQuestions:
        await check_run(house.live.records, run)
        return AskedQuestions(questions=await asked_now(house, await house.live.records.questions.pending(run)))


async def asked_now(house: ApiResources, found: Sequence[OpenQuestion]) -> list[AskedQuestion]:
    """The questions as they are shown. One that cannot be read does not hide the others."""
    shown: list[AskedQuestion] = []
    for each in found:
        try:
            [told] = await describe_open_questions(house.live.records, house.masker, each.run, [each])
        except UserError as problem:
            logger.warning("The question %s cannot be shown: %s", each.id, problem)
        else:
            shown.append(AskedQuestion.model_validate({**told, "run": each.run, "asked_ms": each.asked_ms}))
    return shown


# ── answers ──


def _add_answer(router: APIRouter, house: ApiResources) -> None:
    @router.post(
        "/questions/{question:path}/answer", operation_id="answer_question", summary="Answer; the first answer stands"
    )
    async def answer_question(caller: Approver, question: QuestionName, said: AnswerBody) -> AnswerTaken:
        found = await house.live.records.questions.get(question)
        if found is None:
            raise ResourceNotFound(f"No question {question!r}.", hint="GET /questions lists what is asked.")
        if found.state != "open" and found.question.topic not in INBOX_TOPICS:
            raise Conflict(f"The question {question!r} is {found.state} already.", hint="Nothing to do.")
        if found.question.topic in INBOX_TOPICS:
            return await _answer_approval(house, found.id, said, caller.as_person)
        return await _answer_question(house, found, said.answer, caller.as_person)


async def _answer_approval(house: ApiResources, question: str, said: AnswerBody, person: Person) -> AnswerTaken:
    desk = Inbox(house.live.records, masker=house.masker)
    shown = await desk.show(question)
    outcome = await desk.answer(question, _reply(shown, said), person, said.fingerprint)
    if isinstance(outcome, AnswerRefused):
        raise Conflict(outcome.message, hint="Look at it again: GET /questions shows how it stands.")
    return AnswerTaken(id=question, says=str(answer_view(outcome)["says"]))


def _reply(shown: InboxItem, said: AnswerBody) -> Reply | BudgetReply:
    """Raises `UserError` for what is no answer here."""
    match said.answer.strip().lower():
        case "no":
            return No(feedback=said.feedback)
        case "yes":
            return Yes(reach=said.reach or ("once" if "once" in shown.question.offers else "run"))
        case typed:
            reply = parse_typed_answer(typed, shown.question.offers)
    if reply is None:
        offers = ", ".join([*shown.question.offers, "no"])
        raise UserError(f"{said.answer[:80]!r} is no answer here.", hint=f"One of: {offers}.")
    return No(feedback=said.feedback) if isinstance(reply, No) else reply


async def _answer_question(house: ApiResources, found: OpenQuestion, typed: str, person: Person) -> AnswerTaken:
    choices = found.question.choices
    answer = match_choice(typed.strip(), choices)
    if answer is None:
        hint = f"One of: {', '.join(choices)}." if choices else "A few words."
        raise UserError(f"{typed[:80]!r} is no answer here.", hint=hint)
    try:
        if found.question.topic == PAUSED:
            await steering_commands.resume(house.live.records, found.run, person)
        else:
            await house.live.records.questions.answer(found.id, answer, by=person.name)
    except UserError as problem:
        # Somebody was faster, or the run has ended.
        raise Conflict(problem.message, hint=problem.hint) from problem
    return AnswerTaken(id=found.id, says=answer)


# ── lasting yeses ──


def _add_grants(router: APIRouter, house: ApiResources) -> None:
    @router.get("/grants", operation_id="list_grants", summary="Every yes that still allows something")
    async def list_grants(_: Approver) -> GrantList:
        found = await Inbox(house.live.records, masker=house.masker).grants(datetime.now(UTC))
        return GrantList(grants=[_grant(grant) for grant in found])

    @router.delete("/grants/{grant:path}", operation_id="revoke_grant", summary="Take a yes back: it asks again")
    async def revoke_grant(caller: Approver, grant: QuestionName) -> GrantShape:
        desk = Inbox(house.live.records, masker=house.masker)
        try:
            found = await desk.revoke(grant, caller.as_person)
        except UserError as problem:
            raise ResourceNotFound(problem.message, hint="GET /grants lists them.") from problem
        if isinstance(found, AnswerRefused):
            raise Conflict(found.message)
        return _grant(found)


def _grant(grant: Grant) -> GrantShape:
    return GrantShape(
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
