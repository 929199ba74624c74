"""The last steps of a kernel's process before it runs anything: limits, capabilities, Landlock, seccomp.

Each step can only be made tighter afterwards, never undone.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress

from cellwright.sandbox.cage import rootfs
from cellwright.sandbox.linux import cgroups, landlock, seccomp, syscalls
from cellwright.sandbox.spec import MEGABYTE, CageSpec

KERNEL_FD = 3
_MOST_DESCRIPTORS = 1 << 20
_OUT_OF_MEMORY_SCORE = "500"
_ADDRESS_SPACE_SLACK_MB = 8192


def close_all_except(kept: Iterable[int]) -> None:
    """Close every descriptor that is not named."""
    low = 0
    for descriptor in sorted(set(kept)):
        # An empty range is not harmless: Python 3.11 turns (0, 0) into "all there are".
        if low < descriptor:
            os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, _MOST_DESCRIPTORS)


def silence() -> None:
    """Standard input, output and error lead nowhere."""
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    if null > 2:
        os.close(null)


def settle(kept: Iterable[int], on_terminate: Callable[[], None] | None = None) -> None:
    """For a cage's first process: hold nothing of the zygote's, and heed no signal but perhaps SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    if on_terminate is not None:
        signal.signal(signal.SIGTERM, lambda _number, _frame: on_terminate())
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    silence()
    close_all_except({0, 1, 2, *kept})


def reset_signals() -> None:
    """Every signal as a fresh program has it; Python's own interrupt handling included."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def limit(spec: CageSpec, *, has_memory_group: bool, others: int = 0) -> None:
    """Per-process limits; the sums over all processes are kept by control groups and by init.

    `others` are threads outside the cage that the system counts as the same user's.
    """
    limits = spec.limits
    caps = {
        resource.RLIMIT_NPROC: limits.processes + others,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_FSIZE: max(limits.disk_mb, limits.tmp_mb) * MEGABYTE,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if not has_memory_group:
        caps[resource.RLIMIT_DATA] = limits.memory_mb * MEGABYTE
        addresses_mb = spec.address_space_mb or 4 * limits.memory_mb + _ADDRESS_SPACE_SLACK_MB
        caps[resource.RLIMIT_AS] = addresses_mb * MEGABYTE
    for kind, value in caps.items():
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    if limits.cpu_seconds is not None:
        seconds = int(limits.cpu_seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def prefer_out_of_memory_victim() -> None:
    """When memory runs out the kernel's own processes go first, not the cage's init."""
    with suppress(OSError):
        cgroups.write("/proc/self/oom_score_adj", _OUT_OF_MEMORY_SCORE)


def rules_inside(spec: CageSpec) -> list[tuple[str, int]]:
    """What Landlock allows in a cage with its own root."""
    use = [*rootfs.SYSTEM, "/etc", *spec.software]
    change = ["/project", "/tmp", "/dev/shm", "/home/cell", "/branches"]
    return [
        ("/", landlock.LIST),
        ("/proc", landlock.READ),
        ("/dev", landlock.READ | landlock.CHANGE_FILES),
        *((path, landlock.USE) for path in use),
        *((path, landlock.CHANGE) for path in change),
    ]


def confine(
    spec: CageSpec,
    rules: list[tuple[str, int]],
    *,
    capability: int | None,
    is_private: bool,
    has_memory_group: bool,
    others: int = 0,
) -> None:
    """Give everything up for good. Afterwards this process is the notebook's."""
    prefer_out_of_memory_victim()
    limit(spec, has_memory_group=has_memory_group, others=others)
    syscalls.set_process_name("cellwright-kern")
    syscalls.keep_only_capability(capability)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    # Else /proc/self is unreadable and subprocess, multiprocessing and psutil stumble.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    if landlock.abi():
        landlock.restrict(rules, connect_ports=() if spec.proxy_port is None else (spec.proxy_port,))
    syscalls.seccomp_load(
        seccomp.program(
            has_private_network=is_private, has_memory_group=has_memory_group, has_proxy=spec.proxy_port is not None
        )
    )
