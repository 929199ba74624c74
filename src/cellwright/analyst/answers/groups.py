"""One figure, a share, a ranking, or groups compared: what is asked for, and what it is made of. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from cellwright.analyst.answers.frames import Frame, far_values
from cellwright.analyst.answers.selection import Selection, selection_of
from cellwright.analyst.answers.spans import STEPS, step_for
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
from cellwright.analyst.sections.charts import BLUE, GREY, OKABE_ITO, VERMILION
from cellwright.analyst.sections.columns import label_of
from cellwright.analyst.sections.text import check_cell, code_of, plain
from cellwright.notebook.source_text import literal

_PARTS: Final[dict[str, str]] = {
    "day": 'dt.strftime("%Y-%m-%d")', "week": 'dt.to_period("W").dt.start_time.dt.strftime("week of %Y-%m-%d")',
    "hour": 'dt.hour.map("{:02.0f}:00".format)', "weekday": "dt.day_name()", "month": 'dt.strftime("%Y-%m")',
    "quarter": 'dt.to_period("Q").astype(str)', "year": 'dt.strftime("%Y")',
}  # fmt: skip
_SHOWN: Final = 12


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
        cells.append(_made_cell(measure, key, plain(frame.table.name, 30)))
        findings.append(_made(plain(frame.table.name, 30), label))
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
        columns=_used(measure, [*columns, *rows.columns]),
        choices=rows.choices,
        checks=(_check(measure, key),),
        readings=(f"{start(measure.words)} is {measure.how_words}.",),
    )


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
        cells.append(_split_cell(measure, name, label_of(name)))
        findings.append(_split(measure, label_of(name)))
        picture = picture or _split(measure, label_of(name)).chart.replace("_chart = ", "")
        del record
    if measure.quantity.how != "count" and measure.column and measure.record and measure.record.numbers:
        cells.append(_size_cell(measure, plain(frame.table.name, 30)))
        findings.append(_size(measure))
        picture = picture or _size(measure).chart.replace("_chart = ", "")
    return Story(
        picture=picture or _lone(measure),
        findings=tuple(findings[:3]),
        cells=tuple(cells if rows.span else [cell for cell in cells if cell.name != "earlier"]),
        columns=_used(measure, used),
        choices=rows.choices,
        checks=(_figure_check(measure),),
        readings=(f"{start(measure.words)} is {measure.how_words}.",),
    )


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
        what=_lower(whole.words(measure)),
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
        cells.append(_split_cell(measure, column[0], label_of(column[0])))
        findings.append(_split(measure, label_of(column[0])))
    if whole.when and whole.record and whole.data and measure.is_additive:
        step = step_for(whole.record, whole.data, question.unit, most=30)
        cells.append(_share_course_cell(question, whole, measure, STEPS[step]))
        findings.append(_share_course(step))
    return Story(
        picture=picture,
        findings=tuple(findings),
        cells=tuple(cells),
        columns=_used(measure, used),
        choices=whole.choices,
        checks=(
            check_cell(
                "check_the_share",
                "The share lies between nothing and all of it.",
                "def test_the_share_is_a_share():\n    assert np.isnan(result) or -1e-9 <= result <= 1 + 1e-9 or <<any>>".replace(
                    "<<any>>", "(selected.select_dtypes('number') < 0).any(axis=None)"
                ),
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
_bars = result.head({_SHOWN}).rename_axis("label").reset_index(name="share")
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
        columns=_used(measure, [*columns, *whole.columns, *filter_columns(question.filters, frame)]),
        choices=whole.choices,
        readings=(f"{start(measure.words)} is {measure.how_words}.",),
    )


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:]


def _used(measure: Measure, columns: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in (measure.column, *columns) if name))


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
    what = _lower(rows.words(measure))
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
    most = max(question.top, _SHOWN)
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
    code = code_from(template, measure, key=key, column=literal(measure.column), things=said(things), shown=str(_SHOWN))
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
_shown = middle.sort_values("median", ascending=False).head({_SHOWN}).rename_axis("label").reset_index()
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


# ── one figure ──


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


def _split_cell(measure: Measure, column: str, label: str) -> CellDraft:
    template = """
split = <<by>>.dropna().sort_values(ascending=False, kind="stable")
_share = f", {split.iloc[0] / split.sum():.0%} of all" if len(split) and split.sum() and <<additive>> else ""
by_group = {
    "says": f"By <<label>>, {split.index[0]} is highest: {FIGURE(split.iloc[0])}{_share}; {split.index[-1]} lowest: {FIGURE(split.iloc[-1])}."
    if len(split) > 1
    else "All of it is of one kind.",
    "bars": {str(_label): float(_value) for _label, _value in split.head(5).items()},
}
"""
    code = code_from(
        template,
        measure,
        by=measure.by("selected", literal(column)),
        label=said(label),
        additive=repr(measure.is_additive),
    )
    return CellDraft(name="by_group", code=code)


def _split(measure: Measure, label: str) -> Finding:
    chart = f"""
_bars = split.head(8).rename_axis("label").reset_index(name="value").assign(label=lambda _each: _each["label"].map(str))
_chart = alt.Chart(_bars, title={literal(f"{measure.label} by {label}")}).mark_bar(color="{BLUE}").encode(
    y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=180)), x=alt.X("value:Q", title={literal(measure.label)}),
    tooltip=["label", alt.Tooltip("value:Q", format="{measure.share_format}")],
).properties(width="container", height=alt.Step(18))
""".strip()
    return Finding(variable="by_group", chart=chart)


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


# ── a share over time ──


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
