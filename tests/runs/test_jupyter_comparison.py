"""What counts as the same in a converted notebook: pictures and markdown by what they hold; the rest is named."""

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
