"""Tiers C and D: no namespaces. A supervisor, a copy of the project, Landlock and seccomp (C) or limits alone (D).

Process lists, memory of several processes together and total disk use are weaker here; `tiers` says so to the person.
"""

# Plain paths and descriptors: this runs in the zygote and its children.
# ruff: noqa: PTH101, PTH102, PTH103, PTH112, PTH114, PTH120, PTH208, PTH211

from __future__ import annotations

import errno
import gc
import os
import signal
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from cellwright.errors import UserError
from cellwright.remedies import remedy
from cellwright.sandbox.cage import confinement, init, rootfs
from cellwright.sandbox.cage.file_copies import Copier, CopyBudget, CopyView
from cellwright.sandbox.cage.overlay_changes import View
from cellwright.sandbox.cage.rootfs import OverlayView
from cellwright.sandbox.cage.supervisor import Meters, Supervisor, file_time_ns
from cellwright.sandbox.linux import landlock, syscalls
from cellwright.sandbox.linux.descriptors import DIRECTORY, GIVEN_DIRECTORY, opened
from cellwright.sandbox.linux.processes import kill_descendants, threads_of
from cellwright.sandbox.private_directory import hold, remove
from cellwright.sandbox.spec import DEFAULT_UID, CageSpec

_READABLE = (
    "/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives", "/etc/fonts", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/pki/tls/certs", "/proc",
    # Native libraries read them to size their pools; DuckDB ends the process when it may look but not open.
    "/sys/fs/cgroup", "/sys/devices/system/cpu",
)  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class KernelDirectory:
    """The private directory of one kernel, and where it works in it."""

    directory: str
    project: str

    def inside(self, path: str) -> str:
        """Where a path of a real cage is found here."""
        if path == "/project" or path.startswith("/project/"):
            return self.project + path.removeprefix("/project")
        return path


def start(spec: CageSpec, body: Callable[[], None], kernel_fd: int, control_fd: int) -> tuple[int, str]:
    """The supervisor's pid and its private directory."""
    if spec.files == "direct" and spec.tier == "C":
        raise UserError(
            "Direct file access needs user namespaces, which this machine does not offer.",
            hint=remedy("keep_files"),
        )
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    directory = _private_directory()
    project = spec.project if spec.files == "direct" else f"{directory}/project"
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _supervise(spec, body, kernel_fd, control_fd, KernelDirectory(directory, project), parent)
    return pid, directory


def _private_directory() -> str:
    try:
        return tempfile.mkdtemp(prefix=f"cellwright-cage-{os.getpid()}-")
    except OSError as error:
        raise UserError(
            f"There is no temporary directory for the notebook's copy of the project: {error.strerror or error}.",
            hint="Make /tmp writable (Docker, Podman: --tmpfs /tmp; Kubernetes: an emptyDir mounted there). "
            "TMPDIR is not heard: nothing of a person's environment reaches this process.",
        ) from error


def _supervise(
    spec: CageSpec, body: Callable[[], None], kernel_fd: int, control_fd: int, own: KernelDirectory, zygote: int
) -> NoReturn:  # pyrefly: ignore[bad-return]  # it ends in `finally`
    code = init.SETUP_FAILED
    control = socket.socket(fileno=control_fd)
    answers = Supervisor(control, Meters(directory=own.directory), spec, kill_all=kill_descendants)
    try:
        gc.disable()
        _settle(answers, {kernel_fd, control_fd}, zygote)
        # Held as long as this process lives: a later start knows by it that the directory is in use.
        hold(own.directory)
        view = _fill(spec, own)
        report, reporting = os.pipe()
        since_ns = file_time_ns()
        supervisor = os.getpid()
        kernel = os.fork()
        if kernel == 0:
            init.be_kernel(lambda: _prepare_kernel(spec, own, supervisor), body, kernel_fd, reporting)
        os.close(reporting)
        os.close(kernel_fd)
        answers.watch(kernel, report, view, since_ns)
        code = answers.serve()
    except BaseException as error:  # noqa: BLE001  the last frame of a process: nobody above can handle it
        answers.fail(f"{type(error).__name__}: {error}")
    finally:
        kill_descendants()
        remove(own.directory)
        os._exit(code & 0xFF)


def _settle(answers: Supervisor, kept: set[int], zygote: int) -> None:
    """End with the zygote, but not before everything below has ended."""
    os.setsid()
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    confinement.settle(kept, answers.stop)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != zygote:
        raise ConnectionError("the zygote is gone")
    syscalls.set_process_name("cellwright-init")
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)


