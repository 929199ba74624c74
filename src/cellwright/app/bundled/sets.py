"""The bundled data sets, and how one comes into a person's folder."""

from __future__ import annotations

import gzip
import importlib.resources
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cellwright.app.bundled.placing import place_new
from cellwright.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A data set to try the analyst on."""

    id: str
    title: str
    files: tuple[str, ...]
    question: str
    """A goal it has an answer to."""


DATASETS: Final = (
    Dataset(
        id="shop",
        title="An invented shop: two years of orders and its customers, with the problems real exports have",
        files=("orders.csv", "customers.csv"),
        question="Why did revenue fall in Q3 2025?",
    ),
    Dataset(
        id="penguins",
        title="240 invented penguins of three species on three islands",
        files=("penguins.csv",),
        question="Compare body_mass_g by species",
    ),
)


def dataset_named(id: str) -> Dataset:
    """The data set of this name. Raises `UserError`."""
    for dataset in DATASETS:
        if dataset.id == id:
            return dataset
    raise UserError(f"No data set {id!r}.", hint=f"There is: {', '.join(dataset.id for dataset in DATASETS)}.")


def copy_dataset(dataset: Dataset, folder: Path) -> tuple[Path, ...]:
    """Its files in `data/` of the folder. What is there already stays; another file of that name gets company.

    Raises `UserError` where the folder cannot be written. Blocking.
    """
    return tuple(place_new(folder / "data", name, _content(name)) for name in dataset.files)


def _content(name: str) -> bytes:
    data = importlib.resources.files("cellwright.app.bundled") / "data"
    packed = data / f"{name}.gz"
    return gzip.decompress(packed.read_bytes()) if packed.is_file() else (data / name).read_bytes()
