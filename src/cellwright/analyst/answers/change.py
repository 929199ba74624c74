"""Why a figure changed between two spans of time: by how much, where, through what, and whether it is a season. Pure.

The change is taken apart over every label and every pair of labels at once. The segment told is the one whose change is
most surprising, given what all others did: that finds one segment where two columns meet, and not two separate ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.answers.spans import STEPS, Span, compared, period_cell, step_for, when_of
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
from cellwright.analyst.goal.question import Question, TimeUnit
from cellwright.analyst.sections.charts import BLUE, GREY, VERMILION
from cellwright.analyst.sections.text import check_cell, code_of, plain, wrapped
from cellwright.notebook.source_text import literal

_OTHERS: Final = ("#0072B2", "#56B4E9", "#009E73", "#999999", "#CC79A7", "#F0E442")
_LIKE: Final = 0.1
"""Largest difference in length, as a share, at which the totals of two spans can be compared."""


def change_story(question: Question, frame: Frame, measure: Measure) -> Story | str:
    """The story of a change; or, in a sentence, why it cannot be told."""
    time = when_of(frame, question.time)
    if time is None:
        return f"{plain(frame.table.name)} has no column that says when."
    when, record, data = time
    spans = compared(question.spans, data)
    if spans is None:
        return f"The data covers {data.first} to {data.last}: there is nothing before that to compare with."
    before, now = spans
    if now.first > data.last or now.last < data.first:
        return f"The data covers {data.first} to {data.last}: it has nothing of the time that was asked about."
    can_be_split = measure.is_additive or measure.quantity.how == "mean"
    # The column with the fewest labels stands first in a segment's name: South × Garden.
    split = sorted(frame.groups(but=[measure.column]), key=lambda pair: pair[1].distinct) if can_be_split else []
    groups = [name for name, _ in split]
    step = step_for(record, data)
    cells = [_change_cell(question, frame, measure, when)]
    cells += [_segments_cell(measure, groups)] if groups else []
    cells += [_certainty_cell(measure, when, bool(groups)), _headline_cell(measure, question, bool(groups))]
    cells += [_through_cell(measure, plain(frame.table.name, 30))] if measure.quantity.how == "sum" else []
    cells.append(_season_cell(measure, when, before, now, step, not groups))
    findings = [_where(measure)] if groups else []
    findings += [_through(measure)] if measure.quantity.how == "sum" else []
    findings.append(_season(measure, when, step))
    used = [when, measure.column, *groups, *filter_columns(question.filters, frame)]
    return Story(
        picture=_picture(measure) if groups else _plain_picture(measure),
        findings=tuple(findings),
        cells=tuple(cells),
        columns=tuple(dict.fromkeys(name for name in used if name)),
        choices=(period_cell(data, now=now, before=before),),
        trust=("sure",),
        checks=tuple(_checks(measure, bool(groups))),
        readings=tuple(_readings(measure, before, now, question)),
    )


def _readings(measure: Measure, before: Span, now: Span, question: Question) -> Iterator[str]:
    yield f"{plain(measure.words).capitalize()} is {measure.how_words}."
    if not question.spans:
        yield "No time was named, so the second half of the data is held against the first."
    elif len(question.spans) == 1:
        is_year = before == now.moved(12)
        held = "the same time a year before" if is_year else "the time before"
        yield f"It is held against {held}, {before.first} to {before.last}."
    if measure.is_additive and abs(before.days - now.days) > _LIKE * max(before.days, now.days):
        yield "The two periods differ in length, so their totals are not like for like."


# ── what is computed ──


def _change_cell(question: Question, frame: Frame, measure: Measure, when: str) -> CellDraft:
    lines = [f"selected = {frame.variable}", *filter_lines(question.filters, frame, "selected")]
    lines += [f'{name} = during(selected, {literal(when)}, periods.value["{name}"])' for name in ("now", "before")]
    lines += [f"first, second = {measure.of('before')}, {measure.of('now')}", "change = second - first"]
    lines += [
        "both = pd.concat([",
        '    before.assign(_span="first", _period=named(periods.value["before"])),',
        '    now.assign(_span="second", _period=named(periods.value["now"])),',
        "])",
    ]
    return CellDraft(name="change", code="\n".join(lines))


_SEGMENTS: Final = """
# Every label and every pair of labels: what each makes up of the change.
_columns = <<columns>>
_rows = both.assign(_amount=<<amount>>).dropna(subset="_amount")
_rows[_columns] = _rows[_columns].astype(object).fillna("(missing)")
_found = []
for _key in [*combinations(_columns, 1), *combinations(_columns, 2)]:
    _sums = _rows.groupby([*_key, "_span"])["_amount"].agg(["sum", "size"]).unstack("_span", fill_value=0)
    _sums = _sums.reindex(columns=[(_what, _span) for _what in ("sum", "size") for _span in ("first", "second")])
    _sums = _sums.set_axis(["first", "second", "rows_first", "rows_second"], axis=1).fillna(0)
    _labels = [_each if isinstance(_each, tuple) else (_each,) for _each in _sums.index]
    _found.append(_sums.assign(columns=[_key] * len(_sums), labels=_labels))