def _fill(spec: CageSpec, own: KernelDirectory) -> View:
    """The private directory: scratch space and, unless the real files are used, a filtered copy of the project."""
    uid = (spec.uid or DEFAULT_UID) if syscalls.is_root() else None
    owner = None if uid is None else (uid, uid)
    for name in ("tmp", "home", "read-only"):
        os.mkdir(f"{own.directory}/{name}", 0o755 if name == "read-only" else 0o700)
        if owner and name != "read-only":
            os.chown(f"{own.directory}/{name}", *owner)
    os.chmod(own.directory, 0o711)
    if spec.files == "direct":
        return OverlayView(upper=None, lowers=())
    os.mkdir(own.project, 0o700)
    if owner:
        os.chown(own.project, *owner)
    copy = os.open(own.project, DIRECTORY)
    budget = CopyBudget.of(spec.limits)
    _copy_project(spec, own, copy, owner, budget)
    for number, mount in enumerate(spec.data):
        target = f"{own.project}/{mount.target}"
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if owner is None or syscalls.is_open_to_all(mount.source):
            os.symlink(mount.source, target)
        else:
            # Root may read it, so the notebook root started may, although it runs as somebody else.
            _set_aside(mount.source, f"{own.directory}/read-only/data-{number}", target, budget, owner)
    return CopyView.of(copy)


def _copy_project(
    spec: CageSpec, own: KernelDirectory, copy: int, owner: tuple[int, int] | None, budget: CopyBudget
) -> None:
    # Data covers what the project has at its path, as a mount does on other tiers.
    leave_out = {*spec.hidden, *spec.left_out, *spec.protected, *(mount.target for mount in spec.data)}
    try:
        with opened(spec.project, GIVEN_DIRECTORY) as source:
            Copier(leave_out=leave_out, owner=owner, budget=budget).copy_all(source, copy)
        for number, path in enumerate(spec.protected):
            _set_aside(f"{spec.project}/{path}", f"{own.directory}/read-only/{number}", f"{own.project}/{path}", budget)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise OSError(errno.EFBIG, "the project is too big for a copy; raise the limits disk and inodes") from None
        raise


def _set_aside(
    original: str, copy: str, seen_at: str, budget: CopyBudget, owner: tuple[int, int] | None = None
) -> None:
    """Something to be read only: Landlock cannot take rights away below a writable directory, so it lives elsewhere."""
    if not os.path.lexists(original) or os.path.islink(original):
        return
    source, name = os.path.split(original)
    os.mkdir(copy, 0o755)
    with opened(source, GIVEN_DIRECTORY) as reading, opened(copy) as writing:
        others = {entry for entry in os.listdir(reading) if entry != name}
        Copier(leave_out=others, owner=owner, budget=budget).copy_all(reading, writing)
    if os.path.isdir(os.path.dirname(seen_at)):
        os.symlink(f"{copy}/{name}", seen_at)


def _prepare_kernel(spec: CageSpec, own: KernelDirectory, supervisor: int) -> None:
    confinement.reset_signals()
    os.setsid()
    _become(spec)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        raise ConnectionError("the supervisor is gone")
    os.umask(0o022)
    os.environ.clear()
    variables = {"HOME": f"{own.directory}/home", "TMPDIR": f"{own.directory}/tmp", "CELLWRIGHT_PROJECT": own.project}
    os.environ.update(spec.environment | variables)
    os.chdir(own.inside(spec.cwd))
    # Without a user namespace the limit is for all that the user has, a desktop's thousand threads included.
    others = threads_of(os.geteuid())
    if spec.tier == "C":
        confinement.confine(
            spec, _rules(spec, own), capability=None, is_private=False, has_memory_group=False, others=others
        )
    else:
        confinement.limit(spec, has_memory_group=False, others=others)


def _become(spec: CageSpec) -> None:
    # Tier D contains nothing, and says so; another uid would only keep it from its own interpreter.
    if syscalls.is_root() and spec.tier != "D":
        uid = spec.uid or DEFAULT_UID
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        for path in spec.software:
            # A program that an interpreter reads is a plain file, and need not be executable.
            if not os.access(path, os.R_OK | (os.X_OK if os.path.isdir(path) else 0)):
                raise PermissionError(
                    f"user id {uid}, under which kernels run, cannot reach {path}; install Cellwright where everybody "
                    "may enter, for example below /opt, or start it as somebody who is not root"
                )


def _rules(spec: CageSpec, own: KernelDirectory) -> list[tuple[str, int]]:
    return [
        *((path, landlock.USE) for path in (*rootfs.SYSTEM, *spec.software)),
        *((path, landlock.READ) for path in (*_READABLE, f"{own.directory}/read-only")),
        # What we may not reach any more was set aside.
        *((mount.source, landlock.READ) for mount in spec.data if os.access(mount.source, os.R_OK)),
        *((path, landlock.READ | landlock.CHANGE_FILES) for path in _DEVICES),
        *((path, landlock.CHANGE) for path in (own.project, f"{own.directory}/tmp", f"{own.directory}/home")),
    ]
