"""The page's own checks: its types agree with the server's, and what it makes of events is tested beside it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house.places import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("script", ["check", "test"])
def test_the_pages_types_and_its_logic_hold(script: str) -> None:
    command = [sys.executable, "hatch_build.py", "run", "--silent", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\nIs the page built? make page"
