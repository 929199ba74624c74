"""Two runs are the same when only what changes by design differs; nothing that is content is taken out."""

from __future__ import annotations

import pandas
import pytest

from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome, CellOutput
from cellwright.runs.verify.comparison import OutputDifference, comparable_output, difference, normalised


def outcome(text: str = "", *, data: str = "", console: str = "", is_cut: bool = False) -> CellOutcome:
    output = CellOutput(mimetype="text/html", text=text, data=data, is_cut=is_cut) if text or data else None
    return CellOutcome(id=CellId("a"), name="a", status="ok", console=console, output=output)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("<Thing object at 0x7f0a1b2c3d4e>", "<Thing object at 0x7f0a1b2c9999>"),
        ("&lt;function f at 0x7f0a1b2c3d4e&gt;", "&lt;function f at 0x7fffffffffff&gt;"),
        (
            "<marimo-ui-element object-id='a-0' random-id='8a4e4dd5-1111-2222-3333-444455556666'>",
            "<marimo-ui-element object-id='a-0' random-id='00000000-9999-2222-3333-444455556666'>",
        ),
        (
            "data-model-id='&quot;0123456789abcdef0123456789abcdef&quot;'",
            "data-model-id='&quot;ffff456789abcdef0123456789abcdef&quot;'",
        ),
    ],
)
def test_what_changes_by_design_is_the_same(first: str, second: str) -> None:
    assert first != second
    assert normalised(first) == normalised(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("0x7f0a1b2c3d4e", "0x7f0a1b2c9999"),
        ("stored at 0x7f0a1b2c3d4e", "stored at 0x7f0a1b2c9999"),
        ("id: 8a4e4dd5-1111-2222-3333-444455556666", "id: 00000000-1111-2222-3333-444455556666"),
        ("T_12345 is a name", "T_12346 is a name!"),
        ("<A at 0x7f0a1b2c3d4e> <A at 0x7f0a1b2c3d4e>", "<A at 0x7f0a1b2c3d4e> <A at 0x7f0a1b2c9999>"),
    ],
    ids=["a number", "a sentence", "an id that is content", "other words", "one thing twice, then two things"],
)
def test_content_stays_different(first: str, second: str) -> None:
    assert normalised(first) != normalised(second)


def test_a_styled_table_of_pandas_is_the_same_each_time() -> None:
    table = pandas.DataFrame({"a": [1, 2]})
    first, second = (table.style.highlight_max().to_html() for _ in range(2))
    assert first != second
    assert normalised(first) == normalised(second)


def test_a_difference_is_told_in_a_few_short_lines() -> None:
    first, second = ("\n".join(f"{word} {number}" for number in range(100)) for word in ("old", "new"))
    found = difference(comparable_output(outcome(console=first)), comparable_output(outcome(console=second)))
    assert found is not None
    assert found.what == "console"
    lines = found.text.splitlines()
    assert len(lines) == 13
    assert lines[0] == "- old 0"
    assert lines[-1] == "… 188 more lines"


def test_what_reads_the_same_and_is_drawn_otherwise_differs_where_it_begins_to() -> None:
    found = difference(
        comparable_output(outcome("a table", data="<b>one</b>")),
        comparable_output(outcome("a table", data="<b>two</b>")),
    )
    assert found == OutputDifference(
        what="output", text="in the rendered text/html, at character 3:\n- …<b>one</b>…\n+ …<b>two</b>…"
    )


def test_an_output_too_large_to_be_sent_is_compared_by_its_bounded_text() -> None:
    cut = comparable_output(outcome("[table 1,000,000 rows]", is_cut=True))
    assert not cut.is_whole
    assert difference(cut, cut) is None
    assert difference(cut, comparable_output(outcome("[table 1,000,001 rows]", is_cut=True))) is not None


def test_the_hash_covers_status_console_and_output() -> None:
    hashes = {
        comparable_output(one).sha256
        for one in (outcome("a"), outcome("b"), outcome(console="a"), outcome("a", console="a"), outcome(data="b c"))
    }
    assert len(hashes) == 5
