"""A real worker in a real cage for all tests here, and tools that answer at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import pytest

from cellwright.journal.values import Json
from cellwright.kernel.pool import KernelPool
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import Tier
from cellwright.tools.actions.steps import CallFailure, ProgramCall, ProgramLimits, ProgramPaused, ProgramStep
from cellwright.tools.actions.worker import ActionWorker
from cellwright.tools.stubs import ToolSignature


def tool(name: str, /, *required: str, **optional: Any) -> ToolSignature:
    """A tool that takes strings, and optionally what the keywords give as defaults."""
    properties: dict[str, Any] = {parameter: {"type": "string"} for parameter in required}
    properties |= {parameter: {"default": default} for parameter, default in optional.items()}
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSignature(name=name, description=f"The tool {name}.", parameters=schema)


LOOK = tool("look", "cell", depth=1)
SEND = ToolSignature(name="send")
TOOLS = (LOOK, SEND)

Answering = Callable[[ProgramCall], Json | CallFailure]


def echo(call: ProgramCall) -> Json:
    return {"tool": call.name, **call.arguments}


class Studio:
    """A worker, and the calls its programs made."""

    def __init__(self, worker: ActionWorker) -> None:
        self.worker = worker
        self.calls: list[ProgramCall] = []

    async def run(
        self,
        program: str,
        answer: Answering = echo,
        *,
        limits: ProgramLimits | None = None,
        is_checked: bool = False,
    ) -> ProgramStep:
        """The end of a program whose calls are all answered."""
        run = await self.worker.start(program, tools=TOOLS, limits=limits, is_checked=is_checked)
        while isinstance(run.step, ProgramPaused):
            self.calls += run.step.calls
            await run.resume({call.id: answer(call) for call in run.step.calls})
        return run.step


@pytest.fixture(scope="session")
def tier() -> Tier:
    return probe().tier


@pytest.fixture(scope="session")
async def worker(pool: KernelPool, tier: Tier) -> AsyncGenerator[ActionWorker]:
    async with ActionWorker.open(pool.zygote, tier=tier) as opened:
        yield opened


@pytest.fixture
def studio(worker: ActionWorker) -> Studio:
    return Studio(worker)


def paused(step: ProgramStep) -> ProgramPaused:
    assert isinstance(step, ProgramPaused), step
    return step


def arguments(calls: tuple[ProgramCall, ...]) -> Mapping[int, Mapping[str, Json]]:
    return {call.id: call.arguments for call in calls}
