"""The third section: first looks, chosen by what each column means, the goal's columns first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, zip_longest
from typing import Final

from cellwright.analyst.drafts import CellDraft, Section
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.methods.source import conversion_cells
from cellwright.analyst.names import Namer, NotebookNames, TableNames
from cellwright.analyst.sections import charts
from cellwright.analyst.sections.columns import label_of
from cellwright.analyst.sections.readers import read_tables
from cellwright.analyst.sections.text import code_of, columns_code, counted, listed, plain, shown, words_cell, wrapped
from cellwright.profiles.profile import ColumnProfile, Profile, TableProfile

MAX_CHARTS: Final = 6
"""Limit per table."""
MAX_TABLES: Final = 4
_MAX_LINES_OVER_TIME: Final = 2
_MAX_MEANINGS: Final = 60
_MAX_MISSING: Final = 25
_MAX_POINTS: Final = 400
_STRONG_SKEW: Final = 2.0
_QUANTITIES: Final = ("measure", "currency")
_SECONDS: Final[dict[charts.TimeStep, float]] = {
    "h": 3600, "D": 86_400, "W-MON": 7 * 86_400, "MS": 30.4 * 86_400, "QS": 91.3 * 86_400, "YS": 365.25 * 86_400,
}  # fmt: skip
_FINEST: Final[dict[str, charts.TimeStep]] = {
    "second": "h", "minute": "h", "hour": "h", "day": "D", "week": "W-MON", "month": "MS", "quarter": "QS",
    "year": "YS",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartDraft:
    """One chart, with the sentence before it."""

    name: str
    says: str
    """Markdown, escaped."""
    code: str


def overview_section(*, profile: Profile, names: NotebookNames, wanted: AnalysisRequest) -> Section:
    """Per table an overview of its columns and a few charts; of many tables, those that the goal names first."""
    asked = {named.table for named in (*wanted.measures, *wanted.groups)}
    tables = sorted(read_tables(profile, names), key=lambda pair: pair[0].name not in asked)
    namer = Namer(names)
    cells: list[CellDraft] = list(conversion_cells(["describe_columns"]) if tables else ())
    caveats: list[str] = []
    for at, (table, own) in enumerate(tables):
        cells += _overview(table, own, namer)
        looks = list(chart_drafts(table, own, wanted)) if at < MAX_TABLES else []
        for look in looks:
            name = namer(look.name)
            cells.append(words_cell(namer(f"{name}_words"), look.says))
            cells.append(CellDraft(name=name, code=look.code))
        cells += _outlying(table, own, namer) if at < MAX_TABLES else ()
        caveats += _left_out(table, looks)
    return Section(id="look", title="Look at each column", cells=tuple(cells), caveats=tuple(caveats))


def _overview(table: TableProfile, own: TableNames, namer: Namer) -> Iterator[CellDraft]:
    words = (
        f"## A look at {shown(table.name)}\n\nEvery column with what it seems to mean, how full it is, and its range."
    )
    yield words_cell(namer(f"{own.table}_at_a_glance"), words)
    meanings = {column.name: column.meaning for column in table.columns}
    listed_meanings = wrapped(meanings) if len(meanings) <= _MAX_MEANINGS else "{}"
    variable = namer(f"{own.table}_columns")
    code = f"{variable} = describe_columns({own.table}, {listed_meanings})\n"
    code += f"mo.ui.table({variable}, selection=None, page_size=20, show_column_summaries=False)"
    yield CellDraft(name=variable, code=code)


# ── which charts ──


def chart_drafts(table: TableProfile, own: TableNames, wanted: AnalysisRequest) -> Iterator[ChartDraft]:
    """At most `MAX_CHARTS`: where values are missing, over time, then distributions."""
    if not table.looked_at:
        return
    ordered = _by_interest(table, wanted)
    chosen = [*_missing(table, own), *_over_time(table, own, ordered)]
    distributions = [look for column in ordered if (look := _distribution(column, table, own)) is not None]
    yield from [*chosen, *distributions][:MAX_CHARTS]


def _by_interest(table: TableProfile, wanted: AnalysisRequest) -> list[ColumnProfile]:
    """What the goal names, then quantities and categories in turn."""
    asked = [
        each.column
        for each in (*wanted.measures, *wanted.groups, *(named for named, _ in wanted.values))
        if each.table == table.name
    ]
    usable = [column for column in table.columns if column.count and column.distinct > 1]
    first = [column for name in dict.fromkeys(asked) for column in usable if column.name == name]
    quantities = [column for column in usable if column.meaning in _QUANTITIES and column not in first]
    groups = [column for column in usable if column.meaning in ("category", "flag") and column not in first]
    mixed = chain.from_iterable(zip_longest(quantities, groups))
    return [*first, *(column for column in mixed if column is not None)]


def _distribution(column: ColumnProfile, table: TableProfile, own: TableNames) -> ChartDraft | None:
    label = label_of(column.name, column.unit)
    name = f"{own.table}_{column.name}_look"
    if column.kind in ("integer", "number") and column.meaning in _QUANTITIES and column.numbers is not None:
        is_log = column.numbers.skew > _STRONG_SKEW and column.numbers.least > 0
        says = f"### {shown(label)}\n\nHow its values spread over {counted(column.count, 'row')}."
        says += " Few are very large, so the axis is logarithmic: each step multiplies." if is_log else ""
        says += "" if column.unit else " The file does not say in which unit."
        return ChartDraft(
            name=name, says=says, code=charts.histogram(own.table, column.name, label=label, is_log=is_log)
        )
    if column.meaning in ("category", "flag") or (column.meaning == "code" and column.distinct <= 50):
        says = f"### {shown(label)}\n\nHow many rows each of its {counted(column.distinct, 'value')} has"
        says += "; the rarer ones are one bar." if column.distinct > 12 else "."
        return ChartDraft(name=name, says=says, code=charts.bars(own.table, column.name, label=label))
    return None


def _over_time(table: TableProfile, own: TableNames, ordered: Sequence[ColumnProfile]) -> Iterator[ChartDraft]:
    when = next((column for column in table.columns if column.name == table.time_column), None)
    if when is None or when.kind not in ("date", "datetime") or when.times is None or when.distinct < 3:
        return
    step = step_for(when)
    when_label = label_of(when.name, when.unit)
    yield ChartDraft(
        name=f"{own.table}_rows_over_time_look",
        says=f"### Rows over {shown(when_label)}\n\nHow many rows each {charts.STEP_WORDS[step]} has: gaps show here.",
        code=charts.rows_over_time(own.table, when.name, step=step, label=when_label),
    )
    quantities = [column for column in ordered if column.meaning in _QUANTITIES][:_MAX_LINES_OVER_TIME]
    for column in quantities:
        how = "sum" if column.meaning == "currency" else "mean"
        label = label_of(column.name, column.unit)
        says = f"### {shown(label)} over time\n\nThe {how} per {charts.STEP_WORDS[step]}; "
        says += "a break in the line has no values."
        code = charts.measure_over_time(
            own.table, column.name, when.name, step=step, label=label, when_label=when_label, how=how
        )
        yield ChartDraft(name=f"{own.table}_{column.name}_over_time_look", says=says, code=code)


def step_for(when: ColumnProfile) -> charts.TimeStep:
    """The finest step of time that leaves a few hundred points."""
    times = when.times
    if times is None:
        return "MS"
    steps: list[charts.TimeStep] = list(_SECONDS)
    finest = _FINEST.get(times.step, "D")
    try:
        first, last = (datetime.fromisoformat(text).replace(tzinfo=None) for text in (times.first, times.last))
    except ValueError:
        return "MS"
    seconds = (last - first).total_seconds()
    return next((step for step in steps[steps.index(finest) :] if seconds / _SECONDS[step] <= _MAX_POINTS), "YS")


def _missing(table: TableProfile, own: TableNames) -> Iterator[ChartDraft]:
    lacking = [column for column in table.columns if column.nulls and column.count]
    if not lacking or not (table.missing_together or any(column.null_pattern for column in lacking)):
        return
    lacking = sorted(lacking, key=lambda column: -column.nulls)[:_MAX_MISSING]
    together = [listed([shown(name, 30) for name in names], 4) for names in table.missing_together]
    says = "### Where values are missing\n\nA line per column, from the first row to the last; the redder, the emptier."
    says += f" Missing together: {'; '.join(together[:3])}." if together else ""
    title = f"Missing values in {plain(table.name)}"
    code = charts.missing_map(
        own.table, columns_code(table, [column.name for column in lacking], own.table), title=title
    )
    yield ChartDraft(name=f"{own.table}_missing_look", says=says, code=code)


def _outlying(table: TableProfile, own: TableNames, namer: Namer) -> Iterator[CellDraft]:
    odd = list(dict.fromkeys(oddity.column for oddity in table.oddities if oddity.kind == "outliers" and oddity.column))
    numbers = {column.name for column in table.columns if column.kind in ("integer", "number")}
    odd = [name for name in odd if name in numbers][:MAX_CHARTS]
    if not odd:
        return
    words = f"### Values far outside in {shown(table.name)}\n\nThe twenty farthest from the middle half of "
    words += f"{listed([shown(name, 40) for name in odd])}, in widths of that half. They stay unless the switch is on."
    yield words_cell(namer(f"{own.table}_far_values_words"), words)
    variable = namer(f"{own.table}_far_values")
    code = f"""
_far = []
for _column in {code_of(odd)}:
    _numbers = pd.to_numeric({own.table}[_column], errors="coerce").replace([np.inf, -np.inf], np.nan).dropna()
    _low, _high = _numbers.quantile([0.25, 0.75])
    _distance = pd.concat([_low - _numbers, _numbers - _high], axis=1).max(axis=1) / max(_high - _low, 1e-12)
    _table = pd.DataFrame({{"row": _numbers.index, "column": _column, "value": _numbers, "widths away": _distance}})
    _far.append(_table[_distance > 3])
{variable} = pd.concat(_far).sort_values(["widths away", "row"], ascending=[False, True]).head(20)
mo.ui.table({variable}, selection=None, show_column_summaries=False)
"""
    yield CellDraft(name=variable, code=code.strip())


def _left_out(table: TableProfile, looks: Sequence[ChartDraft]) -> Iterator[str]:
    worth = [column for column in table.columns if column.meaning in (*_QUANTITIES, "category", "flag")]
    if len(worth) > len(looks):
        yield f"Of {plain(table.name)} not every column is drawn; the overview table has all {len(table.columns):,}."
