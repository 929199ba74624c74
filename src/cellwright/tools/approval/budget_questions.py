"""A budget stops a run: it is reached, or nobody knows what something costs. The run pauses and asks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, assert_never

from pydantic import TypeAdapter, ValidationError

from cellwright.errors import UserError
from cellwright.journal.flow import Flow
from cellwright.journal.questions import Question as Asking
from cellwright.journal.values import Json
from cellwright.policy.actions import Fingerprint, fingerprint_of
from cellwright.policy.approvals import AnswerRefused, No, Origin, Person, QuestionId
from cellwright.policy.budgets import BudgetLedger, Limit, Reached, Unpriced, UseId, leave_uncounted, price
from cellwright.policy.display_text import shown
from cellwright.policy.masking.masker import Masker
from cellwright.policy.money import Money, is_amount

BUDGET: Final = "budget"
"""The topic of such a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """Go on, with so much more."""

    more: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PutPrice:
    """Go on, and count it as so much."""

    amount: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveUncounted:
    """Go on, and do not count in this run what nobody knows the price of."""


BudgetReply = Raise | PutPrice | LeaveUncounted
"""What a person can say besides no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverLimit:
    """The limit is reached."""

    used: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPrice:
    """Money is bounded, and this cannot be set against the bound."""

    why: str
    use: UseId | None
    """What a price can be put on; None if it is a sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetQuestion:
    """What a person is asked when a limit stops a run."""

    id: QuestionId
    run: str
    limit: Limit
    party: str
    about: OverLimit | NoPrice
    asked_at: datetime

    @property
    def fingerprint(self) -> Fingerprint:
        """Names exactly what is asked about."""
        limit, about = self.limit, self.about
        what = str(about.used) if isinstance(about, OverLimit) else (about.why, about.use)
        return fingerprint_of((BUDGET, self.run, limit.describe(), limit.where, str(limit.at_most), self.party, what))

    @property
    def offers(self) -> tuple[str, ...]:
        """What can be answered besides no."""
        match self.about:
            case OverLimit():
                return ("raise",)
            case NoPrice(use=None):
                return ("uncounted",)
            case NoPrice():
                return ("price", "uncounted")

    @property
    def unit(self) -> str:
        """In what a raise or a price is counted."""
        return self.limit.currency or self.limit.measure

    def describe(self) -> str:
        """Everything the person must see."""
        where = f" ({shown(self.limit.where)})" if self.limit.where else ""
        bound, party, run = f"{self.limit.describe()}{where}", shown(self.party), shown(self.run)
        match self.about:
            case OverLimit(used=used):
                return (
                    f"Use more than {bound}: {party} would stand at {used:f}.\n"
                    f"A raise is an amount in {self.unit}, and counts for the run {run} only."
                )
            case NoPrice(why=why, use=use):
                priced = "" if use is None else f"A price is an amount in {self.unit} for the use {shown(use)}.\n"
                return (
                    f"Go on under {bound} for {party}, although {shown(why)}.\n{priced}"
                    f"Uncounted, the run {run} goes on and only what has a known price in {self.unit} counts."
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAnswered:
    """What the person said."""

    question: BudgetQuestion
    reply: BudgetReply | No
    by: Person
    at: datetime

    def ledger(self, ledger: BudgetLedger) -> BudgetLedger:
        """The ledger to go on with; the same after a no."""
        question = self.question
        match self.reply:
            case No():
                return ledger
            case Raise(more=more):
                old = question.limit
                new = replace(old, at_most=old.at_most + more, where=f"raised by {self.by.name}")
                return replace(ledger, limits=tuple(new if limit == old else limit for limit in ledger.limits))
            case PutPrice(amount=amount):
                assert isinstance(question.about, NoPrice)
                assert question.about.use is not None
                return price(ledger, question.about.use, Money(amount=amount, currency=question.limit.currency))
            case LeaveUncounted():
                return leave_uncounted(ledger, question.run)
            case _:
                assert_never(self.reply)

    def describe(self) -> str:
        """What the answer changes, in a few words."""
        limit, unit = self.question.limit.describe(), self.question.unit
        match self.reply:
            case Raise(more=more):
                return f"Raise {limit} by {more:f} {unit}"
            case PutPrice(amount=amount):
                return f"Count {amount:f} {unit} under {limit}"
            case LeaveUncounted():
                return f"Leave uncounted what has no known price, under {limit}"
            case No():
                is_reached = isinstance(self.question.about, OverLimit)
                return f"Raise {limit}" if is_reached else f"Go on without a known price, under {limit}"
            case _:
                assert_never(self.reply)


_QUESTION: Final = TypeAdapter(BudgetQuestion)
_PERSON: Final = TypeAdapter(Person)
_TIME: Final = TypeAdapter(datetime)


async def ask_for_more(flow: Flow, stop: Reached | Unpriced, masker: Masker) -> BudgetAnswered:
    """Pause until a person lets it go on or says no; survives restarts."""

    async def put() -> Json:
        question = BudgetQuestion(
            # The journal numbers questions; the answer brings the number along.
            id=QuestionId(flow.id),
            run=flow.run,
            limit=stop.limit,
            party=stop.party,
            about=_about(stop, masker),
            asked_at=datetime.now(UTC),
        )
        return question_body(question)

    body = await flow.step("budget stops it", put)
    question = read_question(body, flow.id)
    asking = Asking(topic=BUDGET, text=question.describe().split("\n", 1)[0], body=body)
    while (answered := read_answer(question, await flow.ask(asking))) is None:
        pass
    return answered


def answer_budget(
    question: BudgetQuestion, reply: BudgetReply | No, *, origin: Origin, shown_fingerprint: str, now: datetime
) -> BudgetAnswered | AnswerRefused:
    """The question answered, or why this does not count as an answer."""
    # An exact type, as in policy: a subclass made elsewhere proves nothing about who speaks.
    if type(origin) is not Person:
        return AnswerRefused(why="not-a-person", message="Only a person at an interface can answer.")
    if shown_fingerprint != question.fingerprint:
        return AnswerRefused(why="not-what-was-shown", message="The answer is about something else than was shown.")
    if _said(reply) not in (*question.offers, "no"):
        return AnswerRefused(why="not-offered", message=f"Possible here: {', '.join(question.offers)}.")
    if isinstance(reply, Raise) and not (is_amount(reply.more) and reply.more > 0):
        return AnswerRefused(why="not-offered", message=f"A raise is an amount above zero in {question.unit}.")
    if isinstance(reply, PutPrice) and not is_amount(reply.amount):
        return AnswerRefused(why="not-offered", message=f"A price is an amount in {question.unit}, perhaps zero.")
    return BudgetAnswered(question=question, reply=reply, by=origin, at=now)


# ── how the journal keeps it ──


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
    return {
        "question": answered.question.id,
        "fingerprint": answered.question.fingerprint,
        "reply": {
            "says": _said(answered.reply),
            **{name: str(value) for name, value in asdict(answered.reply).items()},
        },
        "by": _PERSON.dump_python(answered.by, mode="json"),
        "at": answered.at.isoformat(),
    }


def read_answer(question: BudgetQuestion, kept: Any) -> BudgetAnswered | None:
    """The answer of what was kept; None for what no inbox has written, or about something else."""
    match kept:
        case {"question": str(number), "fingerprint": str(fingerprint), "reply": reply, "by": by, "at": at}:
            numbered = replace(question, id=QuestionId(number))
        case _:
            return None
    try:
        said, person, moment = _read_reply(reply), _PERSON.validate_python(by), _TIME.validate_python(at)
    except ValueError:
        return None
    checked = answer_budget(numbered, said, origin=person, shown_fingerprint=fingerprint, now=moment)
    return checked if isinstance(checked, BudgetAnswered) else None


_KINDS: Final[dict[str, type[BudgetReply | No]]] = {
    "raise": Raise,
    "price": PutPrice,
    "uncounted": LeaveUncounted,
    "no": No,
}


def _said(reply: BudgetReply | No) -> str:
    return next(name for name, kind in _KINDS.items() if isinstance(reply, kind))


def _read_reply(kept: Any) -> BudgetReply | No:
    """Raises `ValidationError`, or `ValueError` for what is no reply."""
    match kept:
        case {"says": str(says), **rest} if says in _KINDS:
            return TypeAdapter(_KINDS[says]).validate_python(rest)
        case _:
            raise ValueError("no reply")


def _about(stop: Reached | Unpriced, masker: Masker) -> OverLimit | NoPrice:
    match stop:
        case Reached(used=used):
            return OverLimit(used=used)
        case Unpriced(why=why, use=use):
            return NoPrice(why=masker.mask(why).text, use=use)
