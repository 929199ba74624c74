"""An overview: what the data is, the strongest things in it, and what is wrong, each with a picture. Pure.

Every comparison worth making was made, with the care of the full methods, before the cells were written; the strongest
are told here, computed again in plain code, and their p counts all that were made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.answers.quality import missing_cell, missing_finding, problems_of
from cellwright.analyst.answers.spans import STEPS, covered, step_for
from cellwright.analyst.answers.story import Finding, Story, code_from, said, start
from cellwright.analyst.drafts import CellDraft, TestKind, TestRow
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.sections.charts import BLUE, VERMILION
from cellwright.analyst.sections.columns import label_of
from cellwright.analyst.sections.selection import RequestedColumns, select_tests
from cellwright.analyst.sections.text import check_cell, code_of, counted, listed, plain
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import ColumnProfile, Profile

MAX_COLUMNS: Final = 24
_MAX_FINDINGS: Final = 2


def overview_columns(frame: Frame) -> tuple[str, ...]:
    """The columns an overview looks at."""
    when = frame.when
    names = [
        *([when[0]] if when else []),
        *(name for name, _ in frame.measures()),
        *(name for name, _ in frame.groups()),
    ]
    return tuple(dict.fromkeys(names))[:MAX_COLUMNS] or tuple(name for name, _, _ in frame.columns)[:1]


def overview_story(profile: Profile, frame: Frame, tests: Sequence[TestRow]) -> Story:
    """The story; `tests` are those that were made on the frame."""
    columns = overview_columns(frame)
    chosen = _chosen(tests)
    found = [_WRITERS[row.kind](row, frame, number) for number, row in enumerate(chosen, start=1)]
    lead, picture = _lead(frame)
    others = len(profile.tables) - len(frame.tables)
    lead = f"{len(profile.tables):,} tables; the largest is {lead}" if others > 0 else lead
    # The picture is the first thing found; else the data itself.
    strongest = "; strongest: {finding_1['strongest']}" if found else ""
    certain = sum(row.is_finding for row in tests)
    problems = [pair for pair in problems_of(profile) if pair[1].severity != "note"]
    template = """
headline = f"<<lead>><<strongest>>"
sure = "<<sure>>"
"""
    sure = (
        f"{counted(len(tests), 'comparison')} were made and corrected together; {certain:,} could be told from chance."
        if tests
        else "Nothing could be compared: there are too few rows, measures or groups."
    )
    if not certain:
        sure += " Nothing certain."
    told = [f"Wrong with it: {plain(problems[0][1].says, 200)}"] if problems else ["No problem was found in the files."]
    more = len(problems) - 1
    told += [f"And {counted(more, 'thing')} more."] if more > 0 else []
    cells = [
        CellDraft(name="headline", code=code_from(template, lead=lead, strongest=strongest, sure=sure)),
        missing_cell(frame, columns),
    ]
    return Story(
        picture=picture,
        findings=(*found, missing_finding()),
        cells=tuple(cells),
        columns=columns,
        trust=("sure", *(literal(each) for each in told)),
        checks=(
            check_cell(
                "check_the_missing",
                "What is missing is counted in every column.",
                f"def test_what_is_missing_is_counted():\n    again = [int({frame.variable}[name].isna().sum()) for name in missing.index]\n    assert np.allclose(missing * len({frame.variable}), again)",
            ),
        ),
        readings=(f"The table looked at is {plain(frame.table.name)}, which has the most rows.",),
    )


def _chosen(tests: Sequence[TestRow]) -> list[TestRow]:
    rows = select_tests(tests, RequestedColumns(), AnalysisRequest(purpose="overview"))
    return [row for row, _ in rows if row.is_finding and row.kind in _WRITERS][:_MAX_FINDINGS]


def _lead(frame: Frame) -> tuple[str, str]:
    """What the data is, for the inside of an f-string; and a picture of it."""
    when = frame.when
    span = covered(when[1]) if when else None
    table = plain(frame.table.name, 40)
    groups = [label_of(name) for name, _ in frame.groups()][:2]
    by = f", by {listed(groups)}" if groups else ""
    time = f" from {span.first} to {span.last}" if span else ""
    rows = "row" if frame.table.rows == 1 else "rows"
    lead = f"{said(table)}: {{len({frame.variable}):,}} {rows}{time}{said(by)}"
    measures = frame.measures()
    if when and span:
        step = STEPS[step_for(when[1], span)]
        name, record = measures[0] if measures else ("", None)
        course = f"{frame.variable}.dropna(subset={literal(when[0])}).set_index({literal(when[0])})" + (
            f'[{literal(name)}].resample("{step}").{"sum(min_count=1)" if record and record.meaning == "currency" else "mean()"}'
            if name
            else f'.resample("{step}").size()'
        )
        label = label_of(name, record.unit if record else "") if name else "rows"
        return lead, _line(course, label, step_for(when[1], span))
    if measures:
        name, record = measures[0]
        return lead, _histogram(frame.variable, name, label_of(name, record.unit))
    return lead, _counts(frame)


def _line(course: str, label: str, step: str) -> str:
    return f"""
