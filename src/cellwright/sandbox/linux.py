"""The system calls Python has no name for, as small functions that raise `OSError`.

Everything here works in a freshly cloned child: no imports at call time, no threads, no logging.
"""

from __future__ import annotations

import ctypes
import os
import struct

from cellwright.sandbox.syscalls import MACHINE, number

# PyDLL keeps the GIL: a raw clone must not leave another thread's release half done in the child.
_libc = ctypes.PyDLL(None, use_errno=True)
# For calls that wait for a disk, which other threads need not wait for.
_waiting_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CLONE_NEWTIME = 0x00000080
SIGCHLD = 17

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
AT_RECURSIVE = 0x8000
OPEN_TREE_CLONE = 1
OPEN_TREE_CLOEXEC = 0o2000000
MOVE_MOUNT_F_EMPTY_PATH = 0x4
MOVE_MOUNT_T_EMPTY_PATH = 0x40
MOUNT_ATTR_RDONLY = 0x1
MOUNT_ATTR_NOSUID = 0x2
MOUNT_ATTR_NODEV = 0x4
MOUNT_ATTR_NOEXEC = 0x8
MOUNT_ATTR_IDMAP = 0x00100000
MS_PRIVATE = 1 << 18
MS_SLAVE = 1 << 19
MS_REC = 1 << 14
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
PR_CAP_AMBIENT_RAISE = 2
CAP_SYS_CHROOT = 18
CAP_LAST = 63

_CAPABILITY_VERSION_3 = 0x20080522
_TMPFS_MAGIC = 0x01021994
_STATFS_BYTES = 256
"""More than `struct statfs` has on any processor; its first word is the kind of file system."""
_FSCONFIG_SET_STRING = 1
_FSCONFIG_CMD_CREATE = 6


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _call(name: str, *arguments: object) -> int:
    return _checked(_libc.syscall(ctypes.c_long(number(name)), *arguments), name)


def _bytes(path: str | None) -> bytes | None:
    return None if path is None else os.fsencode(path)


def clone(flags: int) -> int:
    """`fork` into new namespaces with one system call; Python is told, as `os.fork` would tell it."""
    python = ctypes.pythonapi
    call = ctypes.c_long(number("clone"))
    argument = ctypes.c_ulong(flags | SIGCHLD)
    zero = ctypes.c_long(0)
    python.PyOS_BeforeFork()
    pid: int = _libc.syscall(call, argument, zero, zero, zero, zero)
    if pid == 0:
        python.PyOS_AfterFork_Child()
        return 0
    code = ctypes.get_errno()
    python.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(code, f"clone: {os.strerror(code)}")
    return pid


def unshare(flags: int) -> None:
    """Leave the given namespaces for fresh ones."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def prctl(option: int, *values: int) -> int:
    """`prctl` with integer arguments."""
    padded = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    return _checked(_libc.prctl(ctypes.c_int(option), *padded), f"prctl {option}")


def set_process_name(name: str) -> None:
    """What `ps` shows; at most 15 bytes."""
    _checked(_libc.prctl(PR_SET_NAME, name.encode()[:15] + b"\0", 0, 0, 0), "prctl name")


def mount(source: str | None, target: str, kind: str | None, flags: int = 0, options: str | None = None) -> None:
    """The classic `mount`; used for what has no new-style form."""
    result = _libc.mount(_bytes(source), _bytes(target), _bytes(kind), ctypes.c_ulong(flags), _bytes(options))
    _checked(result, f"mount {kind or 'flags'} on {target}")


def detach(path: str) -> None:
    """Lazily unmount `path` and everything below it."""
    _checked(_libc.umount2(_bytes(path), MNT_DETACH), f"umount {path}")


def open_tree(path: str, *, directory: int = AT_FDCWD, recursive: bool = True) -> int:
    """A detached copy of the mount at `path`, as a file descriptor."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (AT_RECURSIVE if recursive else 0) | (0 if path else AT_EMPTY_PATH)
    return _checked(
        _libc.syscall(ctypes.c_long(number("open_tree")), directory, _bytes(path), ctypes.c_uint(flags)),
        f"open_tree {path}",
    )


def set_mount_attributes(mount_fd: int, attributes: int, *, userns_fd: int = 0, recursive: bool = True) -> None:
    """Turn mount attributes on for a mount (and, by default, all mounts below it)."""
    request = struct.pack("QQQQ", attributes, 0, 0, userns_fd)
    flags = AT_EMPTY_PATH | (AT_RECURSIVE if recursive else 0)
    _call("mount_setattr", mount_fd, b"", ctypes.c_uint(flags), request, ctypes.c_size_t(len(request)))


