"""Seccomp: which system calls a kernel may make, as a BPF program we assemble ourselves.

A deny-list: scientific libraries use nearly everything harmless there is. What is refused reaches other processes,
other namespaces, devices, the clock, or parts of the operating system with a long record of holes. Calls newer than
our list are not there at all: nobody has looked at what they reach.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass
from functools import lru_cache

from cellwright.sandbox.linux import syscalls
from cellwright.sandbox.linux.syscalls import AUDIT_ARCH, MACHINE, NEWEST, NUMBERS

_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_BITS, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
# The second set of calls of x86-64 has numbers of its own, which no rule here names.
_X32_BIT = 0x40000000
_OFFSET_NUMBER, _OFFSET_ARCH, _OFFSET_ARGUMENTS = 0, 4, 16

_NAMESPACE_FLAGS = (
    syscalls.CLONE_NEWNS | syscalls.CLONE_NEWCGROUP | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWPID | syscalls.CLONE_NEWNET
)  # fmt: skip
_SET_ID_BITS = 0o6000
_AF_UNIX, _AF_INET, _SOCK_STREAM, _SOCK_DGRAM, _IPPROTO_TCP = 1, 2, 1, 2, 6
_SOCKET_KIND = 0xF
# Protocols on top of TCP (TLS in the kernel): much code that no notebook needs.
_TCP_ULP = 31
# O_CREAT and O_TMPFILE: only then `open` has a mode.
_CREATES = 0o100 | 0o20000000

_REFUSED = tuple(
    """
    ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd
    mount umount2 pivot_root move_mount open_tree open_tree_attr fsopen fsmount fsconfig fspick mount_setattr
    statmount listmount unshare setns bpf perf_event_open keyctl add_key request_key userfaultfd
    kexec_load kexec_file_load init_module finit_module delete_module create_module get_kernel_syms query_module
    reboot swapon swapoff acct quotactl quotactl_fd syslog iopl ioperm name_to_handle_at open_by_handle_at personality
    lookup_dcookie move_pages mbind migrate_pages set_mempolicy set_mempolicy_home_node vhangup nfsservctl modify_ldt
    clock_settime settimeofday adjtimex clock_adjtime sethostname setdomainname fanotify_init fanotify_mark
    memfd_secret uselib ustat sysfs _sysctl vserver afs_syscall lsm_get_self_attr lsm_set_self_attr lsm_list_modules
