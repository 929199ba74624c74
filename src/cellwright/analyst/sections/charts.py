"""Charts as altair code: of one column, chosen by what it means, and of findings, titled by what their test says. Pure.

A chart is drawn from a small table made in its cell, with field names of ours: whatever a column is called, Vega
never reads it as a formula. Names appear in titles only, as literals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from cellwright.analyst.drafts import TestKind
from cellwright.analyst.sections.selection import ReportedFinding
from cellwright.analyst.sections.text import capital, code_of, plain
from cellwright.notebook.source_text import literal

BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
GREY: Final = "#999999"
OKABE_ITO: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Colours that people with any kind of colour blindness tell apart."""
MAX_BARS: Final = 12
_BINS: Final = 30

TimeStep = Literal["h", "D", "W-MON", "MS", "QS", "YS"]
"""How pandas names the steps of time; weeks begin on Monday."""
STEP_WORDS: Final[dict[TimeStep, str]] = {
    "h": "hour", "D": "day", "W-MON": "week", "MS": "month", "QS": "quarter", "YS": "year",
}  # fmt: skip


def tooltips(*fields: tuple[str, ...]) -> str:
    """Code of what a chart shows of one mark: fields, each with its title and, of a number, its format."""
    lines = (
        f"alt.Tooltip({literal(field)}, title={literal(title)}" + "".join(f", format={literal(form)}" for form in forms)
        for field, title, *forms in fields
    )
    return "    tooltip=[\n" + "".join(f"        {line}),\n" for line in lines) + "    ],"


def numbers_code(table: str, column: str) -> str:
    """Code that gives the column's finite numbers, whatever is in it."""
    return f'pd.to_numeric({table}[{literal(column)}], errors="coerce").replace([np.inf, -np.inf], np.nan).dropna()'


def histogram(table: str, column: str, *, label: str, is_log: bool = False) -> str:
    """How often which sizes occur; on a logarithmic axis, of the positive values only."""
    title = f"Distribution of {plain(label)}" + (", logarithmic axis" if is_log else "")
    values = f"_values = {numbers_code(table, column)}"
    if is_log:
        bins = f"""_values = _values[_values > 0]
_ends = (_values.min(), _values.max()) if len(_values) else (1, 10)
_counts, _edges = np.histogram(_values, bins=np.geomspace(_ends[0], _ends[1] * 1.0001, {_BINS + 1}))"""
        scale = ', scale=alt.Scale(type="log", nice=False)'
    else:
        # Half of each end: twice the largest number there is, as wide as a range can be, is none any more.
        bins = f"""_ends = (_values.min() / 2, _values.max() / 2) if len(_values) else (0, 1)
_edges = np.linspace(*_ends, {_BINS + 1}) * 2
_counts, _ = np.histogram(_values, bins=_edges)"""
        scale = ""
    return f"""
{values}
{bins}
_bars = pd.DataFrame({{"low": _edges[:-1], "high": _edges[1:], "rows": _counts}})
alt.Chart(_bars, title={literal(title)}).mark_bar(color="{BLUE}", stroke="white", strokeWidth=0.5).encode(
    x=alt.X("low:Q", bin="binned", title={literal(label)}{scale}),
    x2="high:Q",
    y=alt.Y("rows:Q", title="rows"),
{tooltips(("low:Q", "from", ",.4~r"), ("high:Q", "to", ",.4~r"), ("rows:Q", "rows", ","))}
).properties(width="container", height=220)
""".strip()


