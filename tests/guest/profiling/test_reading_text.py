"""Tables of text: what was read is what one call of pandas reads again by the same `ReadOptions`."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cellwright_guest.profiling.raw import RawTable, ReadBudget
from cellwright_guest.profiling.readers.reader import list_sources, read_source, read_tables
from cellwright_guest.profiling.records import ProfileRequest, ReadOptions


def pandas_reads(reading: ReadOptions) -> pd.DataFrame:
    """The table as a notebook reads it: the one call that stands in the docstring of `ReadOptions`."""
    options: dict[str, Any] = {
        "sep": reading.delimiter,
        "quotechar": reading.quote or '"',
        "quoting": 0 if reading.quote else 3,
        "encoding": reading.encoding,
        "encoding_errors": "replace",
        "skiprows": reading.skip_first,
        "header": reading.header_rows[0] if reading.header_rows else None,
        "names": list(reading.names) or None,
        "skipinitialspace": reading.skips_spaces,
        "usecols": range(reading.width) if reading.width else None,
        "index_col": False,
        "skipfooter": reading.skip_last,
        "engine": "python" if reading.skip_last else "c",
        "compression": reading.compression or None,
        "dtype": str,
        "keep_default_na": False,
        "na_values": [""],
    }
    return pd.read_csv(reading.path, **options)


def rows_of(table: RawTable) -> list[list[str | None]]:
    columns = [column.values.to_pylist() for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def rows_of_pandas(frame: pd.DataFrame) -> list[list[str | None]]:
    return [[None if pd.isna(value) else str(value) for value in row] for row in frame.to_numpy(dtype=object)]


def read_one(path: Path, **question: Any) -> RawTable:
    tables, skipped, _ = read_tables(ProfileRequest(paths=(str(path),), **question))
    assert [(item.path, item.why) for item in skipped] == []
    assert len(tables) == 1
    return tables[0]


def check(path: Path) -> RawTable:
    """Read the file, and compare with what pandas makes of it."""
    table = read_one(path)
    frame = pandas_reads(table.reading)
    assert list(frame.columns) == [column.name for column in table.columns]
    assert rows_of_pandas(frame) == rows_of(table)
    assert table.rows == len(frame) == table.looked_at
    return table


def names_of(table: RawTable) -> list[str]:
    return [column.name for column in table.columns]


def kinds_of(table: RawTable) -> set[str]:
    return {oddity.kind for oddity in table.oddities}


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(content: str | bytes, name: str = "data.csv", encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


PLAIN = "id,city,amount\n1,Berlin,10.5\n2,Bonn,11\n3,Köln,12.25\n"


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_each_usual_delimiter_is_found(written: Any, mark: str) -> None:
    table = check(written(PLAIN.replace(",", mark)))
    assert table.reading.delimiter == mark
    assert names_of(table) == ["id", "city", "amount"]
    assert table.rows == 3


def test_columns_set_apart_with_spaces_are_found(written: Any) -> None:
    table = check(
        written("id    city     amount\n1     Berlin   10.5\n22    Bonn     11\n333   Koeln    12.25\n", "data.txt")
    )
    assert table.reading.delimiter == r"\s+"
    assert names_of(table) == ["id", "city", "amount"]


def test_sentences_of_the_same_length_are_no_columns(written: Any) -> None:
    lines = [f"words about thing {number} and more,p{number}" for number in range(40)]
    table = check(written("\n".join(["said,who", *lines, ""])))
    assert table.reading.delimiter == ","
    assert rows_of(table)[0] == ["words about thing 0 and more", "p0"]


def test_a_decimal_comma_is_no_delimiter(written: Any) -> None:
    table = check(written("a;b;c\n1,5;2,5;3,5\n1,0;2,0;3,0\n"))
    assert table.reading.delimiter == ";"
    assert rows_of(table)[0] == ["1,5", "2,5", "3,5"]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "mac_roman", "cp850"]
)
def test_encodings_are_found(written: Any, encoding: str) -> None:
    text = "name;stadt;größe\nMüller;Köln;1,5\nJäger;Düsseldorf;2,5\nGroß;Nürnberg;3,5\nCafé;Zürich;4\n" * 3
    table = check(written(text, encoding=encoding))
    assert table.reading.encoding == encoding
    assert names_of(table) == ["name", "stadt", "größe"]
    assert rows_of(table)[1] == ["Jäger", "Düsseldorf", "2,5"]
    assert ("encoding-guessed" in kinds_of(table)) == (encoding not in ("utf-8", "utf-8-sig", "utf-16", "utf-32"))


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1251", "имя,город\nИван,Москва\nАнна,Казань\n"),
        ("cp1250", "nazwa,miasto\nŁukasz,Łódź\nŻaneta,Białystok\nŚwiątek,Gdańsk\n"),
        ("cp1253", "όνομα,πόλη\nΓιώργος,Αθήνα\nΜαρία,Πάτρα\n"),
        ("cp1256", "الاسم,المدينة\nمحمد,القاهرة\nفاطمة,بغداد\n"),
        ("koi8_r", "имя,город\nИван,Москва\nАнна,Казань\n"),
        ("cp866", "имя,город\nИван,Москва\nАнна,Казань\n"),
        ("cp932", "名前,都市\nたなか,とうきょう\nスズキ,大阪\n"),
        ("euc_jp", "名前,都市\nたなか,とうきょう\nスズキ,大阪\n"),
        ("gb18030", "姓名,城市\n张伟,北京\n王芳,上海\n"),
        ("big5", "姓名,城市\n陳大文,臺北\n林美玲,高雄\n"),
        ("cp949", "이름,도시\n김민준,서울\n이서연,부산\n"),
    ],
)
def test_other_alphabets_are_guessed(written: Any, encoding: str, text: str) -> None:
    table = check(written(text, encoding=encoding))
    assert table.reading.encoding == encoding
    assert "encoding-guessed" in kinds_of(table)


@pytest.mark.parametrize("sign", ["€5", "£5", "½ off", "20 °C", "it’s", "5 – 7", "Müller", "Café", "São", "10 µm"])
def test_one_western_sign_is_enough(written: Any, sign: str) -> None:
    table = check(written(f"item,note,n\nBread,{sign},1\nMilk,old,2\nTea,new,3\n", encoding="cp1252"))
    assert table.reading.encoding == "cp1252"
    assert rows_of(table)[0][1] == sign


def test_a_letter_or_two_say_nothing_of_a_language(written: Any) -> None:
    table = check(written("name,first,second\nA,é,é\nB,é,é\n", encoding="cp1252"))
    assert table.reading.encoding == "cp1252"
    assert rows_of(table)[0][1:] == ["é", "é"]


def test_a_large_file_cut_inside_a_character_loses_no_byte(written: Any) -> None:
    table = read_one(written("名前,都市\n" + "たなか,とうきょう\nスズキ,大阪\n" * 10_000, encoding="cp932"))
    assert table.reading.encoding == "cp932"
    assert "wrong-encoding" not in kinds_of(table)


def test_lines_in_two_encodings_are_noticed(written: Any) -> None:
    table = check(written(b"name,n\n" + "Müller,1\n".encode() * 40 + b"M\xfcller,2\n" * 40))
    assert table.reading.encoding == "cp1252"
    assert "wrong-encoding" in kinds_of(table)


def test_bytes_that_mean_nothing_are_counted(written: Any) -> None:
    table = check(written(b"name,n\n" + "Müller,1\nJäger,2\n".encode() * 20 + b"Gro\xdf,3\n\xff,4\n"))
    assert table.reading.encoding == "utf-8"
    odd = next(oddity for oddity in table.oddities if oddity.kind == "wrong-encoding")
    assert odd.count == 2


def test_text_saved_in_a_wrong_encoding_once_is_noticed(written: Any) -> None:
    table = check(written("name,n\nMÃ¼ller,1\nJÃ¤ger,2\nSchmidt,3\n"))
    odd = next(oddity for oddity in table.oddities if oddity.kind == "wrong-encoding")
    assert (odd.column, odd.count) == ("name", 2)


def test_quotes_hold_delimiters_line_ends_and_quotes(written: Any) -> None:
    table = check(written('a,b\r\n"x, y","line\r\nbreak"\r\n"say ""hi""",""\r\n5" pipe,z\r\n'))
    assert rows_of(table) == [["x, y", "line\r\nbreak"], ['say "hi"', None], ['5" pipe', "z"]]


