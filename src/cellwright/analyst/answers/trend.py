"""How a figure went over time: from where to where, by more than chance or not, its best and worst, its season. Pure."""

from __future__ import annotations

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.answers.selection import selection_of
from cellwright.analyst.answers.spans import STEPS, step_for
from cellwright.analyst.answers.story import Finding, Measure, Story, code_from, said, start
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.question import Question, TimeUnit
from cellwright.analyst.sections.charts import BLUE, OKABE_ITO, VERMILION
from cellwright.analyst.sections.columns import label_of
from cellwright.analyst.sections.text import check_cell, code_of, plain
from cellwright.notebook.source_text import literal


def trend_story(question: Question, frame: Frame, measure: Measure) -> Story | str:
    """The story of a course; or why it cannot be told."""
    rows = selection_of(question, frame)
    if isinstance(rows, str):
        return rows
    if not rows.when or rows.record is None or rows.data is None:
        return f"{plain(frame.table.name)} has no column that says when."
    covered = rows.span or rows.data
    step = step_for(rows.record, covered, question.unit)
    groups = [pair for column in question.by if (pair := frame.find(column))]
    by = groups[0][0] if groups else ""
    cells = [rows.cell, _course_cell(measure, rows.when, step), _headline_cell(rows.words(measure), measure, step)]
    findings = [_ends(measure, step)]
    if by:
        cells.append(_by_cell(measure, rows.when, by, step))
        findings.append(_by(measure, by))
    name = "month" if covered.days >= 300 else "weekday"
    if step not in ("quarter", "year") and (name == "month" or step in ("hour", "day")):
        cells.append(_season_cell(name, covered.days))
        findings.append(_season(measure, name))
    return Story(
        picture=_picture(measure, step),
        findings=tuple(findings),
        cells=tuple(cells),
        columns=tuple(dict.fromkeys(each for each in (rows.when, measure.column, by, *rows.columns) if each)),
        choices=rows.choices,
        trust=("sure",),
        checks=(
            check_cell(
                "check_the_course",
                "Every step of time is there once, in order.",
                "def test_the_course_is_in_order():\n"
                "    assert result.index.is_monotonic_increasing and result.index.is_unique",
            ),
        ),
        readings=(f"{start(measure.words)} is {measure.how_words}, for each {step}.",),
    )


def _course_cell(measure: Measure, when: str, step: TimeUnit) -> CellDraft:
    dated = f"selected.dropna(subset={literal(when)})"
    template = """
result = <<course>>
# The first and the last <<step>> may be there in part only: they are left out of what is said.
_days = selected[<<when>>].dropna()
_is_whole = len(result) > 3 and (_days.max() - result.index[-1]).total_seconds() < 0.8 * (result.index[-1] - result.index[-2]).total_seconds()
course = (result.iloc[:-1] if _is_whole else result).dropna()
"""
    return CellDraft(
        name="result",
        code=code_from(template, course=measure.over(dated, when, STEPS[step]), step=step, when=literal(when)),
    )


def _headline_cell(words: str, measure: Measure, step: TimeUnit) -> CellDraft:
    template = """
_half = len(course) // 2
first, second = course.iloc[:_half].mean(), course.iloc[_half:].mean()
# Where one step fits the course best: is that, or the second half against the first, more than chance?
_sums, _places = (course - course.mean()).cumsum().iloc[:-1].to_numpy(), np.arange(1, len(course))
_at = int(np.argmax(_sums**2 / (_places * (len(course) - _places)))) + 1 if len(course) > 5 else 0
step_at = course.index[_at] if _at else None
_parts = [course.iloc[:_at].mean(), course.iloc[_at:].mean()]
_halves = change_test(course.iloc[:_half], course.iloc[_half:], times=2)
_step = change_test(course.iloc[:_at], course.iloc[_at:], times=2 * len(course))
_test = min([_halves, _step], key=lambda _each: _each["p"])
is_certain = _test["p"] <= 0.05 and abs(_test["effect"]) >= 0.2
_moved = "rose" if second > first else "fell"
headline = f"<<what>> {_moved if is_certain else 'shows no certain trend'}: from {FIGURE(first)} per <<step>> in the first half of the time to {FIGURE(second)} in the second"
headline += f" ({second / first - 1:+.1%})" if first else ""
if is_certain and _test is _step:
    _moved = "rose" if _parts[1] > _parts[0] else "fell"
    headline = f"<<what>> {_moved} in one step at {step_at.strftime('%Y-%m-%d')}: {FIGURE(_parts[0])} per <<step>> before, {FIGURE(_parts[1])} from then on"
sure = "That is more than chance would do." if is_certain else "Changes of this size come by chance: nothing certain."
statistics = _test["says"].replace("days", "<<step>>s").replace("a day", "a <<step>>")
"""
    code = code_from(template, measure, what=words, step=step)
    return CellDraft(name="headline", code=code)