""".split()  # noqa: SIM905  a list of 80 quoted names is harder to read
)

# "Not there" rather than "not allowed": libraries then take their older way.
# `file_setattr` changes a file by its path where the older ioctl needs it open, which Landlock has judged.
_MISSING = ["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "openat2", "file_setattr"]
_UNACCOUNTED_MEMORY = ["memfd_create", "shmget"]
# Memory, queues and semaphores of the user's other processes: no path leads there, so no Landlock rule keeps away.
_SYSTEM_WIDE = (
    "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl", "mq_open",
    "mq_unlink",
)  # fmt: skip
# TIOCSTI, TIOCLINUX, TIOCSETD: typing into, or taking over, the terminal of whoever started us.
_TERMINAL_REQUESTS = (0x5412, 0x541C, 0x5423)


@dataclass(frozen=True, slots=True)
class _Test:
    """A look at one argument: with `is_any` any bit of `value` counts, else equality under `mask`."""

    argument: int
    value: int
    mask: int = 0xFFFFFFFF
    is_any: bool = False
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    """Refuse `name` with `error` when every test holds."""

    name: str
    error: int
    tests: tuple[_Test, ...] = ()


def _rules(*, has_private_network: bool, has_memory_group: bool, has_proxy: bool) -> list[_Rule]:
    rules = [_Rule(name, errno.EPERM) for name in _REFUSED]
    rules += [_Rule(name, errno.ENOSYS) for name in _MISSING]
    if not has_memory_group:
        rules += [_Rule(name, errno.ENOSYS) for name in _UNACCOUNTED_MEMORY]
    rules.append(_Rule("clone", errno.EPERM, (_Test(0, _NAMESPACE_FLAGS, is_any=True),)))
    rules += [_Rule("ioctl", errno.EPERM, (_Test(1, request),)) for request in _TERMINAL_REQUESTS]
    rules += _no_set_id_files()
    if has_private_network and has_proxy:
        rules += _only_local_and_tcp_sockets()
    elif has_private_network:
        rules.append(_Rule("socket", errno.EACCES, (_Test(0, _AF_UNIX, is_negated=True),)))
    else:
        # A datagram pair could still be pointed at any socket of the machine by its path.
        rules += [_Rule(name, errno.EACCES) for name in ("socket", "connect", "bind", "listen", "accept", "accept4")]
        rules.append(_Rule("socketpair", errno.EACCES, (_Test(1, _SOCK_DGRAM, mask=0xF),)))
        rules += [_Rule(name, errno.ENOSYS) for name in _SYSTEM_WIDE]
    return rules


def _only_local_and_tcp_sockets() -> list[_Rule]:
    """Plain TCP over IPv4 besides local sockets: no datagrams, raw packets, IPv6, MPTCP, SCTP; no kernel TLS on top."""
    is_tcp = _Test(0, _AF_INET)
    other_family = (_Test(0, _AF_UNIX, is_negated=True), _Test(0, _AF_INET, is_negated=True))
    other_kind = (is_tcp, _Test(1, _SOCK_STREAM, mask=_SOCKET_KIND, is_negated=True))
    other_protocol = (is_tcp, _Test(2, 0, is_negated=True), _Test(2, _IPPROTO_TCP, is_negated=True))
    rules = [_Rule("socket", errno.EACCES, tests) for tests in (other_family, other_kind, other_protocol)]
    return [*rules, _Rule("setsockopt", errno.EACCES, (_Test(1, _IPPROTO_TCP), _Test(2, _TCP_ULP)))]


def _no_set_id_files() -> list[_Rule]:
    """In direct mode new files belong to the project's owner, who may be root: none may be set-user-id."""
    mode_argument = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
    rules = [
        _Rule(name, errno.EPERM, (_Test(argument, _SET_ID_BITS, is_any=True),))
        for name, argument in mode_argument.items()
    ]
    for name, flags in (("open", 1), ("openat", 2)):
        creates = _Test(flags, _CREATES, is_any=True)
        rules.append(_Rule(name, errno.EPERM, (creates, _Test(flags + 1, _SET_ID_BITS, is_any=True))))
    return rules


@lru_cache(maxsize=8)
def program(
    *, has_private_network: bool, has_memory_group: bool, has_proxy: bool = False, machine: str = MACHINE
) -> bytes:
    """The finished filter for one kind of cage; assembled once."""
    numbers = NUMBERS[machine]
    code = [
        _instruction(_LOAD, _OFFSET_ARCH),
        _instruction(_JUMP_EQUAL, AUDIT_ARCH[machine], 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _OFFSET_NUMBER),
    ]
    if machine == "x86_64":
        code += [_instruction(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1), _instruction(_RETURN, _KILL)]
    # On aarch64 this also answers a negative number, as the kernel would.
    code += [_instruction(_JUMP_GREATER_EQUAL, NEWEST + 1, 0, 1), _instruction(_RETURN, _ERRNO | errno.ENOSYS)]
    rules = _rules(has_private_network=has_private_network, has_memory_group=has_memory_group, has_proxy=has_proxy)
    for rule in rules:
        if rule.name in numbers:
            code += _assemble(numbers[rule.name], rule)
    return b"".join([*code, _instruction(_RETURN, _ALLOW)])


def _assemble(call_number: int, rule: _Rule) -> list[bytes]:
    body: list[bytes] = []
    for test in reversed(rule.tests):
        body = _assemble_test(test, skip=len(body) + 1) + body
    body.append(_instruction(_RETURN, _ERRNO | rule.error))
    if rule.tests:
        body.append(_instruction(_LOAD, _OFFSET_NUMBER))
    return [_instruction(_JUMP_EQUAL, call_number, 0, len(body)), *body]


def _assemble_test(test: _Test, *, skip: int) -> list[bytes]:
    load = [_instruction(_LOAD, _OFFSET_ARGUMENTS + 8 * test.argument)]
    if test.is_any:
        return [*load, _instruction(_JUMP_BITS, test.value, 0, skip)]
    if test.mask != 0xFFFFFFFF:
        load.append(_instruction(_AND, test.mask))
    yes, no = (skip, 0) if test.is_negated else (0, skip)
    return [*load, _instruction(_JUMP_EQUAL, test.value, yes, no)]


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