def test_single_quotes_are_found(written: Any) -> None:
    table = check(written("a,b\n'x, y','1'\n'z','2'\n'q','3'\n"))
    assert table.reading.quote == "'"
    assert rows_of(table)[0] == ["x, y", "1"]


def test_spaces_before_quotes_are_passed_over(written: Any) -> None:
    table = check(written('"Name", "Age", "Note"\n"Ann", 5, "a, b"\n"Ben", 6, "c"\n'))
    assert names_of(table) == ["Name", "Age", "Note"]
    assert rows_of(table)[0] == ["Ann", "5", "a, b"]


def test_a_quote_that_never_closes_makes_quotes_plain(written: Any) -> None:
    table = check(written('a,b\n1,"x\n2,y\n3,z\n'))
    assert table.reading.quote == ""
    assert rows_of(table) == [["1", '"x'], ["2", "y"], ["3", "z"]]
    assert "ragged-rows" in kinds_of(table)


def test_a_file_without_names_gets_numbered_columns(written: Any) -> None:
    table = check(written("1,Berlin,2.5\n2,Bonn,3.5\n3,Ulm,4.5\n"))
    assert names_of(table) == ["column_1", "column_2", "column_3"]
    assert table.rows == 3
    assert table.reading.header_rows == ()


def test_text_without_numbers_has_names_where_none_is_repeated(written: Any) -> None:
    assert names_of(check(written("name,city\nAnn,Bonn\nBen,Ulm\n"))) == ["name", "city"]
    assert names_of(check(written("Ann,Bonn\nBen,Ulm\nAnn,Ulm\n"))) == ["column_1", "column_2"]


