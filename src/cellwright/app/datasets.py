"""The bundled data sets and the tutorial notebook, and how each is copied into a person's folder, never over theirs.

The data is that of the repository's `examples/data`, byte for byte, where its generators, its planted problems and its
licence (CC0) are described.
"""

from __future__ import annotations

import gzip
import importlib.resources
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cellwright.errors import UserError
from cellwright.notebook.atomic_write import write_new

_MAX_COPIES: Final = 1_000
_DATA: Final = importlib.resources.files("cellwright.app") / "bundled" / "data"
_HINT: Final = "Choose a folder that you may write to."


def write_new_file(folder: Path, name: str, content: bytes) -> Path:
    """Where the content is now: at a file that holds it already, or at a new one. Raises `UserError`. Blocking."""
    stem, suffix = Path(name).stem, Path(name).suffix
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(1, _MAX_COPIES):
            path = folder / (name if number == 1 else f"{stem}-{number}{suffix}")
            is_there = path.is_file() and not path.is_symlink() and path.read_bytes() == content
            if is_there or write_new(path, content):
                return path
    except OSError as error:
        raise UserError(f"{name!r} cannot be put into {str(folder)!r}: {error.strerror}.", hint=_HINT) from error
    raise UserError(f"There are too many files called {name!r} in {str(folder)!r}.", hint=_HINT)


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
    return tuple(write_new_file(folder / "data", name, _content(name)) for name in dataset.files)


def _content(name: str) -> bytes:
    packed = _DATA / f"{name}.gz"
    return gzip.decompress(packed.read_bytes()) if packed.is_file() else (_DATA / name).read_bytes()


TUTORIAL_TITLE: Final = "Cellwright in three minutes"


def write_tutorial(folder: Path) -> Path:
    """The tutorial as a notebook in this folder; one that was worked in stays, and a new one lies beside it.

    Raises `UserError`. Blocking.
    """
    # Kept under another name: of our own code, only the doorkeepers import marimo.
    return write_new_file(folder, "tutorial.py", (_DATA / "tutorial.py.txt").read_bytes())
