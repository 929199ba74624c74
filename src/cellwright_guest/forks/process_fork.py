"""A branch comes into being: what a kernel notes before it forks, and how its child becomes a kernel of its own.

The child shares the parent's memory and nothing else. It lives in a place of its own, which the cage's init has
mounted; files are opened again there, at the same positions; sockets and pipes, which would be shared, are dead; its
event loop waits for its own events. Nothing here starts a thread.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import os
import random
import selectors
import signal
import socket
import stat
import struct
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["file", "directory", "socket", "pipe"]
_KINDS: dict[int, Kind] = {
    stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFSOCK: "socket", stat.S_IFIFO: "pipe",
}  # fmt: skip

_REOPENED_WITH = os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK | os.O_SYNC | os.O_DSYNC
_COPY_BYTES = 1 << 20
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_BELOW_PATH = 1
# Rights of Landlock: list; read and execute as well; all; those that a file can have.
_LIST, _USE, _ALL, _OF_FILES = 0b1000, 0b1101, 0xFFFF, 0b1100000000000111
# Abstract sockets and signals reach only processes behind the same fence.
_SCOPES = 0b11
_SIGNALS = {signal.SIGINT, signal.SIGTERM}


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDescriptor:
    """One descriptor that a branch would share with its parent."""

    number: int
    kind: Kind
    flags: int
    is_inheritable: bool
    path: str = ""
    offset: int = 0
    is_deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inheritance:
    """What the parent notes before it forks."""

    held: list[SharedDescriptor]
    own: frozenset[int]
    """The guest's own descriptors, which it sees to itself."""
    folder: str
    random_state: Any = field(repr=False)


def note_inheritance(own: Collection[int]) -> Inheritance:
    """Look at what would be shared; `own` are the guest's own descriptors, which it sees to itself."""
    ours = frozenset(own)
    return Inheritance(held=_held(ours), own=ours, folder=os.getcwd(), random_state=random.getstate())  # noqa: PTH109


def _held(own: frozenset[int]) -> list[SharedDescriptor]:
    numbers = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208
    return [one for number in numbers if number > 2 and number not in own and (one := _look_at(number)) is not None]


def _look_at(number: int) -> SharedDescriptor | None:
    try:
        status = os.fstat(number)
        path = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115
        flags = fcntl.fcntl(number, fcntl.F_GETFL)
    except OSError:
        # The directory we list, for one.
        return None
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    if kind is None:
        return None
    return SharedDescriptor(
        number=number,
        kind=kind,
        flags=flags,
        is_inheritable=os.get_inheritable(number),
        path=path,
        offset=os.lseek(number, 0, os.SEEK_CUR) if kind == "file" else 0,
        is_deleted=status.st_nlink == 0,
    )


def fork() -> int:
    """`os.fork` while no interrupt can come between; the child lets them in again with `unblock_signals`."""
    # The child is half made until `unblock_signals`: an interrupt would break it off in between.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        pid = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


def enter_branch_root(root: int, inheritance: Inheritance) -> None:
    """In the child: this directory is the world from now on, and nothing that is open leads out of it."""
    # A library may close or open files as soon as it is in a child, as matplotlib does with its fonts.
    noted = {(one.number, one.path): one for one in inheritance.held}
    there = [noted.get((one.number, one.path), one) for one in _held(inheritance.own)]
    # A process group of its own: a signal to the parent's group is not for us.
    os.setsid()
    # By descriptor: no name leads here from the parent's root, so that no step up leads out again.
    os.fchdir(root)
    os.close(root)
    os.chroot(".")
    os.chdir(inheritance.folder)
    for held in there:
        _make_own(held)
    _fence()


