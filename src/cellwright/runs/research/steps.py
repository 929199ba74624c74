"""What the agents of a research hand in: sub-goals, an outline, a section, edits, verdicts. Each has its own finish.

Nobody but readers sees a document: planners and writers see cards, and what a finish refuses it says in words a model
can act on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from cellwright.agents.agent_context import AgentContext
from cellwright.runs.research.handed_in import (
    CitationVerdict,
    CitationVerdicts,
    EditorReport,
    Outline,
    OutlineSection,
    ReadingPlan,
    SectionText,
    SubGoal,
    TextEdit,
)
from cellwright.tools.evidence.card import CITATION, EvidenceCard, cited_in
from cellwright.tools.evidence.contradictions import Contradiction, DismissedContradiction
from cellwright.tools.tool import Done, Tool, ToolError, ToolResult, tool

PLANNER: Final = "research-planner"
READER: Final = "reader"
OUTLINER: Final = "outliner"
SECTION_WRITER: Final = "section-writer"
EDITOR: Final = "research-editor"
JUDGE: Final = "citation-judge"
HANDED: Final = "handed"
"""The key of a finish under which stands what was handed in."""
_FINISH: Final = "finish"
MOST_SUB_GOALS: Final = 8
MOST_SECTIONS: Final = 12
_MOST_EDITS: Final = 40
_LONG: Final = 600
_TEXT: Final = 12_000


_PLAN: Final = TypeAdapter(ReadingPlan)
_OUTLINE: Final = TypeAdapter(Outline)
_EDITED: Final = TypeAdapter(EditorReport)
_VERDICTS: Final = TypeAdapter(CitationVerdicts)


def with_finish(context: AgentContext, finish: Tool, *more: Tool) -> AgentContext:
    """The context of an agent that has these tools alone, and neither cells nor skills nor programs."""
    return replace(
        context, tools=[*more, finish], skills=(), context_providers=(), program=None, survey=None, limits_text=""
    )


def _handed(said: str, adapter: TypeAdapter[Any], value: object) -> Done:
    handed = adapter.dump_python(value, mode="json")
    return Done(text=said, value={"summary": said, "answer": "", HANDED: handed}, ends=True)


def _parsed(adapter: TypeAdapter[Any], value: Any, empty: Any) -> Any:
    """What was handed in; who ended without it handed in nothing."""
    try:
        return empty if value is None else adapter.validate_python(value)
    except ValidationError:
        return empty


class _Part(BaseModel):
    # Without docstrings below: they would be told in every request.
    model_config = ConfigDict(extra="forbid")


class _SubGoal(_Part):
    title: Annotated[str, Field(min_length=1, max_length=120, description="A question of few words.")]
    todo: Annotated[str, Field(max_length=_LONG, description="What to look for, and where.")] = ""


class _Contradiction(_Part):
    cards: Annotated[list[str], Field(min_length=2, max_length=12, description="Ids.")]
    about: Annotated[str, Field(max_length=200, description="What they disagree on.")]


class _Dismissal(_Part):
    cards: Annotated[list[str], Field(min_length=2, max_length=40, description="All ids of it.")]
    why: Annotated[str, Field(min_length=1, max_length=300, description="Another thing, time or unit.")]


# ── the planner ──


def plan_tool(cards: Collection[str], *, is_first: bool) -> Tool:
    """The planner's finish."""

    @tool(name=_FINISH)
    async def finish(
        sub_goals: Annotated[list[_SubGoal], Field(max_length=MOST_SUB_GOALS, description="Each read for by itself.")],
        contradictions: Annotated[
            list[_Contradiction], Field(max_length=20, description="Cards that cannot all be right.")
        ] = [],  # noqa: B006
        dismissed: Annotated[
            list[_Dismissal], Field(max_length=20, description="Contradictions you were told of that are none.")
        ] = [],  # noqa: B006
        why: Annotated[str, Field(max_length=_LONG, description="Why this is next, or enough.")] = "",
    ) -> ToolResult:
        """Hand in what is to be found out next; no sub-goals where the cards answer the question."""
        if is_first and not sub_goals:
            return ToolError(kind="bad-arguments", message="Nothing was read yet: name at least one sub-goal.")
        if unknown := _unknown((id for each in (*contradictions, *dismissed) for id in each.cards), cards):
            return unknown
        plan = ReadingPlan(
            sub_goals=tuple(SubGoal(title=each.title, todo=each.todo) for each in sub_goals),
            contradictions=_contradictions(contradictions, "planner"),
            dismissed=_dismissed(dismissed, "planner"),
            why=why,
        )
        return _handed(f"{len(sub_goals)} sub-goals.", _PLAN, plan)

    return finish


