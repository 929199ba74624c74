"""The line that reads a file gives the columns its profile tells, by name and by kind: read with pandas for real."""

from __future__ import annotations

import gzip
import json
import pathlib
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

from cellwright.profiles.profile import Profile, ProfileRequest, TableProfile, read_profile
from cellwright.profiles.profile_text import profile_text
from cellwright.profiles.read_lines import digits_code, read_line
from cellwright_guest.profiling.main import answer

NAMES: dict[str, Any] = {"pd": pd, "json": json, "gzip": gzip, "pathlib": pathlib}
API = [
    {"id": 1, "user": {"name": "Ada", "address": {"city": "Bonn"}}, "tags": ["a"], "zip": "0123", "made_at": 1},
    {"id": 2, "user": None, "tags": [], "zip": "0456", "made_at": 2},
    {"id": 3, "user": {"name": "Cy", "mail": "c@x.org"}, "zip": "0789", "made_at": 3},
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def profiled(*paths: str) -> Profile:
    return read_profile(answer(ProfileRequest(paths=paths)))


def only(path: str) -> TableProfile:
    [table] = profiled(path).tables
    return table


def text_of(path: str) -> str:
    return profile_text(profiled(path), tokens=3_000)


def frame_of(table: TableProfile) -> Any:
    """What somebody has who runs what the text says: the line, then the steps of single columns."""
    frame = eval(read_line(table), NAMES)
    for column in table.columns:
        if column.proof == "digits":
            frame[column.name] = eval(f"column{digits_code(column)}", {"column": frame[column.name]})
    return frame


def kinds_of(frame: Any) -> dict[str, str]:
    kinds = {"i": "integer", "f": "number", "M": "date", "b": "boolean", "O": "text"}
    return {name: kinds.get(frame[name].dtype.kind, "text") for name in frame.columns}


def assert_as_told(path: str) -> Any:
    table = only(path)
    frame = frame_of(table)
    told = {each.name: each.kind.replace("datetime", "date") for each in table.columns}
    # A column with gaps has floats, whatever its values are.
    gaps = {column.name for column in table.columns if column.nulls}
    assert list(frame.columns) == list(told)
    assert {name: kind for name, kind in kinds_of(frame).items() if told[name] != "empty"} == {
        name: "number" if name in gaps and kind == "integer" else kind.replace("nested", "text")
        for name, kind in told.items()
        if kind != "empty"
    }
    return frame


def write(name: str, text: str, encoding: str = "utf-8") -> str:
    Path(name).write_text(text, encoding=encoding)
    return name


# ── JSON ──


def write_lines(name: str, records: list[Any]) -> str:
    return write(name, "".join(f"{json.dumps(record)}\n\n" for record in records))


def test_nested_json_lines_are_read_into_the_columns_that_are_told() -> None:
    path = write_lines("events.jsonl", API)
    frame = assert_as_told(path)
    assert {"user.name", "user.address", "user.mail"} <= {*frame.columns}
    assert list(frame["zip"]) == ["0123", "0456", "0789"]
    flat = write_lines("flat.jsonl", [{"n": 1, "to": {"x": 1.5}}, {"n": 2, "to": {"x": 2.5}}])
    assert read_line(only(flat)) == (
        'pd.json_normalize([json.loads(line) for line in pathlib.Path("flat.jsonl").read_text().split("\\n") '
        "if line.strip()])"
    )


@pytest.mark.parametrize("shape", ["list", "part", "single", "gzip"])
def test_nested_json_is_read_into_the_columns_that_are_told(shape: str) -> None:
    records: Any = {"list": API, "part": {"page": 1, "rows": API}, "single": API[0], "gzip": API}[shape]
    path = "api.json.gz" if shape == "gzip" else write("api.json", json.dumps(records))
    if shape == "gzip":
        Path(path).write_bytes(gzip.compress(json.dumps(records).encode()))
    frame = assert_as_told(path)
    assert frame["user.name"].dropna().iloc[0] == "Ada"


def test_json_whose_text_pandas_would_change_is_read_as_it_is() -> None:
    records = [{"code": f"00{n}", "date": f"2024-01-0{n}", "n": n} for n in range(1, 5)]
    table = only(write("codes.json", json.dumps(records)))
    assert read_line(table) == 'pd.read_json("codes.json", dtype=False)'
    assert list(frame_of(table)["code"]) == ["001", "002", "003", "004"]
    plain = write("plain.json", json.dumps([{"n": n, "word": "a"} for n in range(4)]))
    assert read_line(only(plain)) == 'pd.read_json("plain.json")'


# ── numbers as people write them ──

GERMAN = "Datum;Betrag;Menge;IP;Stück\n" + "".join(
    f"{day:02d}.03.2025;{amount};{day},5;10.0.0.{day};{pieces}\n"
    for day, amount, pieces in (
        (1, "1.234,56", "1.200"),
        (2, "-12,00", "7"),
        (3, "1.000.000,10", "-"),
        (4, "0,5", "2.500"),
    )
)


def test_a_german_csv_is_read_with_its_marks_and_nothing_else_becomes_a_number() -> None:
    path = write("umsatz.csv", GERMAN)
    table = only(path)
    assert read_line(table) == (
        'pd.read_csv("umsatz.csv", sep=";", decimal=",", thousands=".", dtype={"Datum": str, "IP": str}, '
        'na_values={"Stück": ["-"]})'
    )
    frame = frame_of(table)
    assert list(frame["Betrag"]) == [1234.56, -12.0, 1_000_000.10, 0.5]
    assert frame["IP"].iloc[0] == "10.0.0.1"
    assert frame["Datum"].iloc[0] == "01.03.2025"
    assert frame["Stück"].sum() == 1200 + 7 + 2500
    assert "comma" not in text_of(path)


def test_thousands_of_a_us_csv_are_read() -> None:
    path = write("us.csv", 'day,amount,n\n2025-01-01,"1,234.50",1\n2025-01-02,"12.25",2\n2025-01-03,"1,000,000.00",3\n')
    assert read_line(only(path)) == 'pd.read_csv("us.csv", thousands=",", parse_dates=["day"])'
    assert list(assert_as_told(path)["amount"]) == [1234.5, 12.25, 1_000_000.0]
    french = write("fr.csv", "montant;n\n1 234,50;1\n12,25;2\n-7 000,00;3\n")
    assert read_line(only(french)) == 'pd.read_csv("fr.csv", sep=";", decimal=",", thousands=" ")'
    assert list(assert_as_told(french)["montant"]) == [1234.5, 12.25, -7000.0]


def test_where_lists_stand_beside_thousands_the_lists_stay() -> None:
    path = write("lists.csv", 'amount,parts\n"1,234.50","1,2,3"\n"12.25","3,4"\n"7,000.00","5,6,7"\n')
    assert list(frame_of(only(path))["parts"]) == ["1,2,3", "3,4", "5,6,7"]


def test_columns_that_write_decimals_differently_are_both_read() -> None:
    path = write("mixed.csv", "a;b;c\n1,5;52.51;7,1\n2,25;48.13;8,2\n-3,0;53.55;9,3\n")
    frame = assert_as_told(path)
    assert (list(frame["a"]), list(frame["b"])) == ([1.5, 2.25, -3.0], [52.51, 48.13, 53.55])


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (["€ 1.234,50", "€ -3,00", "€ 0,99", "€ 7,00"], [1234.5, -3.0, 0.99, 7.0]),
        (["$1,234", "$5", "-$7", "$1,000,000"], [1234, 5, -7, 1_000_000]),
        (["12.5 %", "3.5 %", "0.5 %", "7 %"], [0.125, 0.035, 0.005, 0.07]),
        (["1\u00a0234,50", "12,25", "3,75", "7\u00a0000,00"], [1234.5, 12.25, 3.75, 7000.0]),
    ],
)
def test_amounts_with_signs_are_converted_by_the_steps_that_are_told(written: list[str], values: list[float]) -> None:
    path = write("paid.csv", "paid|n\n" + "".join(f"{text}|{at}\n" for at, text in enumerate(written)))
    table = only(path)
    assert table.columns[0].proof == "digits"
    assert list(frame_of(table)["paid"]) == pytest.approx(values)
    told = text_of(path)
    assert digits_code(table.columns[0]) in told
    assert "money" not in told
    assert "comma" not in told


