"""What to ask next: concrete questions from what was seen, most of them goals that the analyst can take. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from cellwright.analyst.drafts import TestRow
from cellwright.analyst.profile import Profile
from cellwright.analyst.wanted import Wanted
from cellwright.analyst.writing.columns import Columns, Described

MOST_QUESTIONS: Final = 5
_NOTICED_NULLS: Final = 0.05


def questions(profile: Profile, columns: Columns, wanted: Wanted, tests: Sequence[TestRow]) -> tuple[str, ...]:
    """Five, or fewer where the data gives no more; plain text."""
    candidates = (
        *_after_findings(columns, tests),
        *_about_time(columns, wanted),
        *_about_gaps(columns),
        *_untested(columns, tests),
        *_about_joins(profile),
        *_always(profile),
    )
    return tuple(dict.fromkeys(candidates))[:MOST_QUESTIONS]


def _after_findings(columns: Columns, tests: Sequence[TestRow]) -> Iterator[str]:
    """One question per kind of finding, the strongest of each."""
    told = set[str]()
    for row in tests:
        if not row.is_finding or row.kind in told:
            continue
        told.add(row.kind)
        y, x = columns.label(row.table, row.y), columns.label(row.table, row.x)
        match row.kind:
            case "difference":
                other = columns.another(row.table, "group", {row.y, row.x})
                beside = f" among rows of the same {other.label}" if other else " once other columns are held equal"
                yield f"Does {y} still differ by {x}{beside}?"
            case "association":
                yield f"Which came first, {y} or {x}, and who decided about either?"
            case "correlation":
                other = columns.another(row.table, "group", {row.y, row.x})
                within = f" within each {other.label}" if other else ""
                yield f"Do {y} and {x} go together{within}, or is there a common cause?"
            case "trend" | "change":
                yield f"What happened besides while {y} changed: prices, scope, the way it is counted?"
            case "break":
                yield f"What happened when the level of {y} changed: another system, another definition?"
            case "season":
                yield f"Is the season of {y} the same in every year?"


def _about_time(columns: Columns, wanted: Wanted) -> Iterator[str]:
    for table in columns.tables:
        measure, time = columns.first(table, "measure"), columns.first(table, "time")
        if measure is None or time is None or time.record.times is None or wanted.purpose == "change":
            continue
        first, last = time.record.times.first[:4], time.record.times.last[:4]
        if first != last and first.isdigit() and last.isdigit():
            yield f"Why did {measure.label} change between {int(last) - 1} and {last}?"
        else:
            yield f"How does {measure.label} develop over {time.label}?"
        return


def _about_gaps(columns: Columns) -> Iterator[str]:
    """Of the column that lacks most."""
    lacking = [(_missing(one), one) for table in columns.own_tables for one in columns.of(table)]
    lacking = [(part, one) for part, one in lacking if _NOTICED_NULLS <= part < 1]
    if lacking:
        part, one = max(lacking, key=lambda pair: pair[0])
        yield f"Why is {one.label} missing in {part:.0%} of the rows, and who could fill it in?"


def _missing(one: Described) -> float:
    rows = one.record.count + one.record.nulls
    return one.record.nulls / rows if rows else 0.0


def _untested(columns: Columns, tests: Sequence[TestRow]) -> Iterator[str]:
    """A measure and a group that no finding holds: they may matter to the person all the same."""
    found = {(row.table, row.y, row.x) for row in tests if row.is_finding}
    for table in columns.tables:
        measures, groups = columns.every(table, "measure"), columns.every(table, "group")
        open_pairs = [(m, g) for m in measures[:4] for g in groups[:4] if (table, m.name, g.name) not in found]
        if open_pairs:
            measure, group = open_pairs[0]
            yield f"Compare {measure.label} by {group.label}."
        if len(measures) > 2:
            yield f"What goes with {measures[-1].label}?"


def _about_joins(profile: Profile) -> Iterator[str]:
    for join in profile.joins[:1]:
        if join.left_coverage < 1:
            part = 1 - join.left_coverage
            yield f"Why do {part:.1%} of the values of {join.left_column} in {join.left} not occur in {join.right}?"


def _always(profile: Profile) -> Iterator[str]:
    for table in profile.tables[:2]:
        yield f"How was {table.name} collected, and what is not in it?"
    yield "How far can this data be trusted?"
    yield "Which decision should this help with, and what would change it?"
