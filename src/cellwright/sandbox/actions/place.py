"""Where programs run: the smallest cage there is. No project, no network, no environment, a handful of files."""

from __future__ import annotations

import importlib.metadata
import os
import socket
import sys
from functools import cache
from pathlib import Path
from typing import Protocol

import anyio

from cellwright.errors import Unavailable
from cellwright.sandbox.spec import CageSpec, Limits, Tier

_INSIDE = Path(__file__).with_name("inside")
_NOBODY = 54321
"""Whom a worker runs as when we are root."""

CAGE_LIMITS = Limits(memory_mb=1024, processes=512, open_files=512, disk_mb=1, inodes=64, tmp_mb=1)
"""For the worker and all its interpreters together; each program has its own, much smaller ones."""


class CagedWorker(Protocol):
    """A started cage, as whoever started it hands it over."""

    @property
    def kernel(self) -> socket.socket:
        """Where the worker is spoken to."""
        ...

    @property
    def control(self) -> socket.socket:
        """Where its init is."""
        ...

    @property
    def pidfd(self) -> int:
        """A handle on the cage's first process; closed by whoever took the cage over."""
        ...

    @property
    def pid(self) -> int:
        """The same as a number."""
        ...

    @property
    def ended(self) -> anyio.Event:
        """Set when nothing of it is left."""
        ...

    def kill(self) -> None:
        """End everything in it, now."""
        ...


class CageStarter(Protocol):
    """Starts cages: the kernels' zygote."""

    async def start(self, spec: CageSpec, *, command: list[str] | None = None) -> CagedWorker:
        """A new cage whose process is `command`."""
        ...


def cage_spec(nowhere: Path, tier: Tier, limits: Limits) -> CageSpec:
    """A cage around the worker; `nowhere` is an empty directory in the place of a project."""
    return CageSpec(
        name=f"cellwright-actions-{os.getpid()}",
        tier=tier,
        project=str(nowhere),
        files="drop",
        software=_software(),
        limits=limits,
        uid=_NOBODY,
        environment={},
        cwd="/tmp",
        protected=(),
    )


def command() -> list[str]:
    """What is executed in it: the interpreter Cellwright was made for, without its packages."""
    python = str(getattr(sys, "_base_executable", sys.executable))
    version = importlib.metadata.version("pydantic-monty-runtime")
    return [python, "-I", "-S", "-B", str(_INSIDE / "__main__.py"), *_monty(), version]


def _software() -> tuple[str, ...]:
    return (sys.base_prefix, str(_INSIDE), *_monty())


@cache
def _monty() -> tuple[str, str]:
    """Monty's binary and the folder of its client. Neither is loaded here: they run in the cage."""
    binary = _installed("pydantic-monty-runtime", "monty")
    return str(binary), str(_installed("pydantic-monty-client", "_monty.pyi").parent)


def _installed(package: str, file_name: str) -> Path:
    for file in importlib.metadata.files(package) or []:
        if file.name == file_name:
            return Path(str(file.locate())).resolve()
    raise Unavailable("Monty is not installed.", hint="Install Cellwright again: it is one of its packages.")
