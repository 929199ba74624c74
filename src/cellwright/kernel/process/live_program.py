"""A live program: one that runs in a cage of its own for as long as somebody speaks with it over a line."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import ByteStream, UNIXSocketStream

from cellwright.errors import Unavailable
from cellwright.kernel.process.zygote import CagedProcess, Zygote
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.sandbox.host.control import CageControl
from cellwright.sandbox.host.file_changes import KeepReport, UnkeptChanges
from cellwright.sandbox.host.keep_terms import KeepTerms
from cellwright.sandbox.spec import PROXY_PORT, CageSpec

if TYPE_CHECKING:
    from cellwright.sandbox.egress import Egress

_PROGRAM: Final = Path(__file__).with_name("program_main.py")
_LENGTH: Final = struct.Struct(">I")
_START_SECONDS: Final = 60.0
LAST_WORDS: Final = b"\0"
"""A line that begins so is the last one, and tells as JSON how the program ended: `exit` and what it `said`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStart:
    """What is started in the cage."""

    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Besides those of the cage. They may be secret: they reach the program over its line and nothing else."""
    folder: str = "/project"


@dataclass(slots=True)
class ProgramFiles:
    """What is to become of the files that a program changes in its project."""

    are_kept: bool = False
    """Set before it is ended: they are carried over into the project then. Else they are dropped."""
    report: KeepReport | None = None
    """What became of them, once it has ended."""


@asynccontextmanager
async def open_live_program(
    zygote: Zygote,
    spec: CageSpec,
    program: ProgramStart,
    *,
    egress: Egress | None = None,
    files: ProgramFiles | None = None,
) -> AsyncGenerator[ByteStream]:
    """Its standard input and output, both ways, as one stream; at the end of the block nothing of it is left.

    What it changes in its project is dropped, unless `files` says otherwise. Without an `egress` it has no network.
    """
    software = tuple(dict.fromkeys([sys.base_prefix, sys.prefix, str(_PROGRAM.parent), *spec.software]))
    spec = replace(spec, software=software)
    if egress is not None:
        variables = {**spec.environment, **egress.environment()}
        spec = replace(spec, environment=variables, proxy_port=PROXY_PORT, certificates=egress.certificates)
    caged = await zygote.start(spec, command=[sys.executable, "-I", "-S", "-B", str(_PROGRAM)])
    control = CageControl(caged.control, proxy_port=spec.proxy_port, tier=spec.tier)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(_end, caged, control, spec, files)
        line = await stack.enter_async_context(await UNIXSocketStream.from_socket(caged.kernel))
        with anyio.fail_after(_START_SECONDS):
            await control.wait_started()
            listener = None if egress is None else await control.listener()
            await line.send(_first_words(program))
        with unwrap_single_error():
            async with anyio.create_task_group() as tasks:
                if egress is not None and listener is not None:
                    tasks.start_soon(egress.serve, listener)
                yield line
                tasks.cancel_scope.cancel()


def _first_words(program: ProgramStart) -> bytes:
    told = {"command": program.command, "variables": dict(program.variables), "folder": program.folder}
    data = json.dumps(told).encode()
    return _LENGTH.pack(len(data)) + data


async def _end(caged: CagedProcess, control: CageControl, spec: CageSpec, files: ProgramFiles | None) -> None:
    with anyio.CancelScope(shield=True):
        try:
            if files is not None and files.are_kept:
                files.report = await _keep(control, spec)
        finally:
            await caged.end(control)


async def _keep(control: CageControl, spec: CageSpec) -> KeepReport:
    try:
        hidden = (*spec.hidden, *spec.protected)
        return await control.keep(Path(spec.project), hidden=hidden, terms=KeepTerms(limits=spec.limits))
    except Unavailable as problem:
        lost = UnkeptChanges(files=0, bytes=0, reason=problem.message, hint=problem.advice or "Call it again.")
        return KeepReport(kept=(), refused=(), held_back=lost)
