"""What counts as the same in a converted notebook, and what differs: each kind of difference is seen and named."""

from __future__ import annotations

import pytest

from cellwright.kernel.jupyter import ConvertedCell, NotebookConversion, OriginalCell, OriginalRun, ShownValue
from cellwright.runs.jupyter.comparison import CellProof, ConvertedOutcome, compare


def proof_of(theirs: ShownValue, mine: ShownValue, *, variables: tuple[ShownValue, ...] = ()) -> CellProof:
    """Of one cell that shows one value."""
    cell = ConvertedCell(code="x", probe="x", sources=(1,), defines=(("x", "x"),))
    there = OriginalCell(number=1, status="ok", shown=(theirs,), pictures=int(theirs.kind == "picture"))
    here = ConvertedOutcome(status="ok", shown=(mine,), has_picture=mine.kind == "picture")
    held = {"x": variables[0]} if variables else {}
    conversion = NotebookConversion(cells=(cell,))
    [proof] = compare(conversion, OriginalRun(cells=(there,), variables=held), [here], held)
    return proof


@pytest.mark.parametrize(
    ("kind", "one", "other", "verdict", "said"),
    [
        ("picture", "a", "a", "proven", ()),
        ("picture", "a", "b", "differs", ("it draws another picture",)),
        ("markdown", "a", "a", "proven", ()),
        ("markdown", "a", "b", "differs", ("it shows another markdown",)),
    ],
)
def test_pictures_and_markdown_are_compared_by_what_they_hold(
    kind: str, one: str, other: str, verdict: str, said: tuple[str, ...]
) -> None:
    proof = proof_of(ShownValue(kind=kind, digest=one), ShownValue(kind=kind, digest=other))
    assert (proof.verdict, proof.reasons, proof.only_there) == (verdict, said, ())


def test_what_is_only_known_to_be_there_is_named() -> None:
    opaque, picture = ShownValue(kind="opaque", digest=""), ShownValue(kind="picture", digest="")
    assert proof_of(opaque, opaque, variables=(opaque,)).only_there == ("`x`", "what it shows")
    assert proof_of(picture, picture).only_there == ("its picture",)


def verdict_on(
    there: OriginalCell,
    here: ConvertedOutcome,
    *,
    theirs: dict[str, ShownValue] | None = None,
    mine: dict[str, ShownValue] | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Of one cell that defines `x`, and leaves these variables in each kernel."""
    conversion = NotebookConversion(cells=(ConvertedCell(code="x", probe="x", sources=(1,), defines=(("x", "x"),)),))
    [proof] = compare(conversion, OriginalRun(cells=(there,), variables=theirs or {}), [here], mine or {})
    return (proof.verdict, proof.reasons)


ONE, TWO = ShownValue(kind="int", digest="1"), ShownValue(kind="int", digest="2")
SAME_NUMBER = ShownValue(kind="float", digest="1")


def ran(printed: str = "", *shown: ShownValue) -> OriginalCell:
    return OriginalCell(number=1, status="ok", printed=printed, shown=shown)


def ran_here(printed: str = "", *shown: ShownValue) -> ConvertedOutcome:
    return ConvertedOutcome(status="ok", printed=printed, shown=shown)


@pytest.mark.parametrize(
    ("there", "here", "said"),
    [
        (ran("total 41\n"), ran_here("total 42\n"), "it prints other text: 'total 41' there, 'total 42' here"),
        (ran("one\ntwo\n"), ran_here("one\n"), "it prints other text: 2 lines there, 1 here"),
        (ran("", ONE), ran_here("", TWO), "it shows another int"),
        (ran("", ONE), ran_here("", SAME_NUMBER), "it shows a float in place of a int"),
        (ran("", ONE, TWO), ran_here("", TWO), "the original shows 2 values here, this cell 1"),
        (ran("", ONE), ran_here(), "the original shows 1 values here, this cell 0"),
    ],
)
def test_other_printed_text_and_another_shown_value_differ_and_are_told(
    there: OriginalCell, here: ConvertedOutcome, said: str
) -> None:
    assert verdict_on(there, here) == ("differs", (said,))


@pytest.mark.parametrize(
    ("mine", "said"),
    [
        ({"x": TWO}, "another value in the end: `x`"),
        ({"x": SAME_NUMBER}, "another value in the end: `x`"),
        ({}, "not there in the end: `x`"),
    ],
)
def test_a_variable_with_another_value_or_gone_in_the_end_differs_and_is_named(
    mine: dict[str, ShownValue], said: str
) -> None:
    assert verdict_on(ran(), ran_here(), theirs={"x": ONE}, mine={"x": ONE}) == ("proven", ())
    assert verdict_on(ran(), ran_here(), theirs={"x": ONE}, mine=mine) == ("differs", (said,))


def test_a_cell_that_fails_on_one_side_only_is_never_proven() -> None:
    broken = OriginalCell(number=1, status="failed", error="NameError: name 'y' is not defined")
    broken_here = ConvertedOutcome(status="failed", error="ValueError: no")
    why = "the original fails from top to bottom"
    assert verdict_on(broken, ran_here()) == (
        "differs",
        (f"{why}, this does not: NameError: name 'y' is not defined",),
    )
    assert verdict_on(ran(), broken_here) == ("failed", ("it fails here: ValueError: no",))
    assert verdict_on(broken, broken_here) == (
        "fails in both",
        (f"{why}: NameError: name 'y' is not defined", "it fails here: ValueError: no"),
    )


def twice(first: OriginalCell, second: OriginalCell, here: ConvertedOutcome, x: str = "1") -> CellProof:
    """Of one cell whose original was run twice; `x` is what the second run left in the variable."""
    conversion = NotebookConversion(cells=(ConvertedCell(code="x", probe="x", sources=(1,), defines=(("x", "x"),)),))
    one = OriginalRun(cells=(first,), variables={"x": ONE})
    two = OriginalRun(cells=(second,), variables={"x": ShownValue(kind="int", digest=x)})
    [proof] = compare(conversion, one, [here], {"x": TWO if x != "1" else ONE}, again=two)
    return proof


def printing(text: str) -> OriginalCell:
    return OriginalCell(number=1, status="ok", printed=text)


def test_what_the_original_does_otherwise_each_time_is_told_and_the_rest_must_still_be_the_same() -> None:
    one, two = printing("at 10:01\nR2 0.9\n"), printing("at 10:02\nR2 0.9\n")
    same = twice(one, two, ConvertedOutcome(status="ok", printed="at 10:03\nR2 0.9\n"), x="9")
    assert (same.verdict, same.reasons) == ("proven", ())
    assert same.only_there == ("`x`, which is another each time", "printed lines that are others each time")
    wrong = twice(one, two, ConvertedOutcome(status="ok", printed="at 10:03\nR2 0.8\n"))
    assert wrong.verdict == "differs" and "the original itself does not do the same twice" in wrong.reasons
    longer = twice(one, two, ConvertedOutcome(status="ok", printed="at 10:03\nR2 0.9\nmore\n"))
    assert longer.verdict == "differs"
    shown = OriginalCell(number=1, status="ok", shown=(ONE, TWO)), OriginalCell(number=1, status="ok", shown=(ONE, ONE))
    assert twice(*shown, ConvertedOutcome(status="ok", shown=(ONE, SAME_NUMBER))).verdict == "proven"
    assert twice(*shown, ConvertedOutcome(status="ok", shown=(TWO, SAME_NUMBER))).verdict == "differs"
