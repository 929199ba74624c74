"""Tries what this machine can enforce, each facility in a process of its own, and prints it as JSON.

Run as a program by `tiers.probe`, with an empty environment and nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from functools import partial

from cellwright import framing
from cellwright.sandbox import control_frames
from cellwright.sandbox.cage import launcher
from cellwright.sandbox.linux import cgroups, landlock, seccomp, syscalls
from cellwright.sandbox.private_directory import private_directory
from cellwright.sandbox.spec import CageSpec, Limits, Tier

_PROBE_TIMEOUT_SECONDS = 10.0


def try_everything() -> dict[str, tuple[bool, str]]:
    """Every facility by name: whether it is there, and a detail or the reason why not."""
    return {
        "namespaces": _in_child(_namespaces),
        "landlock": _in_child(_landlock),
        "seccomp": _in_child(_seccomp),
        "control_groups": _in_child(_control_groups),
        **{f"tier_{tier}": _in_child(partial(_tier, tier)) for tier in ("A", "B", "C")},
    }


def _in_child(facility: Callable[[], str]) -> tuple[bool, str]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = "+" + facility()
        except BaseException as error:  # noqa: BLE001  the last frame of a process: whatever it is, it is the answer
            answer = f"-{error}"
        os.write(writing, answer.encode()[:2000])
        os._exit(0)
    os.close(writing)
    answer = os.read(reading, 4096).decode(errors="replace")
    os.close(reading)
    os.waitpid(pid, 0)
    return answer.startswith("+"), answer[1:] or "the process that tried it died"


def _namespaces() -> str:
    pid = syscalls.clone(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID | syscalls.CLONE_NEWNET)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "user, mount, process and network"


def _landlock() -> str:
    version = landlock.abi()
    if version < 1:
        raise OSError("the kernel has no Landlock or it is switched off")
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict([])
    try:
        os.close(os.open("/", os.O_RDONLY))
    except PermissionError:
        return f"version {version}"
    raise OSError("a restricted process could still read")


def _seccomp() -> str:
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.seccomp_load(seccomp.program(has_private_network=False, has_memory_group=False))
    try:
        socket.socket().close()
    except PermissionError:
        return f"filter for {os.uname().machine}"
    raise OSError("a refused call went through")


def _control_groups() -> str:
    group = cgroups.create("probe", within=cgroups.own())
    try:
        group.limit(Limits())
        return f"version {group.version}"
    finally:
        group.remove()


def _tier(tier: Tier) -> str:
    """Start a real cage and see its kernel run."""
    with private_directory("probe") as project:
        kernel, kernel_end = socket.socketpair()
        control, control_end = socket.socketpair()
        control.settimeout(_PROBE_TIMEOUT_SECONDS)
        spec = CageSpec(name=f"probe-{tier}", tier=tier, project=str(project), environment={})
        caged = launcher.start(spec, lambda: None, kernel_fd=kernel_end.fileno(), control_fd=control_end.fileno())
        kernel_end.close()
        control_end.close()
        event = _first_event(control)
        control.close()
        kernel.close()
        os.waitpid(caged.pid, 0)
        launcher.finish(caged)
    if event.get("event") != "started":
        raise OSError(str(event.get("reason", "the kernel did not start")))
    return "a cage of this kind was started"


def _first_event(control: socket.socket) -> dict[str, object]:
    unpacker = control_frames.ControlUnpacker()
    while (frame := unpacker.next()) is None:
        data = control.recv(65536)
        if not data:
            return {}
        unpacker.feed(data)
    return framing.read_json(frame[1])


def main() -> None:
    """Print what was found."""
    sys.stdout.write(json.dumps(try_everything()))


if __name__ == "__main__":
    main()
