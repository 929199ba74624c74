"""Starting and ending a cage, from the zygote: one clone into new namespaces, ids, limits, release.

The zygote is single-threaded, uncaged and holds no secret. `start` returns as soon as init can go on alone; init tells
the host over the control socket when the kernel runs, or why it does not.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from cellwright.errors import UserError
from cellwright.sandbox import private_directory
from cellwright.sandbox.cage import fallback_tiers, host_mounts, init
from cellwright.sandbox.cage.supervisor import Meters
from cellwright.sandbox.linux import cgroups, processes, seccomp, syscalls, volumes
from cellwright.sandbox.linux.cgroups import Group
from cellwright.sandbox.spec import DEFAULT_UID, CageSpec

_NAMESPACES = (
    syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWNET
)  # fmt: skip

_numbers = itertools.count(1)
_alive: set[int] = set()
"""The cages of this zygote; any other child of it is an orphan of a supervisor that was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCage:
    """A running cage, as its zygote knows it."""

    pid: int
    """The cage's first process; SIGKILL takes everything inside."""
    pidfd: int
    """The same as a handle that can be passed on; the zygote closes its copy in `finish`."""
    group: Group | None = None
    mount_points: tuple[str, ...] = ()
    """Mount points that direct mode had to make on the host."""
    directory: str | None = None
    """The private directory of tiers C and D."""


def start(
    spec: CageSpec,
    body: Callable[[], None],
    *,
    kernel_fd: int,
    control_fd: int,
    rehearse: Callable[[], None] = lambda: None,
) -> RunningCage:
    """Run `body` in a new cage, with `kernel_fd` as its descriptor 3 and nothing else of ours.

    `OSError` says what could not be prepared here; what fails inside is told over `control_fd`.
    """
    try:
        spec.check()
        if spec.tier in {"A", "B"}:
            return _start_caged(spec, body, kernel_fd, control_fd, rehearse)
        pid, directory = fallback_tiers.start(spec, body, kernel_fd, control_fd)
    except UserError as error:
        raise OSError(f"{error.message} {error.hint}") from error
    _alive.add(pid)
    return RunningCage(pid=pid, pidfd=os.pidfd_open(pid), directory=directory)


def _start_caged(
    spec: CageSpec, body: Callable[[], None], kernel_fd: int, control_fd: int, rehearse: Callable[[], None]
) -> RunningCage:
    is_root = syscalls.is_root()
    spec = _with_volumes(spec, is_root=is_root)
    uid = (spec.uid or DEFAULT_UID) if is_root else os.geteuid()
    gid = uid if is_root else os.getegid()
    seccomp.program(has_private_network=True, has_memory_group=spec.tier == "A", has_proxy=spec.proxy_port is not None)
    group = _new_group(spec)
    sources, meters, pipe, group_entries = None, Meters(), (), ()
    try:
        meters = _open_meters(group)
        group_entries = group.open_entries() if group is not None else ()
        sources = host_mounts.sources_as_root(spec, uid) if is_root else None
        mount_points = host_mounts.missing_mount_points(spec)
        pipe = release, releasing = os.pipe2(os.O_CLOEXEC)
        handover = init.Handover(
            body=body,
            kernel_fd=kernel_fd,
            control_fd=control_fd,
            release_fd=release,
            sources=sources,
            meters=meters,
            group_entries=group_entries,
            rehearse=rehearse,
        )
        pid = syscalls.clone(_NAMESPACES)
        if pid == 0:
            os.close(releasing)
            init.main(spec, handover)
        _release(pid, releasing, None if group_entries else group, uid, gid)
    except BaseException:
        if group is not None:
            group.remove()
        raise
    finally:
        for descriptor in (*pipe, *group_entries, *meters.descriptors(), *(sources.descriptors() if sources else ())):
            os.close(descriptor)
    _alive.add(pid)
    return RunningCage(pid=pid, pidfd=os.pidfd_open(pid), group=group, mount_points=mount_points)


def _with_volumes(spec: CageSpec, *, is_root: bool) -> CageSpec:
    """Where something is mounted inside the project, and what follows from it.

    Only root gets the project without what is mounted in it. In a user namespace the two hang together, and nothing can
    be laid over them as a whole: each volume without further ones is taken for itself, and the rest is copied.
    """
    found = volumes.mounted_in(spec.project)
    return replace(
        spec,
        hidden=tuple(dict.fromkeys((*spec.hidden, *found.closed))),
        volumes=found.folders if is_root else found.innermost,
        mounted_files=found.files,
        is_copied=bool(found.all) and not is_root and spec.files != "direct",
    )


def _new_group(spec: CageSpec) -> Group | None:
    """A fresh group with the cage's limits; only tier A has one."""
    if spec.tier != "A":
        return None
    group = cgroups.create(str(next(_numbers)), within=_where_groups_go())
    try:
        group.limit(spec.limits)
    except OSError:
        group.remove(0)
        raise
    return group


@cache
def _where_groups_go() -> Group:
    cgroups.sweep()
    return cgroups.own()


def _open_meters(group: Group | None) -> Meters:
    if group is None:
        return Meters()
    usage = group.cpu_usage()
    return Meters(
        memory_events=os.open(group.memory_events(), os.O_RDONLY | os.O_CLOEXEC),
        cpu_usage=None if usage is None else os.open(usage, os.O_RDONLY | os.O_CLOEXEC),
    )


def _release(pid: int, releasing: int, group: Group | None, uid: int, gid: int) -> None:
    """Give the new init its ids and let it build; let it start the kernel once its limits hold."""
    try:
        if not syscalls.is_root():
            # Without rights over other groups, the kernel takes a group map only from who cannot leave groups.
            cgroups.write(f"/proc/{pid}/setgroups", "deny")
        cgroups.write(f"/proc/{pid}/uid_map", f"{init.INNER_ID} {uid} 1")
        cgroups.write(f"/proc/{pid}/gid_map", f"{init.INNER_ID} {gid} 1")
        os.write(releasing, b"i")
        if group is not None:
            group.add(pid)
        os.write(releasing, b"g")
    except OSError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def finish(caged: RunningCage) -> None:
    """After init was reaped: nothing is left behind."""
    if caged.group is not None:
        caged.group.remove()
    host_mounts.remove_mount_points(caged.mount_points)
    _alive.discard(caged.pid)
    if caged.directory is not None:
        processes.kill_strays(_alive)
        private_directory.remove(caged.directory)
    os.close(caged.pidfd)