def _picture(measure: Measure, step: TimeUnit) -> str:
    template = """
_course = result.rename_axis("time").reset_index(name="value").dropna()
_halves = pd.DataFrame({"time": course.index, "half": np.where(np.arange(len(course)) < len(course) // 2, first, second)})
_halves["part"] = _halves["half"].eq(second).map({True: "second", False: "first"})
_top = max(float(_course["value"].quantile(0.95)) * 1.5, 1e-9) if len(_course) else 1.0
_scale = alt.Scale(domainMax=min(_top, float(_course["value"].max()) if len(_course) else 1.0), zero=<<zero>>)
_line = alt.Chart(_course, title=<<title>>).mark_line(color="<<blue>>", clip=True, point=len(_course) < 60).encode(
    x=alt.X("time:T", title=None),
    y=alt.Y("value:Q", title=<<label>>, scale=_scale),
    tooltip=[alt.Tooltip("time:T", title="<<step>> from"), alt.Tooltip("value:Q", format="<<form>>")],
)
_means = alt.Chart(_halves).mark_line(color="<<mark>>", strokeWidth=2.5).encode(x="time:T", y="half:Q", detail="part:N")
(_line + _means).properties(width="container", height=220)
"""
    return code_from(
        template,
        title=literal(f"{measure.label} per {step}, with the mean of each half"),
        label=literal(measure.label),
        step=step,
        blue=BLUE,
        mark=VERMILION,
        form=measure.share_format,
        zero=repr(measure.is_additive),
    )


def _ends(measure: Measure, step: TimeUnit) -> Finding:
    form = {"hour": "%Y-%m-%d %H:00", "day": "%Y-%m-%d", "week": "week of %Y-%m-%d", "month": "%B %Y", "year": "%Y"}
    template = """
_name = "<<form>>"
_high, _low = (course.idxmax(), course.idxmin()) if len(course) else (None, None)
ends = {
    "says": f"Highest in {_high.strftime(_name)} ({FIGURE(course.max())}), lowest in {_low.strftime(_name)} ({FIGURE(course.min())})."
    + (f" One step fits it best at {step_at.strftime('%Y-%m-%d')}: {FIGURE(course[course.index < step_at].mean())} before, {FIGURE(course[course.index >= step_at].mean())} from then on." if step_at is not None and "in one step" not in headline else "")
    if len(course)
    else "There is nothing over time.",
    "statistics": statistics,
    "bars": {_when.strftime(_name): float(_value) for _when, _value in course.tail(8).items()},
}
"""
    code = code_from(template, measure, form=form.get(step, "%Y-%m-%d"))
    chart = f"""
_bars = pd.concat([course.nlargest(3), course.nsmallest(3)]).rename_axis("time").reset_index(name="value")
_bars["label"] = _bars["time"].dt.strftime("{form.get(step, "%Y-%m-%d")}")
_chart = alt.Chart(_bars.drop_duplicates("label"), title="The highest and the lowest").mark_bar(color="{BLUE}").encode(
    y=alt.Y("label:N", sort=None, title=None), x=alt.X("value:Q", title={literal(measure.label)}),
).properties(width="container", height=alt.Step(16))
""".strip()
    cell = CellDraft(name="ends", code=code)
    return Finding(variable="ends", chart=chart, has_statistics=True, cell=cell)


