"""A ranking, or groups compared: who is first, by how far, what it is made of, by more than chance or not. Pure."""

from __future__ import annotations

from typing import Final

from cellwright.analyst.answers.frames import Frame, far_values
from cellwright.analyst.answers.selection import Selection, selection_of
from cellwright.analyst.answers.spans import STEPS, step_for
from cellwright.analyst.answers.splits import columns_in_use, lowered
from cellwright.analyst.answers.story import (
    Finding,
    Measure,
    Story,
    code_from,
    said,
    start,
)
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.question import Question, TimeUnit
from cellwright.analyst.sections.charts import BLUE, OKABE_ITO, VERMILION
from cellwright.analyst.sections.columns import label_of
from cellwright.analyst.sections.text import check_cell, code_of, plain
from cellwright.notebook.source_text import literal

_PARTS: Final[dict[str, str]] = {
    "day": 'dt.strftime("%Y-%m-%d")', "week": 'dt.to_period("W").dt.start_time.dt.strftime("week of %Y-%m-%d")',
    "hour": 'dt.hour.map("{:02.0f}:00".format)', "weekday": "dt.day_name()", "month": 'dt.strftime("%Y-%m")',
    "quarter": 'dt.to_period("Q").astype(str)', "year": 'dt.strftime("%Y")',
}  # fmt: skip
SHOWN: Final = 12
"""Groups that a picture shows."""


def group_story(question: Question, frame: Frame, measure: Measure) -> Story | str:
    """The story of a ranking or of groups compared; or why it cannot be told."""
    rows = selection_of(question, frame)
    if isinstance(rows, str):
        return rows
    found = group_key(question, rows)
    if isinstance(found, str):
        return found
    key, label, columns = found
    cells = [rows.cell, _result_cell(measure, key), _ranked_cell(question, rows, measure, key)]
    findings = [_spread(measure, label)]
    if measure.quantity.how == "sum":
        things = plain(frame.table.name, 30)
        things = things if things.isalpha() and things.endswith("s") else "rows"
        cells.append(_made_cell(measure, key, things))
        findings.append(_made(things, label))
    elif measure.quantity.how in ("mean", "median"):
        cells.append(_certain_cell(measure, key, frame, columns))
        findings = [_certain(measure, label)]
    if rows.when and question.by and not question.part and rows.record and rows.data:
        step = step_for(rows.record, rows.data, question.unit, most=30)
        cells.append(_course_cell(rows, measure, key, step))
        findings.append(_course(measure, step))
    return Story(
        picture=_bars(question, measure, label),
        findings=tuple(findings),
        cells=tuple(cells),
        columns=columns_in_use(measure, [*columns, *rows.columns]),
        choices=rows.choices,
        checks=(_check(measure, key),),
        readings=(f"{start(measure.words)} is {measure.how_words}.",),
    )


def group_key(question: Question, rows: Selection) -> tuple[str, str, list[str]] | str:
    """Code of what rows are grouped by, what it is called, and its columns."""
    part = question.part or ("" if question.by else question.unit or "")
    if part:
        if not rows.when:
            return f"{plain(rows.frame.table.name)} has no column that says when."
        return f"selected[{literal(rows.when)}].{_PARTS[part]}", part, [rows.when]
    found = [pair for column in question.by if (pair := rows.frame.find(column))]
    if not found:
        return "It was not recognised which groups are meant."
    names = [name for name, _ in found[:2]]
    return (literal(names[0]) if len(names) == 1 else code_of(names)), " × ".join(map(label_of, names)), names


# ── groups ──


def _result_cell(measure: Measure, key: str) -> CellDraft:
    template = """
result = <<by>>.dropna().sort_values(ascending=False, kind="stable")
result.index = result.index.map(lambda _each: " × ".join(map(str, _each)) if isinstance(_each, tuple) else str(_each))
"""
    return CellDraft(name="result", code=code_from(template, by=measure.by("selected", key)))


