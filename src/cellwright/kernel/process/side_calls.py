"""Side calls: what is asked of a kernel without running cells (previews, values, functions, programs, more files)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, TypeVar

import anyio
import msgspec

from cellwright.errors import KernelLost
from cellwright.kernel.observation import VariablePreview, preview_of
from cellwright.kernel.process.kernel import Kernel
from cellwright.kernel.process.link import LinkClosed
from cellwright.kernel.process.live_kernel import LiveKernel
from cellwright.kernel.task_groups import wait_for_any
from cellwright_guest import answer_wire, report_wire, wire

INSIDE: Final = PurePosixPath("/project")
GRACE_SECONDS: Final = 10.0
"""How much later than the program's own deadline the kernel may answer before it is given up."""
_ERROR_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnd:
    """What a program said, and how it ended."""

    exit_code: int | None
    """None if it was stopped."""
    output: str
    """Both of its outputs as they came; beginning and end if it was long."""
    left_out: int = 0
    """Bytes of the output that are missing."""
    is_late: bool = False
    """It was stopped at its deadline."""
    error: str = ""
    """Why it could not be started."""


ANSWER_SECONDS: Final = 20
"""How long a kernel may take over a question that runs no code of the notebook."""

_TESTS_SECONDS: Final = 60

AnswerT = TypeVar("AnswerT", bound=wire.SideAnswer)


@dataclass(slots=True)
class SideCall:
    """A question to the kernel that runs no cells."""

    request: int
    arrived: anyio.Event
    answer: wire.SideAnswer | None = None
    is_late: bool = False

    def hear(self, answer: wire.SideAnswer) -> None:
        """The first answer counts."""
        self.answer = self.answer or answer
        self.arrived.set()

    def expect(self, kind: type[AnswerT]) -> AnswerT:
        """The answer, which must be of this kind. Raises `KernelLost`."""
        if not isinstance(self.answer, kind):
            raise KernelLost("The kernel did not answer.", hint="Restart it and try again.")
        return self.answer

    async def wait(self, kernel: Kernel, over: anyio.Event, seconds: float) -> None:
        """Until it is answered or the kernel is over. Whatever runs for it is stopped at the deadline.

        Also when whoever asked is gone: nothing may go on running behind their back.
        """
        try:
            with anyio.move_on_after(seconds):
                await wait_for_any(self.arrived, over)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await kernel.interrupt(self.arrived)
            raise
        if not self.arrived.is_set() and not over.is_set():
            self.is_late = True
            await kernel.interrupt(self.arrived)
            if not self.arrived.is_set():
                await over.wait()


