"""Projects with something mounted inside them, as containers have with `-v data:/app/data`."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from tests.conftest import notebook_source
from tests.sandbox.conftest import HERE, TIER_OF, USERS, User, command_as, plain_uid

_FILES = {
    "app/.git/config": "[core]\n", "app/.gitignore": "ignored/\n", "app/ignored/log": "old log", "app/data/covered": "",
    "app/single.toml": "", "app/kernel/covered": "", "app/notebook.py": notebook_source("pass"),
    "data/rows.csv": "a\n1\n", "data/n,e:d/covered": "",
    "nested/inner.csv": "inner", "nested/.env": "SECRET=1", "single.toml": "[single]",
}  # fmt: skip


def mounted(script: str, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command where this shell script has mounted something."""
    # Without root's rights, as root of a user namespace: for Cellwright that is a user like any other.
    new = ["unshare", "--mount", "--propagation", "private", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    return subprocess.run(
        [*new, "sh", "-e", "-c", f'{script}\nexec "$@"', "sh", *command],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


@pytest.fixture
def machine(projects: Callable[[User], Path]) -> Callable[[User], Path]:
    """A directory with a project, `app`, and what will be mounted in it, all of it the user's own."""

    def make(user: User) -> Path:
        directory = projects(user)
        for path, text in _FILES.items():
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        if os.geteuid() == 0 and user == "plain":
            for path in directory.rglob("*"):
                os.chown(path, plain_uid(), plain_uid())
        return directory

    return make


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("user", USERS)
def test_what_is_mounted_in_a_project_is_part_of_it_for_a_notebook_its_branches_and_what_is_kept(
    user: User, machine: Callable[[User], Path]
) -> None:
    directory = machine(user)
    script = f"""
        cd {directory}
        mount --rbind data app/data
        mount --rbind nested app/data/n,e:d
        mount --rbind single.toml app/single.toml
        mount --rbind /proc/sys/kernel app/kernel
    """
    home = directory / "home"
    program = [sys.executable, str(HERE / "volumes_program.py"), str(directory / "app" / "notebook.py"), str(home)]
    ran = mounted(script, command_as(user, ["/usr/bin/env", f"HOME={home}", *program]))
    assert ran.returncode == 0, ran.stderr
    said: dict[str, Any] = json.loads(ran.stdout)
    is_copied = TIER_OF[user] == "B"
    files = ["data/n,e:d/.env", "data/n,e:d/inner.csv", "data/rows.csv", "notebook.py", "single.toml"]
    looked = ast.literal_eval(said.pop("look"))
    assert [path for path in looked.pop("seen") if not path.startswith(".git")] == sorted(
        files if is_copied else [*files, "ignored/log"]
    )
    assert looked == {
        "secret": "Permission denied",
        "repository": "Read-only file system",
        "single": ["[single]", "Read-only file system"],
        "system": "No such file or directory" if is_copied else "Permission denied",
    }
    assert said == {
        "tier": TIER_OF[user],
        "volumes": ["data", "data/n,e:d", "single.toml", "kernel"],
        "is_copied": is_copied,
        "left_out": ["ignored"] if is_copied else [],
        "change": "",
        "branch": ["('changed', False)\n", [["data/n,e:d/branch.csv", "created"], ["data/rows.csv", "modified"]]],
        "after_branch": "changed\n",
        "committed": ["data/n,e:d/branch.csv", "data/rows.csv"],
        "kept": [
            "data/n,e:d/branch.csv", "data/n,e:d/inner.csv", "data/new", "data/new/file", "data/rows.csv",
            "ignored/log", "out.txt",
        ],
        "refused": [],
    }  # fmt: skip
    left = {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}
    before = {path: text for path, text in _FILES.items() if path not in {"nested/inner.csv", "app/notebook.py"}}
    assert {path: text for path, text in left.items() if path != "app/notebook.py" and "home/" not in path} == {
        **before, "app/out.txt": "out", "app/ignored/log": "new log", "data/rows.csv": "tried", "data/new/file": "new",
        "nested/branch.csv": "branch",
    }  # fmt: skip


def run_notebook(user: User, directory: Path, script: str, code: str, *options: str) -> dict[str, Any]:
    """The result of a notebook with this cell in the project."""
    notebook = directory / "app" / "notebook.py"
    notebook.write_text(notebook_source(code))
    command = [str(Path(sys.prefix) / "bin" / "cellwright"), "notebook", "run", str(notebook), "--json", *options]
    ran = mounted(f"cd {directory}\n{script}", command_as(user, ["/usr/bin/env", f"HOME={directory}/home", *command]))
    assert ran.stdout, ran.stderr
    return cast("dict[str, Any]", json.loads(ran.stdout))


@pytest.mark.slow
@pytest.mark.parametrize("user", USERS)
def test_a_file_written_directly_into_a_volume_is_in_the_volume(user: User, machine: Callable[[User], Path]) -> None:
    directory = machine(user)
    code = "open('data/rows.csv', 'a').write('2'); open('data/new.csv', 'w').write('new')"
    result = run_notebook(user, directory, "mount --rbind data app/data", code, "--files", "direct")
    assert result["ok"], result
    assert (directory / "data" / "rows.csv").read_text() == "a\n1\n2"
    assert (directory / "data" / "new.csv").read_text() == "new"
    assert [path.name for path in (directory / "app" / "data").iterdir()] == ["covered"]


@pytest.mark.slow
@pytest.mark.parametrize("user", USERS)
def test_a_volume_that_cannot_be_overlaid_can_be_read_but_not_changed(
    user: User, machine: Callable[[User], Path]
) -> None:
    directory = machine(user)
    # The system stacks two overlays, not three.
    script = """
        mount -t tmpfs none nested && mkdir nested/1 nested/2 nested/3 nested/4 nested/merged
        mount -t overlay none nested/merged -o lowerdir=data,upperdir=nested/1,workdir=nested/2
        mount -t overlay none app/data -o lowerdir=nested/merged,upperdir=nested/3,workdir=nested/4
    """
    code = "print(open('data/rows.csv').read())\nopen('data/rows.csv', 'a')"
    result = run_notebook(user, directory, script, code)
    assert result["cells"][0]["console"] == "a\n1\n\n"
    assert result["cells"][0]["error"]["type"] in {"OSError", "PermissionError"}
    assert (directory / "data" / "rows.csv").read_text() == "a\n1\n"


@pytest.mark.slow
def test_a_project_of_which_the_rest_is_too_big_is_refused_with_what_would_help(
    machine: Callable[[User], Path],
) -> None:
    directory = machine("plain")
    (directory / "app" / "big").write_bytes(b"0" * 3_000_000)
    command = [str(Path(sys.prefix) / "bin" / "cellwright"), "notebook", "run", str(directory / "app" / "notebook.py")]
    told = mounted(
        f"cd {directory}; mount --rbind data app/data",
        command_as("plain", ["/usr/bin/env", f"HOME={directory}/home", *command, "--limit", "disk=2m"]),
    )
    words = " ".join(told.stderr.split())
    assert "is too big to be copied for its notebook" in words
    assert "hint: Something is mounted inside this project, so a notebook works on a copy of the rest" in words


def test_what_is_mounted_in_a_project_is_found_with_any_name_and_sorted_by_what_it_is(tmp_path: Path) -> None:
    script = f"""
        mkdir -p {tmp_path}/project/a {tmp_path}/projects/b
        cd {tmp_path}/project
        mkdir 'two words, \\ and:more'; touch file; mkdir system
        mount -t tmpfs none a; mkdir a/b; mount -t tmpfs none a/b
        mount -t tmpfs none 'two words, \\ and:more'
        mount --bind file file; mount --rbind /proc/sys system; mount -t tmpfs none ../projects/b
    """
    look = (
        "import dataclasses, json; from cellwright.sandbox.linux.volumes import mounted_in;"
        f"found = mounted_in({str(tmp_path / 'project')!r});"
        "print(json.dumps(dataclasses.asdict(found) | {'innermost': found.innermost}))"
    )
    assert json.loads(mounted(script, [sys.executable, "-c", look]).stdout) == {
        "folders": ["a", "a/b", "two words, \\ and:more"],
        "files": ["file"],
        "closed": ["system"],
        "innermost": ["a/b", "two words, \\ and:more"],
    }
