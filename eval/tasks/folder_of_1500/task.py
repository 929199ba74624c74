"""A folder of 1,500 files; what is meant is spread over 52 of them."""

from __future__ import annotations

from pathlib import Path

from eval.data_folders import write_folder
from eval.delivered import Delivered, said
from eval.frames import pd

_YEAR = 2019


def make(folder: Path) -> None:
    write_folder(folder / "archive", 1_500)


def _by_state(folder: Path, years: str) -> pd.Series:
    files = sorted((folder / "archive/by year").glob(f"{years}/*.csv"))
    return pd.concat([pd.read_csv(path) for path in files]).groupby("State")["Reports"].sum()


def right(folder: Path) -> Delivered:
    states = _by_state(folder, str(_YEAR))
    return said(f"{states.idxmax()}, with {states.max():,} reports.")


def wrong(folder: Path) -> Delivered:
    """Of all years together."""
    states = _by_state(folder, "*")
    return said(f"{states.idxmax()}, with {states.max():,} reports.")