def bars(table: str, column: str, *, label: str) -> str:
    """How often which values occur: the commonest, all others together, and what is missing."""
    return f"""
_values = {table}[{literal(column)}].astype("str").str.slice(0, 60).fillna("(missing)")
_counts = _values.value_counts(sort=False).sort_index().sort_values(ascending=False, kind="stable")
_bars = _counts.head({MAX_BARS}).rename_axis("value").reset_index(name="rows")
if len(_counts) > {MAX_BARS}:
    _others = f"(all {{len(_counts) - {MAX_BARS}:,}} others)"
    _bars.loc[len(_bars)] = [_others, int(_counts.iloc[{MAX_BARS}:].sum())]
_bars["share"] = _bars["rows"] / max(len(_values), 1)
alt.Chart(_bars, title={literal(f"Rows by {plain(label)}")}).mark_bar(color="{BLUE}").encode(
    y=alt.Y("value:N", sort=None, title={literal(label)}, axis=alt.Axis(labelLimit=220)),
    x=alt.X("rows:Q", title="rows"),
{tooltips(("value:N", label), ("rows:Q", "rows", ","), ("share:Q", "share of all rows", ".1%"))}
).properties(width="container", height=alt.Step(22))
""".strip()


def rows_over_time(table: str, when: str, *, step: TimeStep, label: str) -> str:
    """How many rows there are per step of time; a step without rows counts as none."""
    words = STEP_WORDS[step]
    return f"""
_dates = {table}[{literal(when)}].dropna()
_line = pd.Series(1, index=pd.DatetimeIndex(_dates)).resample("{step}").sum()
_line = _line.rename_axis("when").reset_index(name="rows").tail(5000)
alt.Chart(_line, title={literal(f"Rows per {words} of {plain(label)}")}).mark_line(
    color="{BLUE}", point=len(_line) <= 60
).encode(
    x=alt.X("when:T", title={literal(f"{label}, per {words}")}),
    y=alt.Y("rows:Q", title="rows"),
    tooltip=[alt.Tooltip("when:T", title="{words} from"), alt.Tooltip("rows:Q", title="rows", format=",")],
).properties(width="container", height=220)
""".strip()


def measure_over_time(
    table: str, column: str, when: str, *, step: TimeStep, label: str, when_label: str, how: Literal["sum", "mean"]
) -> str:
    """A measure per step of time: the sum of money, else the mean. A step without values is a gap in the line."""
    words = STEP_WORDS[step]
    what = "Sum" if how == "sum" else "Mean"
    gather = "sum(min_count=1)" if how == "sum" else "mean()"
    title = f"{what} of {plain(label)} per {words}"
    return f"""
_numbers = {numbers_code(table, column)}
_dates = {table}[{literal(when)}].reindex(_numbers.index)
_line = pd.Series(_numbers[_dates.notna()].to_numpy(), index=pd.DatetimeIndex(_dates.dropna()), dtype="float64")
_line = _line.resample("{step}").{gather}.rename_axis("when").reset_index(name="value").tail(5000)
alt.Chart(_line, title={literal(title)}).mark_line(color="{BLUE}", point=len(_line) <= 60).encode(
    x=alt.X("when:T", title={literal(f"{when_label}, per {words}")}),
    y=alt.Y("value:Q", title={literal(f"{what.lower()} of {label}")}, scale=alt.Scale(zero=False)),
{tooltips(("when:T", f"{words} from"), ("value:Q", f"{what.lower()} of {label}", ",.4~r"))}
).properties(width="container", height=220)
""".strip()


def missing_map(table: str, columns: str, *, title: str) -> str:
    """Where values are missing: a row per column, from the first to the last row of the table. `columns` is code."""
    return f"""
_names = {columns}
_blocks = np.arange(len({table})) * min(60, len({table})) // max(len({table}), 1)
_labels = [f"{{_at + 1}}. {{str(_name)[:60]}}" for _at, _name in enumerate(_names)]
_missing = {table}[_names].isna().set_axis(_labels, axis=1)
_first = pd.Series(np.arange(len({table})) + 1).groupby(_blocks).min().rename("from_row")
_map = _missing.groupby(_blocks).mean().join(_first).melt("from_row", var_name="column", value_name="share")
alt.Chart(_map, title={literal(title)}).mark_rect().encode(
    x=alt.X("from_row:O", title="rows of the table, first to last", axis=alt.Axis(labelOverlap=True)),
    y=alt.Y("column:N", sort=None, title="column", axis=alt.Axis(labelLimit=220)),
    color=alt.Color("share:Q", title="share missing", scale=alt.Scale(domain=[0, 1], range=["#F2F2F2", "{VERMILION}"])),
{tooltips(("column:N", "column"), ("from_row:O", "from row"), ("share:Q", "share missing", ".0%"))}
).properties(width="container", height=alt.Step(18))
""".strip()


