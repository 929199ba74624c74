"""Charts of findings as code, one builder per kind of test: their titles are what the test says, live. Pure.

The columns of a file appear only as arguments of the functions in `picture_tables`; Vega sees field names of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, assert_never

from cellwright.analyst.drafts import TestKind
from cellwright.analyst.writing.charts import BLUE, GREY, OKABE_ITO, VERMILION
from cellwright.analyst.writing.literals import code_of
from cellwright.notebook.wording import literal

_MOST_POINTS: Final = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictured:
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


def finding_chart(pictured: Pictured) -> str:
    """The code of one cell that draws it."""
    match pictured.kind:
        case "difference":
            return _difference(pictured)
        case "association":
            return _association(pictured)
        case "correlation":
            return _correlation(pictured) if pictured.n <= _MOST_POINTS else _density(pictured)
        case "trend" | "break":
            return _line(pictured)
        case "change":
            return _spans(pictured)
        case "season":
            return _season(pictured)
        case _:
            assert_never(pictured.kind)


def picture_functions(pictured: Pictured) -> tuple[str, ...]:
    """The functions of `picture_tables` that its chart calls."""
    match pictured.kind:
        case "difference":
            return ("group_summary", "chart_headline")
        case "association":
            return ("shares_by_group", "chart_headline")
        case "correlation":
            drawn = ("drawn_pairs", "middle_line") if pictured.n <= _MOST_POINTS else ("density_of_pairs",)
            return (*drawn, "chart_headline")
        case "trend" | "break":
            return ("points_over_time", "usual_range", "chart_headline")
        case "change":
            return ("points_over_time", "with_spans", "usual_range", "chart_headline")
        case "season":
            return ("season_profile", "chart_headline")
        case _:
            assert_never(pictured.kind)


def _difference(pictured: Pictured) -> str:
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


def _association(pictured: Pictured) -> str:
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


def _correlation(pictured: Pictured) -> str:
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


def _density(pictured: Pictured) -> str:
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


def _line(pictured: Pictured) -> str:
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


def _season(pictured: Pictured) -> str:
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


def _spans(pictured: Pictured) -> str:
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