segments = pd.concat(_found, ignore_index=True)
<<parts>>
# A pair must tell clearly more than the better half of it; what went the other way explains nothing.
segments["surprise"] = _surprise * segments["labels"].map(lambda _each: 0.85 if len(_each) > 1 else 1.0)
segments.loc[~(segments["change"] * change > 0), "surprise"] = 0.0
segments["name"] = segments["labels"].map(lambda _each: " × ".join(map(str, _each)))
segment = segments.loc[segments["surprise"].idxmax()]
# Without the segment, how did each of its labels do? Where little is left of the change, it is one segment, not two.
_left = []
for _column, _label in zip(segment["columns"], segment["labels"], strict=True):
    _whole = segments[(segments["columns"] == (_column,)) & (segments["labels"] == (_label,))].iloc[0]
    _rest = _whole["first"] - segment["first"], _whole["second"] - segment["second"]
    _left.append(f"{_label} {_rest[1] / _rest[0] - 1:+.0%}" if _rest[0] else f"{_label} has nothing else")
apart = f", one segment: without it {', '.join(_left)}" if len(_left) > 1 else ""
"""
_ADDITIVE: Final = """
segments["change"] = segments["second"] - segments["first"]
# How surprising each is, given what all others did: how much likelier it is with a rate of its own.
_is, _all = segments["second"].clip(lower=1e-9), max(float(second), 1e-9)
_others = (_all - _is).clip(lower=1e-9)
_expected = (segments["first"] * (second / first if first else 1)).clip(1e-9, _all)
_surprise = _is * np.log(_is / _expected) + _others * np.log(_others / (_all - _expected).clip(lower=1e-9))
"""
_OF_MEANS: Final = """
# What each adds to the change of the mean: through its share of the rows, and through the values in them.
_share = [segments[f"rows_{_span}"] / max((_rows["_span"] == _span).sum(), 1) for _span in ("first", "second")]
_mean = [segments[_span] / segments[f"rows_{_span}"].where(lambda _count: _count > 0) for _span in ("first", "second")]
_mean, _weight = [_mean[0].fillna(_mean[1]), _mean[1].fillna(_mean[0])], (_share[0] + _share[1]) / 2
segments["change"] = (_share[1] - _share[0]) * ((_mean[0] + _mean[1]) / 2 - (first + second) / 2)
segments["change"] += _weight * (_mean[1] - _mean[0])
_is_large = (segments["rows_first"] >= 10) & (segments["rows_second"] >= 10)
_surprise = ((segments["change"] - _weight * change) ** 2 / _weight).where(_is_large, 0.0)
"""


def _segments_cell(measure: Measure, groups: list[str]) -> CellDraft:
    amount = f"both[{literal(measure.column)}]" if measure.column else "1.0"
    parts = (_ADDITIVE if measure.is_additive else _OF_MEANS).strip()
    return CellDraft(name="segments", code=code_from(_SEGMENTS, columns=wrapped(groups), amount=amount, parts=parts))


_DAILY: Final = """
def _daily(_rows, _every):
    _days = pd.date_range(*_every[<<when>>].agg(["min", "max"]), normalize=True) if len(_every) else []
    return _rows.set_index(<<when>>)<<value>>.resample("D").<<how>>