_course = ({course}).rename_axis("time").reset_index(name="value").dropna()
_low, _high = _course["value"].quantile([0.02, 0.98]) if len(_course) else (0, 1)
_scale = alt.Scale(domain=[float(min(_low, _low * 0.9)), float(_high * 1.1) or 1.0], zero=False)
alt.Chart(_course, title={literal(f"{label} per {step}")}).mark_line(color="{BLUE}", clip=True, point=len(_course) < 60).encode(
    x=alt.X("time:T", title=None), y=alt.Y("value:Q", title={literal(label)}, scale=_scale),
    tooltip=["time:T", alt.Tooltip("value:Q", format=",.4~r")],
).properties(width="container", height=220)
""".strip()


def _histogram(frame: str, column: str, label: str) -> str:
    return f"""
_values = {frame}[{literal(column)}].replace([np.inf, -np.inf], np.nan).dropna()
_counts, _edges = np.histogram(_values.clip(*_values.quantile([0.01, 0.99])) if len(_values) else [0], bins=30)
alt.Chart(pd.DataFrame({{"low": _edges[:-1], "high": _edges[1:], "rows": _counts}}), title={literal(f"How {label} spreads")}).mark_bar(color="{BLUE}").encode(
    x=alt.X("low:Q", bin="binned", title={literal(label)}), x2="high:Q", y=alt.Y("rows:Q", title="rows"),
).properties(width="container", height=220)
""".strip()


def _counts(frame: Frame) -> str:
    name = next((name for name, _ in frame.groups()), frame.columns[0][0])
    return f"""
_bars = {frame.variable}[{literal(name)}].astype(str).str.slice(0, 60).value_counts().head(12).rename_axis("label").reset_index(name="rows")
alt.Chart(_bars, title={literal(f"Rows by {label_of(name)}")}).mark_bar(color="{BLUE}").encode(
    y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=220)), x=alt.X("rows:Q", title="rows"),
).properties(width="container", height=alt.Step(22))
""".strip()


# ── what was found ──


def _labels(row: TestRow, frame: Frame) -> tuple[str, str]:
    records: dict[str, ColumnProfile] = {name: record for name, _, record in frame.columns}
    y, x = (label_of(name, records[name].unit if name in records else "") for name in (row.y, row.x))
    return y, x


def _statistics(row: TestRow) -> str:
    """As the full methods found it, when the notebook was written."""
    sure = "p < 0.0001" if row.p_adjusted < 0.0001 else f"p = {row.p_adjusted:.2g}"
    return (
        f"{plain(row.test, 80)}, n = {row.n:,}, {sure} corrected for every comparison made; {plain(row.effect_name, 80)} "
        f"{row.effect:.2f}, 95 % {row.low:.2f} to {row.high:.2f}; {plain(row.checked, 200)}; as of when this was written."
    )


def _difference(row: TestRow, frame: Frame, number: int) -> Finding:
    y, x = _labels(row, frame)
    template = """