def _ranked_cell(question: Question, rows: Selection, measure: Measure, key: str) -> CellDraft:
    """The headline: who is first, and by how far; and whether a few values far off all others decide that."""
    order = "result.iloc[::-1]" if question.is_lowest else "result"
    word = "least" if question.is_lowest else "most"
    template = """
ranked = <<order>>
_figures = [f"{_label} ({FIGURE(_value)})" for _label, _value in ranked.items()]
<<lines>>
"""
    what = lowered(rows.words(measure))
    if question.top > 1:
        lines = (
            f'headline = f"{"Lowest" if question.is_lowest else "Top"} {{min({question.top}, len(ranked))}} by {what}: '
            f'{{\', \'.join(_figures[:{question.top}])}}" if _figures else "Nothing is there to rank"'
        )
    elif measure.is_additive:
        lines = (
            '_share = f" ({ranked.iloc[0] / ranked.sum():.0%} of all)" if len(ranked) and ranked.sum() else ""\n'
            f'headline = f"{{ranked.index[0]}} has the {word} {what}: {{FIGURE(ranked.iloc[0])}}{{_share}}" '
            'if len(ranked) else "Nothing is there to compare"\n'
            'headline += f", before {_figures[1]}" if len(ranked) > 1 else ""'
        )
    else:
        side = "lowest" if question.is_lowest else "highest"
        other = "highest" if question.is_lowest else "lowest"
        lines = (
            f'headline = f"{{ranked.index[0]}} has the {side} {what}: {{FIGURE(ranked.iloc[0])}}" '
            'if len(ranked) else "Nothing is there to compare"\n'
            f'headline += f"; {{ranked.index[-1]}} the {other}: {{FIGURE(ranked.iloc[-1])}}" if len(ranked) > 1 else ""'
        )
    values = far_values(rows.frame, measure.column) if measure.quantity.how in ("sum", "mean") else []
    if values:
        without = measure.by(f"selected[~selected[{literal(measure.column)}].isin({code_of(values)})]", key)
        lines += (
            f"\n_usual = {without}.{'idxmin' if question.is_lowest else 'idxmax'}() if len(ranked) else None\n"
            'headline += f"; without values far off all others it is {_usual}" if len(ranked) and str(_usual) != ranked.index[0] else ""'
        )
    code = code_from(template, measure, order=order, lines=code_from(lines, measure))
    return CellDraft(name="headline", code=code)


def _bars(question: Question, measure: Measure, label: str) -> str:
    most = max(question.top, SHOWN)
    template = """
_bars = ranked.head(<<most>>).rename_axis("label").reset_index(name="value")
_bars["text"] = [f"{FIGURE(_value)}" for _value in _bars["value"]]
_bars["is_told"] = _bars.index < <<told>>
_room = alt.Scale(domainMax=float(_bars["value"].max()) * 1.2) if len(_bars) and _bars["value"].max() > 0 else alt.Scale()
_chart = alt.Chart(_bars, title=<<title>>).encode(
    y=alt.Y("label:N", sort=<<sort>>, title=<<label>>, axis=alt.Axis(labelLimit=200)),
    x=alt.X("value:Q", title=<<axis>>, scale=_room),
    color=alt.condition("datum.is_told", alt.value("<<first>>"), alt.value("<<other>>")),
    tooltip=["label", alt.Tooltip("value:Q", format="<<form>>")],
)
_text = _chart.mark_text(align="left", dx=4).encode(text="text:N", color=alt.value("black"))
(_chart.mark_bar() + _text).properties(width="container", height=alt.Step(24))
"""
    is_ordered = question.part in ("hour", "month", "quarter", "year")
    code = code_from(
        template,
        measure,
        most=str(max(most, 40) if is_ordered else most),
        told=str(max(question.top, 1)),
        title=literal(f"{measure.label} by {label}"),
        sort='"ascending"' if is_ordered else "None",
        label=literal(label),
        axis=literal(measure.label),
        first=VERMILION if question.is_lowest else BLUE,
        other="#A6CBE3",
        form=measure.share_format,
    )
    return code


def _spread(measure: Measure, label: str) -> Finding:
    """How far the groups are apart; told in the cell that draws it."""
    template = """
_ends = f"{result.index[0]} {FIGURE(result.iloc[0])}, {result.index[-1]} {FIGURE(result.iloc[-1])}" if len(result) else ""
spread = {
    "says": f"{len(result):,} <<groups>> from highest to lowest: {_ends}; half of all comes from "
    f"{int((result.cumsum() < result.sum() / 2).sum()) + 1 if len(result) else 0:,} of them.",
    "bars": {str(_label): float(_value) for _label, _value in result.head(5).items()},
}
"""
    if not measure.is_additive:
        template = template.replace(
            """; half of all comes from "
    f"{int((result.cumsum() < result.sum() / 2).sum()) + 1 if len(result) else 0:,} of them.",""",
            '.",',
        )
    code = code_from(template, measure, groups=said(f"groups of {label}" if len(label) < 40 else "groups"))
    chart = f"""
_shares = (result.cumsum() / result.sum()).reset_index(drop=True).rename("share").reset_index()
_shares["index"] += 1
_chart = alt.Chart(_shares, title="Share of all, the largest first").mark_line(color="{BLUE}", point=len(_shares) < 40).encode(
    x=alt.X("index:Q", title={literal(label)}, axis=alt.Axis(tickMinStep=1)), y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%")),
).properties(width="container", height=100)
""".strip()
    return Finding(variable="spread", chart=chart, cell=CellDraft(name="spread", code=code))