"""
_CERTAINTY: Final = """
<<tested>>
is_certain = _whole["p"] <= 0.05 and abs(_whole["effect"]) >= 0.2
sure = "The change is more than chance would do." if is_certain else "Chance alone may do this: nothing certain."
"""
_WITH_SEGMENT: Final = """
_there = [
    _rows[_rows[list(segment["columns"])].astype(object).fillna("(missing)").eq(list(segment["labels"])).all(axis=1)]
    for _rows in (before, now)
]
# The segment is the most surprising of all that were looked at: its p counts every one of them.
_whole = change_test(_daily(before, before), _daily(now, now))
_part = change_test(_daily(_there[0], before), _daily(_there[1], now), times=1 + len(segments))
has_segment = _part["p"] <= 0.05
statistics = f"The whole: {_whole['says']} The segment: {_part['says']}"
"""


def _certainty_cell(measure: Measure, when: str, has_groups: bool) -> CellDraft:
    value = f"[{literal(measure.column)}]" if measure.column else '.assign(rows=1.0)["rows"]'
    how = "sum().reindex(_days, fill_value=0)" if measure.is_additive else "mean().dropna()"
    daily = code_from(_DAILY, when=literal(when), value=value, how=how)
    alone = '_whole = change_test(_daily(before, before), _daily(now, now))\nstatistics = _whole["says"]'
    tested = _WITH_SEGMENT.strip() if has_groups else alone
    return CellDraft(name="certainty", code=f"{daily}\n\n\n{code_from(_CERTAINTY, tested=tested)}")


# ── what is said ──


def _headline_cell(measure: Measure, question: Question, has_groups: bool) -> CellDraft:
    words = filter_words(question.filters)
    template = """
_moved = f"{'rose' if change > 0 else 'fell'} {abs(change / first):.1%}" if first else "changed"
headline = f"<<what>> {_moved} in {named(periods.value['now'])}, from {FIGURE(first)} to {FIGURE(second)}"
<<where>>
headline += "" if is_certain else "; as a whole chance alone may do that"
headline = headline if len(now) and len(before) else "One of the two periods has no rows: what is missing is not zero"
"""
    where = """
if has_segment:
    headline += f"; {segment['change'] / change:.0%} of it in {segment['name']}" if is_certain else f"; {segment['name']} did change"
where = {
    "says": f"{segment['change'] / change:.0%} of the change ({FIGURE(segment['change'])} of {FIGURE(change)}) is {segment['name']}{apart}."
    if has_segment
    else "No part stands out: what changed is spread over all groups.",
    "statistics": statistics,
    "bars": dict(segments.nlargest(4, "surprise").set_index("name")["change"].astype(float)),
}
"""
    what = f"{start(measure.words)}{f' {said(words)}' if words else ''}"
    code = code_from(template, measure, what=what, where=code_from(where, measure) if has_groups else "")
    return CellDraft(name="headline", code=code)


def _through_cell(measure: Measure, things: str) -> CellDraft:
    template = """
# The change through the number of <<things>> and through the size of each: the two add up to it exactly.
_number = [_rows[<<column>>].count() for _rows in (before, now)]
_size = [_rows[<<column>>].mean() for _rows in (before, now)]
_from_number = (_number[1] - _number[0]) * (_size[0] + _size[1]) / 2
_from_size = (_size[1] - _size[0]) * (_number[0] + _number[1]) / 2
_more = ["As many", "More", "Fewer"][int(np.sign(_number[1] - _number[0]))]
_larger = "larger" if _size[1] > _size[0] else "smaller"
_joint = "rather than" if abs(_from_number) > 2 * abs(_from_size) else "and"
through = {
    "says": f"{_more} <<things>> {_joint} {_larger} ones: {_number[0]:,} → {_number[1]:,} ({FIGURE(_from_number)}), "
    f"each {FIGURE(_size[0])} → {FIGURE(_size[1])} ({FIGURE(_from_size)}).",
    "bars": {"their number": float(_from_number), "their size": float(_from_size)},
}
if (_one := (now if change > 0 else before)[<<column>>].max()) > abs(change) / 2:
    through["says"] += f" One alone, of {FIGURE(_one)}, makes up {_one / abs(change):.0%} of the change."
