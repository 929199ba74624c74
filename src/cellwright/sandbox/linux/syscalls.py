"""The system calls Python has no name for, as small functions that raise `OSError`, and their numbers.

Numbers are those of the two processors we know, for the names we use or refuse.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

MACHINE = platform.machine()

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_NEW = {
    # From 424 on, both processors number alike.
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "clone3": 435, "openat2": 437, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
    "quotactl_fd": 443, "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446,
    "memfd_secret": 447, "process_mrelease": 448, "set_mempolicy_home_node": 450, "fchmodat2": 452,
    "statmount": 457, "listmount": 458, "lsm_get_self_attr": 459, "lsm_set_self_attr": 460,
    "lsm_list_modules": 461, "open_tree_attr": 467, "file_setattr": 469,
}  # fmt: skip

NEWEST = 469
"""The last call of Linux 6.18. Up to it every call was looked at; `docs/design/032-other-machines.md` says how."""

NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": _NEW | {
        "mq_open": 240, "mq_unlink": 241, "msgctl": 71, "msgget": 68, "msgrcv": 70, "msgsnd": 69, "semctl": 66,
        "semget": 64, "semop": 65, "semtimedop": 220, "shmat": 30, "shmctl": 31,
        "_sysctl": 156, "accept": 43, "accept4": 288, "acct": 163, "add_key": 248, "adjtimex": 159,
        "afs_syscall": 183, "bind": 49, "bpf": 321, "capset": 126, "chmod": 90, "clock_adjtime": 305,
        "clock_settime": 227, "clone": 56, "connect": 42, "creat": 85, "create_module": 174,
        "delete_module": 176, "fanotify_init": 300, "fanotify_mark": 301, "fchmod": 91, "fchmodat": 268,
        "finit_module": 313, "get_kernel_syms": 177, "init_module": 175, "ioctl": 16, "ioperm": 173, "iopl": 172,
        "kcmp": 312, "kexec_file_load": 320, "kexec_load": 246, "keyctl": 250, "listen": 50,
        "lookup_dcookie": 212, "mbind": 237, "memfd_create": 319, "migrate_pages": 256, "mknod": 133,
        "mknodat": 259, "modify_ldt": 154, "mount": 165, "move_pages": 279, "name_to_handle_at": 303,
        "nfsservctl": 180, "open": 2, "open_by_handle_at": 304, "openat": 257, "perf_event_open": 298,
        "personality": 135, "pivot_root": 155, "process_vm_readv": 310, "process_vm_writev": 311,
        "ptrace": 101, "query_module": 178, "quotactl": 179, "reboot": 169, "request_key": 249,
        "seccomp": 317, "set_mempolicy": 238, "setdomainname": 171, "sethostname": 170, "setns": 308, "setsockopt": 54,
        "settimeofday": 164, "shmget": 29, "socket": 41, "socketpair": 53, "swapoff": 168, "swapon": 167,
        "sysfs": 139, "syslog": 103, "umount2": 166, "unshare": 272, "uselib": 134, "userfaultfd": 323,
        "ustat": 136, "vhangup": 153, "vserver": 236,
    },
    "aarch64": _NEW | {
        "mq_open": 180, "mq_unlink": 181, "msgctl": 187, "msgget": 186, "msgrcv": 188, "msgsnd": 189, "semctl": 191,
        "semget": 190, "semop": 193, "semtimedop": 192, "shmat": 196, "shmctl": 195,
        "accept": 202, "accept4": 242, "acct": 89, "add_key": 217, "adjtimex": 171, "bind": 200, "bpf": 280,
        "capset": 91, "clock_adjtime": 266, "clock_settime": 112, "clone": 220, "connect": 203,
        "delete_module": 106, "fanotify_init": 262, "fanotify_mark": 263, "fchmod": 52, "fchmodat": 53,
        "finit_module": 273, "init_module": 105, "ioctl": 29, "kcmp": 272, "kexec_file_load": 294,
        "kexec_load": 104, "keyctl": 219, "listen": 201, "lookup_dcookie": 18, "mbind": 235,
        "memfd_create": 279, "migrate_pages": 238, "mknodat": 33, "mount": 40, "move_pages": 239,
        "name_to_handle_at": 264, "nfsservctl": 42, "open_by_handle_at": 265, "openat": 56,
        "perf_event_open": 241, "personality": 92, "pivot_root": 41, "process_vm_readv": 270,
        "process_vm_writev": 271, "ptrace": 117, "quotactl": 60, "reboot": 142, "request_key": 218,
        "seccomp": 277, "set_mempolicy": 237, "setdomainname": 162, "sethostname": 161, "setns": 268, "setsockopt": 208,
        "settimeofday": 170, "shmget": 194, "socket": 198, "socketpair": 199, "swapoff": 225, "swapon": 224,
        "syslog": 116, "umount2": 39, "unshare": 97, "userfaultfd": 282, "vhangup": 58,
    },
}  # fmt: skip


def number(name: str) -> int:
    """The number of a system call on this machine; `OSError(ENOSYS)` where we have no table."""
    table = NUMBERS.get(MACHINE)
    if table is None or name not in table:
        raise OSError(38, f"no system call number for {name!r} on {MACHINE}")
    return table[name]


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
SIGCHLD = 17

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
AT_RECURSIVE = 0x8000
OPEN_TREE_CLONE = 1
OPEN_TREE_CLOEXEC = 0o2000000
MOVE_MOUNT_F_EMPTY_PATH = 0x4
MOUNT_ATTR_RDONLY = 0x1
MOUNT_ATTR_NOSUID = 0x2
MOUNT_ATTR_NODEV = 0x4
MOUNT_ATTR_IDMAP = 0x00100000
MS_PRIVATE = 1 << 18
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


def _call(name: str, *arguments: object, what: str = "") -> int:
    return _checked(_libc.syscall(ctypes.c_long(number(name)), *arguments), f"{name} {what}".strip())


def _bytes(path: str | None) -> bytes | None:
    return None if path is None else os.fsencode(path)


def clone(flags: int) -> int:
    """`fork` into new namespaces with one system call; Python is told, as `os.fork` would tell it."""
    python = ctypes.pythonapi
    call = ctypes.c_long(number("clone"))
    argument = ctypes.c_ulong(flags | SIGCHLD)
    zero = ctypes.c_long(0)
    # As `os.fork` does: the interpreter takes its own locks before, and frees them on both sides. No thread of ours
    # could free a lock in the child that another thread held.
    python.PyOS_BeforeFork()
    pid: int = _libc.syscall(call, argument, zero, zero, zero, zero)
    if pid == 0:
        python.PyOS_AfterFork_Child()
        return 0
    # Before Python runs again: it makes system calls of its own.
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
    # All four, because some options fail unless the arguments they do not use are zero.
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
    return _call("open_tree", directory, _bytes(path), ctypes.c_uint(flags), what=path)


def set_mount_attributes(mount_fd: int, attributes: int, *, userns_fd: int = 0, recursive: bool = True) -> None:
    """Turn mount attributes on for a mount (and, by default, all mounts below it)."""
    # struct mount_attr: attributes to set, to clear, propagation, user namespace.
    request = struct.pack("QQQQ", attributes, 0, 0, userns_fd)
    flags = AT_EMPTY_PATH | (AT_RECURSIVE if recursive else 0)
    _call("mount_setattr", mount_fd, b"", ctypes.c_uint(flags), request, ctypes.c_size_t(len(request)))


def attach(mount_fd: int, target: str) -> None:
    """Put a detached mount at `target`."""
    flags = ctypes.c_uint(MOVE_MOUNT_F_EMPTY_PATH)
    _call("move_mount", mount_fd, b"", AT_FDCWD, _bytes(target), flags, what=f"to {target}")


def new_filesystem(kind: str, options: dict[str, str], attributes: int) -> int:
    """A fresh detached filesystem, as a mount file descriptor."""
    # 1, here and below: close on exec.
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
    # Onto itself: the old root then lies on top of the new one, from where a lazy unmount takes it away, and no
    # directory is needed to put it in (pivot_root(2)).
    _call("pivot_root", b".", b".")
    detach(".")
    os.chdir("/")


def keep_only_capability(capability: int | None) -> None:
    """Drop every capability, for good, except at most one."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    # Before `capset`, which takes away the capability that this needs. A number this kernel does not know is refused.
    for other in range(CAP_LAST + 1):
        if other != capability:
            _libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(other), 0, 0, 0)
    kept = 0 if capability is None else 1 << capability
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    # Effective, permitted, inheritable: the lower 32 bits of each, then the upper.
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
    """Install a finished BPF filter on this process and all its children for good. Needs no_new_privs."""
    # struct sock_fprog: how many instructions of 8 bytes, and where. 1: SECCOMP_SET_MODE_FILTER.
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
