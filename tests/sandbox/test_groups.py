"""Control groups: none is left behind, also by zygotes that were killed or never got to use theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.sandbox.linux import cgroups
from cellwright.sandbox.spec import Limits
from tests.cgroups import groups
from tests.sandbox.conftest import USERS, CageStarterFor, Zygote

AS_ROOT = [user for user in USERS if user == "root"]


def groups_of(zygote: int) -> list[Path]:
    return groups(f"cellwright-{zygote}-*")


@pytest.mark.parametrize("user", AS_ROOT)
async def test_a_cage_is_in_a_group_of_its_own_and_takes_it_away_at_its_end(
    starter_for: CageStarterFor, user: str
) -> None:
    starter = starter_for("root")
    zygote = starter.zygote.process.pid
    ran = await starter.run("import pathlib; print(pathlib.Path('/proc/self/cgroup').read_text())")
    assert ran is not None
    assert groups_of(zygote) == []


@pytest.mark.parametrize("user", AS_ROOT)
async def test_groups_of_a_killed_zygote_are_swept_by_the_next(starter_for: CageStarterFor, user: str) -> None:
    leave_one = "from cellwright.sandbox.linux import cgroups; cgroups.create('left', within=cgroups.own())"
    killed = subprocess.Popen([sys.executable, "-c", leave_one])  # noqa: ASYNC220  over in a moment
    killed.wait()
    assert groups_of(killed.pid) != []
    following = Zygote.launch("root")
    try:
        await replace(starter_for("root"), zygote=following).run("")
    finally:
        following.close()
    assert groups_of(killed.pid) == []


@pytest.mark.parametrize("user", AS_ROOT)
def test_a_group_holds_what_is_put_into_it(user: str) -> None:
    group = cgroups.create("unit", within=cgroups.own())
    try:
        group.limit(Limits(memory_mb=64, processes=5))
        pid = os.fork()
        if pid == 0:
            os.read(os.pipe()[0], 1)
        group.add(pid)
        members = (Path(group.directories["memory"]) / "cgroup.procs").read_text()
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        assert members == f"{pid}\n"
    finally:
        group.remove()
    assert not any(Path(directory).exists() for directory in group.directories.values())


def test_counters_are_read_by_name() -> None:
    assert cgroups.counter("low 0\noom_kill 3\noom_kill_disable 9\n", "oom_kill") == 3
    assert cgroups.counter("", "oom_kill") == 0


@pytest.mark.parametrize(
    ("mount", "path", "group"),
    [
        (("/sys/fs/cgroup", "/"), "/", "/sys/fs/cgroup"),
        (("/sys/fs/cgroup", "/"), "/app.slice/run-1.scope", "/sys/fs/cgroup/app.slice/run-1.scope"),
        (("/sys/fs/cgroup", "/"), "/app.slice/run-1.scope/cellwright-self", "/sys/fs/cgroup/app.slice/run-1.scope"),
        (("/sys/fs/cgroup", "/docker/1"), "/docker/1/cellwright-self", "/sys/fs/cgroup"),
    ],
)
def test_of_version_2_only_our_own_group_is_used(mount: tuple[str, str], path: str, group: str) -> None:
    assert cgroups.own_group(mount, path) == group