def parse_plan(value: Any) -> ReadingPlan:
    """What a planner handed in."""
    return _parsed(_PLAN, value, ReadingPlan())


def _contradictions(given: Sequence[_Contradiction], by: str) -> tuple[Contradiction, ...]:
    return tuple(Contradiction(cards=tuple(dict.fromkeys(each.cards)), about=each.about, by=by) for each in given)


def _dismissed(given: Sequence[_Dismissal], by: str) -> tuple[DismissedContradiction, ...]:
    return tuple(
        DismissedContradiction(cards=tuple(dict.fromkeys(each.cards)), by=by, why=" ".join(each.why.split()))
        for each in given
    )


def _unknown(ids: Any, known: Collection[str]) -> ToolError | None:
    missing = [each for each in dict.fromkeys(ids) if each not in known]
    if not missing:
        return None
    told = ", ".join(missing[:6])
    return ToolError(kind="bad-arguments", message=f"There is no card {told}.", hint="Name cards by the ids you see.")


# ── the outline ──


class _Section(_Part):
    title: Annotated[str, Field(min_length=1, max_length=160)]
    cards: Annotated[list[str], Field(min_length=1, max_length=60, description="Ids of the cards it rests on.")]
    todo: Annotated[str, Field(max_length=_LONG, description="What it should say.")] = ""


def outline_tool(cards: Collection[str]) -> Tool:
    """The outliner's finish."""

    @tool(name=_FINISH)
    async def finish(
        title: Annotated[str, Field(min_length=1, max_length=160)],
        sections: Annotated[list[_Section], Field(min_length=1, max_length=MOST_SECTIONS)],
    ) -> ToolResult:
        """Hand in the outline; each section is then written by somebody who sees its cards and no others."""
        if unknown := _unknown((id for each in sections for id in each.cards), cards):
            return unknown
        made = [
            OutlineSection(title=each.title, cards=tuple(dict.fromkeys(each.cards)), todo=each.todo)
            for each in sections
        ]
        return _handed(f"{len(made)} sections.", _OUTLINE, Outline(title=title, sections=tuple(made)))

    return finish


def parse_outline(value: Any, title: str, cards: Sequence[EvidenceCard]) -> Outline:
    """The outline that was handed in; else one section for each sub-goal."""
    found: Outline | None = _parsed(_OUTLINE, value, None)
    if found is not None:
        return found
    tasks: dict[str, list[str]] = {}
    for card in cards:
        tasks.setdefault(card.task, []).append(card.id)
    sections = tuple(OutlineSection(title=task or title, cards=tuple(ids)) for task, ids in tasks.items())
    return Outline(title=title, sections=sections[:MOST_SECTIONS])


# ── a section, and the edits ──

CheckText = Callable[[str, Collection[str]], str]
"""What is wrong with a text that may cite these cards, in words for its writer; empty: nothing."""


def section_tool(cards: Collection[str], check: CheckText) -> Tool:
    """A section writer's finish. What is not shown by quotes is told once; who insists has it among the caveats."""
    told = set[str]()

    @tool(name=_FINISH)
    async def finish(
        text: Annotated[
            str, Field(min_length=1, max_length=_TEXT, description="Markdown without its heading; `[c1a2b3c4]` cites.")
        ],
    ) -> ToolResult:
        """Hand in the section."""
        if refused := _miscited(text, cards):
            return refused
        if (wrong := check(text, cards)) and not told:
            told.add(wrong)
            return ToolError(kind="bad-arguments", message=wrong, hint="Mend it, and finish again.")
        return Done(text="Handed in.", value={"summary": "", "answer": text.strip()}, ends=True)

    return finish