middle_<<n>> = <<frame>>.groupby(<<x>>)[<<y>>].median().dropna().sort_values(ascending=False)
_said = f"<<yl>> is highest for <<xl>> {middle_<<n>>.index[0]} ({middle_<<n>>.iloc[0]:,.4g} in the middle), lowest for {middle_<<n>>.index[-1]} ({middle_<<n>>.iloc[-1]:,.4g})"
finding_<<n>> = {
    "says": f"{_said}.",
    "strongest": f"<<lower>> by <<xl>> ({middle_<<n>>.index[0]} {middle_<<n>>.iloc[0]:,.3g}, {middle_<<n>>.index[-1]} {middle_<<n>>.iloc[-1]:,.3g})",
    "statistics": <<statistics>>,
    "bars": {str(_label): float(_value) for _label, _value in middle_<<n>>.head(6).items()},
}
"""
    chart = f"""
_bars = middle_{number}.head(10).rename_axis("label").reset_index(name="value").assign(label=lambda _each: _each["label"].map(str))
_chart = alt.Chart(_bars, title={literal(f"{y} by {x}, medians")}).mark_bar(color="{BLUE}").encode(
    y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=180)), x=alt.X("value:Q", title={literal(y)}),
).properties(width="container", height=alt.Step(18))
""".strip()
    return _finding(template, chart, row, frame, number, (y, x))


def _correlation(row: TestRow, frame: Frame, number: int) -> Finding:
    y, x = _labels(row, frame)
    template = """
pairs_<<n>> = <<frame>>[[<<x>>, <<y>>]].dropna().set_axis(["x", "y"], axis=1)
_rank = stats.spearmanr(pairs_<<n>>["x"], pairs_<<n>>["y"]).statistic
_way = "rises" if _rank > 0 else "falls"
finding_<<n>> = {
    "says": f"<<yl>> {_way} with <<xl>>: rank correlation {_rank:.2f} (0 is none, 1 perfect).",
    "strongest": f"<<lower>> {_way} with <<xl>> (rank correlation {_rank:.2f})",
    "statistics": <<statistics>>,
    "bars": {},
}
"""
    chart = f"""
_middle = pairs_{number}.groupby(pd.qcut(pairs_{number}["x"], 15, duplicates="drop"), observed=True).median()
_points = alt.Chart(pairs_{number}.sample(min(len(pairs_{number}), 400), random_state=0), title={literal(f"{y} and {x}")}).mark_circle(opacity=0.25, color="{BLUE}", clip=True).encode(
    x=alt.X("x:Q", title={literal(x)}, scale=alt.Scale(zero=False)), y=alt.Y("y:Q", title={literal(y)}, scale=alt.Scale(zero=False)),
)
_chart = (_points + alt.Chart(_middle).mark_line(color="{VERMILION}").encode(x="x:Q", y="y:Q")).properties(width="container", height=130)
""".strip()
    return _finding(template, chart, row, frame, number, (y, x))


def _association(row: TestRow, frame: Frame, number: int) -> Finding:
    y, x = _labels(row, frame)
    template = """
shares_<<n>> = pd.crosstab(<<frame>>[<<x>>].map(str, na_action="ignore"), <<frame>>[<<y>>].map(str, na_action="ignore"), normalize="index")
_apart = (shares_<<n>>.max() - shares_<<n>>.min()).idxmax()
_by = shares_<<n>>[_apart].sort_values()
finding_<<n>> = {
    "says": f"<<yl>> hangs together with <<xl>>: {_apart} makes up {_by.iloc[-1]:.0%} for {_by.index[-1]}, {_by.iloc[0]:.0%} for {_by.index[0]}.",
    "strongest": f"<<lower>> by <<xl>> ({_apart}: {_by.iloc[-1]:.0%} for {_by.index[-1]}, {_by.iloc[0]:.0%} for {_by.index[0]})",
    "statistics": <<statistics>>,
    "bars": {str(_label): float(_value) for _label, _value in _by.tail(6).items()},
}
"""
    chart = f"""
