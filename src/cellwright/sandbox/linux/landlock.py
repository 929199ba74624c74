"""Landlock: the wall that holds even if a mount were wrong. Rules by path, one way in, no way out."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from contextlib import suppress

from cellwright.sandbox.linux import syscalls
from cellwright.sandbox.linux.descriptors import closing, opened

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHARACTER_DEVICE, _MAKE_BLOCK_DEVICE = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_NETWORK = 0b11
_CONNECT_TCP = 0b10
_BELOW_PATH, _AT_PORT = 1, 2
_SCOPES = 0b11

LIST = _READ_DIRECTORY
READ = _READ_FILE | _READ_DIRECTORY
USE = READ | _EXECUTE
CHANGE_FILES = _WRITE_FILE | _TRUNCATE
"""Writing to files that are there; making none."""
CHANGE = 0xFFFF & ~(_MAKE_CHARACTER_DEVICE | _MAKE_BLOCK_DEVICE | _IOCTL_DEVICE)
"""Everything with files and directories except making devices and talking to them."""


def abi() -> int:
    """The Landlock version of the running kernel; 0 where there is none."""
    try:
        return syscalls.landlock("create_ruleset", None, ctypes.c_size_t(0), ctypes.c_uint(1))
    except OSError:
        return 0


def _handled(version: int) -> tuple[int, bytes]:
    # What each version knows: a right it does not know, or a longer struct, makes it refuse the whole ruleset.
    rights = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}.get(version, 0xFFFF)
    network = _NETWORK if version >= 4 else 0
    scoped = _SCOPES if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    return rights, struct.pack("QQQ", rights, network, scoped)[:size]


def restrict(rules: list[tuple[str, int]], *, connect_ports: tuple[int, ...] = ()) -> None:
    """From here on only the given paths can be used, and only in the given ways.

    TCP except to `connect_ports`, abstract sockets of others and signals to others are refused where the kernel knows
    how. Needs no_new_privs.
    """
    version = abi()
    rights, request = _handled(version)
    created = syscalls.landlock("create_ruleset", request, ctypes.c_size_t(len(request)), ctypes.c_uint(0))
    with closing(created) as ruleset:
        for path, allowed in rules:
            _add(ruleset, path, allowed & rights)
        for port in connect_ports if version >= 4 else ():
            rule = struct.pack("=QQ", _CONNECT_TCP, port)
            syscalls.landlock("add_rule", ruleset, ctypes.c_int(_AT_PORT), rule, ctypes.c_uint(0))
        syscalls.landlock("restrict_self", ruleset, ctypes.c_uint(0))


def _add(ruleset: int, path: str, allowed: int) -> None:
    # What is not there needs no rule.
    with suppress(FileNotFoundError), opened(path, os.O_PATH | os.O_CLOEXEC) as found:
        if not stat.S_ISDIR(os.fstat(found).st_mode):
            # The kernel refuses rights of directories on a file.
            allowed &= _FILE_RIGHTS
        # Packed, unlike other structs of the kernel: `=` leaves no gap.
        rule = struct.pack("=Qi", allowed, found)
        syscalls.landlock("add_rule", ruleset, ctypes.c_int(_BELOW_PATH), rule, ctypes.c_uint(0))
