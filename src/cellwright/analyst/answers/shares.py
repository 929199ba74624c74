"""A part of a whole: its share, every group's, and how it went. Pure."""

from __future__ import annotations

from dataclasses import replace

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.answers.groups import SHOWN, group_key
from cellwright.analyst.answers.selection import Selection, selection_of
from cellwright.analyst.answers.spans import STEPS, step_for
from cellwright.analyst.answers.splits import columns_in_use, lowered, split_cell, split_finding
from cellwright.analyst.answers.story import (
    Finding,
    Measure,
    Story,
    code_from,
    filter_columns,
    filter_lines,
    filter_words,
    said,
    start,
)
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.question import Question
from cellwright.analyst.sections.charts import BLUE, GREY, VERMILION
from cellwright.analyst.sections.columns import label_of
from cellwright.analyst.sections.text import check_cell, plain
from cellwright.notebook.source_text import literal


def share_story(question: Question, frame: Frame, measure: Measure) -> Story | str:
    """The story of a part of a whole."""
    if not measure.is_additive and measure.quantity.how != "distinct":
        return f"A share of the {measure.quantity.how} of {measure.words} means nothing: shares are of sums and counts."
    whole = selection_of(replace(question, filters=question.within), frame)
    if isinstance(whole, str):
        return whole
    if not question.filters:
        return "It was not recognised which part is meant."
    part = "\n".join(filter_lines(question.filters, frame, "part"))
    template = """
part = selected
<<filters>>
_values = [<<part>>, <<whole>>]
result = _values[0] / _values[1] if _values[1] else float("nan")
headline = f"{result:.1%} of <<what>> is <<which>>: {FIGURE(_values[0])} of {FIGURE(_values[1])}"
pieces = {<<name>>: float(_values[0]), "all others": float(_values[1] - _values[0])}
"""
    words = filter_words(question.filters)
    code = code_from(
        template,
        measure,
        filters=part,
        part=measure.of("part"),
        whole=measure.of("selected"),
        what=lowered(whole.words(measure)),
        which=said(words),
        name=literal(plain(words)),
    )
    picture = f"""
_bars = pd.DataFrame({{"part": list(pieces), "value": list(pieces.values()), "row": "all"}})
alt.Chart(_bars, title={literal(f"{plain(words)} of all {measure.label}")}).mark_bar().encode(
    y=alt.Y("row:N", title=None, axis=None),
    x=alt.X("value:Q", stack="normalize", title={literal(f"share of {measure.label}")}, axis=alt.Axis(format="%")),
    color=alt.Color("part:N", title=None, scale=alt.Scale(domain=list(pieces), range=["{VERMILION}", "{GREY}"])),
    tooltip=["part", alt.Tooltip("value:Q", format="{measure.share_format}")],
).properties(width="container", height=110)
""".strip()
    cells, findings = [whole.cell, CellDraft(name="result", code=code)], list[Finding]()
    used = [*whole.columns, *filter_columns(question.filters, frame)]
    column = frame.find(question.filters[0].column)
    if column and column[1].distinct <= 60:
        cells.append(split_cell(measure, column[0], label_of(column[0])))
        findings.append(split_finding(measure, label_of(column[0])))
    if whole.when and whole.record and whole.data and measure.is_additive:
        step = step_for(whole.record, whole.data, question.unit, most=30)
        cells.append(_share_course_cell(question, whole, measure, STEPS[step]))
        findings.append(_share_course(step))
    return Story(
        picture=picture,
        findings=tuple(findings),
        cells=tuple(cells),
        columns=columns_in_use(measure, used),
        choices=whole.choices,
        checks=(
            check_cell(
                "check_the_share",
                "The part and all others add up to the whole.",
                "def test_the_part_and_the_others_are_the_whole():\n"
                f"    assert np.isclose(sum(pieces.values()), {measure.of('selected')}, equal_nan=True)\n"
                "    assert len(part) <= len(selected)",
            ),
        ),
        readings=(f"{start(measure.words)} is {measure.how_words}.",),
    )


