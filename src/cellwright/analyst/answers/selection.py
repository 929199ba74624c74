"""The rows a question is about, and the period they lie in: one cell and one widget that most answers share. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.answers.spans import Span, period_cell, span_of, when_of
from cellwright.analyst.answers.story import Measure, filter_columns, filter_lines, filter_words, said, start
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.question import Question
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import ColumnProfile

_LEADS: Final = {
    "mean": ("average", "mean", "typical"), "median": ("median",), "max": ("highest", "largest", "max", "longest"),
    "min": ("lowest", "smallest", "min", "shortest"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Rows by filters and by one span of time."""

    question: Question
    frame: Frame
    span: Span | None
    """The one that was asked for."""
    when: str
    """The column that says when; empty: none."""
    record: ColumnProfile | None
    data: Span | None
    """The days that the data covers."""

    @property
    def cell(self) -> CellDraft:
        """Defines `selected`; `in_time` is all rows with these filters, of whatever time."""
        lines = [f"in_time = {self.frame.variable}", *filter_lines(self.question.filters, self.frame, "in_time")]
        if self.span:
            lines.append(f'selected = during(in_time, {literal(self.when)}, periods.value["period"])')
        else:
            lines.append("selected = in_time")
        return CellDraft(name="selected", code="\n".join(lines))

    @property
    def choices(self) -> tuple[CellDraft, ...]:
        """The widget for the period, where one was asked for."""
        return (period_cell(self.data, period=self.span),) if self.span and self.data else ()

    @property
    def columns(self) -> list[str]:
        """Those it uses."""
        return [*([self.when] if self.when else []), *filter_columns(self.question.filters, self.frame)]

    def words(self, measure: Measure) -> str:
        """`average shipping days in the South in {period}`: for the inside of an f-string."""
        leads = _LEADS.get(measure.quantity.how, ())
        has_lead = not leads or any(lead in measure.words.casefold() for lead in leads)
        lead = start(measure.words) if has_lead else f"{leads[0].capitalize()} {said(measure.words)}"
        filters = filter_words(self.question.filters)
        return f"{lead}{f' {said(filters)}' if filters else ''}{self.period_words}"

    @property
    def period_words(self) -> str:
        """` in Q3 2025`, as the widget has it; empty where all time is meant."""
        return " in {named(periods.value['period'])}" if self.span else ""


def selection_of(question: Question, frame: Frame) -> Selection | str:
    """The rows; or, in a sentence, why there are none."""
    time = when_of(frame, question.time)
    span = span_of(question.spans[0]) if question.spans else None
    if span and time is None:
        return f"{frame.table.name} has no column that says when."
    if span and time and (span.first > time[2].last or span.last < time[2].first):
        return f"The data covers {time[2].first} to {time[2].last}: it has nothing of the time that was asked about."
    when, record, data = time if time else ("", None, None)
    return Selection(question=question, frame=frame, span=span, when=when, record=record, data=data)