def unblock_signals() -> None:
    """In the child, when everything is its own."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


# ── descriptors ──


def _make_own(held: SharedDescriptor) -> None:
    match held.kind:
        case "file" if held.is_deleted:
            new = _copy_of_deleted(held)
        case "file" | "directory":
            new = os.open(held.path, (held.flags & _REOPENED_WITH) | os.O_CLOEXEC)
        case "socket":
            new = _dead_socket()
        case "pipe":
            new = _dead_pipe(held)
    if held.kind == "file":
        os.lseek(new, held.offset, os.SEEK_SET)
    os.dup2(new, held.number, inheritable=held.is_inheritable)
    os.close(new)


def _copy_of_deleted(held: SharedDescriptor) -> int:
    """A temporary file has no name to open it by: its bytes go into another."""
    new = os.open(os.environ.get("TMPDIR", "/tmp"), os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    reading = os.open(f"/proc/self/fd/{held.number}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        position = 0
        while chunk := os.pread(reading, _COPY_BYTES, position):
            position += os.pwrite(new, chunk, position)
    finally:
        os.close(reading)
    again = os.open(f"/proc/self/fd/{new}", (held.flags & _REOPENED_WITH) | os.O_CLOEXEC)
    os.close(new)
    return again


def _dead_socket() -> int:
    """As if the other side had hung up: a client notices and connects anew."""
    ours, theirs = socket.socketpair()
    theirs.close()
    return ours.detach()


def _dead_pipe(held: SharedDescriptor) -> int:
    reading, writing = os.pipe2(os.O_CLOEXEC | (held.flags & os.O_NONBLOCK))
    is_reader = held.flags & os.O_ACCMODE == os.O_RDONLY
    os.close(writing if is_reader else reading)
    return reading if is_reader else writing


# ── the event loop ──


def loop_descriptors(loop: asyncio.AbstractEventLoop) -> set[int]:
    """What an event loop itself has open."""
    inner: Any = loop
    return {inner._selector.fileno(), inner._ssock.fileno(), inner._csock.fileno()}


def rebuild_loop(loop: asyncio.AbstractEventLoop) -> None:
    """The same loop, so that what is bound to it stays so, waiting on descriptors of its own.

    The old ones are the parent's as well: they are closed here, and nothing is taken out of them.
    """
    inner: Any = loop
    inner._selector.close()
    inner._ssock.close()
    inner._csock.close()
    inner._selector = selectors.DefaultSelector()
    # `_make_self_pipe` counts it once more.
    inner._internal_fds -= 1
    inner._make_self_pipe()


# ── the fence ──


def _fence() -> None:
    """Nothing outside this root can be changed from here on, not even by leaving it; nor can any process outside.

    Rules hold for directories, wherever they are reached from, and all places have the root's in common: what may be
    changed is therefore named one by one, and is this place's own.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = _call(libc, _LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    # What each version knows: a right it does not know, or a longer struct, makes it refuse the whole ruleset.
    rights = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}.get(version, 0xFFFF)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    request = struct.pack("QQQ", rights, 0, _SCOPES if version >= 6 else 0)[:size]
    ruleset = _call(libc, _LANDLOCK_CREATE, request, ctypes.c_size_t(size), ctypes.c_uint(0))
    for path, allowed in _rules():
        there = os.open(path, os.O_PATH | os.O_CLOEXEC)
        mine = allowed if stat.S_ISDIR(os.fstat(there).st_mode) else allowed & _OF_FILES
        rule = struct.pack("=Qi", mine & rights, there)
        _call(libc, _LANDLOCK_ADD, ctypes.c_int(ruleset), ctypes.c_int(_BELOW_PATH), rule, ctypes.c_uint(0))
        os.close(there)
    _call(libc, _LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0))
    os.close(ruleset)


def _rules() -> list[tuple[str, int]]:
    """What may be done where; what the cage as a whole forbids stays forbidden."""
    own = ("/project", "/tmp", "/home/cell", "/dev/shm")
    # Branches of this branch will be there.
    below = ("/branches",)
    devices = [path for name in os.listdir("/dev") if not os.path.isdir(path := f"/dev/{name}")]  # noqa: PTH112, PTH208
    apart = {"project", "tmp", "home", "dev", "branches"}
    shared = [f"/{name}" for name in os.listdir("/") if name not in apart and not os.path.islink(f"/{name}")]  # noqa: PTH114, PTH208
    return [
        ("/", _LIST),
        *((path, _ALL) for path in (*own, *below)),
        *((path, _USE) for path in shared),
        *((path, _ALL) for path in devices if not os.path.islink(path)),  # noqa: PTH114
    ]


def _call(libc: ctypes.CDLL, number: int, *arguments: object) -> int:
    result: int = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"system call {number}: {os.strerror(code)}")
    return result
