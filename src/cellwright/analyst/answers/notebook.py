"""The cells of a short notebook in the order they are read: the answer, what can be chosen, the data, how it was made."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cellwright.analyst.answers.frames import Frame, conversion_functions, doubts, frame_cells, repairs_cell
from cellwright.analyst.answers.story import Story
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.methods.source import helper_cells
from cellwright.analyst.names import NotebookNames
from cellwright.analyst.sections.readers import imports_of
from cellwright.analyst.sections.tables import rows_checks, step_of
from cellwright.analyst.sections.text import (
    check_cell,
    code_of,
    listed,
    ordinal,
    percent,
    plain,
    rows_of,
)
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import Profile

HEADLINE: Final = "report_headline"
PICTURE: Final = "report_picture"
FINDING: Final = "report_finding_"
TOLD: Final = "told"
"""The variable with everything a report says: headline, findings, trust."""
REPAIRS: Final = "repairs"
_IMPORTS: Final = {
    "alt.": "import altair as alt", "np.": "import numpy as np", "pd.": "import pandas as pd",
    "stats.": "from scipy import stats", "special.": "from scipy import special", "combinations(": "from itertools import combinations",
}  # fmt: skip
_HELPERS: Final = ("short", "named", "during", "change_test", "escaped")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortNotebook:
    """A story as cells, in two parts: what brings the data, and what answers."""

    data: tuple[CellDraft, ...]
    answer: tuple[CellDraft, ...]
    caveats: tuple[str, ...]


def short_notebook(story: Story, frame: Frame, names: NotebookNames, profile: Profile) -> ShortNotebook:
    """The cells; those of the story stand on top."""
    switches = repairs_cell(frame, story.columns, REPAIRS)
    told = _told_cell(story, frame)
    own = [finding.cell for finding in story.findings if finding.cell]
    looks = "\n".join(cell.code for cell in (*story.cells, *own))
    reads_all = any(names.of(table.name).as_read in looks for table in frame.tables)
    reading = frame_cells(frame, names, story.columns, REPAIRS, reads_all=reads_all)
    data = [*reading, *conversion_functions(frame, story.columns)]
    widgets = [cell.name for cell in (*story.choices, *([switches] if switches else []))]
    answer = [*_story_cells(story), *_beside(widgets), *story.choices, *story.cells, *own, told, *story.checks]
    codes = "\n".join(cell.code for cell in (*data, *answer))
    helpers = helper_cells(name for name in _HELPERS if f"{name}(" in codes)
    codes += "\n".join(cell.code for cell in helpers)
    imports = [line for mark, line in _IMPORTS.items() if mark in codes]
    for table in frame.tables:
        imports += imports_of(table).values()
    libraries = CellDraft(name=names.fixed("libraries"), code=_sorted(imports))
    first = [libraries, *([switches] if switches else [])]
    return ShortNotebook(
        data=(*first, *data, _rows_check(frame)),
        answer=(*answer, *helpers),
        caveats=tuple(_caveats(frame, profile)),
    )


def _sorted(imports: Sequence[str]) -> str:
    """Those of Python itself first, as every tool sorts them."""
    known = sorted(dict.fromkeys(imports), key=lambda line: (line.startswith("from"), line.casefold()))
    own = [line for line in known if line.split()[1].partition(".")[0] in sys.stdlib_module_names]
    return "\n\n".join("\n".join(part) for part in (own, [line for line in known if line not in own]) if part)


def _story_cells(story: Story) -> Iterator[CellDraft]:
    yield CellDraft(
        name=HEADLINE,
        code="mo.md(f\"# {escaped(told['headline'])}\\n\\n{escaped(' '.join(filter(None, told['trust'])), 900)}\")",
        is_words=True,
        at_start=True,
    )
    yield CellDraft(name=PICTURE, code=story.picture, is_words=True, at_start=True)
    for number, finding in enumerate(story.findings, start=1):
        parts = [f'mo.md(escaped({finding.variable}["says"], 600))', "_chart"]
        if finding.has_statistics:
            parts.append(
                f'mo.accordion({{"How sure is that?": mo.md(escaped({finding.variable}["statistics"], 900))}})'
            )
        code = f"{finding.chart}\nmo.vstack([{', '.join(parts)}])"
        yield CellDraft(name=f"{FINDING}{number}", code=code, is_words=True, at_start=True)


def _beside(widgets: Sequence[str]) -> Iterator[CellDraft]:
    """What can be chosen stands beside the answer, so that `marimo run` is a dashboard."""
    if widgets:
        shown = ", ".join(['mo.md("### What if")', *(f"{name}.vstack()" for name in widgets)])
        yield CellDraft(
            name="choices",
            code=f'mo.sidebar(mo.vstack([{shown}], gap=1.5), width="20rem")',
            is_words=True,
            at_start=True,
        )


def _told_cell(story: Story, frame: Frame) -> CellDraft:
    """Everything a report says, as plain values."""
    findings = ", ".join(each.variable for each in story.findings)
    left = doubts(frame, story.columns)
    undecided = f"_left = [_what for _switch, _what in {code_of(left)}.items() if not {REPAIRS}.value[_switch]]\n"
    decide = """f"Yours to decide, left as they are: {', '.join(_left)}." if _left else \"\""""
    sentences = [*story.trust, *([decide] if left else []), *(literal(each) for each in _trust(frame))]
    trust = "".join(f"        {each},\n" for each in sentences)
    readings = "".join(f"        {literal(each)},\n" for each in story.readings)
    # Counts and sums of a sample are no counts and sums of the whole.
    step = frame.step(frame.table)
    sample = f"In a sample, every {ordinal(step)} row: " if step > 1 else ""
    headline = f"{literal(sample)} + headline" if sample else "headline"
    code = (undecided if left else "") + (
        f'{TOLD} = {{\n    "headline": {headline},\n    "findings": [{findings}],\n'
        f'    "trust": [\n{trust}    ],\n    "readings": [\n{readings}    ],\n}}'
    )
    return CellDraft(name=TOLD, code=code)


