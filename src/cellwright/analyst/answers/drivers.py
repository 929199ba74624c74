"""What goes with a measure, and what differs between groups: every column compared, corrected together. Pure."""

from __future__ import annotations

from typing import Final

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.answers.selection import selection_of
from cellwright.analyst.answers.story import Finding, Measure, Story, code_from, said, start
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.question import Question
from cellwright.analyst.sections.charts import BLUE, VERMILION
from cellwright.analyst.sections.columns import label_of
from cellwright.analyst.sections.text import check_cell, code_of
from cellwright.notebook.source_text import literal

_CORRECTED: Final = """
def test_every_comparison_is_counted():
    again = stats.false_discovery_control(result["p_alone"], method="by") if len(result) else []
    assert np.allclose(again, result["p"])
    assert (result["p"] >= result["p_alone"]).all()
"""


def drivers_story(question: Question, frame: Frame, measure: Measure) -> Story | str:
    """What goes with a measure, the strongest first."""
    rows = selection_of(question, frame)
    if isinstance(rows, str):
        return rows
    if not measure.column:
        return "What drives a number of rows cannot be read from the rows themselves."
    groups = [name for name, _ in frame.groups(but=[measure.column])]
    others = [name for name, _ in frame.measures(but=[measure.column])][:8]
    if not groups and not others:
        return f"There is no other column that could go with {measure.words}."
    key = frame.joint.left_key.name if frame.joint else ""
    own = {column.name for column in frame.table.columns}
    repeated = [name for name in groups if name not in own]
    template = """
# How much of <<what>> each column goes with: by ranks, corrected for all that were compared (Benjamini-Yekutieli).
_rows, _found = selected.dropna(subset=<<column>>), []
for _name in <<groups>>:
    _each = _rows.groupby([<<key>>, _name], as_index=False)[<<column>>].mean() if _name in <<repeated>> else _rows
    _parts = [_values for _, _values in _each.groupby(_name)[<<column>>] if len(_values) >= 5]
    if len(_parts) > 1 and _each[<<column>>].nunique() > 1:
        _test = stats.kruskal(*_parts)
        _found.append({"name": _name, "kind": "groups", "p": _test.pvalue, "explains": max(_test.statistic - len(_parts) + 1, 0) / max(sum(map(len, _parts)) - len(_parts), 1)})
for _name in <<others>>:
    _pair = _rows[[_name, <<column>>]].dropna()
    if len(_pair) > 9 and _pair.nunique().min() > 1:
        _test = stats.spearmanr(_pair[_name], _pair[<<column>>])
        _found.append({"name": _name, "kind": "quantity", "p": _test.pvalue, "explains": _test.statistic**2})
result = pd.DataFrame(_found, columns=["name", "kind", "p", "explains"]).sort_values("explains", ascending=False, ignore_index=True)
result["p_alone"] = result["p"].fillna(1).clip(0, 1)
result["p"] = stats.false_discovery_control(result["p_alone"], method="by") if len(result) else result["p"]
result["is_certain"] = (result["p"] <= 0.05) & (result["explains"] >= 0.02)
certain = result[result["is_certain"]]
"""
    code = code_from(
        template,
        what=said(measure.words),
        column=literal(measure.column),
        groups=code_of(groups),
        others=code_of(others),
        key=literal(key),
        repeated=code_of(repeated),
    )
    if not key:
        code = code.replace(
            f'_rows.groupby(["", _name], as_index=False)[{literal(measure.column)}].mean() if _name in [] else _rows',
            "_rows",
        )
    words = """
_names = [f"{_name.replace('_', ' ')} ({_part:.0%})" for _name, _part in zip(certain["name"], certain["explains"], strict=True)]
headline = f"<<what>> goes most with {', '.join(_names[:3])}" if _names else "Nothing goes with <<lower>> by more than chance"
sure = f"{len(result):,} columns were compared, {len(certain):,} go with it by more than chance; what goes together need not cause each other."
strength = {
    "says": f"In brackets: the part of the differences in <<lower>> (by rank) that goes with the column. The others: {', '.join(result['name'][len(certain):][:4]) or 'none'}.",
    "statistics": "; ".join(f"{_row['name']}: {'Kruskal-Wallis' if _row['kind'] == 'groups' else 'Spearman'}, explains {_row['explains']:.3f}, p = {_row['p']:.2g}" for _, _row in result.iterrows()) + f"; comparisons counted: {len(result):,}.",
    "bars": dict(zip(result["name"][:6], result["explains"][:6].astype(float), strict=True)),
}
"""
    picture = f"""
_bars = result.head(10)
alt.Chart(_bars, title={literal(f"What goes with {measure.words}")}).mark_bar().encode(
    y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=200)),
    x=alt.X("explains:Q", title="part of the differences that goes with it", axis=alt.Axis(format="%")),
    color=alt.condition("datum.is_certain", alt.value("{BLUE}"), alt.value("#BBBBBB")),
    tooltip=["name", "kind", alt.Tooltip("explains:Q", format=".1%"), alt.Tooltip("p:Q", format=".2g")],
).properties(width="container", height=alt.Step(24))
""".strip()
    detail = """
# The strongest, looked at closer.
_best = result["name"].iloc[0] if len(result) else None
_groups = selected[_best] if _best in <<groups>> else pd.qcut(selected[_best], 4, duplicates="drop") if _best else None
closer = selected.groupby(_groups, observed=True)[<<column>>].median().sort_values(ascending=False) if _best else pd.Series(dtype=float)
strongest = {
    "says": f"By {_best.replace('_', ' ')}, the middle of <<what>> goes from {closer.iloc[-1]:,.4g} ({closer.index[-1]}) to {closer.iloc[0]:,.4g} ({closer.index[0]})."
    if len(closer) > 1
    else "There is nothing to look at closer.",
    "bars": {str(_label): float(_value) for _label, _value in closer.head(8).items()},
}
"""
    chart = f"""
_bars = closer.head(10).rename_axis("label").reset_index(name="value").assign(label=lambda _each: _each["label"].astype(str))
_chart = alt.Chart(_bars, title={literal(f"The middle of {measure.words}")}).mark_bar(color="{BLUE}").encode(
    y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=180)), x=alt.X("value:Q", title={literal(measure.label)}),
).properties(width="container", height=alt.Step(18))
""".strip()
    small = f"""
_chart = alt.Chart(result.head(10), title="How sure: smaller is surer").mark_circle(color="{VERMILION}", size=60).encode(
    x=alt.X("p:Q", scale=alt.Scale(type="symlog", constant=0.0001), title="corrected p"), y=alt.Y("name:N", sort=None, title=None), tooltip=["name", "p"],
).properties(width="container", height=alt.Step(14))
""".strip()
    cells = (
        rows.cell,
        CellDraft(name="result", code=code),
        CellDraft(name="headline", code=code_from(words, what=start(measure.words), lower=said(measure.words))),
        CellDraft(
            name="strongest",
            code=code_from(detail, groups=code_of(groups), column=literal(measure.column), what=said(measure.words)),
        ),
    )
    return Story(
        picture=picture,
        findings=(
            Finding(variable="strongest", chart=chart),
            Finding(variable="strength", chart=small, has_statistics=True),
        ),
        cells=cells,
        columns=tuple(dict.fromkeys(name for name in (measure.column, *groups, *others, key, *rows.columns) if name)),
        choices=rows.choices,
        trust=("sure",),
        checks=(
            check_cell(
                "check_the_comparisons",
                "The correction takes every comparison into account.",
                _CORRECTED,
            ),
        ),
    )


