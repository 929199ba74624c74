"""The first section: what the data is, and a short cell of plain pandas per table that reads it as it stands. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cellwright.analyst.drafts import CellDraft, Section
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.names import NotebookNames, TableNames
from cellwright.analyst.sections import text
from cellwright.analyst.sections.readers import imports_of, read_tables, reading_code
from cellwright.analyst.sections.repairs import leaves_out_footnotes
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import Profile, TableProfile

_LIBRARIES: Final = {
    "alt": "import altair as alt", "np": "import numpy as np", "pd": "import pandas as pd",
    "stats": "from scipy import stats",
}  # fmt: skip
PACKAGES: Final = ("altair", "numpy", "pandas", "scipy")
"""The distributions that these are in."""
_MAX_NAMED: Final = 8


def tables_section(*, profile: Profile, names: NotebookNames, wanted: AnalysisRequest) -> Section:
    """Cells that read every table of the notebook, each after a few words on what it is."""
    del wanted  # every table is read, whatever was asked
    tables = read_tables(profile, names)
    cells: list[CellDraft] = [_libraries([table for table, _ in tables], names)]
    for table, own in tables:
        step = step_of(table) if text.is_sampled(table) else 1
        code = reading_code(table, own, step=step)
        about = f"## {text.shown(table.name)}\n\n" + " ".join(_sentences(table))
        cells += [
            text.words_cell(names.free(f"about_{own.table}"), about),
            CellDraft(name=f"read_{own.table}", code=f"{code}\n{own.as_read}.head(5)"),
        ]
        shows = f"{text.plain(table.name)} has the rows and columns that were found when it was looked at."
        cells.append(text.check_cell(names.free(f"check_{own.table}_reading"), shows, _check(table, own)))
    caveats = tuple(_caveats(profile, names))
    return Section(id="read", title="Read the data", cells=tuple(cells), caveats=caveats)


def _libraries(tables: list[TableProfile], names: NotebookNames) -> CellDraft:
    """Imports once for the whole notebook; what it imports already stays where it is."""
    wanted = dict(_LIBRARIES)
    for table in tables:
        wanted |= imports_of(table)
    lines = sorted(
        (line for alias, line in wanted.items() if alias not in names.taken),
        key=lambda line: (line.startswith("from"), line),
    )
    return CellDraft(name=names.fixed("libraries"), code="\n".join(lines) or "pass")


# ── words ──


def _sentences(table: TableProfile) -> Iterator[str]:
    """What it is, where it comes from, what time it covers, and how much of it is used."""
    columns = [text.shown(column.name, 40) for column in table.columns]
    width = text.counted(len(columns), "column")
    yield f"{text.capital(text.rows_of(table))} and {width}: {text.listed(columns, _MAX_NAMED)}."
    if keys := [key for key in table.keys if len(key) <= 2]:
        yield f"Each row is named by {text.listed([text.shown(name, 40) for name in keys[0]])}."
    if len(table.files) > 1:
        yield f"Read from {text.counted(len(table.files), 'file')} of one shape, one below the other."
    else:
        part = f", {text.shown(table.reading.part)}" if table.reading.part else ""
        place = "the connection " if table.reading.format == "connection" else ""
        yield f"Read from {place}{text.shown(table.reading.path, 120)}{part}."
    when = next((column for column in table.columns if column.name == table.time_column), None)
    if when is not None and when.times is not None:
        first, last = text.shown(when.times.first, 25), text.shown(when.times.last, 25)
        yield f"By {text.shown(when.name, 40)} it covers {first} to {last}."
        if when.times.missing_steps and when.times.step:
            gaps = text.listed([text.shown(gap, 50) for gap in when.times.gaps], 3)
            longest = f", the longest {gaps}." if gaps else "."
            yield f"{text.counted(when.times.missing_steps, when.times.step)} in between have no row{longest}"
    if text.is_sampled(table):
        yield (
            f"**A sample is used:** every {text.ordinal(step_of(table))} row, about "
            f"{text.percent(text.rows_used(table), table.rows)} of it, so that memory and time stay bounded."
        )


def step_of(table: TableProfile) -> int:
    """Of a table that is too long, every how many-th row is taken."""
    return max(1, -(-table.rows // max(text.rows_used(table), 1)))


def rows_as_read(table: TableProfile) -> int:
    """With the lines below the table that a switch leaves out again."""
    return table.rows + (0 if leaves_out_footnotes(table) else table.reading.skip_last)


# ── code ──


def rows_checks(table: TableProfile, own: TableNames, *, is_whole: bool) -> Iterator[str]:
    """Assertions that as many rows were read as there are, as far as anybody knows that."""
    if table.reading.format == "connection":
        yield f"assert len({own.as_read}) >= {own.counted}"
    elif table.is_counted and is_whole:
        yield f"assert len({own.as_read}) >= {rows_as_read(table)}"
    else:
        yield f"assert len({own.as_read}) > 0, {literal('the sample is empty')}"


def _check(table: TableProfile, own: TableNames) -> str:
    lines = [f"def test_{own.table}_is_read_as_it_was_found():"]
    lines.append(f"    assert {own.as_read}.shape[1] >= {len(table.columns)}")
    lines += [f"    {line}" for line in rows_checks(table, own, is_whole=not text.is_sampled(table))]
    return "\n".join(lines)


def _caveats(profile: Profile, names: NotebookNames) -> Iterator[str]:
    for table in profile.tables:
        if names.is_read(table.name) and text.is_sampled(table):
            yield (
                f"Of {text.plain(table.name)}, which has {text.rows_of(table)}, every "
                f"{text.ordinal(step_of(table))} row was used: counts and sums are of that sample."
            )
    left_out = [text.plain(table.name) for table in profile.tables if not names.is_read(table.name)]
    if left_out:
        yield f"{text.counted(len(left_out), 'table')} had no place in this notebook: {text.listed(left_out)}."
    if profile.skipped:
        files = [f"{text.plain(each.path)} ({text.plain(each.why, 100)})" for each in profile.skipped]
        yield f"{text.counted(len(files), 'file')} could not be read: {text.listed(files)}."
    yield from (text.plain(note, 300) for note in profile.notes[:5])
