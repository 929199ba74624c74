"""Of a table that is too long to be looked at whole, an answer still counts every row where that costs little."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from msgspec.structs import replace

from cellwright.analyst.sections.text import is_sampled
from cellwright.profiles.profile import Profile
from tests.analyst.answers.asked import Asked, Files, ask
from tests.analyst.sections.section_notebook import profile_of

ROWS, MOST_ROWS = 10_001, 6_000
CITIES = ("Aachen", "Bonn", "Celle")


def visits() -> pd.DataFrame:
    """Visits of three cities in turn, but that the last rows are all of one: a sample would miss them."""
    cities = [CITIES[number % 3] for number in range(ROWS - 1)]
    frame = pd.DataFrame({"city": [*cities, "Celle"], "minutes": 5.0, "note": "", "shop": "a"})
    frame["minutes"] += frame.index % 97 / 4
    frame["when"] = pd.date_range("2025-01-01", periods=ROWS, freq="min")
    return frame


def as_csv(folder: Path) -> tuple[str, ...]:
    visits().to_csv(folder / "visits.csv", index=False)
    return ("visits.csv",)


def as_months(folder: Path) -> tuple[str, ...]:
    frame, names = visits(), tuple(f"visits_2025-{month:02}.csv" for month in range(1, 8))
    for number, name in enumerate(names):
        frame.iloc[number * 1_500 : (number + 1) * 1_500].to_csv(folder / name, index=False)
    return names


def as_parquet(folder: Path) -> tuple[str, ...]:
    visits().to_parquet(folder / "visits.parquet")
    return ("visits.parquet",)


def as_lines(folder: Path) -> tuple[str, ...]:
    visits().drop(columns=["note", "shop", "when"]).to_json(folder / "visits.jsonl", orient="records", lines=True)
    return ("visits.jsonl",)


def looked_at(folder: Path, names: tuple[str, ...]) -> Files:
    """The files, of whose rows a sample was looked at."""
    files = Files(folder=folder, names=names)
    files.profile = profile_of(folder, *names, most_rows=MOST_ROWS)
    assert is_sampled(files.profile.tables[0])
    return files


@pytest.mark.parametrize("written", [as_csv, as_months, as_parquet, as_lines])
def test_every_row_of_a_long_table_is_counted(tmp_path: Path, written: Callable[[Path], tuple[str, ...]]) -> None:
    files = looked_at(tmp_path, written(tmp_path))
    asked = ask(files, "how many visits per city")
    assert isinstance(asked, Asked), asked
    assert asked.values["result"].to_dict() == visits()["city"].value_counts().to_dict()
    assert "In a sample" not in asked.words
    assert (
        "All 10,001 rows of visits were used; what is odd in them was looked for in every 2nd." in asked.told["trust"]
    )
    assert not any("sample" in caveat for caveat in asked.notebook.caveats)


def test_of_a_long_table_the_columns_in_use_are_read(tmp_path: Path) -> None:
    files = looked_at(tmp_path, as_csv(tmp_path))
    asked = ask(files, "average minutes by city")
    assert isinstance(asked, Asked), asked
    assert {"city", "minutes"} <= set(asked.values["visits_as_read"].columns) < set(visits().columns)
    assert asked.values["result"].to_dict() == pytest.approx(visits().groupby("city")["minutes"].mean().to_dict())


def longer(profile: Profile, *, rows: int, is_counted: bool) -> Profile:
    [table] = profile.tables
    return replace(profile, tables=(replace(table, rows=rows, is_counted=is_counted),))


@pytest.mark.parametrize(("rows", "is_counted"), [(900_000_000, True), (ROWS, False)])
def test_of_a_table_that_is_longer_yet_or_whose_length_nobody_knows_a_sample_is_used_and_said(
    tmp_path: Path, rows: int, is_counted: bool
) -> None:
    files = looked_at(tmp_path, as_csv(tmp_path))
    files.profile = longer(files.profile, rows=rows, is_counted=is_counted)
    asked = ask(files, "how many visits per city")
    assert isinstance(asked, Asked), asked
    assert asked.told["headline"].startswith("In a sample, every ")
    assert len(asked.values["visits"]) < ROWS
    assert "counts and sums are of that sample" in asked.notebook.caveats[0]
