"""What is wanted is typed as a list of fields, or said by a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.errors import UserError
from cellwright.runs.extract.outcomes import ExtractedDocument, ExtractionCost
from cellwright.runs.extract.prompt import answer_schema, parts_of, read_answer
from cellwright.runs.extract.rows import SaidValue
from cellwright.runs.extract.tables import csv_bytes, tables_of
from cellwright.runs.goal.extraction_order import ExtractedField, field_list, read_fields, read_order
from tests.runs.extract.test_rows import DOCUMENT, row

EXPECTED = (
    ExtractedField(name="party", says="who pays"),
    ExtractedField(name="day", type="date"),
    ExtractedField(name="amount", type="number"),
)


def test_fields_are_a_list_a_toml_table_or_a_json_schema(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        '[fields]\nparty = {type = "text", says = "who pays"}\nday = "date"\namount = "number"'
    )
    (tmp_path / "b.json").write_text(
        '{"type": "object", "properties": {"party": {"type": ["string", "null"], "description": "who pays"},'
        '"day": {"type": "string", "format": "date"}, "amount": {"type": "number"}}}'
    )
    typed = "party who pays, day: date, amount:number"
    assert [read_fields(words, tmp_path) for words in (typed, "a.toml", "b.json")] == [EXPECTED] * 3
    assert field_list(EXPECTED) == "party, day:date, amount:number"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("", "names no field"),
        ("a:colour", "no type"),
        ("1a", "no name"),
        ("a, a", "Two fields"),
        ("document", "no name"),
        ("gone.toml", "cannot be read"),
        ("broken.json", "no JSON"),
        (", ".join(f"f{n}" for n in range(41)), "at most 40"),
    ],
)
def test_a_mistake_in_a_schema_is_said_with_an_example(tmp_path: Path, words: str, problem: str) -> None:
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(UserError, match=problem) as raised:
        read_fields(words, tmp_path)
    assert raised.value.hint


def test_an_order_of_documents_that_are_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file or folder"):
        read_order("a", ["gone"], here=tmp_path)
    with pytest.raises(UserError, match="3 readings"):
        read_order("a", ["."], here=tmp_path, readings=3)


def test_an_answer_is_rows_of_the_shape_that_was_asked_for_or_none() -> None:
    said = {
        "party": {"value": "Ada", "quote": "Party: Ada", "page": 1},
        "amount": {"value": 5, "quote": "5"},
        "day": None,
    }
    assert read_answer({"rows": [said]}) == (
        {
            "party": SaidValue(value="Ada", quote="Party: Ada", page=1),
            "amount": SaidValue(value="5", quote="5"),
            "day": None,
        },
    )
    for wrong in (None, [], {"rows": 1}, {"rows": ["x"]}, {"rows": [{"a": {"value": 1}}]}, {"rows": [{"a": 1}]}):
        assert read_answer(wrong) is None
    assert answer_schema(EXPECTED)["properties"]["rows"]["items"]["required"] == ["party", "day", "amount"]


def test_a_long_document_is_put_in_parts_each_page_under_its_number() -> None:
    assert list(parts_of(DOCUMENT)) == ["[page 1]\nParty: Ada\nTotal 5 EUR\n\n[page 2]\nParty: Bo\nTotal 7 EUR"]


def test_a_text_that_a_spreadsheet_would_run_is_only_text_in_a_csv() -> None:
    assert csv_bytes({"a": "text", "b": "number"}, [{"a": "=cmd()", "b": -3.5}]) == b"a,b\n'=cmd(),-3.5\n"


def test_tables_have_a_line_of_evidence_for_each_value_and_the_skips() -> None:
    done = ExtractedDocument(name="a.pdf", sha256="0", rows=(row("Ada", "5"),))
    lost = ExtractedDocument(name="b.pdf", skipped="no-text", why="scanned")
    tables = tables_of([done, lost], EXPECTED[::2])
    assert tables["rows"][1] == [
        {"document": "a.pdf", "row": 1, "party": "Ada", "amount": 5.0, "marks": "", "cost_usd": 0.0}
    ]
    assert [each["quote"] for each in tables["evidence"][1]] == ["Party: Ada", "Total 5 EUR"]
    assert tables["skipped"][1] == [{"document": "b.pdf", "reason": "no-text", "why": "scanned", "cost_usd": 0.0}]


def test_what_a_document_cost_is_shared_among_its_rows_and_told_for_what_was_given_up() -> None:
    def asked(microdollars: int, *, is_price_known: bool = True) -> ExtractionCost:
        return ExtractionCost(
            model="near:one", microdollars=microdollars, input_tokens=1, output_tokens=1, is_price_known=is_price_known
        )

    dear = ExtractedDocument(name="c.pdf", rows=(row("Bo", "5"),) * 2, costs=(asked(30), asked(10)))
    unknown = ExtractedDocument(name="e.pdf", rows=(row("Cy", "5"),), costs=(asked(0, is_price_known=False),))
    lost = ExtractedDocument(name="d.pdf", skipped="no-answer", why="twice", costs=(asked(70),))
    tables = tables_of([dear, unknown, lost], EXPECTED[::2])
    assert [each["cost_usd"] for each in tables["rows"][1]] == [0.00002, 0.00002, None]
    assert [each["cost_usd"] for each in tables["skipped"][1]] == [0.00007]
    assert csv_bytes(*tables["skipped"]) == b"document,reason,why,cost_usd\nd.pdf,no-answer,twice,7e-05\n"


def test_a_field_may_have_choices_in_a_list_and_in_files(tmp_path: Path) -> None:
    expected = (ExtractedField(name="kind", choices=("MIT", "BSD")), ExtractedField(name="day", type="date"))
    (tmp_path / "a.toml").write_text('[fields]\nkind = { enum = ["MIT", "BSD"] }\nday = "date"\n')
    (tmp_path / "b.json").write_text('{"properties": {"kind": {"enum": ["MIT", "BSD"]}, "day": {"format": "date"}}}')
    assert [read_fields(words, tmp_path) for words in ("kind:MIT|BSD, day:date", "a.toml", "b.json")] == [expected] * 3
    assert field_list(expected) == "kind:MIT|BSD, day:date"
    said = answer_schema(expected)["properties"]["rows"]["items"]["properties"]["kind"]["anyOf"][0]
    assert said["properties"]["value"] == {"type": "string", "enum": ["MIT", "BSD"]}
    with pytest.raises(UserError, match="choices of 'kind'"):
        read_fields("kind:MIT|MIT", tmp_path)
