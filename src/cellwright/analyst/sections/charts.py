"""Charts as altair code: of one column, chosen by what it means, and of findings, titled by what their test says. Pure.

A chart is drawn from a small table made in its cell, with field names of ours: whatever a column is called, Vega
never reads it as a formula. Names appear in titles only, as literals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, assert_never

from cellwright.analyst.drafts import TestKind
from cellwright.analyst.sections.text import code_of, plain
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
    tooltip=[
        alt.Tooltip("low:Q", title="from", format=",.4~r"),
        alt.Tooltip("high:Q", title="to", format=",.4~r"),
        alt.Tooltip("rows:Q", title="rows", format=","),
    ],
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
    tooltip=[
        alt.Tooltip("value:N", title={literal(label)}),
        alt.Tooltip("rows:Q", title="rows", format=","),
        alt.Tooltip("share:Q", title="share of all rows", format=".1%"),
    ],
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
    tooltip=[
        alt.Tooltip("when:T", title="{words} from"),
        alt.Tooltip("value:Q", title={literal(f"{what.lower()} of {label}")}, format=",.4~r"),
    ],
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
    tooltip=[
        alt.Tooltip("column:N", title="column"),
        alt.Tooltip("from_row:O", title="from row"),
        alt.Tooltip("share:Q", title="share missing", format=".0%"),
    ],
).properties(width="container", height=alt.Step(18))
""".strip()


_MAX_POINTS: Final = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSubject:
    """What a chart is about, and what its axes say."""

    kind: TestKind
    table: str
    y: str
    x: str
    y_title: str
    x_title: str
    row: str
    """The variable that holds the test's row."""
    otherwise: str
    """The title while the finding does not hold."""
    n: int
    unit: str = "month"
    """Of a season: `hour`, `weekday`, `month` or `quarter`."""
    spans: tuple[tuple[str, str], tuple[str, str]] | None = None
    """Of a change: the two spans of days."""
    how: Literal["sum", "mean"] = "mean"
    """Of a change: what is compared."""

    @property
    def arguments(self) -> str:
        """As the functions behind the charts take them."""
        return f"{self.table}, {literal(self.y)}, {literal(self.x)}"

    @property
    def title(self) -> str:
        """The code of the chart's title."""
        return f"chart_headline({self.row}, {literal(self.otherwise)})"


def finding_chart(pictured: ChartSubject) -> str:
    """The code of one cell that draws it."""
    match pictured.kind:
        case "difference":
            return _difference(pictured)
        case "association":
            return _association(pictured)
        case "correlation":
            return _correlation(pictured) if pictured.n <= _MAX_POINTS else _density(pictured)
        case "trend" | "break":
            return _line(pictured)
        case "change":
            return _spans(pictured)
        case "season":
            return _season(pictured)
        case _:
            assert_never(pictured.kind)


def chart_functions(pictured: ChartSubject) -> tuple[str, ...]:
    """The functions of `picture_tables` that its chart calls."""
    match pictured.kind:
        case "difference":
            return ("group_summary", "chart_headline")
        case "association":
            return ("shares_by_group", "chart_headline")
        case "correlation":
            drawn = ("drawn_pairs", "middle_line") if pictured.n <= _MAX_POINTS else ("density_of_pairs",)
            return (*drawn, "chart_headline")
        case "trend" | "break":
            return ("points_over_time", "usual_range", "chart_headline")
        case "change":
            return ("points_over_time", "with_spans", "usual_range", "chart_headline")
        case "season":
            return ("season_profile", "chart_headline")
        case _:
            assert_never(pictured.kind)


def _difference(pictured: ChartSubject) -> str:
    measure, group = literal(pictured.y_title), literal(pictured.x_title)
    return f"""
_title = {pictured.title}
_shown = group_summary({pictured.arguments})
_base = alt.Chart(_shown, title=_title).encode(
    y=alt.Y("group:N", sort=None, title={group}, axis=alt.Axis(labelLimit=220)),
    tooltip=[
        alt.Tooltip("group:N", title={group}),
        alt.Tooltip("count:Q", title="rows", format=","),
        alt.Tooltip("median:Q", title="median", format=",.4~r"),
        alt.Tooltip("low:Q", title="median, 95 % interval from", format=",.4~r"),
        alt.Tooltip("high:Q", title="to", format=",.4~r"),
    ],
)
_x = alt.X("quarter:Q", title={measure}, scale=alt.Scale(zero=False))
_middle_half = _base.mark_bar(size=14, opacity=0.3, color="{BLUE}").encode(x=_x, x2="three_quarters:Q")
_interval = _base.mark_rule(strokeWidth=4, color="{BLUE}").encode(x="low:Q", x2="high:Q")
_median = _base.mark_point(filled=True, size=90, color="{VERMILION}").encode(x="median:Q")
(_middle_half + _interval + _median).properties(width="container", height=alt.Step(28))
""".strip()


def _association(pictured: ChartSubject) -> str:
    value, group = literal(pictured.y_title), literal(pictured.x_title)
    return f"""
_title = {pictured.title}
_shown = shares_by_group({pictured.arguments})
_colours = alt.Scale(range={list(OKABE_ITO)})
alt.Chart(_shown, title=_title).mark_bar().encode(
    y=alt.Y("group:N", title={group}, axis=alt.Axis(labelLimit=220)),
    x=alt.X("share:Q", title="share of the rows", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
    color=alt.Color("value:N", title={value}, scale=_colours),
    order=alt.Order("value:N"),
    tooltip=[
        alt.Tooltip("group:N", title={group}),
        alt.Tooltip("value:N", title={value}),
        alt.Tooltip("share:Q", title="share", format=".1%"),
        alt.Tooltip("count:Q", title="rows", format=","),
    ],
).properties(width="container", height=alt.Step(28))
""".strip()


