"""The last section: title and answer on top, made live from the claims; caveats, and what to ask next. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from cellwright.analyst.drafts import CellDraft, Section, TestRow
from cellwright.analyst.names import Names
from cellwright.analyst.profile import Profile, Table
from cellwright.analyst.wanted import Wanted
from cellwright.analyst.writing.answer import answer_cells
from cellwright.analyst.writing.asking import questions
from cellwright.analyst.writing.columns import Columns
from cellwright.analyst.writing.findings import Told, told_findings
from cellwright.analyst.writing.literals import code_of
from cellwright.analyst.writing.words import (
    check_cell,
    counted,
    is_sampled,
    listed,
    percent,
    plain,
    shown,
    words_cell,
)

_FEW_ROWS: Final = 50
_MANY_NULLS: Final = 0.1
_MOST_CAVEATS: Final = 9


def tell_section(*, profile: Profile, names: Names, wanted: Wanted, tests: Sequence[TestRow]) -> Section:
    """What a reader sees first, and what stands at the end."""
    columns = Columns(profile, names)
    told = told_findings(columns, names, wanted, tests)
    caveats = tuple(_caveats(profile, names, wanted, told))[:_MOST_CAVEATS]
    asked = questions(profile, columns, wanted, tests)
    cells = [
        words_cell(names.free("what_to_keep_in_mind"), _list("What to keep in mind", caveats)),
        words_cell(names.free("what_to_ask_next"), _list("What to ask next", asked)),
        *answer_cells(profile, names, wanted, columns, told),
        *_checks(names, told),
    ]
    checks = (
        ("test_every_claim_has_its_test", "Every claim in the notebook rests on a test in the table."),
        ("test_the_answer_says_something", "The answer is there in words."),
    )
    return Section(id="tell", title="Tell the answer", cells=tuple(cells), checks=checks, caveats=caveats)


def _list(title: str, sentences: Sequence[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {shown(each, 400)}" for each in sentences)


# ── caveats ──


def _caveats(profile: Profile, names: Names, wanted: Wanted, told: Sequence[Told]) -> Iterator[str]:
    """Plain sentences, the weightiest first."""
    if not wanted.is_understood:
        yield _not_understood(profile)
    tables = [table for table in profile.tables if names.is_read(table.name)]
    for table in tables:
        yield from _about_table(table)
    if any(each.row.is_finding for each in told):
        yield "The data was observed, not made in an experiment: what goes together need not cause each other."
    yield from _about_assumptions(told)
    yield from _missing_values(tables)
    yield (
        "Only pairs of columns, and measures over time, were tested. Relations of three columns or more, and of free "
        "text, were not looked at."
    )
    unread = [plain(table.name) for table in profile.tables if not names.is_read(table.name)]
    if unread:
        yield f"Not read, because there are too many tables: {listed(unread)}."
    if profile.skipped:
        yield f"Left out: {listed([f'{plain(each.path)} ({plain(each.why, 90)})' for each in profile.skipped], 3)}."


def _not_understood(profile: Profile) -> str:
    columns = [plain(column.name) for table in profile.tables for column in table.columns]
    named = f" Name columns to ask for more, such as {listed(columns[:4])}." if columns else ""
    return f"Nothing in the goal was recognised as part of this data, so this is an overview.{named}"


def _about_table(table: Table) -> Iterator[str]:
    name = plain(table.name)
    if is_sampled(table):
        part = f"{counted(table.looked_at, 'row')}, {percent(table.looked_at, table.rows)} of it"
        yield f"Of {name}, a sample was used: {part}. Rare things may be missed."
    if table.rows < _FEW_ROWS:
        yield f"{name} has {counted(table.rows, 'row')} only: weak relations cannot be seen in it."


def _missing_values(tables: Sequence[Table]) -> Iterator[str]:
    for table in tables:
        lacking = [
            f"{plain(column.name)} ({percent(column.nulls, column.nulls + column.count)})"
            for column in table.columns
            if column.count and column.nulls / (column.nulls + column.count) >= _MANY_NULLS
        ]
        if lacking:
            yield (
                f"Missing in {plain(table.name)}: {listed(lacking)}. Tests use the rows that are there; if what is "
                "missing is not missing by chance, they are off."
            )


def _about_assumptions(told: Sequence[Told]) -> Iterator[str]:
    """Of the findings told, what their tests noticed."""
    noticed = [each for each in told if each.row.is_finding and _is_worth_saying(each.row.checked)]
    for each in noticed[:2]:
        yield f"{each.topic[:1].upper()}{each.topic[1:]}: the test noticed {plain(each.row.checked, 160)}."


def _is_worth_saying(checked: str) -> bool:
    return any(word in checked for word in ("unequal", "not a straight", "many ties", "since "))


# ── checks ──


def _checks(names: Names, told: Sequence[Told]) -> Iterator[CellDraft]:
    tests = names.fixed("tests")
    answer = names.fixed("answer_text")
    keys = "".join(
        f"        {code_of([each.row.kind, each.row.table, each.row.y, each.row.x])},\n" for each in told
    )  # fmt: skip
    yield check_cell(
        names.free("check_that_claims_have_tests"),
        f"""
def test_every_claim_has_its_test():
    \"\"\"Each claim rests on one row of the table of tests; where there is none, nothing is claimed.\"\"\"
    told = [
{keys}    ]
    made = {tests}[["kind", "table", "y", "x"]].to_numpy().tolist()
    assert all(made.count(key) <= 1 for key in told)
    found = [{", ".join(each.variable for each in told)}]
    assert all(row is None or [row["kind"], row["table"], row["y"], row["x"]] in made for row in found)
""",
    )
    yield check_cell(
        names.free("check_that_there_is_an_answer"),
        f"""
def test_the_answer_says_something():
    \"\"\"The answer is text, and not an empty one.\"\"\"
    assert isinstance({answer}, str)
    assert len({answer}.split()) >= 5
""",
    )