"""
    code = code_from(template, measure, column=literal(measure.column), things=said(things))
    return CellDraft(name="through", code=code)


def _season_cell(
    measure: Measure, when: str, before: Span, now: Span, step: TimeUnit, has_statistics: bool
) -> CellDraft:
    by_months = before.is_of_months and now.is_of_months
    shift = f"pd.DateOffset(months={now.months} * _back)" if by_months else f"pd.Timedelta(days={now.days} * _back)"
    template = """
course = <<course>>
# The same comparison some periods earlier: has it been like this all along? Periods with gaps are left out.
_changes = []
for _back in (1, 2, 3):
    _spans = [[pd.Timestamp(_day) - <<shift>> for _day in periods.value[_name]] for _name in ("before", "now")]
    _was, _is = [during(selected, <<when>>, _span) for _span in _spans]
    _days = [_rows[<<when>>].dt.normalize().nunique() for _rows in (_was, _is)]
    if min(_days) > 0.8 * max(_days):
        _changes.append(<<later>> / <<was>> - 1)
_told = " and ".join(f"{_each:+.0%}" for _each in _changes)
_size = abs(change / first) if first else 1.0
if not _changes:
    _says = "Whether it is a season cannot be told: the data does not reach back far enough."
elif max(map(abs, _changes)) < _size / 2:
    _says = f"A break rather than a season: {len(_changes)} period{'s' * (len(_changes) > 1)} earlier it was {_told}."
else:
    _lead = "It has been going this way" if all(_each * change > 0 for _each in _changes) else "It varies"
    _says = f"{_lead}: earlier periods show {_told}."
season = {"says": _says<<more>>}
"""
    return CellDraft(
        name="season",
        code=code_from(
            template,
            course=measure.over("selected", when, STEPS[step]),
            shift=shift,
            when=literal(when),
            was=measure.of("_was"),
            later=measure.of("_is"),
            more=', "statistics": statistics' if has_statistics else "",
        ),
    )


# ── what is drawn ──


def _picture(measure: Measure) -> str:
    template = """
_labels = both[list(segment["columns"])].astype(object).fillna("(missing)")
_rows = both.assign(_value=<<value>>, _part=_labels.iloc[:, 0].map(str))
_rows.loc[_labels.eq(list(segment["labels"])).all(axis=1), "_part"] = segment["name"]
_bars = _rows.groupby(["_period", "_part"])["_value"].sum().reset_index().set_axis(["period", "part", "value"], axis=1)
_parts = [segment["name"], *sorted(set(_bars["part"]) - {segment["name"]})]
_bars["order"] = _bars["part"].map(_parts.index)
_names = list(both["_period"].unique())
_ends = pd.DataFrame({"period": _names, "value": [first, second][: len(_names)]})
_ends["text"] = [f"{FIGURE(first)}", f"{FIGURE(second)} ({change / first:+.1%})" if first else ""][: len(_names)]
_y = alt.Y("period:N", sort=_names, title=None, axis=alt.Axis(labelFontSize=13))
_scale = alt.Scale(domainMax=float(max(first, second)) * 1.3)
_colours = alt.Scale(domain=_parts, range=<<colours>>)
_stack = alt.Chart(_bars, title=<<title>>).mark_bar().encode(
    y=_y,
    x=alt.X("value:Q", stack="zero", title=<<label>>, scale=_scale),
    color=alt.Color("part:N", title=None, scale=_colours, legend=alt.Legend(orient="bottom", columns=3)),
    order="order:Q",
    tooltip=["period", "part", alt.Tooltip("value:Q", format="<<form>>")],
)
_text = alt.Chart(_ends).mark_text(align="left", dx=6, fontSize=13).encode(y=_y, x="value:Q", text="text:N")
(_stack + _text).properties(width="container", height=150)
"""
    if not measure.is_additive:
        return _plain_picture(measure)
    colours = [VERMILION, *_OTHERS]
    code = code_from(
        template,
        measure,
        value=f"both[{literal(measure.column)}]" if measure.column else "1",
        title=literal(f"{measure.label}, by where the change is"),
        label=literal(measure.label),
        colours=code_of(colours),
        form=measure.share_format,
    )
    return code


def _plain_picture(measure: Measure) -> str:
    template = """