def differences_story(question: Question, frame: Frame) -> Story | str:
    """What differs between groups, where no measure is named: every measure is compared."""
    rows = selection_of(question, frame)
    if isinstance(rows, str):
        return rows
    group = next((pair for column in question.by if (pair := frame.find(column))), None)
    measures = [name for name, _ in frame.measures()][:40]
    if group is None or not measures:
        return "There is no measure that could differ between the groups."
    label = label_of(group[0])
    template = """
# Every measure between the groups: ranks compared, corrected for all that were compared (Benjamini-Yekutieli).
_found = []
for _name in <<measures>>:
    _parts = [_values for _, _values in selected.dropna(subset=_name).groupby(<<group>>)[_name] if len(_values) >= 5]
    if len(_parts) > 1 and selected[_name].nunique() > 1:
        _test, _n = stats.kruskal(*_parts), sum(map(len, _parts))
        _found.append({"name": _name, "p": _test.pvalue, "explains": max(_test.statistic - len(_parts) + 1, 0) / max(_n - len(_parts), 1)})
result = pd.DataFrame(_found, columns=["name", "p", "explains"]).sort_values("explains", ascending=False, ignore_index=True)
result["p_alone"] = result["p"].fillna(1).clip(0, 1)
result["p"] = stats.false_discovery_control(result["p_alone"], method="by") if len(result) else result["p"]
result["is_certain"] = (result["p"] <= 0.05) & (result["explains"] >= 0.02)
certain = result[result["is_certain"]]
middle = selected.groupby(<<group>>)[list(result["name"])].median() if len(result) else pd.DataFrame()
_names = [f"{_name.replace('_', ' ')} ({', '.join(f'{_label} {_value:,.4g}' for _label, _value in middle[_name].items())})" for _name in certain["name"][:3]]
headline = f"By <<label>> differs most: {'; '.join(_names)}" if _names else f"Nothing differs by <<label>> by more than chance: {len(result):,} measures were compared"
sure = f"{len(result):,} measures were compared, {len(certain):,} differ by more than chance."
differing = {
    "says": f"The part of the differences that goes with <<label>>: {', '.join(f'{_row.name_} {_row.explains:.1%}' for _row in result.rename(columns={'name': 'name_'}).head(3).itertuples())}.",
    "statistics": "; ".join(f"{_row['name']}: Kruskal-Wallis, explains {_row['explains']:.3f}, p = {_row['p']:.2g}" for _, _row in result.head(12).iterrows()) + f"; comparisons counted: {len(result):,}.",
    "bars": dict(zip(result["name"][:6], result["explains"][:6].astype(float), strict=True)),
}
"""
    code = code_from(template, measures=code_of(measures), group=literal(group[0]), label=said(label))
    picture = f"""
alt.Chart(result.head(12), title={literal(f"What goes with {label}")}).mark_bar().encode(
    y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=200)),
    x=alt.X("explains:Q", title="part of the differences that goes with it", axis=alt.Axis(format="%")),
    color=alt.condition("datum.is_certain", alt.value("{BLUE}"), alt.value("#BBBBBB")),
    tooltip=["name", alt.Tooltip("explains:Q", format=".1%"), alt.Tooltip("p:Q", format=".2g")],
).properties(width="container", height=alt.Step(24))
""".strip()
    chart = f"""
_chart = alt.Chart(result.head(12), title="How sure: smaller is surer").mark_circle(color="{VERMILION}", size=60).encode(
    x=alt.X("p:Q", scale=alt.Scale(type="symlog", constant=0.0001), title="corrected p"), y=alt.Y("name:N", sort=None, title=None), tooltip=["name", "p"],
).properties(width="container", height=alt.Step(14))
""".strip()
    return Story(
        picture=picture,
        findings=(Finding(variable="differing", chart=chart, has_statistics=True),),
        cells=(rows.cell, CellDraft(name="result", code=code)),
        columns=tuple(dict.fromkeys([group[0], *measures, *rows.columns])),
        choices=rows.choices,
        trust=("sure",),
        checks=(
            check_cell(
                "check_the_comparisons",
                "The correction takes every comparison into account.",
                _CORRECTED,
            ),
        ),
        readings=("No measure was named, so every measure is compared.",),
    )
