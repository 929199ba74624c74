"""One figure: how large, against the time before, by group, and how it spreads. Pure."""

from __future__ import annotations

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.answers.selection import Selection, selection_of
from cellwright.analyst.answers.spans import STEPS, step_for
from cellwright.analyst.answers.splits import columns_in_use, split_cell, split_finding
from cellwright.analyst.answers.story import (
    Finding,
    Measure,
    Story,
    code_from,
    filter_columns,
    said,
    start,
)
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.question import Question, TimeUnit
from cellwright.analyst.sections.charts import BLUE, VERMILION
from cellwright.analyst.sections.columns import label_of
from cellwright.analyst.sections.text import check_cell, plain
from cellwright.notebook.source_text import literal


def figure_story(question: Question, frame: Frame, measure: Measure) -> Story | str:
    """The story of one figure."""
    rows = selection_of(question, frame)
    if isinstance(rows, str):
        return rows
    filtered = filter_columns(question.filters, frame)
    groups = [pair for pair in frame.groups(but=[measure.column]) if pair[0] not in filtered]
    template = """
result = <<value>>
headline = f"<<what>>: {FIGURE(result)}"
"""
    code = code_from(template, measure, value=measure.of("selected"), what=rows.words(measure))
    cells, findings, picture = [rows.cell, CellDraft(name="result", code=code)], list[Finding](), ""
    used = [*rows.columns]
    if rows.when and rows.record and rows.data:
        step = step_for(rows.record, rows.data, question.unit)
        picture = _course_picture(rows, measure, step)
        cells.append(_before_cell(rows, measure))
        if rows.span:
            findings.append(_before(measure))
    if groups:
        name, record = groups[0]
        used.append(name)
        cells.append(split_cell(measure, name, label_of(name)))
        findings.append(split_finding(measure, label_of(name)))
        picture = picture or split_finding(measure, label_of(name)).chart.replace("_chart = ", "")
        del record
    if measure.quantity.how != "count" and measure.column and measure.record and measure.record.numbers:
        cells.append(_size_cell(measure, plain(frame.table.name, 30)))
        findings.append(_size(measure))
        picture = picture or _size(measure).chart.replace("_chart = ", "")
    return Story(
        picture=picture or _lone(measure),
        findings=tuple(findings[:3]),
        cells=tuple(cells if rows.span else [cell for cell in cells if cell.name != "earlier"]),
        columns=columns_in_use(measure, used),
        choices=rows.choices,
        checks=(_figure_check(measure),),
        readings=(f"{start(measure.words)} is {measure.how_words}.",),
    )


def _course_picture(rows: Selection, measure: Measure, step: TimeUnit) -> str:
    template = """
_course = <<course>>.rename_axis("time").reset_index(name="value").dropna()
_top = max(float(_course["value"].quantile(0.95)) * 1.5, 1e-9) if len(_course) else 1.0
_line = alt.Chart(_course, title=<<title>>).mark_line(color="<<blue>>", clip=True, point=len(_course) < 40).encode(
    x=alt.X("time:T", title=None),
    y=alt.Y("value:Q", title=<<label>>, scale=alt.Scale(domainMax=min(_top, float(_course["value"].max()) if len(_course) else 1.0))),
    tooltip=[alt.Tooltip("time:T", title="<<step>> from"), alt.Tooltip("value:Q", format="<<form>>")],
)
<<last>>
"""
    last = '_line.properties(width="container", height=200)'
    if rows.span:
        last = (
            '_span = pd.DataFrame([{"from": str(periods.value["period"][0]), "to": str(periods.value["period"][1])}])\n'
            f'_marked = alt.Chart(_span).mark_rect(opacity=0.2, color="{VERMILION}").encode(x="from:T", x2="to:T")\n'
            '(_marked + _line).properties(width="container", height=200)'
        )
    return code_from(
        template,
        course=measure.over("in_time", rows.when, STEPS[step]),
        title=literal(f"{measure.label} per {step}"),
        label=literal(measure.label),
        step=step,
        blue=BLUE,
        form=measure.share_format,
        last=last,
    )


