"""What people type as an answer: one grammar for a terminal, a command and HTTP."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from cellwright.errors import UserError
from cellwright.policy.approvals import No, Reply, Yes
from cellwright.tools.approval.budget_questions import BudgetReply, LeaveUncounted, PutPrice, Raise
from cellwright.tools.approval.typed_answers import TypedAnswer, parse_choice, parse_reply

ACTION = ("once", "run", "always", "no")
BUDGET = ("raise", "no")
PRICE = ("price", "uncounted", "no")


@pytest.mark.parametrize(
    ("typed", "offers", "reply"),
    [
        (TypedAnswer(words="o"), ACTION, Yes(reach="once")),
        (TypedAnswer(words=" ALWAYS "), ACTION, Yes(reach="always")),
        (
            TypedAnswer(words="always", lasts=timedelta(hours=12)),
            ACTION,
            Yes(reach="always", lasts=timedelta(hours=12)),
        ),
        (TypedAnswer(words="yes"), ACTION, Yes(reach="once")),
        (TypedAnswer(words="yes"), ("run", "no"), Yes(reach="run")),
        (TypedAnswer(words="yes", reach="always"), ACTION, Yes(reach="always")),
        (TypedAnswer(words="n", feedback="Not today."), ACTION, No(feedback="Not today.")),
        (TypedAnswer(words="raise 2.50"), BUDGET, Raise(more=Decimal("2.50"))),
        (TypedAnswer(words="price 0"), PRICE, PutPrice(amount=Decimal(0))),
        (TypedAnswer(words="un"), PRICE, LeaveUncounted()),
        # Not offered is for the inbox to refuse, not a mistake in what was typed.
        (TypedAnswer(words="always"), ("run", "no"), Yes(reach="always")),
    ],
)
def test_a_word_or_its_beginning_is_an_answer(
    typed: TypedAnswer, offers: tuple[str, ...], reply: Reply | BudgetReply
) -> None:
    assert parse_reply(typed, offers) == reply


@pytest.mark.parametrize(
    "words", ["", "run it", "raise", "raise -1", "raise nan", "raise much", "once more", "r", "maybe"]
)
def test_anything_else_is_no_answer_and_the_hint_says_what_is(words: str) -> None:
    with pytest.raises(UserError, match="is no answer here") as problem:
        parse_reply(TypedAnswer(words=words), ("once", "run", "always", "raise", "no"))
    assert problem.value.hint == "One of: once, run, always, raise, no."


def test_a_choice_is_picked_by_number_or_in_words() -> None:
    assert parse_choice(TypedAnswer(words=" 2 "), ("Q2", "Q3")) == "Q3"
    assert parse_choice(TypedAnswer(words="q2"), ("Q2", "Q3")) == "Q2"
    assert parse_choice(TypedAnswer(words="anything at all"), ()) == "anything at all"
    for words, choices in (("3", ("Q2", "Q3")), ("", ("Q2", "Q3")), (" ", ())):
        with pytest.raises(UserError):
            parse_choice(TypedAnswer(words=words), choices)
