"""Files no person would make, left behind by a notebook: the host keeps or refuses each, and goes on."""

from __future__ import annotations

import ast
import os
from dataclasses import replace

import pytest

from .attack_runner import AttackRunner, Setting, main_settings
from .catalogue import ATTACKS
from .conftest import AttackRunnerFor
from .judging import CageLimits
from .sighting import Sighting
from .victim import Stage, set_stage

NAMES = [
    b"two\nlines", b"bad\xff\xfebytes", b"n" * 255, b"-rf", b" ", b"~", b"$(id)", b"tab\tand\x1b[31mred",
    b".cellwright-keep-x", "\u202etxt.exe".encode(), b"CON", b"a\\b", b"%s%n",
]  # fmt: skip
ODD_NAMES = f"""
import os
os.chdir(os.environ["CELLWRIGHT_PROJECT"].encode())
for name in {NAMES!r}:
    os.mkdir(b"odd-" + name[:200])
    with open(b"odd-" + name[:200] + b"/" + name, "wb") as file:
        file.write(b"x")
print('{{"started": 1}}')
"""
ODD_KINDS = """
import os, socket
os.chdir(os.environ["CELLWRIGHT_PROJECT"])
os.mkfifo("fifo")
os.symlink("loop", "loop")
os.symlink("x" * 4000, "long")
os.unlink("file"); os.mkdir("file"); open("file/inner", "w").write("x")
os.unlink("directory/inner"); os.rmdir("directory"); open("directory", "w").write("x")
os.makedirs("/".join("d" * 100)); open("/".join("d" * 100) + "/deep", "w").write("x")
os.mkdir("closed"); open("closed/inner", "w").write("x"); os.chmod("closed", 0)
open("unreadable", "w").write("x"); os.chmod("unreadable", 0)
print('{"started": 1}')
"""
MANY_FILES = """
import os
os.chdir(os.environ["CELLWRIGHT_PROJECT"])
os.mkdir("many")
for number in range(100_000):
    os.close(os.open(f"many/{number}", os.O_CREAT | os.O_WRONLY))
print('{"started": 1}')
"""

ORDINARY = """
import os, marimo, duckdb
here = marimo.notebook_dir()
print((here / "beside.csv").read_text(), duckdb.sql("select 6 * 7").fetchall(), here == here.__class__(__file__).parent)
os.makedirs(here / "out", exist_ok=True)
(here / "out" / "result.txt").write_text("new")
print(sorted(os.listdir(here)))
"""


def run(source: str, runner: AttackRunner, stage: Stage, limits: CageLimits | None = None) -> Sighting:
    """A program as it stands, without an attack's frame around it."""
    frame = next(attack for attack in ATTACKS if attack.name == "leave_sparse_files")
    return runner.run(replace(frame, limits=limits or CageLimits()), stage, source=source)


def is_well(runner: AttackRunner, seen: Sighting) -> bool:
    return runner.is_alive and not seen.host_fell and seen.host_growth_mb < 128 and not seen.traces


@pytest.mark.slow
@pytest.mark.parametrize("setting", main_settings(), ids=str)
def test_ordinary_work_is_done_on_every_tier_and_a_copy_leaves_out_what_git_ignores(
    setting: Setting, runner_for: AttackRunnerFor
) -> None:
    runner = runner_for(setting)
    with set_stage(with_victim=False, secret=runner.secret) as stage:
        for path, text in {
            "beside.csv": "1,2", ".gitignore": "out/\nbig/\n", "out/result.txt": "old", "big/file": "x",
        }.items():  # fmt: skip
            (stage.project / path).parent.mkdir(exist_ok=True)
            (stage.project / path).write_text(text, "utf-8")
            stage.give((stage.project / path).parent)
            stage.give(stage.project / path)
        seen = run(ORDINARY, runner, stage)
        assert (seen.ended, seen.why) == ("finished", ""), seen
        # What it wrote into a directory that was left out is kept as on any other tier.
        assert (stage.project / "out" / "result.txt").read_text() == "new"
        assert (stage.project / "big" / "file").read_text() == "x"
    first, last = seen.console.strip().splitlines()
    assert first == "1,2 [(42,)] True"
    shown: list[str] = ast.literal_eval(last)
    assert ("big" in shown, "beside.csv" in shown, "out" in shown) == (setting.tier != "C", True, True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("setting", main_settings(), ids=str)
def test_names_of_any_bytes_arrive_whole_or_not_at_all(setting: Setting, runner_for: AttackRunnerFor) -> None:
    runner = runner_for(setting)
    with set_stage(with_victim=False, secret=runner.secret) as stage:
        seen = run(ODD_NAMES, runner, stage)
        arrived = {name for name in NAMES if (stage.project / os.fsdecode(b"odd-" + name[:200] + b"/" + name)).exists()}
        left = {os.fsencode(path.name) for path in stage.project.glob("odd-*/*")}
    assert seen.ended == "finished"
    assert is_well(runner, seen), seen
    assert arrived == left <= set(NAMES) - {b".cellwright-keep-x"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("setting", main_settings(), ids=str)
def test_what_is_no_plain_file_is_left_out_and_what_changed_its_kind_is_taken_as_it_is(
    setting: Setting, runner_for: AttackRunnerFor
) -> None:
    runner = runner_for(setting)
    with set_stage(with_victim=False, secret=runner.secret) as stage:
        (stage.project / "file").write_text("old", "utf-8")
        (stage.project / "directory").mkdir()
        (stage.project / "directory" / "inner").write_text("old", "utf-8")
        for path in (stage.project / "file", stage.project / "directory", stage.project / "directory" / "inner"):
            stage.give(path)
        seen = run(ODD_KINDS, runner, stage)
        assert seen.ended == "finished", seen
        assert not (stage.project / "fifo").exists()
        assert (stage.project / "file" / "inner").read_text() == "x"
        assert (stage.project / "directory").read_text() == "x"
    assert is_well(runner, seen), seen


@pytest.mark.slow
@pytest.mark.sampled(3, often=3)
@pytest.mark.parametrize("setting", main_settings(), ids=str)
def test_a_hundred_thousand_files_do_not_bring_the_host_down(setting: Setting, runner_for: AttackRunnerFor) -> None:
    runner = runner_for(setting)
    limits = CageLimits(inodes=150_000, memory_mb=2048, wall_seconds=120, cpu_seconds=120, kept_files=150_000)
    with set_stage(with_victim=False, secret=runner.secret) as stage:
        seen = run(MANY_FILES, runner, stage, limits)
    assert is_well(runner, seen), seen
