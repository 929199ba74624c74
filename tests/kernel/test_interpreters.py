"""On which Python a notebook runs: ours where its header allows it, else an installed one no notebook could place."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.errors import UserError
from cellwright.kernel.environments.interpreters import (
    Interpreter,
    Pythons,
    in_order,
    installable,
    interpreter_for,
    none_fits,
    our_interpreter,
    search_path,
)
from cellwright.kernel.environments.script_header import ScriptHeader, header_of, requirements_for
from cellwright.remedies import remedy

OURS = our_interpreter()
STRANGE = replace(OURS, version="3.0.0")
"""Ours, as if it were too old for every notebook."""


def installation(folder: Path) -> Path:
    """A second installation of our own Python, which is another interpreter to everybody who looks."""
    executable = OURS.executable.resolve()
    (folder / "bin").mkdir(parents=True)
    place = folder / "bin" / f"python{OURS.short_version}"
    shutil.copy2(executable, place)
    for name in {"lib", sys.platlibdir}:
        library = Path(sysconfig.get_path("stdlib" if name == "lib" else "platstdlib")).parent
        (folder / name).symlink_to(library, target_is_directory=True)
    return place


def trap(place: Path, marker: Path) -> Path:
    """What must never be started."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\necho ran >> '{marker}'\n")
    place.chmod(0o755)
    return place


# ── which one ──


@pytest.mark.parametrize(
    ("requires", "chosen"),
    [
        (">=3.12", ["312b", "312a", "313", "314", "315rc"]),
        (">=3.12.2", ["312b", "313", "314", "315rc"]),
        ("==3.13.*", ["313"]),
        (">=3.13,<3.14", ["313"]),
        ("!=3.12.*,>3.11", ["313", "314", "315rc"]),
        (">=3.8,<3.11", []),
        (">=4", []),
    ],
)
def test_the_oldest_version_that_fits_is_taken_in_its_newest_patch(requires: str, chosen: list[str]) -> None:
    installed = {
        "27": "2.7.18",
        "310": "3.10.13",
        "312a": "3.12.1",
        "315rc": "3.15.0rc1",
        "314": "3.14.0",
        "312b": "3.12.4",
        "313": "3.13.0",
    }
    found = {Path(name): version for name, version in installed.items()}
    assert [path.name for path in in_order(requires, found)] == chosen


@pytest.mark.parametrize(
    ("requires", "asked"),
    [
        (">=3.12", "3.12"),
        (">=3.12.4", "3.12"),
        ("==3.13.1", "3.13.1"),
        ("<3.12.3,>=3.12", "3.12.2"),
        ("<3.11", None),
        (">=4", None),
        ("===3.12.1", "3.12.1"),
        (">=99999999999999999999999999", None),
    ],
)
def test_what_to_install_follows_from_the_header(requires: str, asked: str | None) -> None:
    assert installable(requires) == asked


def test_a_refusal_names_what_is_there_and_the_command_that_helps() -> None:
    ours = Pythons(ours=replace(OURS, version="3.11.7"))
    missing = none_fits(">=3.13", ["3.11.7", "3.12.1"], ours, "uv")
    assert missing.message == (
        "The notebook requires Python >=3.13: Cellwright runs on Python 3.11.7, and no installed one fits "
        "(installed are also 3.12.1)."
    )
    assert missing.remedy == remedy(
        "use_own_python",
        lead="Install one with `uv python install 3.13` and try again; or",
        python="Python 3.11.7",
    )
    too_old = none_fits("<3.9", [], ours, "uv")
    assert too_old.message == "The notebook requires Python <3.9, and notebooks run on Python 3.11 or newer."
    assert too_old.remedy == remedy(
        "use_own_python",
        lead="Change `requires-python` in the notebook's header, or",
        python="Cellwright's own Python 3.11.7",
    )


@pytest.mark.parametrize("value", ["===\\u001b[31mred", ">=3.12\\u0007", ">=" + "9" * 5000, ">=3.12; rm -rf /", "🐍"])
def test_a_header_cannot_put_strange_text_into_messages(value: str) -> None:
    with pytest.raises(UserError, match="names no versions") as refused:
        header_of(f'# /// script\n# requires-python = "{value}"\n# ///\n')
    assert refused.value.message.isprintable()
    assert len(refused.value.message) < 300


