"""Tables of other formats than text: what is in them, and what is said of what cannot be read."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from cellwright_guest.profiling.raw import RawTable
from cellwright_guest.profiling.readers.reader import read_tables
from cellwright_guest.profiling.records import ProfileRequest, ReadOptions


def read(*paths: Path | str, **question: Any) -> tuple[list[RawTable], dict[str, str], list[str]]:
    tables, skipped, notes = read_tables(ProfileRequest(paths=tuple(str(path) for path in paths), **question))
    return tables, {Path(item.path).name: item.why for item in skipped}, notes


def read_one(path: Path, **question: Any) -> RawTable:
    tables, skipped, _ = read(path, **question)
    assert skipped == {}
    assert len(tables) == 1
    return tables[0]


def values(table: RawTable) -> dict[str, list[Any]]:
    return {column.name: column.values.to_pylist() for column in table.columns}


# ── Parquet and Feather ──

TYPED = {"n": [1, 2, None], "word": ["a", "b", "c"], "when": [dt.date(2024, 1, day) for day in (1, 2, 3)]}


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_typed_files_keep_their_types(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"data.{kind}"
    table = pa.table({**TYPED, "nested": [{"x": 1}, {"x": 2}, None], "list": [[1], [], None]})
    parquet.write_table(table, path) if kind == "parquet" else feather.write_feather(table, str(path))
    found = read_one(path)
    assert (found.reading.format, found.rows, found.looked_at, found.sampling) == (kind, 3, 3, "")
    assert values(found) == table.to_pydict()
    assert [column.values.type.id for column in found.columns] == [field.type.id for field in table.schema]
    assert not any(column.is_text_format for column in found.columns)


def test_a_large_parquet_file_is_sampled_over_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table({"n": range(100_000)}), path, row_group_size=1_000)
    found = read_one(path, most_rows=500)
    numbers = values(found)["n"]
    assert (found.rows, found.is_counted) == (100_000, True)
    assert 200 < found.looked_at <= 500
    assert numbers[0] == 0
    assert numbers[-1] > 98_000
    assert "row groups" in found.sampling


@pytest.mark.parametrize("cut", [0.3, 0.9, 0.99])
def test_a_parquet_file_that_is_cut_off_is_refused(tmp_path: Path, cut: float) -> None:
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table({"n": range(10_000)}), path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * cut)])
    tables, skipped, _ = read(path)
    assert tables == []
    assert "broken" in skipped["data.parquet"]


def test_a_parquet_file_whose_footer_lies_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table({"n": range(1_000), "word": ["some words"] * 1_000}), path)
    honest = path.read_bytes()
    footer = len(honest) - 8 - int.from_bytes(honest[-8:-4], "little")
    for at in range(footer, len(honest) - 8, 3):
        path.write_bytes(honest[:at] + bytes([honest[at] ^ 0x5A]) + honest[at + 1 :])
        tables, skipped, _ = read(path)
        assert len(tables) + len(skipped) == 1


# ── JSON ──


def test_a_list_of_objects_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    items = [
        {"id": 1, "address": {"city": "Bonn", "geo": {"x": 1}}, "tags": ["a"]},
        {"id": 2, "extra": 1.5, "address": {}},
    ]
    path.write_text(json.dumps(items))
    found = read_one(path)
    frame = pd.json_normalize(items, max_level=1)
    assert list(values(found)) == list(frame.columns)
    assert values(found)["address.city"] == ["Bonn", None]
    assert found.rows == 2


def test_a_long_list_is_read_piece_by_piece(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text("[\n" + ",\n".join(json.dumps({"n": number, "word": "x" * 50}) for number in range(60_000)) + "\n]")
    found = read_one(path, most_rows=1_000)
    assert (found.rows, found.is_counted) == (60_000, True)
    assert values(found)["n"][:2] == [0, 64]
    assert found.sampling == "every 64th of 60,000 rows"


def test_an_object_of_columns_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text('{"a": [1, 2, 3], "b": ["x", "y", null]}')
    assert values(read_one(path)) == {"a": [1, 2, 3], "b": ["x", "y", None]}


def test_a_list_inside_an_object_is_a_part(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text('{"total": 2, "items": [{"a": 1}, {"a": 2}]}')
    found = read_one(path)
    assert (found.name, found.reading.part, values(found)) == ("answer_items", "items", {"a": [1, 2]})


@pytest.mark.parametrize("names", ["{x},[y]", "[[x]],{y}", "{x}"])
def test_a_table_whose_names_have_brackets_is_no_json(tmp_path: Path, names: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"{names}\n" + ",".join("1" for _ in names.split(",")) + "\n")
    assert list(values(read_one(path))) == names.split(",")


@pytest.mark.parametrize("text", ['{"a": [1, 2]}', '[ {"a": 1}, {"a": 2} ]', '[\n{"a": 1}, {"a": 2}]'])
def test_json_is_known_by_how_it_begins_whatever_it_is_called(tmp_path: Path, text: str) -> None:
    path = tmp_path / "data.txt"
    path.write_text(text)
    assert values(read_one(path)) == {"a": [1, 2]}


def test_json_lines_with_different_keys_are_a_table(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"a": 1}\n{"a": 2, "b": "x"}\n\nnot json\n{"c": true}\n')
    found = read_one(path)
    assert values(found) == {"a": [1, 2, None], "b": [None, "x", None], "c": [None, None, True]}
    assert [oddity.kind for oddity in found.oddities] == ["not-read"]


def test_values_of_several_kinds_become_text_and_are_told(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text('[{"a": 1}, {"a": "two"}, {"a": 3.5}, {"a": {"b": 1}}, {"a": [1]}]')
    found = read_one(path)
    assert values(found)["a"] == ["1", "two", "3.5", None, "[1]"]
    assert found.oddities[0].kind == "mixed-types"


BROKEN_JSON = ["[1, 2", '[{"a": 1}, {"a": ', '{"a": 1} {"b"', "[]", "{}", "null", '[{"a":' + "9" * 5_000 + "}]"]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, *BROKEN_JSON])
def test_broken_json_is_refused_or_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "data.json"
    path.write_text(text)
    tables, skipped, _ = read(path)
    assert len(tables) + len(skipped) == 1


# ── workbooks ──


def pandas_reads_sheet(reading: ReadOptions) -> pd.DataFrame:
    options: dict[str, Any] = {
        "sheet_name": reading.part,
        "skiprows": reading.skip_first,
        "header": reading.header_rows[0] if reading.header_rows else None,
        "names": list(reading.names) or None,
        "usecols": list(range(reading.first_column, reading.first_column + reading.width)) if reading.width else None,
        "skipfooter": reading.skip_last,
    }
    return pd.read_excel(reading.path, **options)


def check_sheet(table: RawTable) -> None:
    frame = pandas_reads_sheet(table.reading)
    assert list(frame.columns) == [column.name for column in table.columns]
    assert len(frame) == table.rows
    for name, column in values(table).items():
        expected = [None if pd.isna(value) else value for value in frame[name].tolist()]
        assert column == expected


def workbook(tmp_path: Path, **sheets: list[list[Any]]) -> tuple[openpyxl.Workbook, Path]:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return book, tmp_path / "book.xlsx"


PLAIN = [["id", "city", "amount"], [1, "Bonn", 2.5], [2, "Ulm", 3], [3, None, 4.5]]


def test_each_sheet_is_a_table(tmp_path: Path) -> None:
    book, path = workbook(tmp_path, first=PLAIN, second=[["a", "b"], [1, "x"], [2, "y"]], empty=[])
    book["second"].sheet_state = "hidden"
    book.save(path)
    tables, skipped, notes = read(path)
    assert [table.name for table in tables] == ["book_first", "book_second"]
    assert list(skipped.values()) == ["it is an empty sheet"]
    assert "hidden" in notes[0]
    for table in tables:
        check_sheet(table)


def test_titles_notes_and_a_margin_around_a_sheets_table_are_left_out(tmp_path: Path) -> None:
    rows = [
        ["Sales of the year"],
        [],
        [None, *PLAIN[0]],
        *[[None, *row] for row in PLAIN[1:]],
        [],
        [None, "Source: the shop"],
    ]
    rows[0] = [None, "Sales of the year"]
    book, path = workbook(tmp_path, only=rows)
    book.save(path)
    table = read_one(path)
    assert values(table) == {"id": [1, 2, 3], "city": ["Bonn", "Ulm", None], "amount": [2.5, 3.0, 4.5]}
    assert (table.name, table.reading.first_column, table.reading.skip_first) == ("book", 1, 2)
    check_sheet(table)


def test_merged_headers_are_joined(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["Report", None, None, None, None],
        ["store", 2023, None, 2024, None],
        [None, "sales", "costs", "sales", "costs"],
        ["A", 1, 2, 3, 4],
        ["B", 5, 6, 7, 8],
        ["C", 5, 6, 7, 8],
    ]
    book, path = workbook(tmp_path, only=rows)
    for cells in ("A1:E1", "B2:C2", "D2:E2", "A2:A3"):
        book["only"].merge_cells(cells)
    book.save(path)
    table = read_one(path)
    assert list(values(table)) == ["store", "2023 sales", "2023 costs", "2024 sales", "2024 costs"]
    assert table.rows == 3
    check_sheet(table)


def test_dates_booleans_and_errors_of_cells_are_read(tmp_path: Path) -> None:
    when = dt.datetime(2024, 5, 6)
    rows = [["when", "is", "ratio"], [when, True, 0.5], [when, False, "#DIV/0!"], [when, True, 2]]
    book, path = workbook(tmp_path, only=rows)
    book.save(path)
    table = read_one(path)
    assert values(table) == {"when": [when] * 3, "is": [True, False, True], "ratio": [0.5, None, 2.0]}
    assert [oddity.kind for oddity in table.oddities] == ["placeholder-nulls"]


def repacked(path: Path, replaced: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {part.filename: archive.read(part) for part in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (parts | replaced).items():
            archive.writestr(name, content)


@pytest.mark.slow
def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    book, path = workbook(tmp_path, only=PLAIN)
    book.save(path)
    repacked(path, {"xl/sharedStrings.xml": b" " * (70 << 20)})
    assert "unpacks to" in read(path)[1]["book.xlsx"]


def test_a_workbook_that_declares_entities_is_refused(tmp_path: Path) -> None:
    book, path = workbook(tmp_path, only=PLAIN)
    book.save(path)
    laughs = b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]><sst>&lol2;</sst>'
    repacked(path, {"xl/sharedStrings.xml": laughs})
    assert "entities" in read(path)[1]["book.xlsx"]


def test_a_sheet_that_lies_about_its_rows_is_bounded(tmp_path: Path) -> None:
    book, path = workbook(tmp_path, only=PLAIN)
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
    repacked(
        path,
        {
            "xl/worksheets/sheet1.xml": sheet.replace(b'<row r="4"', b'<row r="99999999999"').replace(
                b"A1:C4", b"A1:ZZZ9999999"
            )
        },
    )
    tables, skipped, _ = read(path)
    assert len(tables) + len(skipped) == 1


# ── databases ──


def test_an_sqlite_file_gives_its_tables_and_views(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "odd ""name" (id INTEGER, "größe" REAL, t TEXT, b BLOB, mixed)')
        connection.executemany(
            'INSERT INTO "odd ""name" VALUES (?, ?, ?, ?, ?)', [(1, 1.5, "x", b"\0\1", 1), (2, None, "y", None, "two")]
        )
        connection.execute('CREATE VIEW seen AS SELECT id FROM "odd ""name"')
    connection.close()
    tables, skipped, _ = read(path)
    assert skipped == {}
    assert [(table.name, table.reading.part) for table in tables] == [
        ('shop_odd "name', 'odd "name'),
        ("shop_seen", "seen"),
    ]
    assert values(tables[0]) == {
        "id": [1, 2],
        "größe": [1.5, None],
        "t": ["x", "y"],
        "b": [b"\0\1", None],
        "mixed": ["1", "two"],
    }
    assert [oddity.kind for oddity in tables[0].oddities] == ["mixed-types"]


@pytest.mark.slow
def test_views_that_do_harm_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "evil.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE good (id INTEGER)")
        connection.execute("INSERT INTO good VALUES (1)")
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
        connection.execute(f"CREATE VIEW endless AS {endless}")
        connection.execute("CREATE VIEW huge AS SELECT zeroblob(900000000) AS b, hex(zeroblob(100000000)) AS h")
        connection.execute("CREATE VIEW loads AS SELECT load_extension('nowhere')")
        connection.execute("CREATE VIEW broken AS SELECT * FROM missing")
    connection.close()
    tables, skipped, _ = read(path, seconds=2.0)
    assert [table.name for table in tables] == ["evil_good"]
    assert len(skipped) == 4


def test_a_duckdb_file_gives_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE sales AS SELECT range AS id, 'x' AS word FROM range(1000)")
        connection.execute(f"CREATE VIEW outside AS SELECT * FROM read_csv('{secret}')")
    tables, skipped, _ = read(path, most_rows=100)
    assert [(table.name, table.rows, table.looked_at) for table in tables] == [("shop_sales", 1000, 100)]
    assert values(tables[0])["id"][:3] == [0, 10, 20]
    assert list(skipped) == ["shop.duckdb (outside)"]


def test_a_broken_database_is_refused(tmp_path: Path) -> None:
    for name, start in (("a.db", b"SQLite format 3\0"), ("b.duckdb", b"\0" * 8 + b"DUCK")):
        path = tmp_path / name
        path.write_bytes(start + b"\x17" * 5_000)
        tables, skipped, _ = read(path)
        assert tables == []
        assert len(skipped) == 1


# ── what is no table ──


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.csv", b"", "it is empty"),
        ("a.csv", b"\n \n\n", "it holds nothing but blanks"),
        ("a.csv", b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "it is a picture (PNG)"),
        ("a.zip", b"PK\x03\x04" + b"\0" * 50, "it is an archive (zip); unpack it first"),
        ("a.pdf", b"%PDF-1.7 x", "it is a PDF; save its tables as CSV first"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 50, "save it as .xlsx"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "it is encrypted"),
        ("a.pkl", b"\x80\x04\x95abc", "it is a pickle"),
        ("a.bin", bytes(range(256)) * 10, "it is binary data"),
        ("a.txt", b"Dear all,\n\nthis is a letter. It has\nseveral lines, but no table.\n\nYours\n", "no table"),
        ("a.py", b"a = 1, 2\nb = 3, 4\n", "it is a program, no data"),
        ("a.html", b"<html></html>", "it is a web page (HTML)"),
        ("a.csv.gz", b"\x1f\x8b\x08\0broken", "it is broken"),
        ("a.xlsx", b"PK\x03\x04broken", "it is broken"),
    ],
)
def test_what_is_no_table_is_refused_with_a_reason(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    tables, skipped, _ = read(path)
    assert tables == []
    assert why in skipped[name]


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert read(tmp_path / "nothing.csv")[1] == {"nothing.csv": "it cannot be opened"}