_bars = pd.DataFrame({"period": [named(periods.value["before"]), named(periods.value["now"])], "value": [first, second]})
_bars["text"] = [f"{FIGURE(first)}", f"{FIGURE(second)} ({change / first:+.1%})" if first else ""]
_chart = alt.Chart(_bars, title=<<title>>).encode(
    y=alt.Y("period:N", sort=None, title=None, axis=alt.Axis(labelFontSize=13)),
    x=alt.X("value:Q", title=<<label>>, scale=alt.Scale(domainMax=float(max(first, second)) * 1.3)),
)
_text = _chart.mark_text(align="left", dx=6, fontSize=13).encode(text="text:N")
(_chart.mark_bar(color="<<colour>>") + _text).properties(width="container", height=110)
"""
    code = code_from(
        template,
        measure,
        title=literal(f"{measure.label} in the two periods"),
        label=literal(measure.label),
        colour=BLUE,
    )
    return code


def _where(measure: Measure) -> Finding:
    template = """
_bars = segments.nlargest(6, "surprise")[["name", "change"]].assign(is_told=lambda _each: _each["name"] == segment["name"])
_chart = alt.Chart(_bars, title="Where it changed more than the rest did").mark_bar().encode(
    y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=180)),
    x=alt.X("change:Q", title=<<label>>),
    color=alt.condition("datum.is_told", alt.value("<<told>>"), alt.value("<<other>>")),
    tooltip=["name:N", alt.Tooltip("change:Q", format="+,.4~r")],
).properties(width="container", height=alt.Step(18))
"""
    chart = code_from(template, label=literal(f"change of {measure.label}"), told=VERMILION, other=GREY)
    return Finding(variable="where", chart=chart, has_statistics=True)


def _through(measure: Measure) -> Finding:
    template = """
_bars = pd.DataFrame({"label": list(through["bars"]), "change": list(through["bars"].values())})
_chart = alt.Chart(_bars, title="Through their number and their size").mark_bar().encode(
    y=alt.Y("label:N", sort=None, title=None),
    x=alt.X("change:Q", title=<<label>>),
    color=alt.condition("datum.change < 0", alt.value("<<down>>"), alt.value("<<up>>")),
    tooltip=["label:N", alt.Tooltip("change:Q", format="+,.4~r")],
).properties(width="container", height=alt.Step(22))
"""
    chart = code_from(template, label=literal(f"change of {measure.label}"), down=VERMILION, up=BLUE)
    return Finding(variable="through", chart=chart)


def _season(measure: Measure, when: str, step: TimeUnit) -> Finding:
    template = """
_course = course.rename_axis("time").reset_index(name="value").dropna()
_spans = pd.DataFrame([{"from": str(_first), "to": str(_last)} for _first, _last in periods.value.values()])
_top = max(float(_course["value"].quantile(0.95)) * 1.3, 1e-9) if len(_course) else 1.0
_line = alt.Chart(_course, title=<<title>>).mark_line(color="<<line>>", clip=True).encode(
    x=alt.X("time:T", title=None),
    y=alt.Y("value:Q", title=None, scale=alt.Scale(domainMax=_top)),
    tooltip=[alt.Tooltip("time:T", title="<<step>> from"), alt.Tooltip("value:Q", title=<<label>>, format="<<form>>")],
)
_marked = alt.Chart(_spans).mark_rect(opacity=0.2, color="<<mark>>").encode(x="from:T", x2="to:T")
_chart = (_marked + _line).properties(width="container", height=100)
"""
    del when
    chart = code_from(
        template,
        title=literal(f"{measure.label} per {step}"),
        label=literal(measure.label),
        step=step,
        line=BLUE,
        mark=VERMILION,
        form=measure.share_format,
    )
    return Finding(variable="season", chart=chart)


def _checks(measure: Measure, has_groups: bool) -> Iterator[CellDraft]:
    lines = [f"    assert np.isclose(change, {measure.of('now')} - {measure.of('before')}, equal_nan=True)"]
    shows = "The change is the difference of the two periods"
    if has_groups and measure.is_additive:
        lines.append('    assert np.allclose(segments.groupby("columns")["change"].sum(), change)')
        shows += ", and the parts of every column and pair of columns add up to it"
    yield check_cell("check_the_change", f"{shows}.", "\n".join(["def test_the_change_adds_up():", *lines]))