_bars = shares_{number}.iloc[:10].rename_axis("group").reset_index().melt("group", var_name="label", value_name="share")
_chart = alt.Chart(_bars, title={literal(f"{y} by {x}")}).mark_bar().encode(
    y=alt.Y("group:N", title=None, axis=alt.Axis(labelLimit=180)), x=alt.X("share:Q", title=None, axis=alt.Axis(format="%")), color=alt.Color("label:N", title=None),
).properties(width="container", height=alt.Step(18))
""".strip()
    return _finding(template, chart, row, frame, number, (y, x))


def _over_time(row: TestRow, frame: Frame, number: int) -> Finding:
    y, x = _labels(row, frame)
    record = next((record for name, _, record in frame.columns if name == row.x), None)
    span = covered(record) if record else None
    step = step_for(record, span) if record and span else "month"
    template = """
course_<<n>> = <<frame>>.dropna(subset=<<x>>).set_index(<<x>>)[<<y>>].astype(float).resample("<<step>>").mean().dropna()
_half = len(course_<<n>>) // 2
_early, _late = course_<<n>>.iloc[:_half].mean(), course_<<n>>.iloc[_half:].mean()
finding_<<n>> = {
    "says": <<says>> + f" On average {_early:,.4g} in the first half of the time, {_late:,.4g} in the second.",
    "strongest": <<strongest>>,
    "statistics": <<statistics>>,
    "bars": {},
}
"""
    chart = f"""
_course = course_{number}.rename_axis("time").reset_index(name="value")
_chart = alt.Chart(_course, title={literal(f"{y} over time")}).mark_line(color="{BLUE}").encode(
    x=alt.X("time:T", title=None), y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
).properties(width="container", height=110)
""".strip()
    words = plain(row.says, 250).replace(row.y, y)
    holes = {
        "says": literal(f"{words[:1].upper()}{words[1:].rstrip('.')}."),
        "strongest": literal(plain(words, 110)),
        "step": STEPS[step],
    }
    return _finding(template, chart, row, frame, number, (y, x), holes)


def _finding(
    template: str,
    chart: str,
    row: TestRow,
    frame: Frame,
    number: int,
    labels: tuple[str, str],
    holes: Mapping[str, str] = MappingProxyType({}),
) -> Finding:
    y, x = labels
    code = code_from(
        template,
        **holes,
        n=str(number),
        frame=frame.variable,
        y=literal(row.y),
        x=literal(row.x),
        yl=start(y),
        lower=said(y),
        xl=said(x),
        statistics=literal(_statistics(row)),
    )
    cell = CellDraft(name=f"finding_{number}", code=code)
    return Finding(variable=f"finding_{number}", chart=chart, has_statistics=True, cell=cell)


_WRITERS: Final[dict[TestKind, Callable[[TestRow, Frame, int], Finding]]] = {
    "difference": _difference, "correlation": _correlation, "association": _association,
    "trend": _over_time, "season": _over_time, "break": _over_time,
}  # fmt: skip


def screening_code(frame: Frame) -> str:
    """Code that makes every comparison worth making on the frame; it leaves them in `_tests`."""
    roles = {name: record.meaning for name, _, record in frame.columns if name in set(overview_columns(frame))}
    if frame.joint:
        roles[frame.joint.left_key.name] = frame.joint.left_key.meaning
    table = literal(frame.variable)
    return f"_tests = examine({{{table}: {frame.variable}}}, {{{table}: {code_of(roles)}}})"
