"""A dispute about an acceptance test: a person decides whether it is kept, dropped or replaced; unattended, a reviewer.

Asked once and answered once, also where a process is killed meanwhile. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, get_args

from pydantic import Field, TypeAdapter, ValidationError

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import AgentReport, Note
from cellwright.agents.role import role_named
from cellwright.journal.events import QuestionAnswered, QuestionAsked
from cellwright.journal.flow import Flow
from cellwright.journal.names import stream_of
from cellwright.journal.questions import Question
from cellwright.journal.values import Json
from cellwright.runs.review.findings import DisputeVerdict
from cellwright.runs.review.reviewer import REVIEWER
from cellwright.tools.tool import Done, Tool, ToolResult, tool

DISPUTED: Final = "check-dispute"
"""The topic of the question what becomes of a test."""
_FINISH: Final = "finish"
_LONG: Final = 600
_CONTEXT_TOKENS: Final = 6_000
_PROMPT: Final = """\
You decide a dispute about an acceptance test of a marimo notebook. It was written from goal and data before anybody \
built; a builder says that it is wrong. You see goal, data, test, and what the builder says.

- keep: the test follows from goal and data. That it is hard to pass is no reason against it.
- replace: the goal or the data contradict it, and what the builder would put in its place asks for what they do.
- drop: the goal or the data contradict it, and nothing right can take its place.
In doubt, keep. Trust the goal and the data, not the builder's words.

End with `finish(decided, why)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckDispute:
    """What is said against a test."""

    test: str
    says: str
    code: str
    why: str
    instead: str = ""
    """The test that would take its place; empty: none would."""

    @property
    def verdicts(self) -> tuple[DisputeVerdict, ...]:
        """What may be decided."""
        return get_args(DisputeVerdict) if self.instead else ("keep", "drop")

    @property
    def text(self) -> str:
        """For whoever decides."""
        lines = [f"A builder disputes the acceptance test {self.test}: {self.why}"]
        lines += [f"The test says: {self.says}", "", self.code.strip()]
        lines += ["", "Instead it would be:", "", self.instead.strip()] if self.instead else []
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeDecision:
    """What was decided."""

    decided: DisputeVerdict
    by: str
    """A person's name, or `reviewer`; empty: nobody could decide, so it is kept."""
    words: str = ""
    tokens: int = 0
    microdollars: int = 0
    """What deciding took, where a reviewer did."""


DecideDispute = Callable[[Flow, CheckDispute], Awaitable[DisputeDecision]]


async def ask_person(flow: Flow, dispute: CheckDispute) -> DisputeDecision:
    """What a person decides, however long it takes."""
    body: Json = {"test": dispute.test, "code": dispute.code, "why": dispute.why, "instead": dispute.instead}
    said: Any = await flow.ask(Question(topic=DISPUTED, text=dispute.text, choices=dispute.verdicts, body=body))
    who = await flow.step("who decided", lambda: _who_decided(flow))
    return DisputeDecision(decided=said, by=who)


async def _who_decided(flow: Flow) -> str:
    """Who answered the last such question of this workflow."""
    question = by = ""
    async for recorded in flow.read(stream_of(flow.run)):
        match recorded.event:
            case QuestionAsked(topic=topic, workflow=asking, question=asked) if (topic, asking) == (DISPUTED, flow.id):
                question = asked
            case QuestionAnswered(question=answered, by=person) if answered == question:
                by = person
            case _:
                pass
    return by


# ── unattended ──


def deciding(context: AgentContext, dispute: CheckDispute) -> AgentContext:
    """The context in which a reviewer decides: one small request, the data, and its own way to finish."""
    role = role_named(context.roles, REVIEWER)
    room = min(role.context_tokens, _CONTEXT_TOKENS)
    # A second step only for an answer that called nothing.
    role = replace(role, prompt=_PROMPT, steps=2, tools=(_FINISH,), sees=("data",), context_tokens=room)
    tools = [*(each for each in context.tools if each.name != _FINISH), _decision_tool(dispute.verdicts)]
    return replace(context, tools=tools, roles={**context.roles, REVIEWER: role}, skills=(), program=None)


def dispute_note(dispute: CheckDispute) -> Note:
    """What it is given besides goal and data."""
    return Note(name="the dispute", text=dispute.text)


def _decision_tool(verdicts: tuple[DisputeVerdict, ...]) -> Tool:
    @tool(name=_FINISH)
    async def finish(
        decided: DisputeVerdict,
        why: Annotated[str, Field(max_length=_LONG, description="In a sentence or two.")],
    ) -> ToolResult:
        """Hand in what you decided; nothing comes after this."""
        kept = decided if decided in verdicts else "keep"
        value: Json = {"summary": why, "answer": "", "review": {"decided": kept, "by": REVIEWER, "words": why}}
        return Done(text="Handed in.", value=value, ends=True)

    return finish


_DECISION: Final = TypeAdapter(DisputeDecision)


def decision_of(report: AgentReport) -> DisputeDecision:
    """What a reviewer decided; a test about which nothing was decided is kept."""
    try:
        decision = _DECISION.validate_python(report.review)
    except ValidationError:
        why = report.why or "it handed in nothing"
        decision = DisputeDecision(decided="keep", by="", words=f"The reviewer did not decide: {why}")
    return replace(decision, tokens=report.tokens, microdollars=report.microdollars)
