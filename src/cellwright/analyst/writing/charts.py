"""First looks at one column as altair code, chosen by what the column means. Pure.

A chart is drawn from a small table made in its cell, with field names of ours: whatever a column is called, Vega
never reads it as a formula. Names stand in titles only, as literals.
"""

from __future__ import annotations

from typing import Final, Literal

from cellwright.analyst.writing.words import plain
from cellwright.notebook.wording import literal

BLUE: Final = "#0072B2"
ORANGE: Final = "#E69F00"
GREEN: Final = "#009E73"
VERMILION: Final = "#D55E00"
GREY: Final = "#999999"
OKABE_ITO: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Colours that people with any kind of colour blindness tell apart."""
MOST_BARS: Final = 12
_BINS: Final = 30

Step = Literal["h", "D", "W-MON", "MS", "QS", "YS"]
"""How pandas names the steps of time; weeks begin on Monday."""
STEP_WORDS: Final[dict[Step, str]] = {
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
_bars = _counts.head({MOST_BARS}).rename_axis("value").reset_index(name="rows")
if len(_counts) > {MOST_BARS}:
    _others = f"(all {{len(_counts) - {MOST_BARS}:,}} others)"
    _bars.loc[len(_bars)] = [_others, int(_counts.iloc[{MOST_BARS}:].sum())]
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


def rows_over_time(table: str, when: str, *, step: Step, label: str) -> str:
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
    table: str, column: str, when: str, *, step: Step, label: str, when_label: str, how: Literal["sum", "mean"]
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