def attach(mount_fd: int, target: str) -> None:
    """Put a detached mount at `target`."""
    flags = ctypes.c_uint(MOVE_MOUNT_F_EMPTY_PATH)
    _checked(
        _libc.syscall(ctypes.c_long(number("move_mount")), mount_fd, b"", AT_FDCWD, _bytes(target), flags),
        f"move_mount to {target}",
    )


def new_filesystem(kind: str, options: dict[str, str], attributes: int) -> int:
    """A fresh detached filesystem, as a mount file descriptor."""
    context = _call("fsopen", kind.encode(), ctypes.c_uint(1))
    try:
        for name, value in options.items():
            _call("fsconfig", context, _FSCONFIG_SET_STRING, name.encode(), _bytes(value), 0)
        _call("fsconfig", context, _FSCONFIG_CMD_CREATE, None, None, 0)
        return _call("fsmount", context, ctypes.c_uint(1), ctypes.c_uint(attributes))
    finally:
        os.close(context)


def pivot_root_here() -> None:
    """Make the current directory the root and forget the old one."""
    _call("pivot_root", b".", b".")
    detach(".")
    os.chdir("/")


def keep_only_capability(capability: int | None) -> None:
    """Drop every capability, for good, except at most one."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for other in range(CAP_LAST + 1):
        if other != capability:
            _libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(other), 0, 0, 0)
    kept = 0 if capability is None else 1 << capability
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _call("capset", header, struct.pack("6I", kept, kept, 0, kept >> 32, kept >> 32, 0))


def keep_over_exec(capability: int) -> None:
    """Let the program that is exec'd next have this capability, which we have; it takes the offer back itself."""
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    kept = 1 << capability
    _call("capset", header, struct.pack("6I", kept, kept, kept, kept >> 32, kept >> 32, kept >> 32))
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability)


def sethostname(name: str) -> None:
    """The host name inside the current UTS namespace."""
    encoded = name.encode()
    _checked(_libc.sethostname(encoded, ctypes.c_size_t(len(encoded))), "sethostname")


def openat2(directory: int, path: str, flags: int, mode: int, resolve: int) -> int:
    """`open` with resolution rules, for example "stay beneath this directory, follow no link"."""
    request = struct.pack("QQQ", flags, mode, resolve)
    return _call("openat2", directory, _bytes(path), request, ctypes.c_size_t(len(request)))


def is_on_tmpfs(descriptor: int) -> bool:
    """Whether an open file lies in memory: no server, disk or other process can make a read of it wait."""
    buffer = ctypes.create_string_buffer(_STATFS_BYTES)
    _checked(_libc.fstatfs(descriptor, buffer), "fstatfs")
    kind: int = struct.unpack_from("l", buffer)[0]
    return kind == _TMPFS_MAGIC


def sync_file_system(descriptor: int) -> None:
    """Wait until everything written to the file system of this open file is on its disk."""
    _checked(_waiting_libc.syncfs(descriptor), "syncfs")


def seccomp_load(program: bytes) -> None:
    """Install a finished BPF filter on this process and all its children."""
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("H6xQ", len(program) // 8, ctypes.addressof(buffer))
    _call("seccomp", ctypes.c_uint(1), ctypes.c_uint(0), header)


def landlock(name: str, *arguments: object) -> int:
    """One of the three Landlock calls, by the end of its name."""
    return _call(f"landlock_{name}", *arguments)


def is_root() -> bool:
    """Whether this is the machine's root, who may become anybody and own anything.

    Root of a user namespace is not: it may lack ids to become somebody else, and id-mapped mounts are refused to it.
    """
    if os.geteuid() != 0:
        return False
    # The initial namespace maps every id to itself; one made by a person or an engine maps a range, to other ids.
    with open("/proc/self/uid_map", encoding="utf-8") as file:  # noqa: PTH123  plain calls: this runs in a fresh child
        return file.read().split() == ["0", "0", "4294967295"]


def is_open_to_all(path: str) -> bool:
    """Whether somebody who owns nothing here may read this file, or enter this directory, by the modes on the way."""
    real = os.path.realpath(path)
    parents = ["/", *(real[:end] for end in range(1, len(real)) if real[end] == "/")]
    wanted = 0o005 if os.path.isdir(real) else 0o004  # noqa: PTH112  plain calls: this runs in a fresh child
    return all(os.stat(parent).st_mode & 0o001 for parent in parents) and os.stat(real).st_mode & wanted == wanted  # noqa: PTH116


def is_known_machine() -> bool:
    """Whether we have a system call table for this processor."""
    return MACHINE in {"x86_64", "aarch64"}
