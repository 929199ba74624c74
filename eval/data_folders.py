"""Folders of many files as people have them, the same bytes each time: what a model is told of them is measured here.

`python -m eval.data_folders FOLDER FILES` writes one.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from eval.frames import pd
from eval.writing import write_csv

STATES: Final = (
    "Alabama", "Alaska", "Arizona", "Arkansas", "California", "Colorado", "Connecticut", "Delaware",
    "District of Columbia", "Florida", "Georgia", "Hawaii", "Idaho", "Illinois", "Indiana", "Iowa", "Kansas",
    "Kentucky", "Louisiana", "Maine", "Maryland", "Massachusetts", "Michigan", "Minnesota", "Mississippi",
    "Missouri", "Montana", "Nebraska", "Nevada", "New Hampshire", "New Jersey", "New Mexico", "New York",
    "North Carolina", "North Dakota", "Ohio", "Oklahoma", "Oregon", "Pennsylvania", "Puerto Rico", "Rhode Island",
    "South Carolina", "South Dakota", "Tennessee", "Texas", "Utah", "Vermont", "Virginia", "Washington",
    "West Virginia", "Wisconsin", "Wyoming",
)  # fmt: skip
GOAL: Final = "Which metropolitan area of Texas had the most identity theft reports per 100,000 inhabitants in 2023?"
_ROWS: Final = 40
_PREFIX: Final = "Annual Report of the Consumer Sentinel Network Data Book Appendix "
_ENDINGS: Final = (
    "A Fraud by Age", "B Losses by Payment Method", "C Military Consumers", "D Contact Method", "E Top Complaints"
)  # fmt: skip
_OTHERS: Final = (
    ("weather_stations.csv", "station,latitude,longitude,altitude_m"),
    ("hotel bookings.csv", "booking id,arrival,nights,price eur,guest country"),
    ("hens.csv", "day,coop,eggs"),
    ("population 2023.csv", "State,Metropolitan Area,Population,Households"),
    ("taxi_trips.csv", "trip_id,pickup,dropoff,miles,fare,tip"),
    ("books.csv", "isbn,title,author,year,pages,rating"),
    ("energy_prices.csv", "hour,zone,price_mwh,volume_mwh"),
    ("football.csv", "season,home,away,goals_home,goals_away"),
    ("soil_samples.csv", "plot,depth_cm,ph,nitrogen,carbon"),
)


def write_folder(folder: Path, files: int, *, seed: int = 18) -> None:
    """So many files: groups of one shape, a few that differ, and what is no table. 10, 130 or 1,500 are used."""
    chance = random.Random(seed)
    left = files - _write_others(folder, chance, is_small=files <= 10)
    for path, state in _grouped(folder, files):
        if left <= 0:
            break
        left -= 1
        if "Metropolitan" in str(path.parent):
            _write_metropolitan(path, state, chance)
        else:
            _write_yearly(path, state, chance)


def _grouped(folder: Path, files: int) -> Iterator[tuple[Path, str]]:
    for state in STATES:
        yield folder / "State Metropolitan Area data" / f"{state} - Fraud and ID Theft.csv", state
    for year in range(2023, 2023 - files // len(STATES) - 1, -1):
        for state in STATES:
            yield folder / "by year" / f"{year}" / f"{state.replace(' ', '_')}_{year}.csv", state


def _write_metropolitan(path: Path, state: str, chance: random.Random) -> None:
    """In the encoding of Windows, as offices send them."""
    rows = [
        (rank, f"Añasco {state} Area {rank}", chance.randint(20, 9_000), chance.randint(5, 2_000))
        for rank in range(1, _ROWS + 1)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ["Rank", "Metropolitan Area", "# of Fraud Reports", "Identity Theft Reports per 100K"]
    pd.DataFrame(rows, columns=names).to_csv(path, index=False, encoding="cp1252")


def _write_yearly(path: Path, state: str, chance: random.Random) -> None:
    rows = [(rank, state, f"type {rank}", chance.randint(20, 9_000)) for rank in range(1, _ROWS + 1)]
    write_csv(path, ["Rank", "State", "Category", "Reports"], rows)


def _write_others(folder: Path, chance: random.Random, *, is_small: bool) -> int:
    """What stands beside the groups; so many files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, header in _OTHERS:
        names = header.split(",")
        rows = [(f"{names[0]} {row}", *(chance.randint(1, 999) for _ in names[1:])) for row in range(_ROWS)]
        write_csv(folder / name, names, rows)
    (folder / "README.md").write_text(
        "# Consumer Sentinel 2023\n\nReports per metropolitan area, one file a state. Rank is by state.\n",
        encoding="utf-8",
    )
    if is_small:
        return len(_OTHERS) + 1
    for number, ending in enumerate(_ENDINGS):
        names = ["Rank", *(f"{word} {number}" for word in ending.split()[1:])]
        rows = [(row, *(chance.randint(1, 99) for _ in names[1:])) for row in range(1, _ROWS)]
        write_csv(folder / "appendix" / f"{_PREFIX}{ending}.csv", names, rows)
    frame = pd.DataFrame({"code": [f"{row:05}" for row in range(_ROWS)], "area": range(_ROWS)})
    frame.to_excel(folder / "area codes.xlsx", index=False)
    frame.to_parquet(folder / "area codes.parquet")
    frame.to_json(folder / "area codes.json", orient="records")
    (folder / "maps").mkdir()
    (folder / "maps" / "texas map.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    (folder / "report 2023.pdf").write_bytes(b"%PDF-1.7\n" + bytes(200))
    (folder / "index.html").write_text("<!doctype html><title>Reports</title>", encoding="utf-8")
    return len(_OTHERS) + len(_ENDINGS) + 7


if __name__ == "__main__":
    write_folder(Path(sys.argv[1]), int(sys.argv[2]))
