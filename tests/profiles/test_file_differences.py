"""A folder that was filled by hand: one group, and of each file that differs in what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cellwright.profiles.profile import ProfileRequest, read_profile
from cellwright.profiles.profile_text import profile_text
from cellwright_guest.profiling.main import answer


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def month(number: int, *, first: float = 1.5, names: str = "day,shop,sold", sep: str = ",") -> list[str]:
    """A line of names and twenty days."""
    rows = [f"2025-{number:02d}-{day:02d},s{day % 3},{number * 100 + day * first:.2f}" for day in range(1, 21)]
    return [line.replace(",", sep) for line in (names, *rows)]


def write(name: str, lines: Sequence[str], *, encoding: str = "utf-8") -> None:
    Path(name).write_text("\n".join(lines) + "\n", encoding=encoding)


def text_of_all(*, tokens: int = 3_000, goal: str = "") -> str:
    paths = tuple(sorted(path.name for path in Path().iterdir()))
    return profile_text(read_profile(answer(ProfileRequest(paths=paths))), tokens=tokens, goal=goal)


def beside(text: str) -> list[str]:
    return [line.removeprefix("  beside it: ") for line in text.splitlines() if line.startswith("  beside it: ")]


def fill() -> None:
    for number in range(1, 5):
        write(f"sales-{number:02d}.csv", month(number))
    write("sales-03 copy.csv", month(3))
    write("sales-04 new.csv", [*month(4)[:-2], "2025-04-19,s1,1.00", "2025-04-20,s2,2.00"])
    write("sales-05.csv", month(5, names="date,branch,turnover"))
    write("sales-06.csv", [f"{line},{'note' if at == 0 else 'ok'}" for at, line in enumerate(month(6))])
    write("sales-07.csv", [line.rpartition(",")[0] for line in month(7)])
    write("sales-08.csv", month(8, sep=";"))
    write("sales-09.csv", [*month(9), "2025-09-21,Köln,5.00"], encoding="cp1252")


def test_each_file_that_differs_from_its_group_says_in_what_on_one_line() -> None:
    fill()
    text = text_of_all()
    assert text.count("  read: ") == 1
    assert "4 of 6 files of one shape, 120 rows in all; what follows is of these alone" in text
    assert "this one" not in text
    assert beside(text) == snapshot(
        [
            "'sales-03 copy.csv': 20 rows; all rows are those of sales-03.csv",
            "'sales-04 new.csv': 20 rows; 18 of 20 rows are those of sales-04.csv; 2025-04-01 to 2025-04-20",
            'pd.read_csv("sales-08.csv", sep=";", parse_dates=["day"]): 20 rows; 2025-08-01 to 2025-08-20',
            'pd.read_csv("sales-09.csv", encoding="cp1252", parse_dates=["day"]): 21 rows; 2025-09-01 to 2025-09-21',
            'pd.read_csv("sales-05.csv", parse_dates=["date"]): 20 rows; "date" for "day", "branch" for "shop", '
            '"turnover" for "sold"; 2025-05-01 to 2025-05-20',
            'sales-06.csv: 20 rows; has also "note"; 2025-06-01 to 2025-06-20',
            'sales-07.csv: 20 rows; lacks "sold"; 2025-07-01 to 2025-07-20',
        ]
    )


def test_files_that_differ_have_their_line_however_little_room_there_is() -> None:
    fill()
    text = text_of_all(tokens=420)
    assert "  read: " not in text
    assert len(beside(text)) == 7


def test_many_files_that_differ_are_counted() -> None:
    for number in range(1, 4):
        write(f"sales-{number:02d}.csv", month(number))
    for number in range(1, 12):
        write(f"sales-{chr(96 + number)}.csv", month(number, sep=";"))
    assert beside(text_of_all())[-1] == "3 more files that differ"


def test_a_copy_inside_a_series_is_told_of_the_series() -> None:
    for number, days in ((1, 1), (2, 2), (3, 2)):
        write(f"sales-{number:02d}.csv", month(days))
    assert "  In sales-03.csv all rows are those of sales-02.csv\n" in text_of_all()


def test_two_files_of_which_one_is_a_copy_stay_apart_and_say_so() -> None:
    write("hens.csv", month(1))
    write("hens (2).csv", month(1))
    text = text_of_all()
    assert text.count("  read: ") == 2
    assert text.count("all rows are those of hens.csv") == 1


def test_files_of_other_tables_with_a_like_name_stay_apart() -> None:
    fill()
    write("sales-10.csv", ["customer,city,since,mail", *(f"c{n},x{n},201{n},a@{n}" for n in range(9))])
    text = text_of_all()
    assert text.count("  read: ") == 2
    assert not any("sales-10" in line for line in beside(text))


def test_rows_that_are_alike_by_chance_are_no_copies() -> None:
    for number in range(1, 4):
        write(f"votes-{number}.csv", ["vote,count", *(f"{'yes' if n % 2 else 'no'},1" for n in range(30))])
    assert "are those of" not in text_of_all()
