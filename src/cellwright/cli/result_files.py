"""Rows of a result as lines of JSON, read for a terminal or written to a file of the person's own."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

from cellwright.errors import UserError

_SUFFIXES: Final = (".csv", ".jsonl", ".arrow")


def check_result_file(path: Path) -> None:
    """Raises `UserError` for a file that rows cannot be written to."""
    if path.suffix not in _SUFFIXES:
        raise UserError(
            f"Rows cannot be written as {path.suffix or str(path)!r}.", hint=f"One of: {', '.join(_SUFFIXES)}."
        )
    if path.exists():
        raise UserError(f"{str(path)!r} is there already.", hint="Choose another name; nothing is written over.")
    if not path.absolute().parent.is_dir():
        raise UserError(f"There is no folder {str(path.parent)!r}.", hint="Make it first.")


def read_rows(result: IO[bytes]) -> list[list[Any]]:
    """The rows of a result that came as JSON."""
    return [json.loads(line) for line in result]


def write_result(result: IO[bytes], columns: Sequence[str], path: Path) -> None:
    """All of a result, in the form the file's name says."""
    if path.suffix != ".csv":
        with path.open("xb") as file:
            shutil.copyfileobj(result, file)
        return
    with path.open("x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(map(_flat, map(json.loads, result)))


def _flat(row: list[Any]) -> list[Any]:
    return [json.dumps(value) if isinstance(value, (list, dict)) else value for value in row]
