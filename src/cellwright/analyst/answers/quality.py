"""What is wrong with the data: what was found in the files, what is missing where, what is there twice. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.answers.story import Finding, Story, code_from
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.sections.charts import BLUE, GREY, VERMILION
from cellwright.analyst.sections.text import check_cell, code_of, counted, listed, plain
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import Oddity, Profile

MAX_COLUMNS: Final = 40
_MAX_PROBLEMS: Final = 30
_ORDER: Final = {"problem": 0, "warning": 1, "note": 2}


def problems_of(profile: Profile) -> list[tuple[str, Oddity]]:
    """Every oddity with its table's name, the gravest first."""
    found = [(table.name, oddity) for table in profile.tables for oddity in table.oddities]
    return sorted(found, key=lambda pair: (_ORDER[pair[1].severity], -pair[1].count))


def quality_story(profile: Profile, frame: Frame) -> Story:
    """The story of what is wrong."""
    every = problems_of(profile)
    found = [pair for pair in every if pair[1].severity != "note"]
    columns = [name for name, _, _ in frame.columns][:MAX_COLUMNS]
    rows = [
        [_short(oddity, table), oddity.severity, oddity.count, plain(oddity.says, 200)]
        for table, oddity in every[:_MAX_PROBLEMS]
    ]
    problems = sum(oddity.severity == "problem" for _, oddity in found)
    gravest = plain(found[0][1].says, 150).rstrip(".") if found else ""
    tables = listed([plain(table.name, 40) for table in profile.tables], 3)
    lead = _lead(problems, len(found) - problems, tables)
    template = """
result = pd.DataFrame(<<rows>>, columns=["what", "severity", "count", "says"])
headline = <<headline>>
"""
    headline = literal(f"{lead}: {gravest}" if gravest else lead)
    listed_rows = "[\n" + "".join(f"        {code_of(row)},\n" for row in rows) + "    ]" if rows else "[]"
    cells = (
        CellDraft(name="result", code=code_from(template, rows=listed_rows, headline=headline)),
        missing_cell(frame, columns),
        doubled_cell(frame),
        CellDraft(
            name="every_problem", code='mo.ui.table(result, selection=None, page_size=12, wrapped_columns=["says"])'
        ),
    )
    picture = f"""
_bars = result.head(12).assign(what=result["what"].str.slice(0, 60))
alt.Chart(_bars, title="What was found, and how many rows or values it concerns").mark_bar().encode(
    y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(labelLimit=320)),
    x=alt.X("count:Q", title="rows or values", scale=alt.Scale(type="symlog")),
    color=alt.condition("datum.severity == 'problem'", alt.value("{VERMILION}"), alt.value("{BLUE}")),
    tooltip=["what", "severity", "count"],
).properties(width="container", height=alt.Step(22))
""".strip()
    return Story(
        picture=picture,
        findings=(missing_finding(), doubled_finding()),
        cells=cells,
        columns=tuple(columns),
        checks=(
            check_cell(
                "check_the_missing",
                "What is missing is counted in every column.",
                f"def test_what_is_missing_is_counted():\n    again = [int({frame.variable}[name].isna().sum()) for name in missing.index]\n    assert np.allclose(missing * len({frame.variable}), again)",
            ),
        ),
    )


def _lead(problems: int, watched: int, tables: str) -> str:
    if not problems and not watched:
        return f"Nothing wrong was found in {tables}"
    parts = [counted(problems, "grave problem")] if problems else []
    parts += [counted(watched, "thing to watch", "things to watch")] if watched else []
    return f"{' and '.join(parts)} in {tables}"


def _short(oddity: Oddity, table: str) -> str:
    kind = oddity.kind.replace("-", " ")
    where = f"{plain(oddity.column, 30)}" if oddity.column else plain(table, 30)
    return f"{where}: {kind}"


def missing_cell(frame: Frame, columns: Sequence[str]) -> CellDraft:
    """What is missing, by column, and where it is missing most."""
    groups = [name for name, _ in frame.groups() if name in set(columns)]
    template = """
# What is missing in each column, and where more of it is missing than elsewhere.
missing = <<frame>>[<<columns>>].isna().mean().sort_values(ascending=False)
_found = []
for _column in missing[missing.between(0.01, 0.99)].index[:12]:
    for _group in <<groups>>:
        _parts = <<frame>>[_column].isna().groupby(<<frame>>[_group]).agg(["mean", "size", "sum"]) if _group != _column else None
        for _label, _part in _parts[_parts["size"] >= 10].iterrows() if _parts is not None else ():
            _rest = (missing[_column] * len(<<frame>>) - _part["sum"]) / max(len(<<frame>>) - _part["size"], 1)
            _found.append((_part["mean"] - _rest, _column, _group, _label, _part["mean"], _rest))
_most = [f"{_column} {_part:.0%}" for _column, _part in missing[missing > 0].head(3).items()]
gaps = {
    "says": f"Missing most: {', '.join(_most)}." if _most else "No value is missing.",
    "bars": {str(_column): float(_part) for _column, _part in missing.head(6).items()},
}
if _found and (_best := max(_found))[0] > 0.15:
    gaps["says"] += f" {_best[1]} is missing in {_best[4]:.0%} of the rows with {_best[2]} {_best[3]}, {_best[5]:.0%} elsewhere."
"""
    return CellDraft(
        name="gaps",
        code=code_from(template, frame=frame.variable, columns=code_of(list(columns)), groups=code_of(groups[:4])),
    )


def missing_finding() -> Finding:
    """What is missing."""
    chart = f"""
_bars = missing.head(10).rename_axis("column").reset_index(name="share")
_chart = alt.Chart(_bars, title="Share of values that are missing").mark_bar(color="{VERMILION}").encode(
    y=alt.Y("column:N", sort=None, title=None, axis=alt.Axis(labelLimit=180)), x=alt.X("share:Q", title=None, axis=alt.Axis(format="%")),
).properties(width="container", height=alt.Step(16))
""".strip()
    return Finding(variable="gaps", chart=chart)


def doubled_cell(frame: Frame) -> CellDraft:
    """Rows that are there twice, and values far off."""
    raw = frame.names.as_read
    template = """
_twice = int(<<raw>><<text>>.duplicated().sum())
_numbers = <<frame>>.select_dtypes("number")
_low, _high = _numbers.quantile(0.25), _numbers.quantile(0.75)
far_off = ((_numbers < 4 * _low - 3 * _high) | (_numbers > 4 * _high - 3 * _low)).sum().sort_values(ascending=False)
doubled = {
    "says": f"{_twice:,} of {len(<<raw>>):,} rows are there twice, word for word; "
    + (f"{far_off.index[0]} has {far_off.iloc[0]:,} values far outside the middle half." if len(far_off) and far_off.iloc[0] else "no number lies far off."),
    "bars": {str(_column): float(_count) for _column, _count in far_off.head(5).items()},
}
"""
    text = "" if frame.table.reading.format == "csv" else ".map(str)"
    return CellDraft(name="doubled", code=code_from(template, raw=raw, text=text, frame=frame.variable))


def doubled_finding() -> Finding:
    """What is there twice or lies far off."""
    chart = f"""
_bars = far_off.head(8).rename_axis("column").reset_index(name="values")
_chart = alt.Chart(_bars, title="Values far outside the middle half").mark_bar(color="{GREY}").encode(
    y=alt.Y("column:N", sort=None, title=None, axis=alt.Axis(labelLimit=180)), x=alt.X("values:Q", title="values"),
).properties(width="container", height=alt.Step(16))
""".strip()
    return Finding(variable="doubled", chart=chart)
