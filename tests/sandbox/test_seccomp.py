"""The filter as the kernel would run it, for both processors, call by call."""

from __future__ import annotations

import errno
import struct

import pytest

from cellwright.sandbox.linux import seccomp
from cellwright.sandbox.linux.syscalls import AUDIT_ARCH, NEWEST, NUMBERS

ALLOW, KILL = 0x7FFF0000, 0x80000000
MACHINES = ["x86_64", "aarch64"]


def judge(
    machine: str, number: int, *arguments: int, arch: int | None = None, private: bool = True, grouped: bool = True
) -> int | str:
    """A small interpreter for the instructions we use; the answer is an errno, "allow" or "kill"."""
    program = seccomp.program(has_private_network=private, has_memory_group=grouped, machine=machine)
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<IIQ6Q", number, AUDIT_ARCH[machine] if arch is None else arch, 0, *padded)
    accumulator, position = 0, 0
    while True:
        code, if_true, if_false, value = struct.unpack_from("=HBBI", program, position * 8)
        position += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, value)
            case 0x54:
                accumulator &= value
            case 0x15:
                position += if_true if accumulator == value else if_false
            case 0x35:
                position += if_true if accumulator >= value else if_false
            case 0x45:
                position += if_true if accumulator & value else if_false
            case 0x06:
                return {ALLOW: "allow", KILL: "kill"}.get(value, value & 0xFFFF)
            case _:
                raise AssertionError(f"instruction {code:#x}")


def call(machine: str, name: str, *arguments: int, private: bool = True, grouped: bool = True) -> int | str:
    return judge(machine, NUMBERS[machine][name], *arguments, private=private, grouped=grouped)


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_is_killed(machine: str) -> None:
    for arch in (0x40000003, 0x40000028, AUDIT_ARCH["aarch64" if machine == "x86_64" else "x86_64"]):
        assert judge(machine, 1, arch=arch) == "kill"


def test_the_x32_table_is_killed() -> None:
    assert judge("x86_64", 0x40000000 | 1) == "kill"


@pytest.mark.parametrize("machine", MACHINES)
def test_every_known_call_that_is_not_named_is_allowed(machine: str) -> None:
    named = set(NUMBERS[machine].values())
    assert {judge(machine, number) for number in range(NEWEST + 1) if number not in named} == {"allow"}
    assert call(machine, "capset") == "allow"
    assert call(machine, "landlock_restrict_self") == "allow"


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("machine", MACHINES)
def test_calls_newer_than_the_list_are_not_there(machine: str, private: bool) -> None:
    """470 is `listns`, the first we have not looked at; 547 is the last of the x32 table's own numbers."""
    newer = [*range(470, 600), 0x3FFFFFFF]
    assert {judge(machine, number, private=private) for number in newer} == {errno.ENOSYS}
    assert max(NUMBERS[machine].values()) <= NEWEST


@pytest.mark.parametrize("machine", MACHINES)
def test_of_the_newest_calls_only_those_that_change_files_by_name_are_not_there(machine: str) -> None:
    harmless = {
        "futex_waitv": 449, "cachestat": 451, "map_shadow_stack": 453, "futex_wake": 454, "futex_wait": 455,
        "futex_requeue": 456, "mseal": 462, "setxattrat": 463, "getxattrat": 464, "listxattrat": 465,
        "removexattrat": 466, "file_getattr": 468,
    }  # fmt: skip
    assert {judge(machine, number) for number in harmless.values()} == {"allow"}
    assert call(machine, "file_setattr") == errno.ENOSYS
    assert {call(machine, name) for name in ("open_tree_attr", "statmount", "listmount")} == {errno.EPERM}


@pytest.mark.parametrize("machine", MACHINES)
def test_new_namespaces_are_refused_and_threads_are_not(machine: str) -> None:
    assert call(machine, "clone", 0x3D0F00) == "allow"
    for flag in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert call(machine, "clone", flag | 17) == errno.EPERM
    assert call(machine, "clone3") == errno.ENOSYS
    assert call(machine, "unshare") == errno.EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_only_local_sockets_can_be_made(machine: str) -> None:
    assert call(machine, "socket", 1) == "allow"
    assert {call(machine, "socket", family) for family in (0, 2, 10, 16, 17, 38, 40)} == {errno.EACCES}


@pytest.mark.parametrize("machine", MACHINES)
def test_without_a_private_network_there_are_no_sockets_but_stream_pairs(machine: str) -> None:
    for name in ("socket", "connect", "bind", "listen", "accept"):
        assert call(machine, name, 1, private=False) == errno.EACCES
    assert call(machine, "socketpair", 1, 2 | 0o2000000, private=False) == errno.EACCES
    assert call(machine, "socketpair", 1, 1 | 0o2000000, private=False) == "allow"


@pytest.mark.parametrize("machine", MACHINES)
def test_memory_nobody_counts_is_refused_without_a_group(machine: str) -> None:
    assert (call(machine, "memfd_create"), call(machine, "memfd_create", grouped=False)) == ("allow", errno.ENOSYS)
    assert (call(machine, "shmget"), call(machine, "shmget", grouped=False)) == ("allow", errno.ENOSYS)


@pytest.mark.parametrize("machine", MACHINES)
def test_no_file_becomes_set_user_id(machine: str) -> None:
    assert call(machine, "fchmodat", 0, 0, 0o755) == "allow"
    assert call(machine, "fchmodat", 0, 0, 0o4755) == errno.EPERM
    assert call(machine, "fchmod", 0, 0o2755) == errno.EPERM
    assert call(machine, "openat", 0, 0, 0o100, 0o4755) == errno.EPERM
    assert call(machine, "openat", 0, 0, 0o20200000, 0o4755) == errno.EPERM
    assert call(machine, "openat", 0, 0, 0, 0o4755) == "allow"
    assert call(machine, "openat2") == errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_terminals_cannot_be_typed_into(machine: str) -> None:
    assert call(machine, "ioctl", 0, 0x5412) == errno.EPERM
    assert call(machine, "ioctl", 0, 0xFFFFFFFF00005412) == errno.EPERM
    assert call(machine, "ioctl", 0, 0x5401) == "allow"
