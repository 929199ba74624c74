"""A budget is reached: the run pauses and asks whether it may have more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from cellwright.errors import UserError
from cellwright.journal import Flow, Json
from cellwright.journal import Question as Asking
from cellwright.policy import AnswerRefused, Fingerprint, Ledger, Limit, No, Origin, Person, QuestionId, Reached
from cellwright.policy.actions import fingerprint_of
from cellwright.policy.money import is_amount
from cellwright.policy.shown import shown

BUDGET: Final = "budget"
"""The topic of such a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """Go on, with so much more."""

    more: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetQuestion:
    """What a person is asked when a limit is reached."""

    id: QuestionId
    run: str
    limit: Limit
    party: str
    used: Decimal
    asked_at: datetime

    @property
    def fingerprint(self) -> Fingerprint:
        """Names exactly what is asked about."""
        limit = self.limit
        return fingerprint_of(
            (BUDGET, self.run, limit.describe(), limit.where, str(limit.at_most), self.party, str(self.used))
        )

    @property
    def offers(self) -> tuple[str, ...]:
        """What can be answered besides no."""
        return ("raise",)

    @property
    def unit(self) -> str:
        """In what a raise is counted."""
        return self.limit.currency or self.limit.measure

    def describe(self) -> str:
        """Everything the person must see."""
        where = f" ({shown(self.limit.where)})" if self.limit.where else ""
        return (
            f"Use more than {self.limit.describe()}{where}: {shown(self.party)} would stand at {self.used:f}.\n"
            f"A raise is an amount in {self.unit}, and counts for the run {shown(self.run)} only."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAnswered:
    """What the person said."""

    question: BudgetQuestion
    reply: Raise | No
    by: Person
    at: datetime

    def ledger(self, ledger: Ledger) -> Ledger:
        """The ledger with the raised limit; the same after a no."""
        if isinstance(self.reply, No):
            return ledger
        old = self.question.limit
        new = replace(old, at_most=old.at_most + self.reply.more, where=f"raised by {self.by.name}")
        return replace(ledger, limits=tuple(new if limit == old else limit for limit in ledger.limits))


_QUESTION: Final = TypeAdapter(BudgetQuestion)
_ANSWERED: Final = TypeAdapter(BudgetAnswered)


async def ask_for_more(flow: Flow, reached: Reached) -> BudgetAnswered:
    """Pause until a person raises the limit or says no; survives restarts."""
    asked_at = await flow.step("budget reached", _now, returns=datetime)
    question = BudgetQuestion(
        # The journal numbers questions; the answer brings the number along.
        id=QuestionId(flow.id),
        run=flow.run,
        limit=reached.limit,
        party=reached.party,
        used=reached.used,
        asked_at=asked_at,
    )
    asking = Asking(topic=BUDGET, text=question.describe().split("\n", 1)[0], body=question_body(question))
    while (answered := read_answer(question, await flow.ask(asking))) is None:
        pass
    return answered


def answer_budget(
    question: BudgetQuestion, reply: Raise | No, *, origin: Origin, shown_fingerprint: str, now: datetime
) -> BudgetAnswered | AnswerRefused:
    """The question answered, or why this does not count as an answer."""
    # An exact type, as in policy: a subclass made elsewhere proves nothing about who speaks.
    if type(origin) is not Person:
        return AnswerRefused(why="not-a-person", message="Only a person at a door can answer.")
    if shown_fingerprint != question.fingerprint:
        return AnswerRefused(why="not-what-was-shown", message="The answer is about something else than was shown.")
    if isinstance(reply, Raise) and not (is_amount(reply.more) and reply.more > 0):
        return AnswerRefused(why="not-offered", message=f"A raise is an amount above zero in {question.unit}.")
    return BudgetAnswered(question=question, reply=reply, by=origin, at=now)


def question_body(question: BudgetQuestion) -> Json:
    """The question as the journal keeps it."""
    return _QUESTION.dump_python(question, mode="json")


def read_question(body: Json, number: str) -> BudgetQuestion:
    """The question of what was kept, under the journal's number. Raises `UserError`."""
    try:
        return replace(_QUESTION.validate_python(body), id=QuestionId(number))
    except ValidationError as error:
        raise UserError(f"{number!r} is no question about a budget.", hint="Was the journal altered?") from error


def answer_body(answered: BudgetAnswered) -> Json:
    """The answer as the journal keeps it."""
    kept = _ANSWERED.dump_python(answered, mode="json")
    return {**kept, "question": answered.question.id, "fingerprint": answered.question.fingerprint}


def read_answer(question: BudgetQuestion, kept: Any) -> BudgetAnswered | None:
    """The answer of what was kept; None for what no desk has written, or about something else."""
    if not isinstance(kept, dict) or not isinstance(kept.get("question"), str):
        return None
    numbered = replace(question, id=QuestionId(kept["question"]))
    said = {name: kept.get(name) for name in ("reply", "by", "at")}
    try:
        read = _ANSWERED.validate_python({**said, "question": question_body(numbered)})
    except ValidationError:
        return None
    fingerprint = str(kept.get("fingerprint"))
    checked = answer_budget(numbered, read.reply, origin=read.by, shown_fingerprint=fingerprint, now=read.at)
    return checked if isinstance(checked, BudgetAnswered) else None


async def _now() -> datetime:
    return datetime.now(UTC)
