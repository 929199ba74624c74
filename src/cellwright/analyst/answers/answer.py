"""A question's answer: which table it is about, and which story is told. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cellwright.analyst.answers.change import change_story
from cellwright.analyst.answers.drivers import differences_story, drivers_story
from cellwright.analyst.answers.figures import figure_story
from cellwright.analyst.answers.frames import Frame, far_values, frame_of, whole_frame, with_all_rows
from cellwright.analyst.answers.groups import group_story
from cellwright.analyst.answers.outliers import outliers_story
from cellwright.analyst.answers.overview import overview_story
from cellwright.analyst.answers.quality import quality_story
from cellwright.analyst.answers.relation import categories_story, relation_story
from cellwright.analyst.answers.shares import share_by_story, share_story
from cellwright.analyst.answers.story import Measure, Story, measure_of
from cellwright.analyst.answers.trend import trend_story
from cellwright.analyst.drafts import CellDraft, TestRow
from cellwright.analyst.goal.question import DeclinedQuestion, Question
from cellwright.analyst.goal.request import NamedColumn
from cellwright.analyst.names import NotebookNames
from cellwright.analyst.sections.text import code_of
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import Profile

_NUMBERS: Final = ("integer", "number")
_QUANTITIES: Final = ("measure", "currency")
_OF_SELECTED: Final = ("figure", "share", "ranking", "groups", "trend")
"""Kinds whose rows are in the variable `selected`, and whose figure a few values may decide."""
_OF_A_LOOK: Final = ("overview", "quality", "outliers")
"""Kinds that tell what the profile saw: of a long table that is a sample."""
_NOT_JOINED: Final = "What was asked for stands in tables that cannot be joined without counting rows twice."


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A story and the table it is about."""

    story: Story
    frame: Frame


def answer_frame(question: Question, profile: Profile, names: NotebookNames) -> Frame | None:
    """The table that a question is about; for what wants it, joined with whatever it can be joined with."""
    columns = columns_of(question)
    if not columns and question.kind in _OF_A_LOOK:
        return whole_frame(profile, names)
    main = question.quantity.table if question.quantity and question.quantity.column is None else ""
    if question.quantity and question.quantity.column is not None:
        main = question.quantity.column.table
    frame = frame_of(profile, names, columns, main) or frame_of(profile, names, columns)
    # What a change comes from, and what goes with a measure, may stand in the other table.
    if frame and frame.joint is None and question.kind in ("change", "drivers"):
        joint = next((each for each in names.joined if each.left.name == frame.table.name), None)
        other = next((table for table in profile.tables if joint and table.name == joint.right.name), None)
        frame = replace(frame, joint=joint, other=other) if joint and other else frame
    return frame


def columns_of(question: Question) -> list[NamedColumn]:
    """Every column that a question names."""
    named = [question.quantity.column] if question.quantity and question.quantity.column else []
    filters = [each.column for each in (*question.filters, *question.within)]
    time = [question.time] if question.time else []
    return list(dict.fromkeys([*named, *question.by, *filters, *time]))


def needs_screening(question: Question) -> bool:
    """Whether every comparison is made before the story is written."""
    return question.kind == "overview"


def answer_of(
    question: Question, profile: Profile, names: NotebookNames, tests: Sequence[TestRow] = ()
) -> Answer | DeclinedQuestion:
    """The answer; or why there is none."""
    frame = answer_frame(question, profile, names)
    if frame is None:
        return DeclinedQuestion(why=_NOT_JOINED, model_would="A model could decide how to bring the tables together.")
    story = _story(question, profile, frame, tests)
    if isinstance(story, str):
        return DeclinedQuestion(why=story)
    story = _with_weight_of_far_values(question, frame, story)
    if question.kind not in _OF_A_LOOK:
        frame = with_all_rows(frame, story.columns)
    # How a word was read is told once, by whoever read it.
    readings = story.readings[1:] if any(" was read as " in note for note in question.notes) else story.readings
    return Answer(story=replace(story, readings=(*question.notes, *readings)), frame=frame)


def _story(question: Question, profile: Profile, frame: Frame, tests: Sequence[TestRow]) -> Story | str:
    match question.kind:
        case "overview":
            return overview_story(profile, frame, tests)
        case "quality":
            return quality_story(profile, frame)
        case "outliers":
            return _outliers(question, frame)
        case _:
            measure = measure_of(question, frame)
            if measure is None:
                return "It was not recognised which figure is meant."
            return _measured(question, frame, measure)


def _measured(question: Question, frame: Frame, measure: Measure) -> Story | str:
    """The story of a quantity."""
    match question.kind:
        case "figure":
            is_grouped = question.by or question.part
            return group_story(question, frame, measure) if is_grouped else figure_story(question, frame, measure)
        case "share":
            return _share(question, frame, measure)
        case "groups" if not measure.column and _names_no_measure(question):
            return differences_story(question, frame)
        case "ranking" | "groups":
            return group_story(question, frame, measure)
        case "trend":
            return trend_story(question, frame, measure)
        case "change":
            return change_story(question, frame, measure)
        case "drivers":
            return drivers_story(question, frame, measure)
        case _:
            return _relation(question, frame, measure)


def _with_weight_of_far_values(question: Question, frame: Frame, story: Story) -> Story:
    """Where a few values far off all others could decide a figure, how much of it they make up."""
    measure = measure_of(question, frame)
    if measure is None or measure.quantity.how not in ("sum", "mean") or question.kind not in _OF_SELECTED:
        return story
    values = far_values(frame, measure.column)
    if not values:
        return story
    column = literal(measure.column)
    code = (
        f"_is_far = selected[{column}].isin({code_of(values)})\n"
        f"_part = selected.loc[_is_far, {column}].sum() / (selected[{column}].sum() or 1)\n"
        f'far_off = f"{{_is_far.sum():,}} values far off all others make up {{_part:.0%}} of the sum." if _is_far.any() else ""'
    )
    cell = CellDraft(name="far_off", code=code)
    return replace(story, cells=(*story.cells, cell), trust=(*story.trust, "far_off"))


def _share(question: Question, frame: Frame, measure: Measure) -> Story | str:
    if not question.filters:
        return group_story(replace(question, filters=question.within), frame, measure)
    return share_by_story(question, frame, measure) if question.by else share_story(question, frame, measure)


def _names_no_measure(question: Question) -> bool:
    return any(note.startswith("No measure is named") for note in question.notes)


def _relation(question: Question, frame: Frame, measure: Measure) -> Story | str:
    if not measure.column:
        return categories_story(question, frame)
    found = next((pair for column in question.by if (pair := frame.find(column))), None)
    if found is not None and found[1].kind in _NUMBERS and found[1].meaning in _QUANTITIES:
        return relation_story(question, frame, measure)
    if measure.record is not None and measure.record.meaning in _QUANTITIES:
        return group_story(question, frame, replace(measure, quantity=replace(measure.quantity, how="mean")))
    return "Neither of the two is a quantity."


def _outliers(question: Question, frame: Frame) -> Story | str:
    found = frame.find(question.quantity.column) if question.quantity and question.quantity.column else None
    if found is None:
        odd = {each.column for table in frame.tables for each in table.oddities if each.kind == "outliers"}
        measures = [(name, record) for name, _, record in frame.columns if record.kind in ("integer", "number")]
        worth = [pair for pair in measures if pair[1].name in odd] or list(frame.measures()) or measures
        found = worth[0] if worth else None
    if found is None or found[1].kind not in ("integer", "number"):
        return "There is no column of numbers in which a value could lie far off."
    return outliers_story(frame, *found)
