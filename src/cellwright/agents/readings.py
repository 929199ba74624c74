"""Readings of a question: listed, tried, compared; where they differ a person is asked, or the plainest is taken.

Also a tool: an agent names them, and gets back whether it matters which is meant.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, count
from typing import Annotated, Any, Final, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field

from cellwright.agents.reading_answers import (
    Evaluate,
    NoAnswer,
    ReadingAnswer,
    answer_text,
    compare_answers,
    evaluate_answer,
)
from cellwright.agents.repair.choices import AskPerson
from cellwright.journal.values import Json
from cellwright.tools.notebook_tools import TRY
from cellwright.tools.tool import CallContext, Caller, Done, Tool, ToolCall, ToolResult, result_text, tool

MOST: Final = 6
"""So many readings are worth comparing."""

AmbiguityKind = Literal["unmatched-rows", "one-entity", "base-total", "rounding", "period", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguity:
    """A way in which questions about data can be read twice."""

    kind: AmbiguityKind
    ask: str


CHECKLIST: Final = (
    Ambiguity(kind="unmatched-rows", ask="Rows of a join without a partner: left out, or kept with nothing?"),
    Ambiguity(kind="one-entity", ask="What counts as one: a row, an id, a name, a visit? Are there duplicates?"),
    Ambiguity(kind="base-total", ask="A share of which total: all rows, those with a value, those in the group?"),
    Ambiguity(kind="rounding", ask="Rounded or exact, and rounded before or after summing?"),
    Ambiguity(
        kind="period", ask="Which year or period: calendar or fiscal, of the event or of the record, both ends in?"
    ),
    Ambiguity(kind="other", ask="Anything else in the question that two careful people could take differently."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One way to take a question."""

    name: str
    """Short, unique among the readings of a question."""
    description: str
    how: str
    """Python over the notebook's variables that ends with the answer's expression."""
    kind: AmbiguityKind = "other"


# ── as a model names them ──


class ProposedReading(BaseModel):
    """One way to take the question."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=60, description="Short, for example `unmatched customers left out`.")
    kind: AmbiguityKind
    description: str = Field(min_length=1, max_length=400, description="What is taken how, for the person.")
    how: str = Field(
        min_length=1, max_length=2_000, description="Python over the notebook's variables; ends with the expression."
    )


def readings_of(proposed: Sequence[Mapping[str, Any]]) -> tuple[Reading, ...]:
    """Readings from plain values; the same code twice is one reading, the same name twice gets a number."""
    found: dict[str, Reading] = {}
    for given in proposed:
        reading = Reading(**given)
        if any(other.how.split() == reading.how.split() for other in found.values()):
            continue
        name, number = reading.name, 2
        while name in found:
            name, number = f"{reading.name} ({number})", number + 1
        found[name] = Reading(name=name, description=reading.description, how=reading.how, kind=reading.kind)
    return tuple(found.values())


# ── comparing ──


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingTrial:
    """A reading and what it comes to."""

    reading: Reading
    answer: ReadingAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """However it is read, the answer is the same."""

    answer: ReadingAnswer
    tried: tuple[ReadingTrial, ...]
    is_rounded: bool = False
    """Some give it with fewer digits; `answer` has the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """The answer depends on the reading."""

    tried: tuple[ReadingTrial, ...]
    """As they were listed, the plainest first; some may have no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoComparison:
    """Fewer than two could be tried: nothing is known about whether they differ."""

    tried: tuple[ReadingTrial, ...]


ReadingComparison = Agreement | Disagreement | NoComparison


async def compare_readings(readings: Sequence[Reading], evaluate: Evaluate) -> ReadingComparison:
    """Try each reading in the kernel, one after the other, and compare what they come to."""
    answers = {reading.name: await evaluate_answer(reading.how, evaluate) for reading in readings[:MOST]}
    return compare(readings[:MOST], answers)


def compare(readings: Sequence[Reading], answers: Mapping[str, ReadingAnswer]) -> ReadingComparison:
    """Whether the answers say the same. One that could not be tried says nothing either way."""
    nothing = NoAnswer(why="It was not tried.")
    tried = tuple(ReadingTrial(reading=reading, answer=answers.get(reading.name, nothing)) for reading in readings)
    answered = [each.answer for each in tried if not isinstance(each.answer, NoAnswer)]
    if not answered or (len(answered) == 1 and len(tried) > 1):
        return NoComparison(tried=tried)
    found = {compare_answers(one, other) for one, other in combinations(answered, 2)}
    if "different" in found:
        return Disagreement(tried=tried)
    return Agreement(
        answer=max(answered, key=lambda answer: len(answer_text(answer))), tried=tried, is_rounded="rounded" in found
    )


# ── settling ──


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainestReading:
    """Nobody can be asked: the plainest reading, and the others for the answer."""

    plainest: ReadingTrial
    others: tuple[ReadingTrial, ...]

    def text(self) -> str:
        """What the answer must say about it."""
        others = "; ".join(
            f"{each.reading.description.rstrip('.')}: {answer_text(each.answer)}" for each in self.others
        )
        first = f"{answer_text(self.plainest.answer)} ({self.plainest.reading.description.rstrip('.')})"
        return f"{first}. Read otherwise: {others}." if others else f"{first}."


def settle(differing: Disagreement, *, attended: bool) -> AskPerson | PlainestReading:
    """Ask with the values at hand, or take the plainest that has an answer and tell the others."""
    if attended:
        answered = [each for each in differing.tried if not isinstance(each.answer, NoAnswer)]
        lines = [f"- {each.reading.name}: {each.reading.description} → {answer_text(each.answer)}" for each in answered]
        question = "The question can be read in several ways, and the answer depends on it:\n" + "\n".join(lines)
        return AskPerson(
            question=f"{question}\nWhich do you mean?", options=tuple(each.reading.name for each in answered)
        )
    [plainest, *_] = [each for each in differing.tried if not isinstance(each.answer, NoAnswer)]
    return PlainestReading(plainest=plainest, others=tuple(each for each in differing.tried if each is not plainest))


# ── trying in the notebook ──

CallOwnTool = Callable[[str, Mapping[str, Json]], Awaitable[ToolResult]]
"""Calls one of the agent's own tools: judged, recorded and masked like any other call."""


