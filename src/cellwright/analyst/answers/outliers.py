"""Values far off all others: which, what they do to the mean, and what they have in common. Pure."""

from __future__ import annotations

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.answers.story import Finding, Story, code_from, said, start
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.sections.charts import BLUE, GREY, VERMILION
from cellwright.analyst.sections.columns import label_of
from cellwright.analyst.sections.repair_cells import values_of
from cellwright.analyst.sections.repairs import repairs_for
from cellwright.analyst.sections.text import check_cell, code_of
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import ColumnProfile


def outliers_story(frame: Frame, column: str, record: ColumnProfile) -> Story:
    """The values of a column that lie far from all others."""
    table = next(each for each in frame.tables if any(one is record for one in each.columns))
    repair = next(
        (each for each in repairs_for(table) if each.name == "outliers" and record.name in each.columns), None
    )
    known = values_of(repair, table).get(record.name, []) if repair else []
    values = known if isinstance(known, list) else []
    when = frame.when
    groups = [name for name, _ in frame.groups(but=[column])][:4]
    label = label_of(column, record.unit)
    template = """
# Far off: values that lie alone, far from all others, when the data was looked at.
_values = <<frame>>[<<column>>]
far = <<frame>>[_values.isin(<<values>>)]
_ends = far[<<column>>].agg(["min", "max"]) if len(far) else None
rest = _values[~_values.isin(<<values>>)].dropna()
result = len(far)
headline = (
    f"{result:,} value{'s' * (result != 1)} of <<label>> lie far off: {_ends.iloc[0]:,.6g} to {_ends.iloc[1]:,.6g}, all others between {rest.min():,.6g} and {rest.max():,.6g}"
    if result
    else f"No value of <<label>> lies far from all others: they go from {rest.min():,.6g} to {rest.max():,.6g}"
)
_mean = [_values.mean(), rest.mean()]
weight = {
    "says": f"With them the mean is {_mean[0]:,.4g}, without {_mean[1]:,.4g} ({_mean[1] / _mean[0] - 1:+.1%})." if result and _mean[0] else f"The mean is {_mean[0]:,.4g}, the middle {_values.median():,.4g}.",
    "bars": {"mean with": float(_mean[0]), "mean without": float(_mean[1])},
}
"""
    same = """
# What do they have in common?
_common = []
for _column in <<columns>>:
    _counts = far[_column].astype(str).str.slice(0, 10).value_counts()
    if len(_counts) and _counts.iloc[0] > 1:
        _usual = (<<frame>>[_column].astype(str).str.slice(0, 10) == _counts.index[0]).mean()
        _common.append((_counts.iloc[0] / max(len(far), 1) - _usual, f"{_counts.iloc[0]:,} of {len(far):,} have {_column} {_counts.index[0]}"))
common = {"says": f"{max(_common)[1]}." if _common and max(_common)[0] > 0.3 else "They have no column in common.", "bars": {}}
"""
    columns = [*([when[0]] if when else []), *groups]
    holes = {"frame": frame.variable, "column": literal(column), "values": code_of(values), "label": said(label)}
    x = f'alt.X("when:T", title={literal(label_of(when[0]))})' if when else 'alt.X("when:Q", title="row")'
    at = f"{frame.variable}[{literal(when[0])}]" if when else f"np.arange(len({frame.variable}))"
    picture = f"""
_shown = pd.DataFrame({{"when": {at}, "value": {frame.variable}[{literal(column)}]}}).assign(is_far=lambda _each: _each["value"].isin({code_of(values)})).dropna()
_shown = pd.concat([_shown[_shown["is_far"]], _shown[~_shown["is_far"]].sample(min((~_shown["is_far"]).sum(), 1500), random_state=0)])
alt.Chart(_shown, title={literal(f"{label}: each value")}).mark_circle(opacity=0.5).encode(
    x={x}, y=alt.Y("value:Q", title={literal(label)}, scale=alt.Scale(type="symlog")),
    color=alt.condition("datum.is_far", alt.value("{VERMILION}"), alt.value("{BLUE}")), size=alt.condition("datum.is_far", alt.value(90), alt.value(20)), tooltip=["when", "value"],
).properties(width="container", height=240)
""".strip()
    bars = f"""
_bars = pd.DataFrame({{"what": list(weight["bars"]), "value": list(weight["bars"].values())}})
_chart = alt.Chart(_bars, title="What they do to the mean").mark_bar(color="{BLUE}").encode(
    y=alt.Y("what:N", sort=None, title=None), x=alt.X("value:Q", title={literal(label)}),
).properties(width="container", height=alt.Step(22))
""".strip()
    table_chart = f"""
_counts, _edges = np.histogram(rest if len(rest) else [0], bins=30)
_chart = alt.Chart(pd.DataFrame({{"low": _edges[:-1], "high": _edges[1:], "rows": _counts}}), title="All others").mark_bar(color="{GREY}").encode(
    x=alt.X("low:Q", bin="binned", title={literal(label)}), x2="high:Q", y=alt.Y("rows:Q", title="rows"),
).properties(width="container", height=100)
""".strip()
    return Story(
        picture=picture,
        findings=(Finding(variable="weight", chart=bars), Finding(variable="common", chart=table_chart)),
        cells=(
            CellDraft(name="result", code=code_from(template, **holes)),
            CellDraft(name="common", code=code_from(same, columns=code_of(columns), frame=frame.variable)),
        ),
        columns=tuple(dict.fromkeys([column, *columns])),
        checks=(
            check_cell(
                "check_the_outliers",
                "Each value is among those far off, among the others, or missing.",
                f"def test_no_value_is_lost():\n    assert len(far) + len(rest) == {frame.variable}[{literal(column)}].notna().sum()",
            ),
        ),
        readings=(f"{start(label)}: far off is what lies alone, far from all other values.",),
    )
