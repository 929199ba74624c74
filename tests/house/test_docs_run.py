"""Every code block a reader could copy runs as the page says."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.house.documents import read_blocks, run_page, script_of
from tests.house.places import ROOT, pages

EVERY_DAY = {"README.md"}
"""What a newcomer reads first; the blocks of all other pages run in `make test-all`."""


def runnable() -> list[Any]:
    """Pages with something to run; a page without is only prose."""
    found = [page for page in pages() if any(map(script_of, read_blocks(page.read_text(encoding="utf-8"))))]
    return [_case(page, page.relative_to(ROOT).as_posix()) for page in found]


def _case(page: Path, name: str) -> Any:
    return pytest.param(page, id=name, marks=[] if name in EVERY_DAY else [pytest.mark.slow])


@pytest.mark.parametrize("page", runnable())
def test_the_blocks_of_a_page_do_what_it_says(page: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(ROOT / "examples", project / "examples", ignore=shutil.ignore_patterns("__*__"))
    assert run_page(page.read_text(encoding="utf-8"), project) == []
