"""The folders on which is measured what a model is told of many files."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.data_folders import write_folder


@pytest.mark.parametrize("files", [10, 130])
def test_a_folder_has_as_many_files_as_asked_and_the_same_text_each_time(tmp_path: Path, files: int) -> None:
    first, second = (_written(tmp_path / name, files) for name in ("first", "second"))
    assert len(first) == files
    assert first == second
    assert {Path(path).suffix for path in first} >= {".csv", ".md"}


def _written(folder: Path, files: int) -> dict[str, bytes]:
    write_folder(folder, files)
    found = (path for path in folder.rglob("*") if path.is_file())
    # A workbook holds the time at which it was made.
    return {str(path.relative_to(folder)): b"" if path.suffix == ".xlsx" else path.read_bytes() for path in found}
