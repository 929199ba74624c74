"""The last section: title and answer on top, made live from the claims; caveats, and questions to ask next. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from cellwright.analyst.drafts import CellDraft, Section, TestKind, TestRow
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.names import NotebookNames
from cellwright.analyst.sections import text
from cellwright.analyst.sections.answer import answer_cells, not_understood
from cellwright.analyst.sections.columns import Columns
from cellwright.analyst.sections.findings import reported_findings
from cellwright.analyst.sections.selection import ReportedFindings
from cellwright.profiles.profile import Profile, TableProfile

MAX_QUESTIONS: Final = 5
_NOTICED_NULLS: Final = 0.05


def follow_up_questions(
    profile: Profile, columns: Columns, wanted: AnalysisRequest, tests: Sequence[TestRow]
) -> tuple[str, ...]:
    """Five, or fewer where the data gives no more; plain text."""
    candidates = (
        *_after_findings(columns, tests),
        *_about_time(columns, wanted),
        *_about_gaps(columns),
        *_untested(columns, tests),
        *_about_joins(profile),
        *_always(profile),
    )
    return tuple(dict.fromkeys(candidates))[:MAX_QUESTIONS]


def _after_findings(columns: Columns, tests: Sequence[TestRow]) -> Iterator[str]:
    """One question per kind of finding, the strongest of each."""
    seen = set[str]()
    for row in tests:
        if not row.is_finding or row.kind in seen:
            continue
        seen.add(row.kind)
        other = columns.first(row.table, "group", {row.y, row.x})
        beside = f" among rows of the same {other.label}" if other else " once other columns are held equal"
        yield _NEXT[row.kind].format(
            y=columns.label(row.table, row.y),
            x=columns.label(row.table, row.x),
            beside=beside,
            within=f" within each {other.label}" if other else "",
        )


_NEXT: Final[dict[TestKind, str]] = {
    "difference": "Does {y} still differ by {x}{beside}?",
    "association": "Which came first, {y} or {x}, and who decided about either?",
    "correlation": "Do {y} and {x} go together{within}, or is there a common cause?",
    "trend": "What happened besides while {y} changed: prices, scope, the way it is counted?",
    "change": "What happened besides while {y} changed: prices, scope, the way it is counted?",
    "break": "What happened when the level of {y} changed: another system, another definition?",
    "season": "Is the season of {y} the same in every year?",
}


def _about_time(columns: Columns, wanted: AnalysisRequest) -> Iterator[str]:
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
    own = [(one, one.record) for table in columns.own_tables for one in columns.of(table)]
    missing = [(record.nulls / max(record.count + record.nulls, 1), one) for one, record in own]
    lacking = [(part, one) for part, one in missing if _NOTICED_NULLS <= part < 1]
    if lacking:
        part, one = max(lacking, key=lambda pair: pair[0])
        yield f"Why is {one.label} missing in {part:.0%} of the rows, and who could fill it in?"


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


_FEW_ROWS: Final = 50
_MANY_NULLS: Final = 0.1
_MAX_CAVEATS: Final = 9


def conclusion_section(
    *, profile: Profile, names: NotebookNames, wanted: AnalysisRequest, tests: Sequence[TestRow]
) -> Section:
    """What a reader sees first, and what stands at the end."""
    columns = Columns(profile, names)
    findings = reported_findings(columns, names, wanted, tests)
    caveats = tuple(_caveats(profile, names, wanted, findings))[:_MAX_CAVEATS]
    asked = follow_up_questions(profile, columns, wanted, tests)
    cells = [
        text.words_cell(names.free("what_to_keep_in_mind"), _list("What to keep in mind", caveats)),
        text.words_cell(names.free("what_to_ask_next"), _list("What to ask next", asked)),
        *answer_cells(profile, names, wanted, columns, findings),
        *_checks(names, findings),
    ]
    return Section(id="tell", title="Tell the answer", cells=tuple(cells), caveats=caveats)


def _list(title: str, sentences: Sequence[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {text.shown(each, 400)}" for each in sentences)


# ── caveats ──


def _caveats(
    profile: Profile, names: NotebookNames, wanted: AnalysisRequest, findings: ReportedFindings
) -> Iterator[str]:
    """Plain sentences, the weightiest first."""
    if not wanted.is_understood:
        yield not_understood(profile)
    tables = [table for table in profile.tables if names.is_read(table.name)]
    for table in tables:
        yield from _about_table(table)
    if any(each.row.is_finding for each in findings):
        yield "The data was observed, not made in an experiment: what goes together need not cause each other."
    yield from _about_assumptions(findings)
    yield from _missing_values(tables)
    yield (
        "Only pairs of columns, and measures over time, were tested. Relations of three columns or more, and of free "
        "text, were not looked at."
    )
    unread = [text.plain(table.name) for table in profile.tables if not names.is_read(table.name)]
    if unread:
        yield f"Not read, because there are too many tables: {text.listed(unread)}."
    if profile.skipped:
        skipped = [f"{text.plain(each.path)} ({text.plain(each.why, 90)})" for each in profile.skipped]
        yield f"Left out: {text.listed(skipped, 3)}."


def _about_table(table: TableProfile) -> Iterator[str]:
    name = text.plain(table.name)
    if text.is_sampled(table):
        used = text.rows_used(table)
        part = f"{text.counted(used, 'row')}, {text.percent(used, table.rows)} of it"
        yield f"Of {name}, a sample was used: {part}. Rare things may be missed."
    if table.rows < _FEW_ROWS:
        yield f"{name} has {text.counted(table.rows, 'row')} only: weak relations cannot be seen in it."


def _missing_values(tables: Sequence[TableProfile]) -> Iterator[str]:
    for table in tables:
        lacking = [
            f"{text.plain(column.name)} ({text.percent(column.nulls, column.nulls + column.count)})"
            for column in table.columns
            if column.count and column.nulls / (column.nulls + column.count) >= _MANY_NULLS
        ]
        if lacking:
            yield (
                f"Missing in {text.plain(table.name)}: {text.listed(lacking)}. Tests use the rows that are there; if "
                "what is missing is not missing by chance, they are off."
            )


def _about_assumptions(findings: ReportedFindings) -> Iterator[str]:
    """What the tests of these findings noticed."""
    worth = ("unequal", "not a straight", "many ties", "since ")
    noticed = [each for each in findings if each.row.is_finding and any(word in each.row.checked for word in worth)]
    for each in noticed[:2]:
        yield f"{text.capital(each.topic)}: the test noticed {text.plain(each.row.checked, 160)}."


# ── checks ──


def _checks(names: NotebookNames, findings: ReportedFindings) -> Iterator[CellDraft]:
    tests = names.fixed("tests")
    answer, sentences = names.fixed("answer_text"), names.fixed("answer_sentences")
    rows = [[each.row.kind, each.row.table, each.row.y, each.row.x] for each in findings]
    keys = "".join(f"        {text.code_of(row)},\n" for row in rows)
    yield text.check_cell(
        names.free("check_that_claims_have_tests"),
        "Every claim in the notebook rests on a test in the table.",
        f"""
def test_every_claim_has_its_test():
    \"\"\"Each claim rests on one row of the table of tests; where there is none, nothing is claimed.\"\"\"
    told = [
{keys}    ]
    made = {tests}[["kind", "table", "y", "x"]].to_numpy().tolist()
    assert all(made.count(key) <= 1 for key in told)
    found = [{", ".join(each.variable for each in findings)}]
    assert all(row is None or [row["kind"], row["table"], row["y"], row["x"]] in made for row in found)
""",
    )
    yield text.check_cell(
        names.free("check_that_there_is_an_answer"),
        "The answer is made of its sentences, and of nothing else.",
        f"""
def test_the_answer_is_made_of_its_sentences():
    \"\"\"Each of them stands in it once, in their order, and there is at least one.\"\"\"
    said = [each for each in {sentences} if each]
    assert said
    assert {answer} == "\\n\\n".join(said)
""",
    )
