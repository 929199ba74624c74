"""Agents without their model: what one step costs us, how much a model reads, and how often it must be asked.

The model here answers at once, in this process or on loopback; everything else is real: journal, guard, recorded tools,
contexts, and for whole tasks the gateway, the notebook and the cages.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Final

import anyio
from pydantic_ai.messages import ModelResponse, ToolCallPart

from bench.agent_driver import STYLES, AgentDriver, Came
from bench.agent_tasks import TASKS
from bench.rows import Finding, Samples, compare, no_more_than
from bench.stage import Stage
from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import Assignment
from cellwright.agents.loop import agent_workflow, assignment_json
from cellwright.agents.prompt.composition import AssignmentContext, compose, history
from cellwright.agents.prompt.conversation import AgentTurn, ToolCallRecord
from cellwright.agents.prompt.prompt_store import JournalTexts
from cellwright.agents.role import Role, built_in_roles
from cellwright.agents.styles import Style
from cellwright.journal.flow import Flow
from cellwright.journal.journal import Journal
from cellwright.models.calls import ModelAnswer, ModelCall, OnUpdate, Outcome, TokenUsage
from cellwright.models.config.names import CallId
from cellwright.models.reports import ModelsReport
from cellwright.notebook.prompt_summary import estimate_tokens
from cellwright.policy.actions import RunCode
from cellwright.policy.built_in import BUILT_IN_RULES
from cellwright.policy.masking.masker import Masker
from cellwright.policy.money import Money
from cellwright.policy.rule_file import read_rules
from cellwright.runs.events import EVENT_TYPES
from cellwright.tools.approval.guard import Guard
from cellwright.tools.callers import DEFAULT_TOKENS
from cellwright.tools.text_store import cut
from cellwright.tools.tool import Done, Tool, Toolset, tool

_STEPS = 20
_CALLING: Final[tuple[tuple[Style, str, float], ...]] = (
    ("one-call", "one call at a time", 0.75),
    ("tools", "calls side by side", 1),
)
"""What code mode is held against, and how many times as much it may take."""
_LINES = 80
_OUTPUT = "\n".join(
    f"{row:6d}  station-{row % 40:02d}  {row * 7 % 1000:8.2f}  2024-03-{row % 28 + 1:02d}" for row in range(_LINES)
)


async def step(stage: Stage) -> list[Finding]:
    """CPU time of all threads per step of an agent: look, compose, keep, ask, judge, act, record, tell."""
    taken: list[float] = []
    for _ in range(stage.rounds(10, quick=3) + 1):
        taken.append(await _run())
    return [
        compare(
            "an agent's step without its model",
            ours=Samples(tuple(taken[1:])),
            peer=Samples((30.0,)),
            peer_name="30 ms CPU",
            unit="ms",
            bar=no_more_than(1),
        )
    ]


async def context(_: Stage) -> list[Finding]:
    """Tokens a model reads per step of a run of thirty, against all outputs so far as they are.

    Once with outputs of 160 lines, as tables are printed; once with every fifth of 3,200, as logs are. The raw side has
    neither words nor calls between its outputs.
    """
    return [_reading("160 lines a step", 160, 0.5), _reading("every fifth of 3,200 lines", 3_200, 0.25)]


def _reading(what: str, fifth_lines: int, most: float) -> Finding:
    role = built_in_roles()["coder"]
    brief = AssignmentContext(
        role=role, style="tools", nonce="0badcafe", goal="Which station had the most rain in March?"
    )
    turns: list[AgentTurn] = []
    ours: list[float] = []
    raw: list[float] = []
    dumped = estimate_tokens(role.prompt)
    for number in range(1, 31):
        ours.append(compose(brief, Toolset([]), [], history(turns, brief), AgentTurn(number=number), seen=()).tokens)
        raw.append(dumped)
        output = "\n".join([_OUTPUT] * ((160 if number % 5 else fifth_lines) // _LINES)) + f"\n{number}"
        dumped += estimate_tokens(output)
        bounded = cut(output, DEFAULT_TOKENS) or output
        did = ToolCallRecord(id=f"s{number}c1", name="apply", arguments='{"edits": []}', text=bounded, became="done")
        turns.append(AgentTurn(number=number, said=f"Step {number}: count by station.", did=(did,)))
    return compare(
        f"tokens a model reads per step, of 30, {what}",
        ours=Samples(tuple(ours)),
        peer=Samples(tuple(raw)),
        peer_name="all raw outputs",
        unit="tokens",
        bar=no_more_than(most),
    )


async def turns(stage: Stage) -> list[Finding]:
    """Ten tasks in code mode against the same in calls. Nothing here depends on the moment, so each is done once."""
    came: dict[Style, list[Came]] = {style: [] for style in STYLES}
    async with AgentDriver.open(stage.pool) as driver:
        for name, task in TASKS.items():
            for style in STYLES:
                came[style].append(await driver.do(name, task, style))
    return [
        compare(
            f"{what} of {len(TASKS)} tasks in code mode",
            ours=_total(came["code"], unit),
            peer=_total(came[style], unit),
            peer_name=peer_name,
            unit=unit,
            bar=no_more_than(most),
        )
        for what, unit in (("model turns", "turns"), ("tokens read and written", "tokens"))
        for style, peer_name, most in _CALLING
    ]


def _total(came: Sequence[Came], unit: str) -> Samples:
    return Samples((float(sum(each.turns if unit == "turns" else each.tokens for each in came)),))


class _AtOnce:
    """A model that calls one tool after the other, and costs no time."""

    def __init__(self) -> None:
        self._asked = 0

    async def ask(self, call: ModelCall, on_update: OnUpdate | None = None) -> Outcome:
        self._asked += 1
        name, arguments = ("finish", {}) if self._asked == _STEPS else ("count", {"number": self._asked})
        return ModelAnswer(
            response=ModelResponse(parts=[ToolCallPart(tool_name=name, args=arguments, tool_call_id="x")]),
            model="bench:at-once",
            usage=TokenUsage(input_tokens=10, output_tokens=5),
            price=Money(amount=Decimal(0)),
            reason="",
        )

    async def cancel(self, call: CallId) -> bool:
        return False

    async def listed(self) -> ModelsReport:
        return ModelsReport(models=())


def _tools() -> list[Tool]:
    @tool(
        action=lambda arguments: RunCode(notebook="/project/notebook.py", code=f"count({arguments.number})"),
        changes=True,
    )
    async def count(number: int) -> Done:
        """Count something."""
        return Done(text=f"{_OUTPUT}\n{number}", value={"ok": True}, is_untrusted=True)

    @tool()
    async def finish() -> Done:
        """Say that it is done."""
        return Done(text="done", ends=True)

    return [count, finish]


async def _run() -> float:
    """CPU milliseconds per step of one assignment."""
    masker = Masker.of(salt=b"s" * 16)
    role = Role(name="bench", description="-", prompt="You count.", tools=("*",), steps=_STEPS, style="tools")
    opened = anyio.Event()
    shelf: list[JournalTexts] = []

    @asynccontextmanager
    async def open_studio(_: Flow, __: Assignment) -> AsyncGenerator[AgentContext]:
        await opened.wait()
        yield AgentContext(
            models=_AtOnce(),
            tools=_tools(),
            guard=Guard(rules=read_rules([BUILT_IN_RULES], project="/project"), masker=masker),
            masker=masker,
            kept=shelf[0],
            person="bench",
            roles={"bench": role},
        )

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        async with Journal.open(
            path, version="bench", workflows=[agent_workflow(open_studio)], types=EVENT_TYPES
        ) as journal:
            shelf.append(JournalTexts(journal.records))
            opened.set()
            began = time.process_time()
            run = await journal.run("agent", assignment_json(Assignment(goal="Count.", role="bench")))
            report = await journal.result(run)
            taken = time.process_time() - began
    assert report["outcome"] == "finished", report
    return taken * 1e3 / _STEPS
