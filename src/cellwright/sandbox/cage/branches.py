"""Roots for branches of a kernel, made by a cage's init, each with a copy of what the parent had changed.

A branch root is the cage's root once more, mount by mount, with its own overlay of the project and its own scratch
space. A branch enters it by `chroot`; whatever runs in it is known by that root, and ends with it.
"""

# Plain paths and descriptors: this runs in a cage's init.
# ruff: noqa: PTH101, PTH102, PTH115, PTH123, PTH208

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from cellwright.sandbox.cage import overlay, rootfs
from cellwright.sandbox.cage.file_copies import LayerCopier, copy_paths
from cellwright.sandbox.cage.rootfs import OverlayView
from cellwright.sandbox.linux import syscalls
from cellwright.sandbox.linux.descriptors import DIRECTORY, closing, opened
from cellwright.sandbox.linux.processes import (
    cpu_seconds_of,
    is_dead,
    private_memory_kb,
    stop_and_kill,
    system_call_of,
)
from cellwright.sandbox.linux.volumes import unescaped
from cellwright.sandbox.spec import BRANCH_SLOTS, CageSpec

MAIN = 0
"""The number of what is no branch: the cage's own root."""

_OWN = ("/project", "/tmp", "/home/cell", "/dev/shm", rootfs.STAGE, "/branches")
_KILL_TIMEOUT_SECONDS = 10.0
_KILL_INTERVAL_SECONDS = 0.0005
_MIN_METER_INTERVAL_SECONDS = 0.25
_METER_INTERVAL_FACTOR = 50
"""Minimum interval between measurements, as a multiple of what the last one took."""
_MAX_OOM_SCORE = 1000
"""The largest `oom_score_adj`; a branch has this less its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRoot:
    """One root of the cage."""

    number: int
    path: str
    """As init sees it."""
    of: int
    """Whose copy it was made from."""
    upper: str
    snapshots: tuple[str, ...]
    """Layers with what its ancestors had changed, newest first; nothing writes there any more."""
    history: tuple[OverlayView, ...]
    """What changed there since it was made, and before that in each ancestor, newest first."""


@dataclass(slots=True)
class BranchRoots:
    """Every root of one cage."""

    spec: CageSpec
    main: OverlayView
    _mounts: list[str] = field(default_factory=list[str])
    _within_scratch: list[str] = field(default_factory=list[str])
    _made: dict[int, BranchRoot] = field(default_factory=dict[int, BranchRoot])
    _left: set[int] = field(default_factory=set[int])
    """Ended, but something made from them still lives below."""

    def make(self, of: int) -> tuple[int, int] | None:
        """Mount a root; its number and the root, open: nobody but init finds it by name. None if there is no room."""
        number = next((one for one in range(1, BRANCH_SLOTS + 1) if one not in self._made), None)
        if number is None:
            return None
        above = self._root_of(of)
        try:
            self._build(number, of, above)
        except BaseException:
            self._take_down(number, f"{above}/branches/{number}")
            raise
        return number, os.open(self._made[number].path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def history(self, number: int) -> tuple[OverlayView, ...]:
        """What changed there since it was made, and before that in each ancestor, newest first."""
        return (self.main,) if number == MAIN else self._made[number].history

    def processes(self, number: int) -> list[int]:
        """Everything that runs in a branch, by its root; whoever has left that, by the mark it was born with."""
        by_root = {root.path: root.number for root in self._made.values()}
        found: list[int] = []
        for name in os.listdir("/proc"):
            if name.isdigit() and name != "1":
                with suppress(OSError, ValueError):
                    if (by_root.get(os.readlink(f"/proc/{name}/root")) or _mark(name)) == number:
                        found.append(int(name))
        return found

    def kill(self, number: int) -> None:
        """End everything in a branch: stopped first, so that nothing is forked while we look."""
        end = time.monotonic() + _KILL_TIMEOUT_SECONDS
        while (running := [pid for pid in self.processes(number) if not is_dead(pid)]) and time.monotonic() < end:
            stop_and_kill(running)
            time.sleep(_KILL_INTERVAL_SECONDS)

    def remove(self, number: int) -> None:
        """End everything in a branch and take its root down; later, if something made from it still lives."""
        if number not in self._made:
            return
        self.kill(number)
        self._left.add(number)
        while ready := [one for one in self._left if not any(root.of == one for root in self._made.values())]:
            for one in ready:
                root = self._made.pop(one)
                self._left.discard(one)
                for descriptor in (root.history[0].upper, *root.history[0].lowers):
                    if descriptor is not None:
                        os.close(descriptor)
                self._take_down(one, root.path)

    def _build(self, number: int, of: int, above: str) -> None:
        path, stage = f"{above}/branches/{number}", f"{rootfs.STAGE}/{number}"
        rootfs.attach_new("tmpfs", rootfs.layer_options(self.spec.limits, "0700"), rootfs.READ_WRITE, stage)
        for name in ("upper", "work", "snapshot", "scratch", "volumes"):
            os.mkdir(f"{stage}/{name}", 0o755)
        upper, snapshots = self._layers_of(of)
        if upper is not None and _copy(_open(upper), f"{stage}/snapshot"):
            snapshots = (f"{stage}/snapshot", *snapshots)
        shared, within_scratch = self._known_mounts()
        _mount_again(shared, path)
        self._scratch(f"{stage}/scratch", above, path)
        _mount_again(within_scratch, path)
        lowers = (*snapshots, *overlay.bottoms(self.spec))
        os.chmod(f"{stage}/upper", 0o755)
        overlay.lay(self.spec, f"{path}/project", stage, lowers)
        overlay.cover(self.spec, f"{path}/project", "/.mask", lower=rootfs.LOWER, data_from="/project")
        bottom = self.main.lowers if self.main.upper is not None else (_open("/project"),)
        layers = (_open(f"{stage}/upper"), *map(_open, snapshots), *map(os.dup, bottom))
        history = tuple(
            OverlayView(upper=layers[step], lowers=layers[step + 1 :]) for step in range(len(snapshots) + 1)
        )
        self._made[number] = BranchRoot(
            number=number, path=path, of=of, upper=f"{stage}/upper", snapshots=snapshots, history=history
        )

    def _scratch(self, scratch: str, above: str, path: str) -> None:
        options = {"size": f"{self.spec.limits.tmp_mb}m", "mode": "0755"}
        rootfs.attach_new("tmpfs", options, rootfs.READ_WRITE, scratch)
        for name, seen_at, mode in rootfs.SCRATCH:
            os.mkdir(f"{scratch}/{name}", mode)
            os.chmod(f"{scratch}/{name}", mode)
            # Without what is mounted below, such as software.
            with closing(syscalls.open_tree(f"{above}/{seen_at}", recursive=False)) as source:
                _copy(_open(".", source), f"{scratch}/{name}")
            rootfs.bind(f"{scratch}/{name}", f"{path}/{seen_at}")

    def _layers_of(self, number: int) -> tuple[str | None, tuple[str, ...]]:
        if number == MAIN:
            return (None if self.spec.files == "direct" else f"{rootfs.STAGE}/inner/upper"), ()
        return self._made[number].upper, self._made[number].snapshots

    def _root_of(self, number: int) -> str:
        return "" if number == MAIN else self._made[number].path

    def project_of(self, number: int) -> str:
        """Where its project is for init."""
        return f"{self._root_of(number)}/project"

    def _known_mounts(self) -> tuple[list[str], list[str]]:
        """What the cage's root is made of, without what each branch has of its own, and what lies within scratch space.

        The outer first.
        """
        if not self._mounts:
            with open("/proc/self/mountinfo", "rb") as file:
                points = sorted({unescaped(line.split(b" ")[4]) for line in file})
            own, scratch = tuple(f"{path}/" for path in _OWN), tuple(f"/{path}/" for _, path, _ in rootfs.SCRATCH)
            self._mounts = [point for point in points if not f"{point}/".startswith(own)]
            self._within_scratch = [point for point in points if point.startswith(scratch)]
        return self._mounts, self._within_scratch

    def _take_down(self, number: int, path: str) -> None:
        for mount in (path, f"{rootfs.STAGE}/{number}"):
            try:
                syscalls.detach(mount)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise


class BranchTable:
    """The branches of one cage's kernel, as its init keeps them: who runs where, and within which limits."""

    def __init__(self, roots: BranchRoots, emit: Callable[[dict[str, Any]], None], poll: select.poll) -> None:
        self.roots = roots
        self._emit = emit
        self._poll = poll
        self._leaders: dict[int, _Leader] = {}
        self.successor = MAIN
        """Who is the notebook's kernel now."""

    @property
    def are_there(self) -> bool:
        """Whether any branch lives."""
        return bool(self._leaders)

    def obey(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Carry out a command about branches; None if it is about something else."""
        match message["do"]:
            case "branch":
                made = self.roots.make(int(message["of"]))
                return {} if made is None else {"branch": made[0], "root": made[1]}
            case "adopt":
                self._adopt(int(message["branch"]), int(message["pid"]), message)
            case "unbranch":
                self._forget(int(message["branch"]))
                self.roots.remove(int(message["branch"]))
            case "succeed":
                self.successor = int(message["branch"])
                if (leader := self._leaders.get(self.successor)) is not None:
                    # It is the notebook's kernel now: what held for a branch, beside its parent, holds no longer.
                    leader.memory_kb = leader.cpu_seconds = None
            case "measure":
                return {"meters": self._measure(int(message["branch"]))}
            case "carry":
                copy_paths(
                    self.roots.project_of(int(message["source"])),
                    self.roots.project_of(int(message["branch"])),
                    [str(path) for path in message["paths"]],
                )
            case _:
                return None
        return {}

    def signal(self, number: int, sign: int) -> None:
        """Send a signal to a branch's own process."""
        if number in self._leaders:
            signal.pidfd_send_signal(self._leaders[number].pidfd, sign)

    def supervise(self) -> None:
        """Tell who has ended, and end who uses too much."""
        for number, leader in [*self._leaders.items()]:
            if _has_ended(leader.pidfd):
                self._forget(number)
                self.roots.kill(number)
                self._emit({"event": "branch-ended", "branch": number, "limit": leader.limit})
            elif leader.limit is None and (limit := self._exceeded(number, leader)) is not None:
                leader.limit = limit
                self.roots.kill(number)

    def _adopt(self, number: int, pid: int, message: dict[str, Any]) -> None:
        if pid not in self.roots.processes(number):
            raise OSError(errno.ESRCH, "that process is not in the branch's root")
        memory_mb, cpu_seconds = message.get("memory_mb"), message.get("cpu_seconds")
        self._leaders[number] = _Leader(
            pidfd=os.pidfd_open(pid),
            memory_kb=int(memory_mb) * 1024 if memory_mb is not None else None,
            cpu_seconds=float(cpu_seconds) if cpu_seconds is not None else None,
        )
        self._poll.register(self._leaders[number].pidfd, select.POLLIN)
        _set_mark(pid, number)

    def _forget(self, number: int) -> None:
        leader = self._leaders.pop(number, None)
        if leader is not None:
            self._poll.unregister(leader.pidfd)
            os.close(leader.pidfd)

    def _exceeded(self, number: int, leader: _Leader) -> str | None:
        began = time.monotonic()
        if (leader.memory_kb is None and leader.cpu_seconds is None) or began < leader.look_again:
            return None
        found = self.roots.processes(number)
        try:
            return self._limit_met(found, leader)
        finally:
            # A look at much memory takes long: looking takes a small part of the time, however many there are.
            leader.look_again = time.monotonic() + max(
                _MIN_METER_INTERVAL_SECONDS, _METER_INTERVAL_FACTOR * (time.monotonic() - began)
            )

    def _limit_met(self, found: list[int], leader: _Leader) -> str | None:
        if leader.cpu_seconds is not None and sum(map(cpu_seconds_of, found)) > leader.cpu_seconds:
            return "cpu"
        if leader.memory_kb is not None and sum(map(private_memory_kb, found)) > leader.memory_kb:
            return "memory"
        return None

    def _measure(self, number: int) -> dict[str, Any]:
        found = self.roots.processes(number)
        return {
            "processes": len(found),
            "cpu_seconds": round(sum(map(cpu_seconds_of, found)), 3),
            "own_memory_kb": sum(map(private_memory_kb, found)),
            "waits_for": [system_call_of(pid) for pid in found[:64]],
        }


@dataclass(slots=True, kw_only=True)
class _Leader:
    """The process that a branch is, and its limits."""

    pidfd: int
    memory_kb: int | None
    cpu_seconds: float | None
    limit: str | None = None
    """Which of them ended it."""
    look_again: float = 0.0


def _mount_again(mounts: list[str], path: str) -> None:
    """What the cage's root has there, in a branch's too."""
    for mount in mounts:
        tree = syscalls.open_tree(mount, recursive=False)
        if mount == "/proc":
            # Landlock allows changes below /branches; what must not change is read-only there.
            syscalls.set_mount_attributes(tree, syscalls.MOUNT_ATTR_RDONLY, recursive=False)
        syscalls.attach(tree, path if mount == "/" else f"{path}{mount}")
        os.close(tree)


def _mark(pid: str) -> int:
    """The branch a process was born in; 0 for those of none. Whoever leaves a root by `chroot` still has its mark."""
    with open(f"/proc/{pid}/oom_score_adj", "rb") as file:
        number = _MAX_OOM_SCORE - int(file.read())
    return number if 1 <= number <= BRANCH_SLOTS else 0


def _set_mark(pid: int, number: int) -> None:
    """Its children will have it too, and none of them may write there. When memory runs out a branch goes first."""
    with open(f"/proc/{pid}/oom_score_adj", "w", encoding="utf-8") as file:
        file.write(str(_MAX_OOM_SCORE - number))


def _has_ended(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def _copy(reading: int, target: str) -> bool:
    """Everything below an open directory, which is closed; whether there was anything."""
    with closing(reading), opened(target) as writing:
        if not os.listdir(reading):
            return False
        LayerCopier().copy_all(reading, writing)
        return True


def _open(path: str, within: int | None = None) -> int:
    return os.open(path, DIRECTORY, dir_fd=within)
