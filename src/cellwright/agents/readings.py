"""Readings of a question: listed, tried, compared; where they differ a person is asked, or the plainest is taken.

Also a tool: an agent names them, and gets back whether it matters which is meant.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, count
from typing import Annotated, Final, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field

from cellwright.agents.reading_answers import (
    Evaluate,
    NoAnswer,
    ReadingAnswer,
    answer_text,
    brief_text,
    compare_answers,
    evaluate_answer,
    worst,
)
from cellwright.journal.values import Json
from cellwright.tools.callers import GuardedCaller
from cellwright.tools.notebook_tools import TRY
from cellwright.tools.tool import CallContext, Done, Tool, ToolCall, ToolResult, result_text, tool

READ_AS: Final = "read_as"
"""In the tool's value: how the question was read, for the delivery."""
_WORD: Final = re.compile(r"[^\W_]{4,}")
MOST: Final = 6
"""So many readings are worth comparing."""
AmbiguityKind = Literal["unmatched-rows", "one-entity", "base-total", "rounding", "period", "other"]
CHECKLIST: Final[dict[AmbiguityKind, str]] = {
    "unmatched-rows": "rows of a join without a partner",
    "one-entity": "a row, an id, a name or a visit; duplicates",
    "base-total": "a share of all rows, of those with a value, of those in the group",
    "rounding": "before or after summing",
    "period": "calendar or fiscal, of the event or of the record",
    "other": "whatever else",
}
"""The ways in which questions about data can be read twice."""


class Reading(BaseModel):
    """One way to take the question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=60, description="Short: `unmatched customers left out`.")
    kind: AmbiguityKind
    description: str = Field(min_length=1, max_length=400, description="What is taken how, for the person.")
    how: str = Field(
        min_length=1, max_length=2_000, description="Python over the notebook's variables; ends with an expression."
    )


def without_doubles(proposed: Sequence[Reading]) -> list[Reading]:
    """The same code twice is one reading, the same name twice gets a number."""
    found: dict[str, Reading] = {}
    for reading in proposed:
        if all(other.how.split() != reading.how.split() for other in found.values()):
            names = (f"{reading.name} ({number})" for number in count(2))
            name = next(each for each in chain([reading.name], names) if each not in found)
            found[name] = reading.model_copy(update={"name": name})
    return list(found.values())


# ── comparing ──


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingComparison:
    """What readings come to, and whether that is the same."""

    tried: tuple[tuple[Reading, ReadingAnswer], ...]
    """As they were listed, the plainest first; some may have no answer."""
    says: Literal["same", "rounded", "different", "unknown"]
    """rounded: some give it with fewer digits. unknown: fewer than two could be tried."""

    @property
    def answered(self) -> list[tuple[Reading, ReadingAnswer]]:
        """Those that could be tried."""
        return [(reading, answer) for reading, answer in self.tried if not isinstance(answer, NoAnswer)]

    def question(self) -> str:
        """What a person is asked where they differ, with the values at hand."""
        head = "The question can be read in several ways, and the answer depends on it:"
        lines = [f"- {reading.name}: {reading.description} → {brief_text(answer)}" for reading, answer in self.answered]
        return "\n".join([head, *lines, "Which do you mean?"])

    def groups(self) -> list[list[tuple[Reading, ReadingAnswer]]]:
        """Those that come to the same together, in the order they were listed."""
        groups: list[list[tuple[Reading, ReadingAnswer]]] = []
        for tried in self.answered:
            same = next((group for group in groups if compare_answers(group[0][1], tried[1]) != "different"), None)
            if same is None:
                groups.append([tried])
            else:
                same.append(tried)
        return groups

    def counts(self) -> str:
        """How many give what: `3 of 4 give 12.5 (a, b, c); only d gives 13`."""
        number = len(self.answered)
        parts = list[str]()
        for group in self.groups():
            names, value = ", ".join(reading.name for reading, _ in group), answer_text(group[0][1])
            is_one = len(group) == 1
            parts.append(
                f"only {names} gives {value}" if is_one else f"{len(group)} of {number} give {value} ({names})"
            )
        return "; ".join(parts)

    def taken(self, goal: str) -> tuple[Reading, str]:
        """The reading to take where nobody can be asked, and why: words of the goal, then that it was named first."""
        said = set(_WORD.findall(goal.casefold()))
        own = {
            reading.name: said & set(_WORD.findall(f"{reading.name} {reading.description}".casefold()))
            for reading, _ in self.answered
        }
        alike = set[str].intersection(*own.values())
        [(first, _), *_] = self.answered
        best = max((reading for reading, _ in self.answered), key=lambda reading: len(own[reading.name] - alike))
        words = sorted(own[best.name] - alike)
        if words and len(own[first.name] - alike) < len(words):
            return best, f"the goal says {', '.join(words[:4])}"
        return first, "it is the plainest"

    def plainest(self, goal: str = "") -> str:
        """What an answer must say where nobody can be asked: the reading taken with its value, and the others."""
        taken, _ = self.taken(goal)
        answers = {reading.name: answer for reading, answer in self.tried}
        others = "; ".join(
            f"{reading.description.rstrip('.')}: {brief_text(answer)}"
            for reading, answer in self.tried
            if reading is not taken
        )
        said = f"{brief_text(answers[taken.name])} ({taken.description.rstrip('.')})."
        return f"{said} Read otherwise: {others}." if others else said


async def compare_readings(readings: Sequence[Reading], evaluate: Evaluate) -> ReadingComparison:
    """Try each reading in the kernel, one after the other, and compare what they come to."""
    return compare([(reading, await evaluate_answer(reading.how, evaluate)) for reading in readings[:MOST]])


def compare(tried: Sequence[tuple[Reading, ReadingAnswer]]) -> ReadingComparison:
    """Whether the answers say the same. One that could not be tried says nothing either way."""
    answers = [answer for _, answer in tried if not isinstance(answer, NoAnswer)]
    if not answers or (len(answers) == 1 and len(tried) > 1):
        return ReadingComparison(tried=tuple(tried), says="unknown")
    says = worst(compare_answers(one, other) for one, other in combinations(answers, 2))
    return ReadingComparison(tried=tuple(tried), says=says)


# ── trying in the notebook ──

CallOwnTool = Callable[[str, Mapping[str, Json]], Awaitable[ToolResult]]
"""Calls one of the agent's own tools: judged, recorded and masked like any other call."""