def test_years_can_be_names(written: Any) -> None:
    assert names_of(check(written("country,2001,2002,2003\nDE,1.5,2.5,3.5\nFR,2,3,4\n")))[1:] == [
        "2001",
        "2002",
        "2003",
    ]


def test_lines_before_the_header_are_passed_over(written: Any) -> None:
    table = check(written("Sales report\nRegion: north, south\n\nid,city,amount\n1,Berlin,2\n2,Bonn,3\n3,Ulm,4\n"))
    assert names_of(table) == ["id", "city", "amount"]
    assert table.reading.skip_first == 2
    odd = next(oddity for oddity in table.oddities if oddity.kind == "footnotes")
    assert odd.examples == ("Sales report", "Region: north  south")


def test_a_title_padded_with_delimiters_is_passed_over(written: Any) -> None:
    table = check(written("Sales report,,\n,,\nid,city,amount\n1,Berlin,2\n2,Bonn,3\n3,Ulm,4\n"))
    assert names_of(table) == ["id", "city", "amount"]


def test_notes_at_the_end_are_no_rows(written: Any) -> None:
    table = check(written("id,city,amount\n1,Berlin,2\n2,Bonn,3\n\nSource: Office, Table 5\n* estimated\n\n"))
    assert table.rows == 2
    assert table.reading.skip_last == 4
    odd = next(oddity for oddity in table.oddities if oddity.kind == "footnotes")
    assert odd.count == 2
    assert odd.examples[0] == "Source: Office  Table 5"


def test_a_total_row_is_a_row(written: Any) -> None:
    assert check(written("city,a,b\nBerlin,1,2\nBonn,3,4\nTotal,4,6\n")).rows == 3


def test_several_lines_of_names_are_joined(written: Any) -> None:
    table = check(written("name,weight,height\n,(kg),(m)\nAnn,60,1.7\nBen,70,1.8\nCem,80,1.9\n"))
    assert names_of(table) == ["name", "weight (kg)", "height (m)"]
    assert table.rows == 3


def test_groups_of_columns_are_joined_with_their_names(written: Any) -> None:
    table = check(written(",Sales,,Costs,\nstore,Q1,Q2,Q1,Q2\nA,1,2,3,4\nB,5,6,7,8\nC,5,6,7,8\n"))
    assert names_of(table) == ["store", "Sales Q1", "Sales Q2", "Costs Q1", "Costs Q2"]


def test_a_rule_under_the_names_is_passed_over(written: Any) -> None:
    table = check(written(" id | city \n----|------\n 1 | Berlin \n 2 | Bonn \n 3 | Ulm\n(3 rows)\n", "query.txt"))
    assert table.rows == 3
    assert names_of(table) == ["id", "city"]


def test_repeated_headers_are_found(written: Any) -> None:
    table = check(written("id,city\n1,Berlin\n2,Bonn\nid,city\n3,Ulm\nid,city\n4,Trier\n"))
    odd = next(oddity for oddity in table.oddities if oddity.kind == "repeated-header")
    assert (odd.count, odd.rows) == (2, (2, 4))


def test_ragged_rows_are_counted_and_read(written: Any) -> None:
    table = check(written("a,b,c\n1,2,3\n4,5\n6,7,8,9\n1,2,3\n1,2,3\n1,2,3\n"))
    odd = next(oddity for oddity in table.oddities if oddity.kind == "ragged-rows")
    assert (odd.count, odd.rows) == (2, (1, 2))
    assert rows_of(table)[1:3] == [["4", "5", None], ["6", "7", "8"]]


def test_delimiters_at_the_ends_of_lines_are_harmless(written: Any) -> None:
    table = check(written("a,b,c\n1,2,3,\n4,5,6,\n7,8,9,\n"))
    assert names_of(table) == ["a", "b", "c"]
    assert "ragged-rows" not in kinds_of(table)


def test_row_names_without_a_name_of_their_own_are_a_column(written: Any) -> None:
    table = check(written('"mpg","cyl"\n"Mazda",21,6\n"Fiat",32,4\n"Honda",30,4\n'))
    assert names_of(table) == ["Unnamed: 0", "mpg", "cyl"]


