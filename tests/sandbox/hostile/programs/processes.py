"""Attacks on other processes: their environment, memory, descriptors and life; and on one's own inheritance."""

import ctypes
import os
import resource
import signal
import struct
import time
from pathlib import Path

from .prelude import LIBC, Targets, expose, first_success, in_child, refuse, syscall

PTRACE_PEEKDATA, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 2, 17, 0x4206, 0x4207


def read_own_environment(targets: Targets) -> str:
    return expose("\n".join(os.environ.values()).encode(), targets)


def read_own_first_environment(targets: Targets) -> str:
    """`/proc/self/environ` keeps what the process was exec'd with, whatever `os.environ` says now."""
    return expose(Path("/proc/self/environ").read_bytes(), targets)


def scan_own_memory(targets: Targets) -> str:
    """A kernel forked from a process that held the secret still holds it somewhere."""
    with Path("/proc/self/maps").open(encoding="ascii") as maps:
        areas = [line.split()[0].split("-") for line in maps if line.split()[1].startswith("rw")]
    memory = os.open("/proc/self/mem", os.O_RDONLY)

    def scan(start: int, end: int) -> str:
        return expose(os.pread(memory, min(end - start, 64 << 20), start), targets)

    try:
        return first_success([lambda area=area: scan(int(area[0], 16), int(area[1], 16)) for area in areas])
    finally:
        os.close(memory)


def read_every_environment(targets: Targets) -> str:
    return first_success(
        [lambda pid=pid: expose(Path(f"/proc/{pid}/environ").read_bytes(), targets) for pid in other_pids()]
    )


def read_every_command_line(targets: Targets) -> str:
    return first_success(
        [lambda pid=pid: expose(Path(f"/proc/{pid}/cmdline").read_bytes(), targets) for pid in other_pids()]
    )


def see_host_processes(targets: Targets) -> str:
    if str(targets["victim_pid"]) not in other_pids():
        raise refuse("the victim's pid is not listed")
    comm = Path(f"/proc/{targets['victim_pid']}/comm").read_text("utf-8")
    if comm.strip() != targets["victim_name"]:
        raise refuse(f"pid taken by {comm!r}")
    return "the victim is listed in /proc"


def read_memory_through_proc(targets: Targets) -> str:
    memory = os.open(f"/proc/{targets['victim_pid']}/mem", os.O_RDONLY)
    try:
        return expose(os.pread(memory, 64, targets["victim_address"]), targets)
    finally:
        os.close(memory)


def read_memory_by_syscall(targets: Targets) -> str:
    buffer = ctypes.create_string_buffer(64)
    here = struct.pack("QQ", ctypes.addressof(buffer), 64)
    there = struct.pack("QQ", targets["victim_address"], 64)
    syscall("process_vm_readv", targets["victim_pid"], here, 1, there, 1, 0)
    return expose(buffer.raw, targets)


def write_memory_by_syscall(targets: Targets) -> str:
    buffer = ctypes.create_string_buffer(b"overwritten", 11)
    here = struct.pack("QQ", ctypes.addressof(buffer), 11)
    there = struct.pack("QQ", targets["victim_scratch_address"], 11)
    return f"wrote {syscall('process_vm_writev', targets['victim_pid'], here, 1, there, 1, 0)} bytes into the victim"


def attach_with_ptrace(targets: Targets) -> str:
    pid = targets["victim_pid"]
    syscall("ptrace", PTRACE_SEIZE, pid, 0, 0)
    try:
        syscall("ptrace", PTRACE_INTERRUPT, pid, 0, 0)
        os.waitpid(pid, 0x40000000)  # __WALL
        words = [peek(pid, targets["victim_address"] + offset) for offset in range(0, 64, 8)]
    finally:
        syscall("ptrace", PTRACE_DETACH, pid, 0, 0)
    return expose(b"".join(words), targets)


def peek(pid: int, address: int) -> bytes:
    word = ctypes.c_long()
    syscall("ptrace", PTRACE_PEEKDATA, pid, address, ctypes.byref(word))
    return struct.pack("l", word.value)


def steal_descriptor(targets: Targets) -> str:
    pidfd = syscall("pidfd_open", targets["victim_pid"], 0)
    stolen = syscall("pidfd_getfd", pidfd, targets["victim_fd"], 0)
    return expose(os.pread(stolen, 64, 0), targets)