def share_by_story(question: Question, frame: Frame, measure: Measure) -> Story | str:
    """The story of a share, group by group."""
    whole = selection_of(replace(question, filters=question.within), frame)
    if isinstance(whole, str):
        return whole
    found = group_key(question, whole)
    if isinstance(found, str) or not (measure.is_additive or measure.quantity.how == "distinct"):
        return found if isinstance(found, str) else "Shares are of sums and counts."
    key, label, columns = found
    words = filter_words(question.filters)
    template = """
part = selected
<<filters>>
_parts, _wholes = <<part>>, <<whole>>
result = (_parts.reindex(_wholes.index, fill_value=0) / _wholes).dropna().sort_values(ascending=<<ascending>>, kind="stable")
result.index = result.index.map(lambda _each: " × ".join(map(str, _each)) if isinstance(_each, tuple) else str(_each))
headline = (
    f"{result.index[0]} has the <<side>> share of <<which>>: {result.iloc[0]:.1%} of its <<what>>; {result.index[-1]} the <<other>>: {result.iloc[-1]:.1%}"
    if len(result)
    else "Nothing is there to compare"
)
_all = float(<<all_part>>) / float(<<all_whole>> or 1)
shares = {
    "says": f"Over all it is {_all:.1%}.",
    "bars": {str(_label): float(_value) for _label, _value in result.head(8).items()},
}
"""
    code = code_from(
        template,
        filters="\n".join(filter_lines(question.filters, frame, "part")),
        part=measure.by("part", key),
        whole=measure.by("selected", key),
        all_part=measure.of("part"),
        all_whole=measure.of("selected"),
        ascending=repr(question.is_lowest),
        side="lowest" if question.is_lowest else "highest",
        other="highest" if question.is_lowest else "lowest",
        which=said(words),
        what=said(measure.words),
    )
    bars = f"""
_bars = result.head({SHOWN}).rename_axis("label").reset_index(name="share")
CHARTalt.Chart(_bars, title={literal(f"{plain(words)}: share of {measure.words} by {label}")}).mark_bar(color="{BLUE}").encode(
    y=alt.Y("label:N", sort=None, title={literal(label)}, axis=alt.Axis(labelLimit=200)),
    x=alt.X("share:Q", title="share", axis=alt.Axis(format="%")), tooltip=["label", alt.Tooltip("share:Q", format=".1%")],
).properties(width="container", height=alt.Step(24))
""".strip()
    return Story(
        picture=bars.replace("CHART", ""),
        findings=(
            Finding(variable="shares", chart=bars.replace("CHART", "_chart = ").replace("Step(24)", "Step(14)")),
        ),
        cells=(whole.cell, CellDraft(name="result", code=code)),
        columns=columns_in_use(measure, [*columns, *whole.columns, *filter_columns(question.filters, frame)]),
        choices=whole.choices,
        readings=(f"{start(measure.words)} is {measure.how_words}.",),
    )


def _share_course_cell(question: Question, whole: Selection, measure: Measure, freq: str) -> CellDraft:
    template = """
shares = (<<part>> / <<whole>>).dropna()
share_over_time = {
    "says": f"Over time the share went from {shares.iloc[0]:.1%} to {shares.iloc[-1]:.1%}, between {shares.min():.1%} and {shares.max():.1%}."
    if len(shares) > 1
    else "There is too little over time to compare.",
}
"""
    del question
    value = f"[{literal(measure.column)}].sum()" if measure.column else ".size()"
    part, all_rows = (
        f'{rows}.set_index({literal(whole.when)}).resample("{freq}"){value}' for rows in ("part", "selected")
    )
    return CellDraft(name="share_over_time", code=code_from(template, part=part, whole=all_rows))


def _share_course(step: str) -> Finding:
    chart = f"""
_course = shares.rename_axis("time").reset_index(name="share")
_chart = alt.Chart(_course, title="The share per {step}").mark_line(color="{BLUE}").encode(
    x=alt.X("time:T", title=None), y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%")), tooltip=["time:T", alt.Tooltip("share:Q", format=".1%")],
).properties(width="container", height=100)
""".strip()
    return Finding(variable="share_over_time", chart=chart)