@pytest.mark.parametrize("odd", ["(5.00)", "5.00 EUR", "about 5", "5e1 $"])
def test_steps_that_would_not_be_exact_for_every_value_are_not_told(odd: str) -> None:
    rows = "".join(f"$ {number}.50,{number}\n" for number in range(1, 40))
    path = write("paid.csv", f"paid,n\n{rows}{odd},40\n")
    assert only(path).columns[0].proof == ""
    assert ".str.replace" not in text_of(path)


def test_codes_with_leading_zeros_stay_text() -> None:
    path = write("stores.csv", "store,region\n0080,West\n0090,East\n0100,West\n")
    assert read_line(only(path)) == 'pd.read_csv("stores.csv", dtype={"store": str})'
    assert list(assert_as_told(path)["store"]) == ["0080", "0090", "0100"]


def test_a_sheet_with_amounts_as_text_is_read_as_told() -> None:
    book = openpyxl.Workbook()
    sheet = book.create_sheet("paid", 0)
    for row in (["code", "amount", "paid"], ["007", "1,234.50", "$1.50"], ["008", "2.25", "$2.00"], ["009", "3", "$3"]):
        sheet.append(row)
    book.remove(book["Sheet"])
    book.save("book.xlsx")
    frame = assert_as_told("book.xlsx")
    assert [list(frame[name]) for name in ("code", "amount", "paid")] == [
        ["007", "008", "009"], [1234.5, 2.25, 3.0], [1.5, 2.0, 3.0],
    ]  # fmt: skip


def test_what_pandas_reads_by_itself_needs_no_words() -> None:
    path = write("plain.csv", "n,x,word\n1,1.5,a\n2,,b\n3,NA,c\n")
    assert read_line(only(path)) == 'pd.read_csv("plain.csv")'
    assert_as_told(path)