def _correlation(pictured: ChartSubject) -> str:
    y, x = literal(pictured.y_title), literal(pictured.x_title)
    return f"""
_title = {pictured.title}
_base = alt.Chart(title=_title).encode(
    x=alt.X("x:Q", title={x}, scale=alt.Scale(zero=False)),
    y=alt.Y("y:Q", title={y}, scale=alt.Scale(zero=False)),
    tooltip=[
        alt.Tooltip("x:Q", title={x}, format=",.4~r"),
        alt.Tooltip("y:Q", title={y}, format=",.4~r"),
    ],
)
_points = _base.mark_circle(size=30, opacity=0.35, color="{BLUE}").properties(data=drawn_pairs({pictured.arguments}))
_line = _base.mark_line(strokeWidth=3, color="{VERMILION}").properties(data=middle_line({pictured.arguments}))
(_points + _line).properties(width="container", height=320).interactive()
""".strip()


def _density(pictured: ChartSubject) -> str:
    y, x = literal(pictured.y_title), literal(pictured.x_title)
    return f"""
_title = {pictured.title}
alt.Chart(density_of_pairs({pictured.arguments}), title=_title).mark_rect().encode(
    x=alt.X("x:Q", title={x}, scale=alt.Scale(zero=False)),
    x2="x_end:Q",
    y=alt.Y("y:Q", title={y}, scale=alt.Scale(zero=False)),
    y2="y_end:Q",
    color=alt.Color("count:Q", title="rows", scale=alt.Scale(scheme="cividis", type="sqrt")),
    tooltip=[
        alt.Tooltip("x:Q", title={x}, format=",.4~r"),
        alt.Tooltip("y:Q", title={y}, format=",.4~r"),
        alt.Tooltip("count:Q", title="rows", format=","),
    ],
).properties(width="container", height=320)
""".strip()


def _line(pictured: ChartSubject) -> str:
    y, x = literal(pictured.y_title), literal(pictured.x_title)
    return f"""
_title = {pictured.title}
_shown = points_over_time({pictured.arguments})
_step = _shown["step"].iloc[0] if len(_shown) else "day"
_scale = alt.Scale(domain=usual_range(_shown["value"]))
alt.Chart(_shown, title=_title).mark_line(color="{BLUE}", point=len(_shown) <= 60, clip=True).encode(
    x=alt.X("time:T", title={x}),
    y=alt.Y("value:Q", title=f"mean per {{_step}}: " + {y}, scale=_scale),
    tooltip=[
        alt.Tooltip("time:T", title={x}),
        alt.Tooltip("value:Q", title={y}, format=",.4~r"),
        alt.Tooltip("count:Q", title="rows", format=","),
    ],
).properties(width="container", height=280).interactive(bind_y=False)
""".strip()


def _season(pictured: ChartSubject) -> str:
    y = literal(pictured.y_title)
    return f"""
_title = {pictured.title}
_shown = season_profile({pictured.arguments}, {literal(pictured.unit)})
_base = alt.Chart(_shown, title=_title).encode(
    x=alt.X("name:N", sort=None, title={literal(pictured.unit)}, axis=alt.Axis(labelAngle=0)),
    tooltip=[
        alt.Tooltip("name:N", title={literal(pictured.unit)}),
        alt.Tooltip("value:Q", title="mean", format=",.4~r"),
        alt.Tooltip("count:Q", title="rows", format=","),
    ],
)
_y = alt.Y("quarter:Q", title={y}, scale=alt.Scale(zero=False))
_middle_half = _base.mark_bar(size=12, opacity=0.3, color="{BLUE}").encode(y=_y, y2="three_quarters:Q")
_mean = _base.mark_line(color="{VERMILION}", point=True).encode(y="value:Q")
(_middle_half + _mean).properties(width="container", height=280)
""".strip()


def _spans(pictured: ChartSubject) -> str:
    y, x = literal(pictured.y_title), literal(pictured.x_title)
    spans = code_of(pictured.spans or ())
    return f"""
_title = {pictured.title}
_spans = {spans}
_shown = with_spans(points_over_time({pictured.arguments}, most=180, how={literal(pictured.how)}), _spans)
_step = _shown["step"].iloc[0] if len(_shown) else "day"
_scale = alt.Scale(domain=usual_range(_shown["value"]))
_colours = alt.Scale(range=["{BLUE}", "{VERMILION}", "{GREY}"])
alt.Chart(_shown, title=_title).mark_line(point=alt.OverlayMarkDef(size=18), clip=True).encode(
    x=alt.X("time:T", title={x}),
    y=alt.Y("value:Q", title=f"{pictured.how} per {{_step}}: " + {y}, scale=_scale),
    color=alt.Color("span:N", title="span", sort=None, scale=_colours),
    detail="stretch:N",
    tooltip=[
        alt.Tooltip("time:T", title={x}),
        alt.Tooltip("value:Q", title={y}, format=",.4~r"),
        alt.Tooltip("count:Q", title="rows", format=","),
    ],
).properties(width="container", height=280).interactive(bind_y=False)
""".strip()