def _miscited(text: str, cards: Collection[str]) -> ToolError | None:
    if unknown := _unknown(cited_in(text), cards):
        return unknown
    left = CITATION.sub("", text)
    if any(mark in left for mark in ("[c", "](", "![")):
        message = "Cite as `[c1a2b3c4]` or `[c1a2b3c4, c5d6e7f8]`, with ids you were given; no links and no pictures."
        return ToolError(kind="bad-arguments", message=message)
    return None


class _Edit(_Part):
    section: Annotated[int, Field(ge=1, description="Its number.")]
    old: Annotated[str, Field(min_length=1, max_length=4_000, description="Its words, copied.")]
    new: Annotated[str, Field(max_length=4_000)]


CheckEdited = Callable[[str, str], str]
"""The same of a title and a summary."""


def editor_tool(sections: Sequence[SectionText], cards: Collection[str], check: CheckEdited) -> Tool:
    """The editor's finish: a title, the answer in short, and edits rather than everything once more."""
    told = set[str]()

    @tool(name=_FINISH)
    async def finish(
        title: Annotated[str, Field(min_length=1, max_length=160)],
        summary: Annotated[
            str,
            Field(min_length=1, max_length=3_000, description="The answer first, each sentence with its citations."),
        ],
        edits: Annotated[list[_Edit], Field(max_length=_MOST_EDITS, description="Only where it is needed.")] = [],  # noqa: B006
        contradictions: Annotated[
            list[_Contradiction], Field(max_length=20, description="Cards that cannot all be right.")
        ] = [],  # noqa: B006
        dismissed: Annotated[
            list[_Dismissal], Field(max_length=20, description="Contradictions you were told of that are none.")
        ] = [],  # noqa: B006
    ) -> ToolResult:
        """Hand in the edited report."""
        for each in edits:
            if each.section > len(sections):
                return ToolError(kind="bad-arguments", message=f"There is no section {each.section}.")
            if sections[each.section - 1].text.count(each.old) != 1:
                begun = each.old[:60]
                message = f"Section {each.section} does not have {begun!r} exactly once: nothing was edited."
                return ToolError(
                    kind="bad-arguments", message=message, hint="Copy its words, enough to tell them apart."
                )
            if refused := _miscited(each.new, sections[each.section - 1].cards):
                return refused
        ids = (id for each in (*contradictions, *dismissed) for id in each.cards)
        if refused := _miscited(summary, cards) or _unknown(ids, cards):
            return refused
        if (wrong := check(title, summary)) and not told:
            told.add(wrong)
            return ToolError(kind="bad-arguments", message=wrong, hint="Mend it, and finish again.")
        made = EditorReport(
            title=title,
            summary=summary.strip(),
            edits=tuple(TextEdit(section=each.section, old=each.old, new=each.new) for each in edits),
            contradictions=_contradictions(contradictions, "editor"),
            dismissed=_dismissed(dismissed, "editor"),
        )
        return _handed("Edited.", _EDITED, made)

    return finish


def parse_edited(value: Any) -> EditorReport:
    """What an editor handed in."""
    return _parsed(_EDITED, value, EditorReport())


def edited_sections(sections: Sequence[SectionText], edits: Sequence[TextEdit]) -> tuple[SectionText, ...]:
    """The sections with these edits, those left out that do not fit any more."""
    made = [*sections]
    for each in edits:
        if 0 < each.section <= len(made) and made[each.section - 1].text.count(each.old) == 1:
            before = made[each.section - 1]
            made[each.section - 1] = replace(before, text=before.text.replace(each.old, each.new))
    return tuple(made)


# ── the judge ──


class _Verdict(_Part):
    number: int
    verdict: Literal["supported", "unsupported", "unclear"]
    why: Annotated[str, Field(max_length=300)] = ""


def judge_tool() -> Tool:
    """The judge's finish."""

    @tool(name=_FINISH)
    async def finish(verdicts: Annotated[list[_Verdict], Field(max_length=200)]) -> ToolResult:
        """Hand in a verdict for each numbered sentence."""
        made = tuple(CitationVerdict(number=each.number, verdict=each.verdict, why=each.why) for each in verdicts)
        return _handed("Judged.", _VERDICTS, CitationVerdicts(verdicts=made))

    return finish


def parse_verdicts(value: Any) -> tuple[CitationVerdict, ...]:
    """What a judge handed in."""
    found: CitationVerdicts = _parsed(_VERDICTS, value, CitationVerdicts())
    return found.verdicts