def test_names_are_those_of_pandas(written: Any) -> None:
    table = check(written("a,a,a.1,,,a\n1,2,3,4,5,6\n2,3,4,5,6,7\n"))
    assert names_of(table) == ["a", "a.2", "a.1", "Unnamed: 3", "Unnamed: 4", "a.3"]
    assert {"duplicate-names", "unnamed-columns"} <= kinds_of(table)


def test_a_very_long_name_is_cut(written: Any) -> None:
    table = check(written("a," + "b" * 5000 + ",c\n1,2,3\n4,5,6\n"))
    assert len(names_of(table)[1]) == 200


def test_only_so_many_columns_are_read(written: Any) -> None:
    header = ",".join(f"c{number}" for number in range(700))
    table = check(written(header + "\n" + (",".join(["1"] * 700) + "\n") * 4))
    assert len(table.columns) == 500
    assert "not-read" in kinds_of(table)


@pytest.mark.parametrize("text", ["a\n1\n2\n3\n", "a\n1\n\n2\n  \n3\n", 'comment\n"x, y"\nhello there, you\nz\n'])
def test_one_column_is_a_table(written: Any, text: str) -> None:
    assert len(check(written(text)).columns) == 1


def test_a_header_alone_is_a_table_without_rows(written: Any) -> None:
    table = check(written("id,city,amount\n"))
    assert (table.rows, names_of(table)) == (0, ["id", "city", "amount"])


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_all_line_ends_are_read(written: Any, end: str) -> None:
    assert check(written(PLAIN.replace("\n", end))).rows == 3


def test_zero_bytes_are_kept(written: Any) -> None:
    assert rows_of(check(written(b"a,b\nx\0y,2\n" + b"zoe,3\nquentin,4\n" * 30)))[0] == ["x\0y", "2"]


def test_a_huge_field_is_read_and_told(written: Any) -> None:
    table = check(written("a,b\n1," + "x" * 1_200_000 + "\n2,y\n"))
    assert table.rows == 2
    assert next(oddity for oddity in table.oddities if oddity.kind == "huge-fields").count == 1_200_000


def test_a_packed_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(PLAIN.encode()))
    table = check(path)
    assert (table.name, table.reading.compression) == ("data", "gzip")


def test_backslash_names_and_unicode_are_kept(written: Any) -> None:
    table = check(written("naïve,Größe,数,🙂\n1,2,3,4\n5,6,7,8\n"))
    assert names_of(table) == ["naïve", "Größe", "数", "🙂"]


def test_a_table_with_any_ending_is_a_table(written: Any) -> None:
    assert check(written(PLAIN, "export.2024")).rows == 3


def large(rows: int) -> str:
    lines = (f"{number},{number % 7},name {number % 13},{number / 8}" for number in range(rows))
    return "id,group,label,value\n" + "\n".join(lines) + "\n"


@pytest.mark.slow
def test_a_large_file_is_sampled_evenly_and_counted(written: Any) -> None:
    table = read_one(written(large(300_000)), most_rows=1_000)
    assert (table.rows, table.is_counted) == (300_000, True)
    assert 500 <= table.looked_at <= 1_000
    numbers = [int(value) for value in table.columns[0].values.to_pylist()]
    step = numbers[1]
    assert numbers == list(range(0, 300_000, step))
    assert table.sampling == f"every {step}th of 300,000 rows" or str(step) in table.sampling


@pytest.mark.slow
def test_a_large_file_with_an_open_quote_reads_as_pandas_does(written: Any) -> None:
    table = check(written(large(140_000) + '5,6,"never closed,7\n8,9,x,10\n'))
    assert table.reading.quote == ""


def test_what_takes_too_long_is_estimated(written: Any) -> None:
    sources, _, _ = list_sources((str(written(large(300_000) + "1,2\n")),), 1)
    # No time at all: what a question gives at least would be enough on a fast machine.
    (table,), _, _ = read_source(sources[0], ReadBudget(most_rows=200_000, most_columns=500, until=0.0))
    assert table.looked_at > 0
    assert not table.is_counted
    assert table.rows == pytest.approx(300_001, rel=0.15)
    assert "about" in table.sampling


@pytest.mark.slow
def test_reading_again_gives_the_same(written: Any) -> None:
    path = written(large(300_000))
    assert rows_of(read_one(path, most_rows=700)) == rows_of(read_one(path, most_rows=700))


def test_a_note_of_words_is_no_table_and_a_list_with_numbers_is(tmp_path: Path) -> None:
    note, weights = tmp_path / "todo.txt", tmp_path / "weights.txt"
    note.write_text("ask Kim about July\n\nand June\nand May\n")
    weights.write_text("hen weight\nAda 1.5\nBo 2.5\n")
    tables, skipped, _ = read_tables(ProfileRequest(paths=(str(note), str(weights))))
    assert [[column.name for column in table.columns] for table in tables] == [["hen", "weight"]]
    assert [each.why for each in skipped] == ["it is text, but no table"]
