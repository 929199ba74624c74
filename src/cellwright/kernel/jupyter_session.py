"""A live kernel of Jupyter, of any language, in a cage of its own: cells in, observations out.

The host speaks JSON lines with our program in the cage (`cellwright_guest.jupyter.session_main`) and no ZMQ; the
kernel's sockets are files of the cage. What comes back is hostile: bounded, and decoded into the same observation.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
import msgspec
from anyio.abc import UNIXSocketStream

from cellwright.errors import Unavailable, UserError
from cellwright.ids import CellId
from cellwright.kernel.jupyter_kernelspecs import Kernelspec
from cellwright.kernel.observation import (
    CellFault,
    CellOutcome,
    CellOutput,
    KernelEnd,
    Observation,
    VariablePreview,
    kernel_end_of,
)
from cellwright.kernel.process.provisioner import KernelProvisioner
from cellwright.kernel.process.zygote import CagedProcess
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.notebook.document import Document
from cellwright.sandbox.host.control import CageControl
from cellwright_guest.jupyter import session_main
from cellwright_guest.jupyter.session_main import CellAnswer, CellCommand, KernelCommand

_PROGRAM: Final = Path(session_main.__file__)
_PIECE_BYTES: Final = 1 << 18
_MOST_LINE: Final = 16 << 20
_MOST_TEXT: Final = 40_000
_START_SECONDS: Final = 120
_GRACE_SECONDS: Final = 60.0
_ANSWERS: Final = msgspec.json.Decoder(CellAnswer)


class JupyterSession:
    """One kernel and everything it holds. Made by `open`; once it has ended, so have all calls."""

    def __init__(self, spec: Kernelspec, caged: CagedProcess, control: CageControl, line: UNIXSocketStream) -> None:
        self.spec = spec
        self.end: KernelEnd | None = None
        """Why it is gone."""
        self._caged = caged
        self._control = control
        self._line = line
        self._data = bytearray()
        self._turn = anyio.Lock()
        self._cells = 0

    @classmethod
    @asynccontextmanager
    async def open(
        cls, provisioner: KernelProvisioner, document: Document, spec: Kernelspec
    ) -> AsyncGenerator[JupyterSession]:
        """The kernel, ready, beside the files of a notebook; its changes are forgotten. Raises `Unavailable`."""
        caged = await provisioner.start_program(document, _PROGRAM, software=spec.software)
        control = CageControl(caged.control)
        try:
            line = await UNIXSocketStream.from_socket(caged.kernel)
            session = cls(spec, caged, control, line)
            await session._begin()
            yield session
        finally:
            with anyio.CancelScope(shield=True):
                try:
                    await caged.end(control)
                finally:
                    caged.kernel.close()

    async def _begin(self) -> None:
        """Say which kernel, and wait until it is ready. Raises `Unavailable`."""
        spec = self.spec
        try:
            with anyio.fail_after(_START_SECONDS):
                await self._send(KernelCommand(argv=spec.argv, env=dict(spec.env), language=spec.language))
                ready = await self._answer()
        except TimeoutError:
            raise Unavailable(f"The kernel {spec.name!r} did not start in {_START_SECONDS} s.") from None
        if ready is None or ready.status != "ready":
            why = ready.end if ready is not None else self.end.reason if self.end else "it said nothing"
            raise Unavailable(f"The kernel {spec.name!r} did not start: {why[:600]}")

    async def run(self, code: str, *, seconds: float = 120.0) -> Observation:
        """Run one cell; a deadline interrupts it, and its variables stay. Giving up interrupts it, too."""
        async with self._turn:
            if self.end is not None:
                return Observation(kernel_end=self.end)
            self._cells += 1
            cell = CellId(f"{self.spec.name}-{self._cells}")
            try:
                with anyio.fail_after(seconds + _GRACE_SECONDS):
                    await self._send(CellCommand(code=code, seconds=seconds))
                    answer = await self._answer()
            except TimeoutError:
                self._caged.kill()
                answer = None
            except anyio.get_cancelled_exc_class():
                with anyio.CancelScope(shield=True), anyio.move_on_after(_GRACE_SECONDS):
                    await self.interrupt()
                    await self._answer()
                raise
            if answer is None:
                self.end = self.end or await self._ending()
                return Observation(cells=(CellOutcome(id=cell, name=cell, status="lost"),), kernel_end=self.end)
            return self._observed(cell, answer)

    async def interrupt(self) -> None:
        """Stop the cell that runs, if one does; what it has made so far stays."""
        await self._send(CellCommand(stop=True))

    async def _send(self, command: KernelCommand | CellCommand) -> None:
        try:
            await self._line.send(msgspec.json.encode(command) + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            # Whoever waits for its answer hears of the end.
            return

    async def _answer(self) -> CellAnswer | None:
        """The next line; None where there will be none."""
        while b"\n" not in self._data:
            try:
                self._data += await self._line.receive(_PIECE_BYTES)
            except (anyio.EndOfStream, anyio.BrokenResourceError, OSError):
                self.end = await self._ending()
                return None
            if len(self._data) > _MOST_LINE:
                return self._broken()
        line, _, rest = bytes(self._data).partition(b"\n")
        self._data = bytearray(rest)
        try:
            return _ANSWERS.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return self._broken()

    def _broken(self) -> None:
        self._caged.kill()
        self.end = KernelEnd(reason="it answered with something else than was asked")

    async def _ending(self) -> KernelEnd:
        end = await self._control.wait_kernel()
        return kernel_end_of(end.exit_code, end.signal, out_of_memory=end.out_of_memory, limit=end.limit)

    def _observed(self, id: CellId, answer: CellAnswer) -> Observation:
        fault = None
        if answer.error or answer.status == "interrupted":
            kind, message = answer.error or "Interrupted", answer.message or "It was stopped."
            fault = CellFault(type=kind[:200], message=message[:_MOST_TEXT], traceback=answer.traceback[:_MOST_TEXT])
        status = "failed" if answer.status == "ready" else answer.status
        if answer.status == "lost":
            self.end = KernelEnd(reason=answer.end[:2_000] or "it ended")
        output = None
        if answer.shown:
            # All that was shown, in order, for a model; a person is drawn the last of it.
            text, last = "\n".join(part.text for part in answer.shown), answer.shown[-1]
            output = CellOutput(mimetype=last.mimetype[:200], text=text[:_MOST_TEXT], data=last.data[:400_000])
        variables = tuple(
            VariablePreview(name=name[:200], kind=kind[:100], type=kind[:100], text=text[:300])
            for name, kind, text in answer.variables[:200]
        )
        outcome = CellOutcome(
            id=id, name=id, status=status, ms=max(0.0, answer.ms), error=fault, console=answer.printed[:_MOST_TEXT],
            output=output, variables=variables,
        )  # fmt: skip
        return Observation(cells=(outcome,), kernel_end=self.end, ms=outcome.ms)


class JupyterKernels:
    """The kernels some work may use, each started when it is first wanted. Made by `open`."""

    def __init__(
        self,
        specs: Mapping[str, Kernelspec],
        notebook: Callable[[], tuple[KernelProvisioner, Document]],
        tasks: anyio.abc.TaskGroup,
    ) -> None:
        self.specs = specs
        self._notebook = notebook
        self._tasks = tasks
        self._live: dict[str, tuple[JupyterSession, anyio.Event]] = {}
        self._opening = anyio.Lock()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, specs: Mapping[str, Kernelspec], notebook: Callable[[], tuple[KernelProvisioner, Document]]
    ) -> AsyncGenerator[JupyterKernels]:
        """None is started yet; `notebook` says beside which files they run."""
        with unwrap_single_error():
            async with anyio.create_task_group() as tasks:
                try:
                    yield cls(specs, notebook, tasks)
                finally:
                    tasks.cancel_scope.cancel()

    async def session(self, name: str) -> JupyterSession:
        """The kernel of this name, live. Raises `UserError`, `Unavailable`."""
        if name not in self.specs:
            raise UserError(f"There is no kernel {name!r} here.", hint=f"There is: {', '.join(self.specs)}.")
        async with self._opening:
            known = self._live.get(name)
            if known is None or known[0].end is not None:
                if known is not None:
                    known[1].set()
                self._live[name] = await self._tasks.start(self._hold, self.specs[name])
            return self._live[name][0]

    async def restart(self, name: str) -> None:
        """End it; the next call starts it anew."""
        known = self._live.pop(name, None)
        if known is not None:
            known[1].set()

    async def _hold(
        self, spec: Kernelspec, *, task_status: anyio.abc.TaskStatus[tuple[JupyterSession, anyio.Event]]
    ) -> None:
        over = anyio.Event()
        async with JupyterSession.open(*self._notebook(), spec) as session:
            task_status.started((session, over))
            await over.wait()