def _by_cell(measure: Measure, when: str, by: str, step: TimeUnit) -> CellDraft:
    value = f"[{literal(measure.column)}]" if measure.column else ""
    call = {"count": "size()", "distinct": "nunique()"}.get(measure.quantity.how, f"{measure.quantity.how}()")
    template = """
_largest = selected[<<by>>].value_counts().index[:5]
courses = selected[selected[<<by>>].isin(_largest)].groupby([pd.Grouper(key=<<when>>, freq="<<freq>>"), <<by>>])<<value>>.<<call>>
courses = courses.rename("value").reset_index().set_axis(["time", "label", "value"], axis=1)
_halves = courses.groupby("label")["value"].agg(lambda _values: _values.iloc[len(_values) // 2 :].mean() / _values.iloc[: len(_values) // 2].mean() - 1)
_halves = _halves.replace([np.inf, -np.inf], np.nan).dropna().sort_values()
by_label = {
    "says": f"By <<label>>, {_halves.index[-1]} changed by {_halves.iloc[-1]:+.0%} from the first half to the second, {_halves.index[0]} by {_halves.iloc[0]:+.0%}."
    if len(_halves) > 1
    else "There is one group only.",
    "bars": {str(_label): float(_value) for _label, _value in _halves.items()},
}
"""
    code = code_from(
        template,
        by=literal(by),
        when=literal(when),
        freq=STEPS[step],
        value=value,
        call=call,
        label=said(label_of(by)),
    )
    return CellDraft(name="by_label", code=code)


def _by(measure: Measure, by: str) -> Finding:
    chart = f"""
_chart = alt.Chart(courses.assign(label=courses["label"].map(str)), title={literal(f"{measure.label} by {label_of(by)}")}).mark_line().encode(
    x=alt.X("time:T", title=None), y=alt.Y("value:Q", title=None),
    color=alt.Color("label:N", title=None, scale=alt.Scale(range={code_of(list(OKABE_ITO))})), tooltip=["label", "time:T", "value:Q"],
).properties(width="container", height=120)
""".strip()
    return Finding(variable="by_label", chart=chart)


def _season_cell(name: str, days: int) -> CellDraft:
    template = """
# What is usual for each <<name>>, against the mean of all.
_steps = course.resample("<<freq>>").mean().dropna()
cycle = (_steps.groupby(_steps.index.<<cycle>>).mean() / _steps.mean() - 1).dropna().sort_values(ascending=False)
season = {
    "says": f"Usually highest <<during>> {cycle.index[0]} ({cycle.iloc[0]:+.0%}), lowest <<during>> {cycle.index[-1]} ({cycle.iloc[-1]:+.0%})<<few>>."
    if len(cycle) > 1
    else "There is too little to see a season.",
    "bars": {str(_label): float(_value) for _label, _value in cycle.head(8).items()},
}
"""
    is_month = name == "month"
    few = "; fewer than three years do not prove a season" if is_month and days < 3 * 365 else ""
    return CellDraft(
        name="season",
        code=code_from(
            template,
            name=name,
            freq="MS" if is_month else "D",
            cycle="month_name()" if is_month else "day_name()",
            few=few,
            during="in" if is_month else "on",
        ),
    )


def _season(measure: Measure, name: str) -> Finding:
    del measure
    chart = f"""
_bars = cycle.rename_axis("label").reset_index(name="value")
_chart = alt.Chart(_bars, title="Against the mean of all, by {name}").mark_bar(color="{BLUE}").encode(
    y=alt.Y("label:N", sort=None, title=None), x=alt.X("value:Q", title=None, axis=alt.Axis(format="+%")),
).properties(width="container", height=alt.Step(13))
""".strip()
    return Finding(variable="season", chart=chart)