def test_conditions_are_decided_for_the_python_that_runs_the_notebook() -> None:
    header = ScriptHeader(dependencies=('old ; python_version < "3.13"', 'new ; python_version >= "3.13"'))
    other = replace(OURS, version="3.13.0")
    assert {"new"} == {one for one in requirements_for(header, other) if "=" not in one}


# ── where it is looked for ──


def test_only_places_no_notebook_can_write_to_are_searched(tmp_path: Path) -> None:
    project, marker = tmp_path / "project", tmp_path / "marker"
    good = installation(tmp_path / "good").parent
    kept = installation(tmp_path / "versions" / "3.99").parent
    environment = trap(tmp_path / "elsewhere" / ".venv" / "bin" / "python3", marker).parent
    (environment.parent / "pyvenv.cfg").touch()
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "python3.12").symlink_to(trap(project / "bin" / "python3.12", marker))
    (tmp_path / "way-in").symlink_to(project / "bin")
    everybody = trap(tmp_path / "everybody" / "python3", marker).parent
    everybody.chmod(0o777)
    bad = [
        project / "bin",
        trap(project / ".venv" / "bin" / "python", marker).parent,
        environment,
        linked,
        tmp_path / "way-in",
        everybody,
        trap(tmp_path / "shims" / "python3", marker).parent,
        tmp_path / "not-there",
    ]
    path = (*map(str, bad), "relative/bin", ".", "", str(good))
    pythons = Pythons(path=path, versions=(tmp_path / "versions",), avoid=(project,))
    assert list(search_path(pythons)) == [str(good), str(kept)]


async def test_nothing_of_the_project_is_started_while_a_python_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, marker, home = tmp_path / "project", tmp_path / "marker", tmp_path / "project" / "cache" / "home"
    home.mkdir(parents=True)
    for place in (
        ".venv/bin/python",
        ".venv/bin/python3",
        "bin/python3.12",
        "managed/cpython-3.12.9-linux/bin/python3.12",
    ):
        trap(project / place, marker)
    (project / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.9\n")
    (project / ".python-version").write_text(str(project / "bin" / "python3.12"))
    (project / "pyproject.toml").write_text('[project]\nname = "x"\nrequires-python = ">=3.12"\n')
    monkeypatch.chdir(project)
    monkeypatch.setenv("VIRTUAL_ENV", str(project / ".venv"))
    monkeypatch.setenv("UV_PYTHON", str(project / "bin" / "python3.12"))
    pythons = Pythons(
        path=(str(project / ".venv" / "bin"), str(project / "bin"), "bin", ""),
        managed=project / "managed",
        versions=(project / "managed",),
        avoid=(project,),
        ours=STRANGE,
    )
    with pytest.raises(UserError, match="no installed one fits"):
        await interpreter_for("==3.12.9", pythons, home=home, cache=tmp_path / "uv")
    assert not marker.exists()


async def test_an_installed_python_is_found_and_says_what_a_cage_must_show_of_it(tmp_path: Path) -> None:
    there = installation(tmp_path / "versions" / "mine")
    pythons = Pythons(versions=(tmp_path / "versions",), avoid=(tmp_path / "project",), ours=STRANGE)
    (tmp_path / "home").mkdir()
    found = await interpreter_for(f"=={OURS.version}", pythons, home=tmp_path / "home", cache=tmp_path / "uv")
    prefix = there.parent.parent
    libraries = dict.fromkeys([str(prefix / "lib"), str(prefix / sys.platlibdir)])
    shown = [one for one in found.software if one.startswith(str(prefix))]
    assert set(shown) >= {str(there), *libraries}
    # Its own files and nothing around them: whoever installed a Python into their home shows none of it.
    assert str(prefix) not in found.software
    assert found == Interpreter(
        executable=there,
        version=OURS.version,
        soabi=OURS.soabi,
        platform=OURS.platform,
        platlibdir=OURS.platlibdir,
        site_packages=OURS.site_packages,
        software=found.software,
    )


async def test_ours_is_taken_without_looking_where_it_fits_or_the_person_says_so(tmp_path: Path) -> None:
    nowhere = tmp_path / "there-is-no-such-directory"
    for requires, pythons in (("", Pythons()), (">=3.11", Pythons()), (">=99", Pythons(choice="ours"))):
        assert await interpreter_for(requires, pythons, home=nowhere, cache=nowhere, uv="no-uv") == OURS