def _made_cell(measure: Measure, key: str, things: str) -> CellDraft:
    template = """
# What the first is made of: how many <<things>>, and how large each is.
_by = selected.groupby(<<key>>)[<<column>>]
_made = pd.DataFrame({"number": _by.count(), "size": _by.mean()})
_made.index = _made.index.map(lambda _each: " × ".join(map(str, _each)) if isinstance(_each, tuple) else str(_each))
_one, _all = _made.loc[ranked.index[0]], _made.loc[ranked.index]
made = {
    "says": f"{ranked.index[0]} has {_one['number']:,.0f} <<things>> ({_all['number'].rank(ascending=False).iloc[0]:.0f}. of {len(_all)}) "
    f"at {FIGURE(_one['size'])} each ({_all['size'].rank(ascending=False).iloc[0]:.0f}. of {len(_all)}).",
    "bars": {str(_label): float(_value) for _label, _value in _all["number"].head(5).items()},
}
made_of = _all.head(<<shown>>).rename_axis("label").reset_index()
"""
    code = code_from(template, measure, key=key, column=literal(measure.column), things=said(things), shown=str(SHOWN))
    return CellDraft(name="made", code=code)


def _made(things: str, label: str) -> Finding:
    chart = f"""
_chart = alt.Chart(made_of, title="How many, and how large each").mark_circle(color="{BLUE}", size=70).encode(
    x=alt.X("number:Q", title={literal(f"number of {things}")}, scale=alt.Scale(zero=False)),
    y=alt.Y("size:Q", title="size of each", scale=alt.Scale(zero=False)),
    tooltip=[alt.Tooltip("label", title={literal(label)}), alt.Tooltip("number", format=","), alt.Tooltip("size", format=",.4~r")],
).properties(width="container", height=110)
""".strip()
    return Finding(variable="made", chart=chart)


def _certain_cell(measure: Measure, key: str, frame: Frame, columns: list[str]) -> CellDraft:
    """Whether groups differ by more than chance: on one value for each thing that a group is a property of."""
    unit = ""
    if frame.joint and columns and columns[0] not in {column.name for column in frame.table.columns}:
        unit = frame.joint.left_key.name
    template = """
# More than chance? Ranks compared (<<test>>)<<why>>.
_rows = <<rows>>
_groups = [_values for _, _values in _rows.groupby("group")["value"] if len(_values) >= 5]
_n = sum(map(len, _groups))
if len(_groups) >= 2 and _rows["value"].nunique() > 1:
    _found = stats.mannwhitneyu(*_groups) if len(_groups) == 2 else stats.kruskal(*_groups)
    _effect = 2 * _found.statistic / (len(_groups[0]) * len(_groups[1])) - 1 if len(_groups) == 2 else _found.statistic / (_n - 1)
    _is_so = _found.pvalue <= 0.05 and abs(_effect) >= (0.2 if len(_groups) == 2 else 0.02)
    sure = "The groups differ by more than chance would do." if _is_so else "The groups differ by no more than chance may do: nothing certain."
    _name = "Mann-Whitney, rank-biserial correlation" if len(_groups) == 2 else "Kruskal-Wallis, epsilon squared"
    statistics = f"{_name} {_effect:.2f}, n = {_n:,}, p = {_found.pvalue:.2g}; comparisons counted: 1."
else:
    sure, statistics = "Too few values for a test: nothing certain.", "Not tested."
middle = _rows.groupby("group")["value"].describe()[["25%", "50%", "75%", "count"]].set_axis(["low", "median", "high", "count"], axis=1)
certain = {
    "says": sure,
    "statistics": statistics,
    "bars": {str(_label): float(_value) for _label, _value in result.head(5).items()},
}
"""
    value = literal(measure.column)
    if unit:
        rows = (
            f'selected.assign(group={_group_code(key)}, value=selected[{value}]).dropna(subset=["group", "value"])'
            f'.groupby([{literal(unit)}, "group"], as_index=False)["value"].mean()'
        )
    else:
        rows = f'selected.assign(group={_group_code(key)}, value=selected[{value}])[["group", "value"]].dropna()'
    code = code_from(
        template,
        rows=rows,
        test="Mann-Whitney or Kruskal-Wallis",
        why=f": one value for each {plain(unit, 40)}, for its rows are not independent" if unit else "",
    )
    return CellDraft(name="certain", code=code)


