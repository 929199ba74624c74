"""Many files: their shapes from their heads, and which few are read closely."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from cellwright_guest.profiling.main import answer
from cellwright_guest.profiling.records import Profile, ProfileRequest
from cellwright_guest.profiling.relevance import SpokenWords, goal_words, relevant, score_files, spoken

NAMES = ("Alabama", "Idaho", "Ohio", "Texas", "Utah", "Wyoming")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `data` in the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def surveyed(goal: str = "", **question: Any) -> Profile:
    files = tuple(str(path) for path in sorted(Path("data").iterdir()))
    asked: dict[str, Any] = {"most_files": 2} | question
    request = ProfileRequest(paths=files, words=goal_words(goal), **asked)
    return msgspec.json.decode(answer(request), type=Profile)


def write_states(folder: Path, encoding: str = "utf-8", word: str = "city") -> None:
    for name in NAMES:
        rows = "".join(f"{rank},{name} {word} {rank},{rank * 7}\n" for rank in range(1, 6))
        (folder / f"{name}.csv").write_text(f"Rank,Metro Area,Thefts\n{rows}", encoding=encoding)


def test_files_of_one_shape_are_told_together_and_one_of_them_is_read_closely(folder: Path) -> None:
    write_states(folder)
    (folder / "hens.csv").write_text("day,eggs\n2024-01-01,4\n2024-01-02,5\n")
    profile = surveyed("Thefts in Texas?")
    assert [(shape.files, shape.rows, shape.is_counted) for shape in profile.shapes] == [
        (tuple(f"data/{name}.csv" for name in NAMES), 30, True),
        (("data/hens.csv",), 2, True),
    ]
    assert [(column.name, column.kind) for column in profile.shapes[0].columns] == [
        ("Rank", "integer"),
        ("Metro Area", "text"),
        ("Thefts", "integer"),
    ]
    assert [table.reading.path for table in profile.tables] == ["data/Texas.csv"]


def test_a_word_among_the_values_is_heard_too(folder: Path) -> None:
    write_states(folder)
    (folder / "people.csv").write_text("who,works as\nAda,farrier\nBo,baker\n")
    profile = surveyed("How many farriers are there?")
    assert [table.reading.path for table in profile.tables] == ["data/people.csv"]
    assert [shape.spoken for shape in profile.shapes] == [(), ("farrier",)]


def test_where_nothing_speaks_of_the_goal_one_file_of_each_shape_is_read_closely(folder: Path) -> None:
    write_states(folder)
    (folder / "hens.csv").write_text("day,eggs\n2024-01-01,4\n2024-01-02,5\n")
    assert [table.reading.path for table in surveyed("Zebras?").tables] == ["data/Alabama.csv", "data/hens.csv"]


def test_the_same_columns_in_another_encoding_or_order_are_another_shape(folder: Path) -> None:
    write_states(folder, encoding="cp1252", word="Añasco")
    (folder / "Vermont.csv").write_text("Rank,Metro Area,Thefts\n1,Łódź,3\n2,Añasco,4\n")
    (folder / "Virginia.csv").write_text("Metro Area,Rank,Thefts\nLower,1,3\nUpper,2,4\n")
    shapes = surveyed().shapes
    assert [(shape.reading.encoding, len(shape.files)) for shape in shapes] == [
        ("cp1252", 6),
        ("utf-8", 1),
        ("utf-8", 1),
    ]


def test_few_files_are_read_closely_and_a_request_without_words_as_ever(folder: Path) -> None:
    write_states(folder)
    close = surveyed(most_files=6)
    assert (close.shapes, len(close.tables)) == ((), 6)
    files = tuple(str(path) for path in sorted(folder.iterdir()))
    plain = msgspec.json.decode(answer(ProfileRequest(paths=files, most_files=2)), type=Profile)
    assert (plain.shapes, plain.notes) == ((), ("Only the first 2 of 6 files were read.",))


def test_what_cannot_be_read_and_what_there_was_no_time_for_is_said(folder: Path) -> None:
    write_states(folder)
    (folder / "broken.parquet").write_bytes(b"PAR1\x00\x00")
    (folder / "shot.csv").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert {each.path: each.why for each in surveyed().skipped} == {
        "data/broken.parquet": "it is a broken Parquet file",
        "data/shot.csv": "it is a picture (PNG)",
    }
    late = surveyed("Texas", survey_seconds=-1.0)
    assert {each.why for each in late.skipped} == {"there was no time left to read it"}
    assert (late.tables, late.shapes) == ((), ())


def test_a_file_that_begins_like_another_but_is_read_otherwise_is_told_by_what_it_is(folder: Path) -> None:
    write_states(folder)
    (folder / "zz.csv").write_bytes("Rank,Metro Area,Thefts\n1,x,2\n".encode("utf-16"))
    (folder / "zzz.csv").write_text("Rank,Metro Area,Thefts\n")
    shapes = surveyed().shapes
    assert sum(len(shape.files) for shape in shapes) == 8
    assert shapes[1].reading.encoding == "utf-16"


# ── words ──


def test_the_words_of_a_goal_are_what_it_is_about() -> None:
    goal = "Which city of the states had the most identityThefts per 100,000 people in 2023? Use the csv files, please."
    assert goal_words(goal) == ("city", "state", "identity", "theft", "100", "people", "2023")
    assert goal_words("What is the average value of this column?") == ()


def test_what_every_file_speaks_of_tells_none_apart_and_a_name_says_more_than_a_value() -> None:
    words = ("theft", "texas")
    files = [
        SpokenWords(name=frozenset({"theft"}), values=frozenset({"texas"})),
        SpokenWords(name=frozenset({"theft", "texas"})),
        SpokenWords(name=frozenset({"theft"})),
    ]
    scores = score_files(words, files)
    assert scores[1] > scores[0] > scores[2] > 0
    assert relevant(scores)[0] == 1
    assert relevant(score_files(("zebra",), files)) == []
    assert relevant([]) == []


def test_words_are_found_in_names_as_people_write_them() -> None:
    words = ("identity", "theft", "2023", "city")
    assert spoken("IdentityTheft_2023-cities.csv", words) == frozenset(words)
    assert spoken("identities20231", words) == frozenset({"identity"})