def read_through_other_root(targets: Targets) -> str:
    pids = [1, os.getppid(), targets["victim_pid"]]
    return first_success(
        [
            lambda pid=pid: expose(Path(f"/proc/{pid}/root{targets['home_secret']}").read_bytes(), targets)
            for pid in pids
        ]
    )


def read_through_other_cwd(targets: Targets) -> str:
    pids = [1, os.getppid(), targets["victim_pid"]]
    return first_success(
        [lambda pid=pid: expose(Path(f"/proc/{pid}/cwd/credentials").read_bytes(), targets) for pid in pids]
    )


def read_through_other_descriptor(targets: Targets) -> str:
    return expose(Path(f"/proc/{targets['victim_pid']}/fd/{targets['victim_fd']}").read_bytes(), targets)


def kill_victim(targets: Targets) -> str:
    os.kill(targets["victim_pid"], signal.SIGKILL)
    return "killed the victim"


def kill_victim_by_pidfd(targets: Targets) -> str:
    pidfd = syscall("pidfd_open", targets["victim_pid"], 0)
    syscall("pidfd_send_signal", pidfd, signal.SIGKILL, None, 0)
    return "killed the victim through a pidfd"


def kill_parent(_: Targets) -> str:
    """The parent is the launcher in a control, the cage's init in a cage: init must not die of its children."""
    parent = os.getppid()
    if parent == 0:
        raise refuse("the parent is outside our pid namespace")
    os.kill(parent, signal.SIGKILL)
    deadline = time.monotonic() + 1
    while os.getppid() == parent:
        if time.monotonic() > deadline:
            raise refuse("the parent still lives")
        time.sleep(0.01)
    return "the parent is gone"


def renice_victim(targets: Targets) -> str:
    os.setpriority(os.PRIO_PROCESS, targets["victim_pid"], 19)
    return "slowed the victim down"


def starve_victim_of_files(targets: Targets) -> str:
    resource.prlimit(targets["victim_pid"], resource.RLIMIT_NOFILE, (3, 3))
    return "took the victim's right to open files"


def pin_victim_to_one_core(targets: Targets) -> str:
    os.sched_setaffinity(targets["victim_pid"], {min(os.sched_getaffinity(0))})
    return "pinned the victim"


def enter_other_namespaces(targets: Targets) -> str:
    """The vault is a process of the same uid in a user namespace of its own, with the secret for a hostname."""

    def enter() -> str:
        spaces = [os.open(f"/proc/{targets['vault_pid']}/ns/{kind}", os.O_RDONLY) for kind in ("user", "uts")]
        for space in spaces:
            syscall("setns", space, 0)
        return expose(os.uname().nodename.encode(), targets)

    return in_child(enter)


def read_victim_key(targets: Targets) -> str:
    """A key of the same uid, in the user keyring."""
    user_keyring, search, read = -4, 10, 11
    name = targets["key_name"].encode()
    key = syscall("keyctl", search, user_keyring, b"user", name, 0)
    buffer = ctypes.create_string_buffer(64)
    syscall("keyctl", read, key, buffer, 64)
    return expose(buffer.raw, targets)


def read_shared_segment(targets: Targets) -> str:
    """System V memory of another process of this user, by its number."""
    LIBC.shmat.restype = ctypes.c_void_p
    place = LIBC.shmat(targets["segment"], None, 0o10000)
    if place in (None, ctypes.c_void_p(-1).value):
        raise refuse(f"shmat: {os.strerror(ctypes.get_errno())}")
    return expose(ctypes.string_at(place, 64), targets)


def read_message_queue(targets: Targets) -> str:
    buffer = ctypes.create_string_buffer(72)
    if LIBC.msgrcv(targets["queue"], buffer, 64, 0, 0o4000) < 0:
        raise refuse(f"msgrcv: {os.strerror(ctypes.get_errno())}")
    return expose(buffer.raw, targets)


def read_posix_queue(targets: Targets) -> str:
    queue = LIBC.mq_open(targets["posix_queue"].encode(), os.O_RDONLY | os.O_NONBLOCK)
    if queue < 0:
        raise refuse(f"mq_open: {os.strerror(ctypes.get_errno())}")
    buffer = ctypes.create_string_buffer(64)
    LIBC.mq_receive(queue, buffer, 64, None)
    return expose(buffer.raw, targets)


def other_pids() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit() and name != str(os.getpid())]  # noqa: PTH208