def _group_code(key: str) -> str:
    if key.startswith("selected["):
        return key
    if key.startswith("["):
        return f'selected[{key}].astype(str).agg(" × ".join, axis=1)'
    return f"selected[{key}]"


def _certain(measure: Measure, label: str) -> Finding:
    chart = f"""
_shown = middle.sort_values("median", ascending=False).head({SHOWN}).rename_axis("label").reset_index()
_base = alt.Chart(_shown, title="The middle half of the values, and the median").encode(
    y=alt.Y("label:N", sort=None, title={literal(label)}, axis=alt.Axis(labelLimit=180)),
    tooltip=["label", alt.Tooltip("median", format=",.4~r"), alt.Tooltip("count", format=",")],
)
_box = _base.mark_bar(size=10, opacity=0.4, color="{BLUE}").encode(x=alt.X("low:Q", title={literal(measure.words)}), x2="high:Q")
_chart = (_box + _base.mark_point(filled=True, color="{VERMILION}").encode(x="median:Q")).properties(width="container", height=alt.Step(18))
""".strip()
    return Finding(variable="certain", chart=chart, has_statistics=True)


def _course_cell(rows: Selection, measure: Measure, key: str, step: TimeUnit) -> CellDraft:
    template = """
# The first few over time.
_rows = <<rows>>.assign(label=lambda _each: <<label>>)
_rows = _rows[_rows["label"].isin(ranked.index[:4])]
courses = <<by>>.rename("value").reset_index().rename(columns={<<when>>: "time"})
_firsts = courses.loc[courses.groupby("time")["value"].<<best>>, "label"].value_counts()
over_time = {
    "says": f"{_firsts.index[0]} was <<first>> in {_firsts.iloc[0]:,} of {_firsts.sum():,} <<step>>s."
    if len(_firsts)
    else "There is too little over time to compare.",
}
"""
    value = f"[{literal(measure.column)}]" if measure.column else ""
    call = {"count": "size()", "distinct": "nunique()"}.get(measure.quantity.how, f"{measure.quantity.how}()")
    freq = STEPS[step]
    by = f'_rows.groupby([pd.Grouper(key={literal(rows.when)}, freq="{freq}"), "label"]){value}.{call}'
    label = f"_each[{key}].map(str)" if not key.startswith("[") else f'_each[{key}].astype(str).agg(" × ".join, axis=1)'
    return CellDraft(
        name="over_time",
        code=code_from(
            template,
            rows="selected",
            label=label,
            by=by,
            when=literal(rows.when),
            best="idxmin()" if rows.question.is_lowest else "idxmax()",
            first="last" if rows.question.is_lowest else "first",
            step=step,
        ),
    )


def _course(measure: Measure, step: str) -> Finding:
    chart = f"""
_colours = alt.Scale(range={code_of(list(OKABE_ITO))})
_chart = alt.Chart(courses, title={literal(f"{measure.label} per {step}, the first few")}).mark_line().encode(
    x=alt.X("time:T", title=None), y=alt.Y("value:Q", title=None), color=alt.Color("label:N", title=None, scale=_colours),
    tooltip=["label", "time:T", alt.Tooltip("value:Q", format="{measure.share_format}")],
).properties(width="container", height=120)
""".strip()
    return Finding(variable="over_time", chart=chart)


def _check(measure: Measure, key: str) -> CellDraft:
    again = f"np.sort({measure.by('selected', key)}.dropna())"
    return check_cell(
        "check_the_groups",
        "Computed again from the rows, every group's figure is the same.",
        f"def test_the_groups_are_those_of_the_rows():\n    assert np.allclose(np.sort(result), {again})",
    )