def in_scratch_cell(call: CallOwnTool) -> Evaluate:
    """Tries code in a cell of its own that is taken out again: cells, file and what can be undone stay as they are."""

    async def evaluate(code: str) -> ToolResult:
        return await call(TRY, {"code": code})

    return evaluate


ASK: Final = "ask_person"


def readings_tool(caller: Caller, *, attended: bool) -> Tool:
    """The tool, trying readings through the agent's own calls. Where they differ it asks, if somebody can be asked."""

    async def compare(
        calling: CallContext,
        readings: Annotated[list[ProposedReading], Field(min_length=1, max_length=MOST)],
    ) -> ToolResult:
        numbers = count(1)

        async def call(name: str, arguments: Mapping[str, Json]) -> ToolResult:
            made = ToolCall(id=f"{calling.call.id}.{next(numbers)}", name=name, arguments=dict(arguments))
            return await caller.call(calling.flow, made)

        listed = readings_of([reading.model_dump() for reading in readings])
        comparison = await compare_readings(listed, in_scratch_cell(call))
        settled = settle(comparison, attended=attended) if isinstance(comparison, Disagreement) else None
        if not isinstance(settled, AskPerson):
            return Done(text=comparison_text(comparison, settled), value=comparison_json(comparison), is_untrusted=True)
        said = await call(ASK, {"question": settled.question, "options": list(settled.options)})
        text = f"{comparison_text(comparison, None)}\n{result_text(said)}"
        return Done(text=text, value=comparison_json(comparison), is_untrusted=True) if isinstance(said, Done) else said

    compare.__doc__ = _tool_description()
    return tool(name="compare_readings", own_steps=True, seconds=None)(compare)


def comparison_text(comparison: ReadingComparison, chosen: PlainestReading | None) -> str:
    """What the agent reads."""
    lines = [f"- {each.reading.name}: {answer_text(each.answer)}" for each in comparison.tried]
    match comparison:
        case Agreement(answer=answer, is_rounded=is_rounded):
            but = ", but for rounding" if is_rounded else ""
            first = f"It does not matter which is meant{but}: {answer_text(answer)}."
        case Disagreement() if chosen is not None:
            first = f"They differ, and nobody can be asked. The answer must say this much: {chosen.text()}"
        case Disagreement():
            first = "They differ:"
        case NoComparison():
            first = "They could not be compared, because not two of them could be tried:"
        case _:
            assert_never(comparison)
    return "\n".join([first, *lines])


def comparison_json(comparison: ReadingComparison) -> Json:
    """The same for programs."""
    return {
        "differ": isinstance(comparison, Disagreement),
        "answers": {each.reading.name: answer_text(each.answer) for each in comparison.tried},
    }


def _tool_description() -> str:
    asks = "\n".join(f"- {ambiguity.kind}: {ambiguity.ask}" for ambiguity in CHECKLIST)
    return (
        "Try several readings of the question and see whether its answer depends on them. Use it before you answer "
        f"where two careful people could differ. The plainest reading comes first.\n\n{asks}"
    )
