"""The reviewer: asked with fresh eyes, without plan or history, and never for more than a share of what was used."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import Note
from cellwright.agents.role import Role
from cellwright.runs.goal.goal import Effort
from cellwright.runs.review.findings import Finding, ReviewQuestion
from cellwright.tools.tool import Done, Tool, ToolResult, tool

REVIEWER: Final = "reviewer"
MOST_FINDINGS: Final = 6
_MOST_REMARKS: Final = 5
_LONG: Final = 600
_CODE: Final = 6_000
_SHARE: Final = 4
"""A review may use one part in so many of what the rest did."""
_FEW_TURNS: Final = 3
"""A run of fewer requests is looked over with one."""
_REQUEST_TOKENS: Final = 4_000
"""What a request of a reviewer takes at least to be of use."""
_ANSWER_TOKENS: Final = 1_000
_LEAST_TOKENS: Final = 1_500
_FINISH: Final = "finish"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistaken:
    """Something that code found, and that answers another question than the goal's."""

    number: int
    """As it was listed, from 1."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerReport:
    """What a reviewer handed in."""

    reading: str = ""
    """How it understands the goal."""
    findings: tuple[Finding, ...] = ()
    second: str = ""
    """Code that works out the answer's figure another way and asserts that it agrees; empty: none."""
    remarks: tuple[str, ...] = ()
    mistaken: tuple[Mistaken, ...] = ()


_REPORT: Final = TypeAdapter(ReviewerReport)


class _Finding(BaseModel):
    # Without a docstring: it would be told in every request.
    model_config = ConfigDict(extra="forbid")
    claim: Annotated[str, Field(max_length=_LONG, description="What the notebook or its answer says.")]
    found: Annotated[str, Field(max_length=_LONG, description="What holds instead, with the figure.")]
    shows: Annotated[str, Field(max_length=_CODE, description="Python whose assert fails because of it.")]


class _Mistaken(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: Annotated[int, Field(ge=1, description="Of what code found.")]
    why: Annotated[str, Field(min_length=1, max_length=_LONG, description="Which other question it answers.")]


def review_tool() -> Tool:
    """The reviewer's own way to finish."""

    @tool(name=_FINISH)
    async def finish(
        reading: Annotated[str, Field(max_length=_LONG, description="How you understand the goal.")],
        findings: Annotated[list[_Finding], Field(max_length=MOST_FINDINGS)] = [],  # noqa: B006
        second: Annotated[
            str, Field(max_length=_CODE, description="Python that works the figure out another way, and asserts.")
        ] = "",
        remarks: Annotated[list[str], Field(max_length=_MOST_REMARKS)] = [],  # noqa: B006
        mistaken: Annotated[list[_Mistaken], Field(max_length=MOST_FINDINGS)] = [],  # noqa: B006
    ) -> ToolResult:
        """Hand in what you found; nothing comes after this."""
        found = ReviewerReport(
            reading=reading,
            findings=tuple(Finding(**each.model_dump()) for each in findings),
            second=second,
            remarks=tuple(each[:_LONG] for each in remarks),
            mistaken=tuple(Mistaken(number=each.number, why=each.why) for each in mistaken),
        )
        review = _REPORT.dump_python(found, mode="json")
        return Done(text="Handed in.", value={"summary": reading, "answer": "", "review": review}, ends=True)

    return finish


def parse_review(value: Any) -> ReviewerReport:
    """What a reviewer handed in; one that handed in nothing found nothing."""
    try:
        return _REPORT.validate_python(value)
    except ValidationError:
        return ReviewerReport()


# ── whether, and how much ──


def is_asked(effort: Effort, *, tasks: int, questions: Sequence[ReviewQuestion], findings: int) -> bool:
    """Whether a reviewer is asked: at `normal` only where there is reason to."""
    match effort:
        case "quick":
            return False
        case "normal":
            return tasks > 1 or findings > 0 or any(not each.settled for each in questions)
        case "thorough":
            return True


def bounded(role: Role, *, tokens: int, turns: int, used: int = 0) -> Role | None:
    """The role with what it may use, where the work took so many tokens in so many turns; None: nothing is left.

    `used`: what reviews of this run have used before.
    """
    if turns < _FEW_TURNS:
        if used:
            return None
        # One request, no longer than one of the work's own.
        room = min(role.context_tokens, max(tokens // max(turns, 1), _LEAST_TOKENS))
        return replace(role, steps=1, tools=(_FINISH,), context_tokens=room)
    share = tokens // _SHARE - used
    if share < _REQUEST_TOKENS:
        return None if used else replace(role, steps=1, tools=(_FINISH,), context_tokens=max(share, _LEAST_TOKENS))
    steps = min(role.steps, max(1, share // (_REQUEST_TOKENS + _ANSWER_TOKENS)))
    room = min(role.context_tokens, share // steps - _ANSWER_TOKENS)
    tools = role.tools if steps > 1 else (_FINISH,)
    return replace(role, steps=steps, tokens=max(share, 1), tools=tools, context_tokens=room)


def reviewing(context: AgentContext, role: Role) -> AgentContext:
    """The context in which a reviewer works: with its own way to finish, and as bounded."""
    tools = [*(each for each in context.tools if each.name != _FINISH), review_tool()]
    return replace(context, tools=tools, roles={**context.roles, REVIEWER: role}, skills=())


def notes_for(answer: str, questions: Sequence[ReviewQuestion], shown: Sequence[Finding]) -> tuple[Note, ...]:
    """What it is given besides goal, notebook and data."""
    notes = [Note(name="the answer", text=answer or "None was given.")]
    if shown:
        lines = [f"{number}. {each.says}" for number, each in enumerate(shown, 1)]
        notes.append(Note(name="what code found already", text="\n".join(lines)))
    if questions:
        lines = [f"- {each.says}{f' (settled: {each.settled})' if each.settled else ''}" for each in questions]
        notes.append(Note(name="what the data raises", text="\n".join(lines)))
    return tuple(notes)


# ── the second opinion ──


def is_independent(code: str, files: Collection[str]) -> bool:
    """Whether the code asserts something, and reads one of the data files itself."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError):
        return False
    words = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    reads = any(file and file in word for file in files for word in words)
    return reads and any(isinstance(node, ast.Assert) for node in nodes)
