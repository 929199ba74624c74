"""Errors survive being written down, whatever they are."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from cellwright.errors import CellwrightError, Defect, KernelLost, Unavailable, UserError
from cellwright.journal.values import StepFailed, error_json, headline, parse_error, settled
from cellwright.remedies import remedy


class Overloaded(Unavailable):
    """An error of a room this one does not know."""

    def __init__(self, provider: str, *, retry_seconds: float) -> None:
        super().__init__(f"{provider} is overloaded.", hint="Wait.")
        self.retry_seconds = retry_seconds
        self.connection = object()


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def test_an_error_of_our_tree_keeps_its_class_its_words_and_what_json_can_hold() -> None:
    for error in (UserError("a", hint="b"), KernelLost("c"), Overloaded("x", retry_seconds=2.5)):
        again = settled(error)
        assert type(again) is type(error)
        assert (again.message, again.hint, str(again)) == (error.message, error.hint, str(error))
    assert vars(settled(Overloaded("x", retry_seconds=2.5)))["retry_seconds"] == 2.5
    defect = Defect("ours")
    assert vars(settled(defect))["report_id"] == defect.report_id


def test_a_remedy_is_kept_as_a_value_and_masked_and_a_hint_of_the_version_before_stays_its_text() -> None:
    advice = remedy("see_doctor", lead="Look at pass-1;", says="says what pass-1 is")
    envelope = json.loads(
        json.dumps(error_json(UserError("No.", hint=advice), lambda text: text.replace("pass-1", "•")))
    )
    again = parse_error(envelope)
    assert again.advice == remedy("see_doctor", lead="Look at •;", says="says what • is")
    assert again.hint == "Look at •; the doctor says what • is."
    del envelope["remedy"]
    assert parse_error(envelope | {"hint": "Name files with --data."}).advice == "Name files with --data."
    assert parse_error(envelope | {"remedy": {"kind": "dance", "arguments": {}, "lead": ""}}).advice == again.hint


def test_a_class_that_is_gone_comes_back_as_its_nearest_ancestor() -> None:
    envelope = error_json(Overloaded("x", retry_seconds=1))
    envelope["lineage"] = ["NoLongerHere", *envelope["lineage"][1:]]
    assert type(parse_error(envelope)) is Unavailable


def test_a_foreign_error_comes_back_as_step_failed_with_its_type_and_traceback() -> None:
    try:
        raise ValueError("no rows\nat all")
    except ValueError as error:
        failed = settled(error)
    assert isinstance(failed, StepFailed)
    assert (failed.error_type, failed.message) == ("ValueError", "no rows\nat all")
    assert "test_envelope.py" in failed.traceback_text
    assert vars(settled(failed)) == vars(failed)
    assert headline(failed) == "ValueError: no rows"


def test_an_error_that_cannot_say_what_it_is_does_not_hide_itself() -> None:
    failed = settled(Unprintable())
    assert isinstance(failed, StepFailed)
    assert (failed.error_type, failed.message) == ("Unprintable", "<Unprintable without a readable message>")


@given(st.text(), st.text())
def test_any_words_come_back_as_they_were(message: str, hint: str) -> None:
    again = parse_error(json.loads(json.dumps(error_json(UserError(message, hint=hint)))))
    assert isinstance(again, CellwrightError)
    assert (again.message, again.hint) == (message[:4_000], hint)