_MAX_POINTS: Final = 3000
_ROWS: Final = ("count:Q", "rows", ",")
"""A tooltip."""


def finding_chart(finding: ReportedFinding) -> str:
    """The code of one cell that draws it, under what its test says; while that does not hold, under its topic."""
    title = f"_title = chart_headline({finding.variable}, {literal(capital(finding.topic))})"
    return f"{title}\n{_drawing(finding)[0](finding).strip()}"


def chart_functions(finding: ReportedFinding) -> tuple[str, ...]:
    """The functions of `presentation` that its chart calls."""
    return (*_drawing(finding)[1], "chart_headline")


def _drawing(finding: ReportedFinding) -> _Drawing:
    if finding.row.kind == "correlation" and finding.row.n > _MAX_POINTS:
        return _density, ("density_of_pairs",)
    return _DRAWINGS[finding.row.kind]


def _difference(finding: ReportedFinding) -> str:
    titles = {"median:Q": "median", "low:Q": "median, 95 % interval from", "high:Q": "to"}
    medians = [(field, title, ",.4~r") for field, title in titles.items()]
    return f"""
_shown = group_summary({finding.arguments})
_base = alt.Chart(_shown, title=_title).encode(
    y=alt.Y("group:N", sort=None, title={literal(finding.x_label)}, axis=alt.Axis(labelLimit=220)),
{tooltips(("group:N", finding.x_label), _ROWS, *medians)}
)
_x = alt.X("quarter:Q", title={literal(finding.y_label)}, scale=alt.Scale(zero=False))
_middle_half = _base.mark_bar(size=14, opacity=0.3, color="{BLUE}").encode(x=_x, x2="three_quarters:Q")
_interval = _base.mark_rule(strokeWidth=4, color="{BLUE}").encode(x="low:Q", x2="high:Q")
_median = _base.mark_point(filled=True, size=90, color="{VERMILION}").encode(x="median:Q")
(_middle_half + _interval + _median).properties(width="container", height=alt.Step(28))
"""


def _association(finding: ReportedFinding) -> str:
    return f"""
_shown = shares_by_group({finding.arguments})
_colours = alt.Scale(range={list(OKABE_ITO)})
alt.Chart(_shown, title=_title).mark_bar().encode(
    y=alt.Y("group:N", title={literal(finding.x_label)}, axis=alt.Axis(labelLimit=220)),
    x=alt.X("share:Q", title="share of the rows", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
    color=alt.Color("value:N", title={literal(finding.y_label)}, scale=_colours),
    order=alt.Order("value:N"),
{tooltips(("group:N", finding.x_label), ("value:N", finding.y_label), ("share:Q", "share", ".1%"), _ROWS)}
).properties(width="container", height=alt.Step(28))
"""


def _correlation(finding: ReportedFinding) -> str:
    return f"""
_base = alt.Chart(title=_title).encode(
    x=alt.X("x:Q", title={literal(finding.x_label)}, scale=alt.Scale(zero=False)),
    y=alt.Y("y:Q", title={literal(finding.y_label)}, scale=alt.Scale(zero=False)),
{tooltips(("x:Q", finding.x_label, ",.4~r"), ("y:Q", finding.y_label, ",.4~r"))}
)
_points = _base.mark_circle(size=30, opacity=0.35, color="{BLUE}").properties(data=drawn_pairs({finding.arguments}))
_line = _base.mark_line(strokeWidth=3, color="{VERMILION}").properties(data=middle_line({finding.arguments}))
(_points + _line).properties(width="container", height=320).interactive()
"""