def _before_cell(rows: Selection, measure: Measure) -> CellDraft:
    template = """
# The same time a year before, or the time before it.
_first, _last = map(pd.Timestamp, periods.value["period"])
_earlier = [_first - pd.DateOffset(years=1), _last - pd.DateOffset(years=1)]
if _earlier[0] < in_time[<<when>>].min():
    _earlier = [_first - (_last - _first) - pd.Timedelta(days=1), _first - pd.Timedelta(days=1)]
_was = <<was>>
_change = f" ({result / _was - 1:+.1%})" if _was else ""
earlier = {
    "says": f"{named(_earlier)} had {FIGURE(_was)}{_change}." if len(during(in_time, <<when>>, _earlier)) else "There is no earlier time to compare it with.",
    "bars": {named(_earlier): float(_was), named(periods.value["period"]): float(result)},
}
"""
    was = measure.of(f"during(in_time, {literal(rows.when)}, _earlier)")
    code = code_from(template, measure, when=literal(rows.when), was=was)
    return CellDraft(name="earlier", code=code)


def _before(measure: Measure) -> Finding:
    chart = f"""
_bars = pd.DataFrame({{"period": list(earlier["bars"]), "value": list(earlier["bars"].values())}})
_chart = alt.Chart(_bars, title="Against the time before").mark_bar(color="{BLUE}").encode(
    y=alt.Y("period:N", sort=None, title=None), x=alt.X("value:Q", title={literal(measure.label)}),
    tooltip=["period", alt.Tooltip("value:Q", format="{measure.share_format}")],
).properties(width="container", height=alt.Step(22))
""".strip()
    return Finding(variable="earlier", chart=chart)


def _size_cell(measure: Measure, things: str) -> CellDraft:
    template = """
_values = selected[<<column>>].dropna()
_low, _middle, _high = _values.quantile([0.25, 0.5, 0.75])
sizes = {
    "says": f"It is of {len(_values):,} <<things>>: half of them lie between {FIGURE(_low)} and {FIGURE(_high)}, the middle at {FIGURE(_middle)}.",
}
"""
    code = code_from(template, measure, column=literal(measure.column), things=said(things))
    return CellDraft(name="sizes", code=code)


def _size(measure: Measure) -> Finding:
    chart = f"""
_values = selected[{literal(measure.column)}].dropna()
_counts, _edges = np.histogram(_values.clip(*_values.quantile([0.01, 0.99])) if len(_values) else [0], bins=30)
_bars = pd.DataFrame({{"low": _edges[:-1], "high": _edges[1:], "rows": _counts}})
_chart = alt.Chart(_bars, title={literal(f"How {plain(measure.column, 40)} spreads")}).mark_bar(color="{BLUE}").encode(
    x=alt.X("low:Q", bin="binned", title={literal(label_of(measure.column, measure.record.unit if measure.record else ""))}), x2="high:Q", y=alt.Y("rows:Q", title="rows"),
).properties(width="container", height=100)
""".strip()
    return Finding(variable="sizes", chart=chart)


def _lone(measure: Measure) -> str:
    return f"""
alt.Chart(pd.DataFrame({{"what": [{literal(measure.words)}], "value": [float(result)]}}), title={literal(measure.label)}).mark_bar(color="{BLUE}").encode(
    y=alt.Y("what:N", title=None), x=alt.X("value:Q", title={literal(measure.label)})
).properties(width="container", height=60)
""".strip()


def _figure_check(measure: Measure) -> CellDraft:
    return check_cell(
        "check_the_figure",
        "Computed again from the rows, the figure is the same.",
        f"def test_the_figure_is_that_of_the_rows():\n    assert np.isclose(result, {measure.of('selected')}, equal_nan=True)",
    )
