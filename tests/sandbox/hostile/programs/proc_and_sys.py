"""Attacks through the files by which the kernel is configured, and through a terminal."""

import fcntl
import os
from pathlib import Path

from .prelude import Targets, first_success, refuse

TIOCSTI = 0x5412


def rewrite(path: Path, text: str) -> str:
    """Write a setting back as it is: the right to do that is the right to change it."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
    return f"wrote {path}"


def write_core_pattern(_: Targets) -> str:
    """Whoever sets this names the program that the kernel runs as root on the next crash."""
    path = Path("/proc/sys/kernel/core_pattern")
    return rewrite(path, path.read_text("utf-8"))


def write_any_sysctl(_: Targets) -> str:
    names = (
        "kernel/hostname",
        "kernel/modprobe",
        "vm/overcommit_memory",
        "user/max_user_namespaces",
        "net/ipv4/ip_forward",
    )
    paths = [Path("/proc/sys", name) for name in names]
    return first_success([lambda path=path: rewrite(path, path.read_text("utf-8")) for path in paths])


def read_kernel_symbols(_: Targets) -> str:
    with Path("/proc/kallsyms").open(encoding="ascii") as symbols:
        addresses = [line.split()[0] for line in symbols.readlines(1 << 16)]
    if not any(int(address, 16) for address in addresses):
        raise refuse("addresses are hidden")
    return "read kernel addresses"


def list_sys(_: Targets) -> str:
    return f"listed {os.listdir('/sys/class/net')}"  # noqa: PTH208


def read_hardware_identity(_: Targets) -> str:
    return Path("/sys/devices/system/cpu/online").read_text("ascii").strip()


def write_sys(_: Targets) -> str:
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    chosen = path.read_text("ascii").partition("[")[2].partition("]")[0]
    return rewrite(path, chosen)


def write_release_agent(_: Targets) -> str:
    """Opens only: what is written there is run by the kernel as root when a cgroup empties."""

    def try_open(path: Path) -> str:
        os.close(os.open(path, os.O_WRONLY))
        return f"could open {path}"

    agents = sorted(Path("/sys/fs/cgroup").glob("*/release_agent"))
    return first_success([lambda agent=agent: try_open(agent) for agent in agents])


def leave_cgroup(_: Targets) -> str:
    """Out of the group means out of its limits."""
    lists = [*sorted(Path("/sys/fs/cgroup").glob("*/cgroup.procs")), Path("/sys/fs/cgroup/cgroup.procs")]
    return first_success([lambda path=path: rewrite(path, "0") for path in lists])


def type_into_terminal(_: Targets) -> str:
    """Characters pushed into the terminal are read by the shell that comes back to it."""
    with open("/dev/tty", "rb+", buffering=0) as terminal:  # noqa: PTH123 a device, not a path of ours
        fcntl.ioctl(terminal, TIOCSTI, b"#")
    return "typed into the terminal"


def hold_terminal(_: Targets) -> str:
    def held(fd: int) -> str:
        if not os.isatty(fd):
            raise refuse(f"descriptor {fd} is no terminal")
        return f"descriptor {fd} is a terminal"

    def opened() -> str:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        return "opened the controlling terminal"

    return first_success([opened, *[lambda fd=fd: held(fd) for fd in range(3)]])