def _density(finding: ReportedFinding) -> str:
    return f"""
alt.Chart(density_of_pairs({finding.arguments}), title=_title).mark_rect().encode(
    x=alt.X("x:Q", title={literal(finding.x_label)}, scale=alt.Scale(zero=False)),
    x2="x_end:Q",
    y=alt.Y("y:Q", title={literal(finding.y_label)}, scale=alt.Scale(zero=False)),
    y2="y_end:Q",
    color=alt.Color("count:Q", title="rows", scale=alt.Scale(scheme="cividis", type="sqrt")),
{tooltips(("x:Q", finding.x_label, ",.4~r"), ("y:Q", finding.y_label, ",.4~r"), _ROWS)}
).properties(width="container", height=320)
"""


def _line(finding: ReportedFinding) -> str:
    """The course of a measure; of a change with its two spans in colours of their own."""
    how, points, mark = "mean", f"points_over_time({finding.arguments})", f'color="{BLUE}", point=len(_shown) <= 60'
    spans = colours = ""
    if finding.row.kind == "change":
        how = "sum" if finding.row.says.startswith("the sum of ") else "mean"
        points = f"with_spans(points_over_time({finding.arguments}, most=180, how={literal(how)}), _spans)"
        mark = "point=alt.OverlayMarkDef(size=18)"
        spans = f"_spans = {code_of(finding.spans or ())}\n"
        scale = f'alt.Scale(range=["{BLUE}", "{VERMILION}", "{GREY}"])'
        colours = f"""    color=alt.Color("span:N", title="span", sort=None, scale={scale}),
    detail="stretch:N",
"""
    return f"""
{spans}_shown = {points}
_step = _shown["step"].iloc[0] if len(_shown) else "day"
_scale = alt.Scale(domain=usual_range(_shown["value"]))
alt.Chart(_shown, title=_title).mark_line({mark}, clip=True).encode(
    x=alt.X("time:T", title={literal(finding.x_label)}),
    y=alt.Y("value:Q", title=f"{how} per {{_step}}: " + {literal(finding.y_label)}, scale=_scale),
{colours}{tooltips(("time:T", finding.x_label), ("value:Q", finding.y_label, ",.4~r"), _ROWS)}
).properties(width="container", height=280).interactive(bind_y=False)
"""


def _season(finding: ReportedFinding) -> str:
    unit = finding.row.test.rpartition(" ")[2]
    return f"""
_shown = season_profile({finding.arguments}, {literal(unit)})
_base = alt.Chart(_shown, title=_title).encode(
    x=alt.X("name:N", sort=None, title={literal(unit)}, axis=alt.Axis(labelAngle=0)),
{tooltips(("name:N", unit), ("value:Q", "mean", ",.4~r"), _ROWS)}
)
_y = alt.Y("quarter:Q", title={literal(finding.y_label)}, scale=alt.Scale(zero=False))
_middle_half = _base.mark_bar(size=12, opacity=0.3, color="{BLUE}").encode(y=_y, y2="three_quarters:Q")
_mean = _base.mark_line(color="{VERMILION}", point=True).encode(y="value:Q")
(_middle_half + _mean).properties(width="container", height=280)
"""


_Drawing = tuple[Callable[[ReportedFinding], str], tuple[str, ...]]
_DRAWINGS: Final[dict[TestKind, _Drawing]] = {
    "difference": (_difference, ("group_summary",)),
    "association": (_association, ("shares_by_group",)),
    "correlation": (_correlation, ("drawn_pairs", "middle_line")),
    "trend": (_line, ("points_over_time", "usual_range")),
    "break": (_line, ("points_over_time", "usual_range")),
    "change": (_line, ("points_over_time", "with_spans", "usual_range")),
    "season": (_season, ("season_profile",)),
}
"""The code of the chart, and what it calls."""
