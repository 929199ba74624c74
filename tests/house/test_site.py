"""The documentation site builds without a complaint and fetches nothing."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.house.places import ROOT, VENV_BIN

FETCHED = re.compile(r'<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)="(?:https?:)?//[^"]*"')


@pytest.mark.slow
def test_the_site_builds_strictly_and_fetches_nothing_when_read(tmp_path: Path) -> None:
    built = subprocess.run(
        [VENV_BIN / "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert pages
    assert [mark for page in pages for mark in FETCHED.findall(page.read_text(encoding="utf-8"))] == []


def test_a_fetched_font_is_found() -> None:
    assert FETCHED.findall('<link rel="stylesheet" href="https://fonts.example/css">')