def _trust(frame: Frame) -> list[str]:
    """What is known of the data from its profile, in sentences."""
    said: list[str] = []
    if frame.joint and frame.joint.join.left_coverage < 1:
        part = percent(1 - frame.joint.join.left_coverage, 1)
        said.append(f"{part} of {plain(frame.joint.join.left_column, 40)} are not in {plain(frame.joint.join.right)}.")
    for table in frame.tables:
        if frame.step(table) > 1:
            said.append(f"Of {plain(table.name)} every {ordinal(frame.step(table))} row was used.")
    for table in frame.seen_in_part():
        said.append(
            f"All {rows_of(table)} of {plain(table.name)} were used; what is odd in them was looked for in every "
            f"{ordinal(step_of(table))}."
        )
    return said


def _rows_check(frame: Frame) -> CellDraft:
    table, own = frame.table, frame.names
    lines = [
        f"def test_{own.table}_is_read_as_it_was_found():",
        *(f"    {line}" for line in rows_checks(table, own, is_whole=frame.step(table) == 1)),
    ]
    if frame.joint:
        lines.append(f"    assert len({frame.joint.variable}) == len({own.table})")
    found = "that the database has" if table.reading.format == "connection" else "that were found when it was looked at"
    shows = f"{plain(table.name)} has the rows {found}"
    shows += ", and joining neither loses nor doubles one." if frame.joint else "."
    return check_cell(f"check_{own.table}_rows", shows, "\n".join(lines))


def _caveats(frame: Frame, profile: Profile) -> Iterator[str]:
    for table in frame.tables:
        if frame.step(table) > 1:
            yield (
                f"Of {plain(table.name)}, which has {rows_of(table)}, every {ordinal(frame.step(table))} row was used: "
                "counts and sums are of that sample."
            )
        serious = [oddity for oddity in table.oddities if oddity.severity == "problem"]
        yield from (plain(oddity.says, 300) for oddity in serious[:3])
    if profile.skipped:
        files: Sequence[str] = [f"{plain(each.path)} ({plain(each.why, 100)})" for each in profile.skipped]
        yield f"Not read: {listed(list(files))}."
