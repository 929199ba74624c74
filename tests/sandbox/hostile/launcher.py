"""Runs one program without a cage: read from stdin, as a plain user, in the setting its control asks for.

Run as a script, orders as JSON in the first argument. The interpreter may lie where that user cannot read, so
everything a program imports is imported first.
"""

import ctypes
import fcntl
import importlib
import json
import os
import re
import resource
import signal
import sys
import termios
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_USER, NEW_MOUNT, NEW_UTS, NEW_NET, NEW_IPC = 0x10000000, 0x20000, 0x04000000, 0x40000000, 0x08000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_PRIVATE_ALL = 1, 32, 4096, 16384 | 1 << 18
SECONDS_OF_CPU = 20


def check(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), what)


def mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    texts = [text.encode() if text else None for text in (source, target, kind)]
    check(LIBC.mount(*texts, ctypes.c_ulong(flags), None), f"mount {target}")


def drop_to(uid: int) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


def become_namespace_root(orders: dict[str, Any]) -> None:
    """Every right over mounts and names, in namespaces that end with this process."""
    uid, gid = os.getuid(), os.getgid()
    LIBC.prctl(4, 1, 0, 0, 0)
    check(LIBC.unshare(NEW_USER | NEW_MOUNT | NEW_UTS | NEW_NET | NEW_IPC), "unshare")
    Path("/proc/self/setgroups").write_text("deny", "ascii")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1", "ascii")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1", "ascii")
    mount(None, "/", None, MS_PRIVATE_ALL)
    mount("none", orders["masked"], "tmpfs", 0)
    mount(orders["read_only"], orders["read_only"], None, MS_BIND)
    mount(None, orders["read_only"], None, MS_REMOUNT | MS_BIND | MS_RDONLY)


def take_terminal() -> None:
    """A terminal as the controlling one of the session we lead, and as stdin."""
    main_end, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    os.dup2(terminal, 0)
    os.set_inheritable(main_end, True)


def arrange(orders: dict[str, Any]) -> None:
    for path in orders["inherited"]:
        os.set_inheritable(os.open(path, os.O_RDONLY), True)
    match orders["setting"]:
        case "root":
            pass
        case "plain":
            drop_to(orders["uid"])
        case "terminal":
            take_terminal()
            drop_to(orders["uid"])
        case "namespace":
            drop_to(orders["uid"])
            become_namespace_root(orders)
        case "jail":
            drop_to(orders["uid"])
            become_namespace_root(orders)
            os.chroot(orders["jail"])
            os.chdir("/")
        case other:
            raise ValueError(other)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_OF_CPU, SECONDS_OF_CPU))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 4096))
    LIBC.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE, lost with the uid
    LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG, likewise


def main() -> None:
    orders = json.loads(sys.argv[1])
    source = sys.stdin.read()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    program = compile(source, "<hostile program>", "exec")
    # Codecs are found by name, when it is too late.
    for module in [*re.findall(r"^(?:import|from) ([\w.]+)", source, re.MULTILINE), "encodings.ascii"]:
        importlib.import_module(module)
        if module == "socket":
            importlib.import_module("encodings.idna")
    arrange(orders)
    child = os.fork()
    if child == 0:
        exec(program, {"__name__": "__main__"})
        sys.stdout.flush()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    sys.exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
