"""A folder of 130 files; the one that is meant is one of 52 of a shape, in the encoding of Windows."""

from __future__ import annotations

from pathlib import Path

from eval.data_folders import write_folder
from eval.delivered import Delivered, said
from eval.frames import pd


def make(folder: Path) -> None:
    write_folder(folder / "consumer reports", 130)


def _texas(folder: Path) -> pd.DataFrame:
    place = folder / "consumer reports" / "State Metropolitan Area data" / "Texas - Fraud and ID Theft.csv"
    return pd.read_csv(place, encoding="cp1252")


def _most(folder: Path, column: str) -> Delivered:
    texas = _texas(folder).set_index("Metropolitan Area")
    return said(f"{texas[column].idxmax()}, with {texas[column].max():,}.")


def right(folder: Path) -> Delivered:
    return _most(folder, "Identity Theft Reports per 100K")


def wrong(folder: Path) -> Delivered:
    """The most reports of fraud, whatever the number of inhabitants."""
    return _most(folder, "# of Fraud Reports")