class SideCalls:
    """Questions to one notebook's kernel. They and the cells take turns."""

    def __init__(self, live: LiveKernel, catch_up: Callable[[], Awaitable[object]]) -> None:
        self._live = live
        self._catch_up = catch_up
        """Has what had run before a loss run again."""
        self._asking: SideCall | None = None

    async def look(self, names: Sequence[str], *, tokens: int) -> tuple[VariablePreview, ...]:
        """Fresh previews of variables, of all when `names` is empty."""
        async with self._live.slot:
            asked = await self.ask_now(
                await self._live.ready(),
                lambda number: wire.Look(request=number, names=list(names), tokens=tokens),
                ANSWER_SECONDS,
            )
        return tuple(map(preview_of, asked.expect(wire.Looked).variables))

    async def facts(self, names: Sequence[str]) -> tuple[report_wire.VariableFacts, ...]:
        """What can be compared of these variables; one without a value is left out."""
        wanted = list(names[: report_wire.MOST_VARIABLES])
        answer = await self.ask_for(
            report_wire.FactsTold, lambda number: report_wire.AskFacts(request=number, names=wanted)
        )
        return tuple(answer.facts)

    async def fill(self, text: str) -> answer_wire.TextFilled:
        """A text with the notebook's values in place of its fields, or why it cannot be."""
        filled = await self.ask_for(
            answer_wire.TextFilled, lambda number: answer_wire.FillText(request=number, text=text)
        )
        # What a kernel says of itself is bounded here, too.
        return msgspec.structs.replace(filled, text=filled.text[: answer_wire.MOST_CHARACTERS])

    async def run_tests(self, names: Sequence[str]) -> tuple[answer_wire.NotebookTest, ...]:
        """How these test functions of the notebook go, with its values as they are now."""
        asked = await self.ask(lambda number: answer_wire.RunTests(request=number, names=list(names)), _TESTS_SECONDS)
        told = {test.name: test for test in asked.expect(answer_wire.NotebookTests).tests}
        late = answer_wire.NotebookTest(name="", verdict="failed", message="it took too long")
        return tuple(told.get(name, msgspec.structs.replace(late, name=name)) for name in names)

    async def mutate_tests(self, names: Sequence[str]) -> tuple[answer_wire.MutatedTest, ...]:
        """What these tests, which pass, notice of small changes; empty if the kernel did not come to it in time."""
        asked = await self.ask(
            lambda number: answer_wire.MutateTests(request=number, names=list(names)), _TESTS_SECONDS
        )
        if not isinstance(asked.answer, answer_wire.MutantsTold):
            return ()
        wanted = frozenset(names)
        return tuple(test for test in asked.answer.tests if test.name in wanted)

    async def add_files(self, files: dict[str, bytes]) -> bool:
        """Put files where the kernel imports from; False if it could not."""
        asked = await self.ask(lambda number: wire.AddFiles(request=number, files=files), ANSWER_SECONDS)
        return isinstance(asked.answer, wire.FilesAdded) and not asked.answer.error

    async def run_program(
        self, command: Sequence[str], *, folder: str = "", seconds: float = 60, output_bytes: int = 1 << 16
    ) -> ProgramEnd:
        """Run a program in the notebook's cage: its files and limits, none of its variables. Cells wait meanwhile."""
        place = str(INSIDE / folder) if folder else ""
        async with self._live.slot:
            asked = await self.ask_now(
                await self._live.ready(),
                lambda number: wire.RunProgram(
                    request=number, command=list(command), folder=place, seconds=seconds, output_bytes=output_bytes
                ),
                seconds + GRACE_SECONDS,
            )
        if not isinstance(ended := asked.answer, wire.ProgramEnded):
            raise KernelLost("The kernel ended while the program ran.", hint="Try again.")
        return ProgramEnd(
            exit_code=ended.exit_code,
            output=ended.output[: output_bytes + 100],
            left_out=max(0, ended.left_out),
            is_late=ended.is_late,
            error=ended.error[:_ERROR_CHARACTERS],
        )

    def hear(self, answer: wire.SideAnswer) -> bool:
        """Take an answer; False if nobody waits for it."""
        if self._asking is None or answer.request != self._asking.request:
            return False
        self._asking.hear(answer)
        return True

    async def interrupt(self, kernel: Kernel) -> None:
        """Stop whatever runs for a question."""
        if self._asking is not None:
            await kernel.interrupt(self._asking.arrived)

    async def ask(
        self, make: Callable[[int], wire.FromHost], seconds: float, descriptors: Sequence[int] = ()
    ) -> SideCall:
        """Ask the kernel something that runs no cells; after a loss, what had run is run again first."""
        if not self._live.is_whole:
            await self._catch_up()
        async with self._live.slot:
            return await self.ask_now(await self._live.ready(), make, seconds, descriptors)

    async def ask_for(self, kind: type[AnswerT], make: Callable[[int], wire.FromHost]) -> AnswerT:
        """The answer to a question that must be answered in this way. Raises `KernelLost`."""
        return (await self.ask(make, ANSWER_SECONDS)).expect(kind)

    async def ask_now(
        self,
        kernel: Kernel,
        make: Callable[[int], wire.FromHost],
        seconds: float,
        descriptors: Sequence[int] = (),
        *,
        is_within_call: bool = False,
    ) -> SideCall:
        """One question and its answer, for whoever has the slot; with open files for the kernel to have."""
        asking = self._asking = SideCall(self._live.next_request(), anyio.Event())
        if not is_within_call:
            kernel.link.begin_request()
        wall = self._live.provisioner.options.limits.wall_seconds
        try:
            await kernel.link.send(make(asking.request), descriptors)
            await asking.wait(kernel, self._live.over, min(seconds, wall or seconds))
        except LinkClosed:
            await self._live.over.wait()
        finally:
            self._asking = None
        return asking