def in_scratch_cell(call: CallOwnTool) -> Evaluate:
    """Tries code in a cell of its own that is taken out again: cells, file and what can be undone stay as they are."""

    async def evaluate(code: str) -> ToolResult:
        return await call(TRY, {"code": code})

    return evaluate


ASK: Final = "ask_person"


def readings_tool(caller: GuardedCaller, *, attended: bool, goal: str = "") -> Tool:
    """The tool, trying readings through the agent's own calls. Where they differ it asks, if somebody can be asked."""

    async def compare(
        calling: CallContext, readings: Annotated[list[Reading], Field(min_length=1, max_length=MOST)]
    ) -> ToolResult:
        numbers = count(1)

        async def call(name: str, arguments: Mapping[str, Json]) -> ToolResult:
            made = ToolCall(id=f"{calling.call.id}.{next(numbers)}", name=name, arguments=dict(arguments))
            return await caller.call(calling.flow, made)

        comparison = await compare_readings(without_doubles(readings), in_scratch_cell(call))
        text = comparison_text(comparison, attended=attended, goal=goal)
        read_as = comparison.plainest(goal) if comparison.says == "different" else ""
        if attended and comparison.says == "different":
            options: Json = [reading.name for reading, _ in comparison.answered]
            said = await call(ASK, {"question": comparison.question(), "options": options})
            if not isinstance(said, Done):
                return said
            text = f"{text}\n{result_text(said)}"
            read_as = f"{result_text(said)}. The readings: {comparison.counts()}."
        return Done(text=text, value=comparison_json(comparison) | {READ_AS: read_as}, is_untrusted=True)

    compare.__doc__ = _tool_description(attended=attended)
    return tool(name="compare_readings", own_steps=True, seconds=None)(compare)


def comparison_text(comparison: ReadingComparison, *, attended: bool, goal: str = "") -> str:
    """What the agent reads."""
    match comparison.says:
        case "same" | "rounded":
            but = ", but for rounding" if comparison.says == "rounded" else ""
            exact = max((answer_text(answer) for _, answer in comparison.answered), key=len)
            first = f"It does not matter which is meant{but}: {exact}."
        case "different" if attended:
            first = f"They differ: {comparison.counts()}."
        case "different":
            taken, why = comparison.taken(goal)
            first = f"They differ: {comparison.counts()}. Nobody can be asked: take {taken.name!r}, since {why}. "
            first += f"The delivery says by itself: {comparison.plainest(goal)}"
        case "unknown":
            first = "They could not be compared, because not two of them could be tried:"
        case _:
            assert_never(comparison.says)
    return "\n".join([first, *(f"- {reading.name}: {answer_text(answer)}" for reading, answer in comparison.tried)])


def comparison_json(comparison: ReadingComparison) -> dict[str, Json]:
    """The same for programs."""
    return {
        "differ": comparison.says == "different",
        "answers": {reading.name: answer_text(answer) for reading, answer in comparison.tried},
    }


def _tool_description(*, attended: bool) -> str:
    asks = "; ".join(f"{kind} ({ask})" for kind, ask in CHECKLIST.items())
    person = " Where they differ, the person is asked which is meant, and the work waits for it." if attended else ""
    return (
        "Try several readings of the question and see whether its answer depends on them, where two careful people "
        f"could differ; all in one unit. The plainest comes first.{person} Kinds: {asks}."
    )
