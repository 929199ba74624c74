"""Process 1 of a cage: builds the root, starts the kernel, answers the host. Runs no user code, trusts none.

Its end is the end of everything inside. It keeps mount rights in its own user namespace because the kernel, behind
Landlock and seccomp, can mount nothing: a branch's root is mounted here, below `/branches`, on a command.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from cellwright.sandbox.cage import confinement, host_mounts, overlay, rootfs
from cellwright.sandbox.cage.rootfs import DetachedMounts, OverlayView
from cellwright.sandbox.cage.supervisor import Meters, Supervisor, file_time_ns
from cellwright.sandbox.linux import proxy_listener, syscalls
from cellwright.sandbox.linux.descriptors import closing
from cellwright.sandbox.spec import CageSpec

SETUP_FAILED = 125
INNER_ID = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """What the zygote gives to a new init besides the spec."""

    body: Callable[[], None]
    kernel_fd: int
    control_fd: int
    release_fd: int
    sources: DetachedMounts | None
    """Opened by a zygote that is root; otherwise init opens them itself."""
    meters: Meters
    rehearse: Callable[[], None] = lambda: None
    """Our own code for the new kernel to run while its root is being built; nothing of a notebook is there yet."""
    group_entries: tuple[int, ...] = ()
    """Files that let us into our control group; empty when the zygote puts us there."""

    def descriptors(self) -> set[int]:
        """Everything init must keep open once it has forked the kernel."""
        kept = {self.control_fd, *self.meters.descriptors()}
        if self.sources is not None:
            kept |= self.sources.descriptors()
        return kept


def main(spec: CageSpec, handover: Handover) -> NoReturn:  # pyrefly: ignore[bad-return]  # it ends in `finally`
    """Be the init of a fresh set of namespaces until the host says stop or is gone."""
    code = SETUP_FAILED
    control = socket.socket(fileno=handover.control_fd)
    answers = Supervisor(control, handover.meters, spec, kill_all=_kill_all)
    try:
        gc.disable()
        # Forked before anything is built: the kernel gets ready meanwhile, and is pivoted with us.
        kernel, report, go, since_ns = _start_kernel(spec, handover)
        confinement.settle(handover.descriptors() | {report, go})
        sources, system = _open(spec, handover)
        views = _build(spec, sources, system)
        if spec.proxy_port is not None:
            answers.hand_over(proxy_listener.open_listener(spec.proxy_port))
        # If it is gone already, at its memory limit perhaps, whoever watches it says how it ended.
        with closing(go), suppress(BrokenPipeError):
            os.write(go, b"g")
        answers.watch(kernel, report, views, since_ns)
        code = answers.serve()
    except BaseException as error:  # noqa: BLE001  the last frame of a process: nobody above can handle it
        answers.fail(f"{type(error).__name__}: {error}")
    finally:
        os._exit(code)


def _kill_all() -> dict[int, int]:
    """Process 1 kills all others of its namespace at once and waits until they are gone."""
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    statuses: dict[int, int] = {}
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return statuses
        statuses[pid] = status


def _enter_group(handover: Handover) -> None:
    """Wait for our user ids and our limits; whatever is forked from then on is held by them."""
    _await(handover.release_fd)
    for entry in handover.group_entries:
        os.write(entry, b"0")
    _await(handover.release_fd)
    syscalls.unshare(syscalls.CLONE_NEWCGROUP)


def _await(release_fd: int) -> None:
    if not os.read(release_fd, 1):
        raise ConnectionError("the zygote is gone")


def _open(spec: CageSpec, handover: Handover) -> tuple[DetachedMounts, list[tuple[str, int]]]:
    """Everything that will be mounted, while the host's root is still there; then become the cage's user."""
    syscalls.mount(None, "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    system = rootfs.open_system()
    sources = handover.sources or open_sources(spec)
    _become_user()
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    return sources, system


def _become_user() -> None:
    """The only user this cage knows."""
    if os.getuid() != INNER_ID:
        os.setgroups([])
    os.setresgid(INNER_ID, INNER_ID, INNER_ID)
    os.setresuid(INNER_ID, INNER_ID, INNER_ID)
    os.umask(0o022)


def _build(spec: CageSpec, sources: DetachedMounts, system: list[tuple[str, int]]) -> OverlayView:
    rootfs.stage(spec.limits)
    rootfs.build(spec, sources, system)
    overlay.mount_project(spec, sources)
    rootfs.keep_stage()
    rootfs.enter()
    # Podman's profile refuses the call even in a namespace of our own: the host's name stays, nothing else.
    with suppress(PermissionError):
        syscalls.sethostname("cell")
    syscalls.set_process_name("cellwright-init")
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    return overlay.views(spec, sources)


def open_sources(spec: CageSpec) -> DetachedMounts:
    """The project, the data and the software as detached mounts of our own mount namespace."""
    return DetachedMounts(
        project=syscalls.open_tree(spec.project),
        layer=host_mounts.copied_layer(spec, None) if spec.is_copied else None,
        software=rootfs.open_software(spec.software),
        data=[(mount.target, rootfs.open_read_only(mount.source)) for mount in spec.data],
    )


def _start_kernel(spec: CageSpec, handover: Handover) -> tuple[int, int, int, int]:
    """Fork the kernel: its pid, a pipe on which it says whether it is confined, one that lets it go on, and when."""
    _enter_group(handover)
    report, reporting = os.pipe()
    gone_on, go = os.pipe()
    since_ns = file_time_ns()
    pid = os.fork()
    if pid == 0:
        os.close(go)
        confinement.silence()
        be_kernel(lambda: _prepare_kernel(spec, handover, gone_on), handover.body, handover.kernel_fd, reporting)
    return pid, report, go, since_ns


def _prepare_kernel(spec: CageSpec, handover: Handover, gone_on: int) -> None:
    _become_user()
    handover.rehearse()
    _await(gone_on)
    confinement.reset_signals()
    os.setsid()
    os.environ.clear()
    os.environ.update(spec.environment, CELLWRIGHT_PROJECT="/project")
    os.chdir(spec.cwd)
    confinement.confine(
        spec,
        confinement.rules_inside(spec),
        capability=syscalls.CAP_SYS_CHROOT,
        is_private=True,
        has_memory_group=handover.meters.memory_events is not None,
    )


# pyrefly: ignore[bad-return]  # it ends in `finally`
def be_kernel(confine: Callable[[], None], body: Callable[[], None], kernel_fd: int, reporting: int) -> NoReturn:
    """Be a kernel's process: confined, with the one socket as descriptor 3; on `reporting` it says whether it is."""
    code = SETUP_FAILED
    try:
        confine()
        _run_body(body, kernel_fd, reporting)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException as error:  # noqa: BLE001  the last frame of a process: nobody above can handle it
        code = _report_failure(reporting, error)
    finally:
        os._exit(code & 0xFF)


def _run_body(body: Callable[[], None], kernel_fd: int, reporting: int) -> None:
    if kernel_fd != confinement.KERNEL_FD:
        if reporting == confinement.KERNEL_FD:
            reporting = os.dup(reporting)
        os.dup2(kernel_fd, confinement.KERNEL_FD, inheritable=False)
    os.write(reporting, b"+")
    confinement.close_all_except({0, 1, 2, confinement.KERNEL_FD})
    # Found out once per process, and the zygote's answer is not ours.
    tempfile.tempdir = None
    gc.enable()
    body()


def _report_failure(reporting: int, error: BaseException) -> int:
    """Tell init why there is no kernel; after the body began nobody listens any more."""
    try:
        os.write(reporting, f"-{type(error).__name__}: {error}".encode()[:4000])
    except OSError:
        return 1
    return SETUP_FAILED
