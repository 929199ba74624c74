"""Control groups: memory, processes and CPU time of everything in one cage together.

Version 1 needs root. Version 2 needs our own group to be ours to divide: root, systemd's user session, a unit with
`Delegate=yes`, or a container whose group is writable. We never go above or beside it.
"""

# Plain paths and descriptors: this runs between a clone and a pivot.
# ruff: noqa: PTH102, PTH106, PTH110, PTH112, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from dataclasses import dataclass

from cellwright.sandbox.linux.descriptors import opened
from cellwright.sandbox.spec import MEGABYTE, Limits

PREFIX = "cellwright-"
OWN_LEAF = "cellwright-self"
"""On version 2: the group below our own into which its processes go, so that our own can be divided."""
_ROUNDS = 20
"""Limit of rounds in which processes that were started meanwhile are moved, too."""
_NEEDED = frozenset(("memory", "pids"))
_OWN_PROCESSES = 1
"""The cage's init."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The directories that hold one cage, by controller; on version 2 all are the same one."""

    version: int
    directories: dict[str, str]

    def add(self, pid: int) -> None:
        """Put a process, and all it will start, under the limits."""
        for directory in dict.fromkeys(self.directories.values()):
            write(f"{directory}/cgroup.procs", str(pid))

    def open_entries(self) -> tuple[int, ...]:
        """Files into which a single-threaded process writes `0` to go in by itself; none where that is not possible.

        A process that moves only itself waits for nobody; moving another makes every fork on the machine wait (some
        15 ms). Whoever opened the file is asked for permission, so a process without rights can be handed it open.
        """
        if self.version != 1:
            return ()
        return tuple(os.open(f"{path}/tasks", os.O_WRONLY | os.O_CLOEXEC) for path in self.directories.values())

    def limit(self, limits: Limits) -> None:
        """Set the caps; may be called again."""
        memory, processes = self.directories["memory"], self.directories["pids"]
        cap = str(limits.memory_mb * MEGABYTE)
        if self.version == 2:
            write(f"{memory}/memory.max", cap)
            # What is swapped out does not count as memory: without this a limit would only slow a kernel down.
            _try_write(f"{memory}/memory.swap.max", "0")
        else:
            write(f"{memory}/memory.limit_in_bytes", cap)
            _try_write(f"{memory}/memory.memsw.limit_in_bytes", cap)
        write(f"{processes}/pids.max", str(limits.processes + _OWN_PROCESSES))

    def memory_events(self) -> str:
        """The file in which the kernel counts processes killed for memory."""
        return self.directories["memory"] + ("/memory.events" if self.version == 2 else "/memory.oom_control")

    def cpu_usage(self) -> str | None:
        """The file in which the kernel counts CPU time, if that controller is there."""
        if self.version == 2:
            return self.directories["memory"] + "/cpu.stat"
        directory = self.directories.get("cpuacct")
        return None if directory is None else f"{directory}/cpuacct.usage"

    def remove(self, deadline_seconds: float = 2.0) -> None:
        """Take the directories away; the last process may need a moment to be gone."""
        end = time.monotonic() + deadline_seconds
        for directory in dict.fromkeys(self.directories.values()):
            while True:
                try:
                    os.rmdir(directory)
                    break
                except OSError as error:
                    # Busy while the last process is not reaped, by whoever its parent is.
                    if error.errno != errno.EBUSY or time.monotonic() > end:
                        break
                    time.sleep(0.001)


def counter(text: str, name: str) -> int:
    """The number after `name` in one of the kernel's "name number" files."""
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return 0


def create(name: str, within: Group) -> Group:
    """An empty group below another; `OSError` where we may not make one."""
    full_name = f"{PREFIX}{os.getpid()}-{name}"
    directories = {controller: f"{parent}/{full_name}" for controller, parent in within.directories.items()}
    group = Group(version=within.version, directories=directories)
    try:
        for directory in dict.fromkeys(directories.values()):
            os.mkdir(directory, 0o755)
    except OSError:
        group.remove(0)
        raise
    return group


def sweep() -> None:
    """Remove empty groups that a killed zygote left behind."""
    try:
        parents = own().directories
    except OSError:
        return
    for parent in dict.fromkeys(parents.values()):
        for entry in os.listdir(parent):
            owner = entry.removeprefix(PREFIX).partition("-")[0]
            is_left = owner.isdigit() and not os.path.exists(f"/proc/{owner}")
            if entry == OWN_LEAF or (entry.startswith(PREFIX) and is_left):
                # The kernel refuses while a process or a group is inside.
                with suppress(OSError):
                    os.rmdir(f"{parent}/{entry}")


