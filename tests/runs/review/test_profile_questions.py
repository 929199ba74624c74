"""Questions that data raises, and whether a notebook's cells settle them."""

from __future__ import annotations

from pathlib import Path

from inline_snapshot import snapshot

from cellwright.ids import CellId
from cellwright.notebook.document import Cell, Document
from cellwright.runs.review.profile_questions import questions_from_profile
from tests.analyst.sections.section_notebook import profile_of
from tests.runs.review.goals import GOALS

_BUDGET = next(asked for asked in GOALS if asked.id == "without_totals")
_PARCELS = next(asked for asked in GOALS if asked.id == "mixed_units")


def _document(*codes: str) -> Document:
    return Document(
        cells=tuple(Cell(id=CellId(f"c{at}"), code=code, name=f"cell{at}") for at, code in enumerate(codes))
    )


def test_a_total_among_the_rows_is_open_until_a_cell_names_it(tmp_path: Path) -> None:
    _BUDGET.make(tmp_path)
    profile = profile_of(tmp_path, *_BUDGET.data)
    read = 'budget = pd.read_csv(folder / "budget.csv")'
    (left,) = questions_from_profile(_BUDGET.goal, profile, _document(read, 'budget["amount"].sum()'))
    assert (left.kind, left.settled) == snapshot(("total-rows", ""))
    (settled,) = questions_from_profile(_BUDGET.goal, profile, _document(read, _BUDGET.compute))
    assert settled.settled == "cell1 names 'total'"


def test_units_are_settled_by_whoever_names_them(tmp_path: Path) -> None:
    _PARCELS.make(tmp_path)
    profile = profile_of(tmp_path, *_PARCELS.data)
    (left,) = questions_from_profile(
        _PARCELS.goal, profile, _document(_PARCELS.read, _PARCELS.wrong_computes["wrong unit"])
    )
    assert (left.kind, left.settled) == ("mixed-units", "")
    (settled,) = questions_from_profile(_PARCELS.goal, profile, _document(_PARCELS.read, _PARCELS.compute))
    assert settled.settled.startswith("cell1 names")


def test_files_that_the_notebook_does_not_read_raise_no_question(tmp_path: Path) -> None:
    _BUDGET.make(tmp_path)
    profile = profile_of(tmp_path, *_BUDGET.data)
    assert questions_from_profile(_BUDGET.goal, profile, _document("total = 1 + 1")) == ()


def test_steps_of_time_that_are_missing_are_asked_about(tmp_path: Path) -> None:
    days = [f"2025-01-{day:02d},{day}" for day in range(1, 31) if day not in (9, 10, 11)]
    (tmp_path / "visits.csv").write_text("\n".join(["day,visitors", *days]) + "\n")
    profile = profile_of(tmp_path, "visits.csv")
    read = 'visits = pd.read_csv("visits.csv", parse_dates=["day"])'
    (left,) = questions_from_profile("How many visitors a day?", profile, _document(read))
    assert (left.kind, left.settled) == ("missing-periods", "")
    filled = _document(read, 'visits.set_index("day").asfreq("D")')
    (settled,) = questions_from_profile("How many visitors a day?", profile, filled)
    assert settled.settled == "cell1 fills or counts the steps of time (asfreq)"
