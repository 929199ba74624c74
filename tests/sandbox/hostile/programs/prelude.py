"""What stands above every hostile program: raw syscalls, the secret's fingerprint, the one line of verdict.

Written into the same cell as the program, so it imports nothing but the standard library, has no name that starts
with an underscore (marimo keeps those to one cell) and no `__future__` import. An attack returns how it succeeded,
or raises `OSError` when it was stopped; any other exception is a broken probe and is left to surface.
"""

import ctypes
import hashlib
import json
import os
import platform
import re
from collections.abc import Callable, Iterable
from typing import Any

Targets = dict[str, Any]
Attack = Callable[[Targets], str]

LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": {
        "clone": 56, "ptrace": 101, "personality": 135, "adjtimex": 159, "mount": 165, "umount2": 166,
        "pivot_root": 155, "sethostname": 170, "add_key": 248, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
        "name_to_handle_at": 303, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
        "process_vm_writev": 311, "memfd_create": 319, "bpf": 321, "execveat": 322, "userfaultfd": 323,
        "syslog": 103, "openat": 257, "read": 0,
    },
    "aarch64": {
        "clone": 220, "ptrace": 117, "personality": 92, "adjtimex": 171, "mount": 40, "umount2": 39,
        "pivot_root": 41, "sethostname": 161, "add_key": 217, "keyctl": 219, "unshare": 97, "perf_event_open": 241,
        "name_to_handle_at": 264, "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270,
        "process_vm_writev": 271, "memfd_create": 279, "bpf": 280, "execveat": 281, "userfaultfd": 282,
        "syslog": 116, "openat": 56, "read": 63,
    },
}[platform.machine()] | {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "fsconfig": 431, "fsmount": 432, "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438, "mount_setattr": 442,
}  # fmt: skip
NEW_MOUNT, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
SECRET = re.compile(rb"cw-secret-[0-9a-f]{32}")


def refuse(why: str) -> OSError:
    """The attack was stopped, though no syscall said so."""
    return OSError(why)


def syscall(name: str, *arguments: Any) -> int:
    """One system call by number, past every wrapper of libc."""
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = LIBC.syscall(ctypes.c_long(NUMBERS[name]), *wide)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def expose(data: bytes, targets: Targets) -> str:
    """Success when the planted secret is in `data`. The targets hold only its digest, so nothing finds itself."""
    for match in SECRET.finditer(data):
        if hashlib.sha256(match.group()).hexdigest() == targets["secret_sha256"]:
            return "read the secret"
    raise refuse(f"{len(data)} bytes, no secret in them")


def first_success(attempts: "Iterable[Callable[[], str]]") -> str:
    """The first attempt that works; else the refusal of each."""
    refusals: list[str] = []
    for attempt in attempts:
        try:
            return attempt()
        except OSError as error:
            refusals.append(str(error))
    raise refuse("; ".join(refusals[:5]) or "nothing to try")


def in_child(action: Callable[[], str]) -> str:
    """Run in a forked child, so that what it does to itself ends with it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = {"leak": True, "detail": action()}
        except BaseException as error:  # noqa: BLE001 the child must never return into the caller's stack
            answer = {"leak": False, "detail": repr(error), "broken": not isinstance(error, OSError)}
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    status = os.waitpid(child, 0)[1]
    if not said:
        raise refuse(f"the child was ended, wait status {status}")
    answer = json.loads(said)
    if answer.get("broken"):
        raise RuntimeError(answer["detail"])
    if not answer["leak"]:
        raise refuse(answer["detail"])
    return answer["detail"]


def as_namespace_root(flags: int, action: Callable[[], str]) -> str:
    """Try the action as we are; where that is refused, once more as root of a nested user namespace."""

    def nested() -> str:
        syscall("unshare", NEW_USER | flags)
        return action()

    return first_success([lambda: in_child(action), lambda: in_child(nested)])


def say(line: dict[str, Any]) -> None:
    """One line of JSON for whoever watches."""
    print(json.dumps(line), flush=True)  # noqa: T201 this is how a program answers


def run_attack(attack: Attack, targets: Targets) -> None:
    """Take the name the watcher looks for, attack, and end with the one line that says how it went."""
    LIBC.prctl(15, targets["mark"].encode(), 0, 0, 0)  # PR_SET_NAME
    say({"started": attack.__name__})
    targets = {name: os.path.expandvars(value) if isinstance(value, str) else value for name, value in targets.items()}
    try:
        verdict = {"leak": True, "detail": attack(targets)}
    except OSError as error:
        verdict = {"leak": False, "detail": str(error)}
    say(verdict)