def own() -> Group:
    """Where this process is and may make groups; `OSError` where it may not. Never to be limited or removed."""
    paths, mounts = _own_paths(), _mounts()
    unified = mounts.get("")
    if unified is not None and "" in paths:
        group = own_group(unified, paths[""])
        if _is_delegated(group):
            return Group(version=2, directories={"memory": group, "pids": group})
    found: dict[str, str] = {}
    for controller in ("memory", "pids", "cpuacct"):
        if controller in mounts and controller in paths:
            path = _join(mounts[controller], paths[controller])
            found[controller] = path if os.path.isdir(path) else mounts[controller][0]
    if _NEEDED - found.keys():
        raise OSError(errno.ENOENT, "no memory and pids control groups here")
    return Group(version=1, directories=found)


def own_group(mount: tuple[str, str], path: str) -> str:
    """The directory of our own group of version 2; from within our leaf, the group that the leaf divides."""
    group = _join(mount, path)
    return os.path.dirname(group) if os.path.basename(group) == OWN_LEAF else group


def _own_paths() -> dict[str, str]:
    own: dict[str, str] = {}
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            own[controller] = path
    return own


def _mounts() -> dict[str, tuple[str, str]]:
    """Per controller (empty name: the unified tree) where it is mounted and which part of it."""
    mounts: dict[str, tuple[str, str]] = {}
    for line in _read("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        _, _, _, root, point, *_ = left.split(" ")
        if kind == "cgroup2":
            mounts.setdefault("", (point, root))
        elif kind == "cgroup":
            for controller in options.rpartition(" ")[2].split(","):
                mounts.setdefault(controller, (point, root))
    return mounts


def _join(mount: tuple[str, str], path: str) -> str:
    point, root = mount
    inner = path.removeprefix(root) if root != "/" else path
    return f"{point}/{inner.strip('/')}".rstrip("/")


def _is_delegated(directory: str) -> bool:
    """Whether groups with limits can be made in our own group of version 2; made possible where only we are in the way.

    A group other than the root's cannot both hold processes and limit groups below it ("no inner processes"). The
    processes that are in ours go one level down then: still ours, and still under every limit they had.
    """
    try:
        if not set(_read(f"{directory}/cgroup.controllers").split()) >= _NEEDED:
            return False
        if not all(os.access(path, os.W_OK) for path in (directory, f"{directory}/cgroup.procs")):
            return False
        if set(_read(f"{directory}/cgroup.subtree_control").split()) >= _NEEDED:
            return True
        return _enable(directory) or _enable_above_leaf(directory)
    except OSError:
        return False


def _enable(directory: str) -> bool:
    """Let groups below have limits; false where the group holds processes."""
    try:
        write(f"{directory}/cgroup.subtree_control", "+memory +pids")
    except OSError as error:
        if error.errno == errno.EBUSY:
            return False
        raise
    return True


def _enable_above_leaf(directory: str) -> bool:
    """The same once its processes are in a leaf; where that cannot be done everything is again as it was."""
    leaf = f"{directory}/{OWN_LEAF}"
    for _ in range(_ROUNDS):
        # In each round: another of our processes may make it, or sweep it while it is still empty.
        with suppress(FileExistsError):
            os.mkdir(leaf, 0o755)
        _move_processes(directory, leaf)
        if _enable(directory):
            return True
    _move_processes(leaf, directory)
    os.rmdir(leaf)
    return False


def _move_processes(source: str, target: str) -> None:
    for pid in _read(f"{source}/cgroup.procs").split():
        # One that has ended need not move; one that we may not move makes the next step fail, and be undone.
        _try_write(f"{target}/cgroup.procs", pid)


def _read(path: str) -> str:
    with open(path, "rb") as file:
        return file.read().decode(errors="replace")


def write(path: str, value: str) -> None:
    """Into one of the kernel's files, with one system call."""
    with opened(path, os.O_WRONLY | os.O_CLOEXEC) as descriptor:
        os.write(descriptor, value.encode())


def _try_write(path: str, value: str) -> None:
    with suppress(OSError):
        write(path, value)
