"""Runs in an emulated machine: what control groups of version 2 let us do, in each place where a process can stand."""

import json
import os
import resource
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cellwright import framing
from cellwright.sandbox import control_frames
from cellwright.sandbox.cage import launcher
from cellwright.sandbox.host import tiers
from cellwright.sandbox.linux import cgroups, huge_pages, syscalls
from cellwright.sandbox.spec import CageSpec, Limits

GROUPS = Path("/sys/fs/cgroup")
USER = 1000
CAGE_SECONDS = 240


def tell(value: Any) -> None:
    """One line for the host."""
    sys.stdout.write(f"cellwright-says {json.dumps(value)}\n")
    sys.stdout.flush()


def in_child(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Each place in a process of its own, as another user or in other namespaces where it says so."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            answer = work()
        except BaseException:  # noqa: BLE001  the last frame of a process: the test shows it
            answer = {"failed": traceback.format_exc()}
        os.write(writing, json.dumps(answer).encode()[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(said)


# ── places ──


def divide(group: Path) -> Path:
    """As systemd does for whom it makes groups: those below can have limits."""
    group.mkdir(exist_ok=True)
    (group / "cgroup.subtree_control").write_text("+memory +pids")
    return group


def give(group: Path) -> Path:
    """`Delegate=yes`: the group and the files that divide it belong to the user."""
    group.mkdir(exist_ok=True)
    for path in (group, *(group / f"cgroup.{name}" for name in ("procs", "threads", "subtree_control"))):
        os.chown(path, USER, USER)
    return group


def enter(group: Path) -> Path:
    (group / "cgroup.procs").write_text("0")
    return group


def become_user() -> None:
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    # Without it the files of this process in /proc belong to root.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)


def root_group() -> Path:
    return GROUPS


def user_session() -> Path:
    service = give(divide(divide(divide(GROUPS) / "user.slice") / "user@1000.service"))
    scope = enter(give(divide(give(service / "app.slice")) / "run-1.scope"))
    become_user()
    return scope


def lone_unit() -> Path:
    unit = enter(give(divide(divide(GROUPS) / "system.slice") / "notebooks.service"))
    become_user()
    return unit


def container() -> Path:
    """Root with a cgroup namespace of its own; its part of the tree is mounted writable."""
    group = divide(GROUPS) / "container"
    group.mkdir()
    enter(group)
    syscalls.unshare(syscalls.CLONE_NEWCGROUP | syscalls.CLONE_NEWNS)
    syscalls.mount(None, "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.detach(str(GROUPS))
    syscalls.mount("cgroup2", str(GROUPS), "cgroup2")
    return GROUPS


def unit_of_root() -> Path:
    """A unit that belongs to root, seen by a user in it: nothing there is ours."""
    unit = divide(divide(GROUPS) / "system.slice") / "foreign.service"
    unit.mkdir()
    enter(unit)
    become_user()
    return unit


def hidden_neighbour() -> Path:
    """A group of ours with a process that we cannot see, and so not move: everything must be again as it was."""
    unit = enter(give(divide(divide(GROUPS) / "system.slice") / "hidden.service"))
    syscalls.unshare(syscalls.CLONE_NEWPID | syscalls.CLONE_NEWNS)
    if (inner := os.fork()) != 0:
        os.waitpid(inner, 0)
        os._exit(0)
    syscalls.mount(None, "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("proc", "/proc", "proc")
    return unit


# ── what happens there ──


def look(place: Callable[[], Path]) -> dict[str, Any]:
    """The tier that doctor would name, and the limits of a real cage where it is A."""
    group = place()
    if os.fork() == 0:
        # Somebody else in the same group, such as the shell that started us.
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.closerange(3, 64)
        signal.pause()
    report = tiers.probe()
    told = {protection.name: protection.detail for protection in report.protections}
    seen: dict[str, Any] = {"tier": report.tier, "control_groups": told["control_groups"]}
    if report.tier == "A":
        seen["memory"] = run_cage(hog, Limits(memory_mb=96))["limit"]
        forks = run_cage(fork_all, Limits(processes=20))
        seen |= {"forks": forks["exit_code"], "cage_is_inside": forks["group"].startswith(f"{group}/cellwright-")}
        cgroups.sweep()
    seen["groups_left"] = sorted(entry.name for entry in group.iterdir() if entry.name.startswith("cellwright"))
    seen["own_group"] = cgroup_of_this_process().rpartition("/")[2]
    return seen


def cgroup_of_this_process() -> str:
    return Path("/proc/self/cgroup").read_text().partition("::")[2].strip()


def run_cage(body: Callable[[], None], limits: Limits) -> dict[str, Any]:
    project = Path("/tmp/project")
    project.mkdir(exist_ok=True)
    project.chmod(0o777)
    (kernel, kernel_end), (control, control_end) = socket.socketpair(), socket.socketpair()
    control.settimeout(CAGE_SECONDS)
    spec = CageSpec(name="emulated", tier="A", project=str(project), environment={}, limits=limits)
    caged = launcher.start(spec, body, kernel_fd=kernel_end.fileno(), control_fd=control_end.fileno())
    kernel_end.close()
    control_end.close()
    assert caged.group is not None
    event = last_event(control)
    control.close()
    kernel.close()
    os.waitpid(caged.pid, 0)
    launcher.finish(caged)
    place = caged.group.directories["memory"]
    assert not Path(place).exists()
    return {"limit": event.get("limit"), "exit_code": event.get("exit_code"), "group": place}


def last_event(control: socket.socket) -> dict[str, Any]:
    """How the kernel ended, as the host is told."""
    unpacker = control_frames.ControlUnpacker()
    while data := control.recv(65536):
        unpacker.feed(data)
        while (frame := unpacker.next()) is not None:
            event = framing.read_json(frame[1])
            if event.get("event") in {"ended", "failed"}:
                return event
    return {}


def hog() -> None:
    held: list[bytearray] = []
    while True:
        held.append(bytearray(4 << 20))


def fork_all() -> None:
    made = 0
    try:
        while True:
            if os.fork() == 0:
                time.sleep(CAGE_SECONDS)
                os._exit(0)
            made += 1
    except OSError:
        os._exit(made)


def pages() -> dict[str, Any]:
    held = [bytearray(8 << 20) for _ in range(8)]
    gathered = huge_pages.gather()
    rollup = Path("/proc/self/smaps_rollup").read_text()
    huge_kb = int(next(line for line in rollup.splitlines() if "AnonHuge" in line).split()[1])
    return {"page": resource.getpagesize(), "gathered": gathered, "huge_kb": huge_kb, "kept": len(held)}


if __name__ == "__main__":
    tell({"place": "machine", **in_child(pages)})
    for place in (user_session, lone_unit, container, unit_of_root, hidden_neighbour, root_group):
        tell({"place": place.__name__, **in_child(lambda place=place: look(place))})
