"""Paths of this machine and secrets are found where they stand, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.policy.masking.masker import Masker
from cellwright.runs.verify.judge import Machine, leaks_in


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "there.csv").touch()
    return Machine(
        home=Path("/home/ada"),
        state=Path("/home/ada/.local/state/cellwright"),
        temporary=Path("/tmp"),
        project=Path("/srv/project"),
        cache=Path("/home/ada/.cache/cellwright"),
    )


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('read_csv("/home/ada/sales.csv")', "/home/ada/sales.csv"),
        ("'/home/ada'", "/home/ada"),
        ("file:///home/ada/x", "/home/ada/x"),
        ("<td>/srv/project/a.csv</td>", "/srv/project/a.csv"),
        ("&quot;/tmp/mine/abc&quot;", "/tmp/mine/abc"),
        ("see /home/ada/notes.", "/home/ada/notes"),
        ("{'a': '/home/ada/.local/state/cellwright/journal.db'}", "/home/ada/.local/state/cellwright/journal.db"),
        ("x=/home/ada/My Files/a", "/home/ada/My"),
    ],
)
def test_a_place_of_this_machine_is_found(machine: Machine, text: str, path: str) -> None:
    assert list(machine.paths_in(text)) == [path]


def test_any_path_that_exists_here_is_found_and_one_that_does_not_is_not(machine: Machine, tmp_path: Path) -> None:
    there = f"{tmp_path}/elsewhere/there.csv"
    elsewhere = replace(machine, temporary=Path("/var/tmp/mine"))
    assert list(elsewhere.paths_in(f"'{there}' '{tmp_path}/elsewhere/gone.csv' '{there}'")) == [there]


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/home/ada/page",
        "data/sales.csv",
        "../home/ada/sales.csv",
        "1/2/3",
        "/usr/bin/env python",
        "/dev/null",
        "/etc/hosts",
        "/project/data/sales.csv",
        "/home/cell/.cache",
        "/tmp/marimo_2/__marimo__cell_Hbol_.py:3: UserWarning",
        "/tmp",
        "/home/adas/other",
        "and/or",
        "//comment",
        "application/json",
    ],
)
def test_what_ties_to_no_machine_is_left_alone(machine: Machine, text: str) -> None:
    assert list(machine.paths_in(text)) == []


def test_pictures_are_not_read_as_text(machine: Machine) -> None:
    masker = Masker.of(salt=b"0123456789abcdef")
    picture = f"<img src='data:image/png;base64,AKIA{'Q' * 16}//home/ada/abc=='>"
    assert leaks_in(picture, at="the notebook", where="output", masker=masker, machine=machine) == []


def test_secret_and_path_are_told_without_the_secret(machine: Machine) -> None:
    masker = Masker.of(salt=b"0123456789abcdef")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    text = f"token {secret[:40]} in /home/ada/{secret[:40]}"
    found = leaks_in(text, at="the notebook", where="code", masker=masker, machine=machine)
    assert [one.kind for one in found] == ["SecretFound", "MachinePathFound"]
    assert secret[:40] not in repr(found)
