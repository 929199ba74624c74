"""Every code block a reader could copy runs as the page says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.house.documents import read_blocks, run_page, script_of
from tests.house.places import ROOT, pages


def runnable() -> list[Path]:
    """Pages with something to run; a page without is only prose."""
    return [page for page in pages() if any(map(script_of, read_blocks(page.read_text(encoding="utf-8"))))]


@pytest.mark.parametrize("page", runnable(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_blocks_of_a_page_do_what_it_says(page: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(ROOT / "examples", project / "examples", ignore=shutil.ignore_patterns("__*__"))
    assert run_page(page.read_text(encoding="utf-8"), project) == []
