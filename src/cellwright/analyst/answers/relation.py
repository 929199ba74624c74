"""Whether two columns go together, and what goes with a measure: ranks, so that nothing far off decides. Pure."""

from __future__ import annotations

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.answers.selection import selection_of
from cellwright.analyst.answers.story import Finding, Measure, Story, code_from, said, start
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.question import Question
from cellwright.analyst.sections.charts import BLUE, VERMILION
from cellwright.analyst.sections.columns import label_of
from cellwright.analyst.sections.text import check_cell, code_of
from cellwright.notebook.source_text import literal


def relation_story(question: Question, frame: Frame, measure: Measure) -> Story | str:
    """Two quantities: how closely they go together; or why that cannot be told."""
    rows = selection_of(question, frame)
    if isinstance(rows, str):
        return rows
    other = next((pair for column in question.by if (pair := frame.find(column))), None)
    if other is None:
        return "It was not recognised which two columns are meant."
    x, record = other
    labels = label_of(measure.column, measure.record.unit if measure.record else ""), label_of(x, record.unit)
    template = """
# Rank correlation: no straight line is assumed. Rows that resemble their neighbours count for less.
pairs = <<rows>>
result = stats.spearmanr(pairs["x"], pairs["y"]).statistic if len(pairs) > 9 and pairs.nunique().min() > 1 else float("nan")
_alike = [_each.rank().autocorr() or 0.0 for _each in (pairs["x"], pairs["y"])] if len(pairs) > 9 else [0.0, 0.0]
_both = np.clip(np.nan_to_num(_alike[0] * _alike[1]), 0, 0.98)
_n = max(len(pairs) * (1 - _both) / (1 + _both), 4)
_z, _reach = np.arctanh(np.clip(result, -0.9999, 0.9999)), 1.96 * np.sqrt(1.06 / max(_n - 3, 1))
_p = 2 * stats.norm.sf(abs(_z) / (_reach / 1.96))
is_certain = _p <= 0.05 and abs(result) >= 0.2
_strength = "strongly" if abs(result) >= 0.6 else "clearly" if abs(result) >= 0.35 else "weakly"
headline = (
    f"<<y>> and <<x>> go together {_strength}: the larger the one, the {'larger' if result > 0 else 'smaller'} the other"
    if is_certain
    else "<<y>> and <<x>>: no relation that could be told from chance"
)
sure = "That is more than chance would do; what goes together need not cause each other." if is_certain else "Nothing certain: a weak relation may be there and was not seen."
relation = {
    "says": f"Rank correlation {result:.2f} over {len(pairs):,} rows; 0 is none, 1 perfect.",
    "statistics": f"Spearman's rank correlation {result:.2f}, 95 % interval {np.tanh(_z - _reach):.2f} to {np.tanh(_z + _reach):.2f}, n = {len(pairs):,} (worth {_n:,.0f} independent ones), p = {_p:.2g}; comparisons counted: 1.",
}
"""
    order = f".sort_values({literal(rows.when)})" if rows.when else ""
    pairs = f'selected{order}[[{literal(x)}, {literal(measure.column)}]].set_axis(["x", "y"], axis=1).dropna()'
    code = code_from(template, rows=pairs, y=start(labels[0]), x=said(labels[1]))
    picture = f"""
_shown = pairs.sample(min(len(pairs), 1500), random_state=0)
_bins = pd.qcut(pairs["x"], 12, duplicates="drop") if len(pairs) else pairs["x"]
_middle = pairs.groupby(_bins, observed=True)[["x", "y"]].median()
_low, _high = pairs["y"].quantile([0.005, 0.995]) if len(pairs) else (0, 1)
_points = alt.Chart(_shown, title={literal(f"{labels[0]} and {labels[1]}")}).mark_circle(opacity=0.25, color="{BLUE}", clip=True).encode(
    x=alt.X("x:Q", title={literal(labels[1])}, scale=alt.Scale(zero=False)),
    y=alt.Y("y:Q", title={literal(labels[0])}, scale=alt.Scale(domain=[float(_low), float(_high)], zero=False)),
    tooltip=["x", "y"],
)
_line = alt.Chart(_middle).mark_line(color="{VERMILION}", strokeWidth=3, clip=True).encode(x="x:Q", y="y:Q")
(_points + _line).properties(width="container", height=260)
""".strip()
    quarters = """
_quarters = pd.qcut(pairs["x"], 4, duplicates="drop") if len(pairs) > 9 else pairs["x"]
by_quarter = pairs.groupby(_quarters, observed=True)["y"].median()
by_size = {
    "says": f"Where <<x>> is lowest, <<y>> is {by_quarter.iloc[0]:,.4g} in the middle; where it is highest, {by_quarter.iloc[-1]:,.4g}."
    if len(by_quarter) > 1
    else "There are too few different values to compare.",
    "bars": {str(_label): float(_value) for _label, _value in by_quarter.head(8).items()},
}
"""
    chart = f"""
_bars = by_quarter.rename_axis("label").reset_index(name="value").assign(label=lambda _each: _each["label"].astype(str))
_chart = alt.Chart(_bars, title={literal(f"The middle of {labels[0]}, by {labels[1]}")}).mark_bar(color="{BLUE}").encode(
    y=alt.Y("label:N", sort=None, title=None), x=alt.X("value:Q", title={literal(labels[0])}),
).properties(width="container", height=alt.Step(18))
""".strip()
    density = f"""
_chart = alt.Chart(pairs.sample(min(len(pairs), 3000), random_state=0).rank(pct=True), title="By rank: a band that rises or falls is a relation").mark_rect().encode(
    x=alt.X("x:Q", bin=alt.Bin(maxbins=12), title={literal(labels[1])}), y=alt.Y("y:Q", bin=alt.Bin(maxbins=12), title={literal(labels[0])}),
    color=alt.Color("count()", title="rows", scale=alt.Scale(scheme="blues")),
).properties(width="container", height=140)
""".strip()
    cells = (
        rows.cell,
        CellDraft(name="headline", code=code),
        CellDraft(name="by_size", code=code_from(quarters, x=said(labels[1]), y=said(labels[0]))),
    )
    return Story(
        picture=picture,
        findings=(
            Finding(variable="relation", chart=density, has_statistics=True),
            Finding(variable="by_size", chart=chart),
        ),
        cells=cells,
        columns=tuple(dict.fromkeys([x, measure.column, *rows.columns])),
        choices=rows.choices,
        trust=("sure",),
        checks=(
            check_cell(
                "check_the_relation",
                "The correlation lies between -1 and 1, and is of all pairs.",
                "def test_the_correlation_is_one():\n"
                "    assert np.isnan(result) or -1 <= result <= 1\n    assert pairs.notna().all(axis=None)",
            ),
        ),
    )


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
result["p"] = stats.false_discovery_control(result["p"].fillna(1).clip(0, 1), method="by") if len(result) else result["p"]
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
                "Every comparison is in the correction.",
                'def test_every_comparison_is_counted():\n    assert result["p"].between(0, 1).all()',
            ),
        ),
    )


def categories_story(question: Question, frame: Frame) -> Story | str:
    """Two columns of labels: whether one hangs on the other."""
    rows = selection_of(question, frame)
    if isinstance(rows, str):
        return rows
    found = [pair for column in question.by if (pair := frame.find(column))]
    if len(found) < 2:
        return "It was not recognised which two columns are meant."
    (y, _), (x, _) = found[:2]
    labels = label_of(y), label_of(x)
    template = """
# Do the labels of one go with those of the other? Chi-square test; Cramer's V is 0 for not at all, 1 for always.
result = pd.crosstab(selected[<<x>>].map(str, na_action="ignore"), selected[<<y>>].map(str, na_action="ignore"))
shares = result.div(result.sum(axis=1), axis=0)
if min(result.shape) > 1:
    _test, _n = stats.chi2_contingency(result), int(result.to_numpy().sum())
    _effect = float(np.sqrt(_test.statistic / (_n * (min(result.shape) - 1))))
    is_certain = _test.pvalue <= 0.05 and _effect >= 0.1
    _said = f"Chi-square, n = {_n:,}, p = {_test.pvalue:.2g}, Cramer's V {_effect:.2f}; comparisons counted: 1."
else:
    is_certain, _said = False, "Not tested: one of the two has one label only."
_apart = (shares.max() - shares.min()).idxmax() if len(shares) else ""
_by = shares[_apart].sort_values() if len(shares) else pd.Series(dtype=float)
headline = (
    f"<<y1>> goes with <<x1>>: {_apart} makes up {_by.iloc[-1]:.0%} for {_by.index[-1]}, {_by.iloc[0]:.0%} for {_by.index[0]}"
    if is_certain
    else "<<y1>> and <<x1>>: nothing that could be told from chance"
)
sure = "That is more than chance would do; what goes together need not cause each other." if is_certain else "Nothing certain."
together = {
    "says": f"Of {len(shares):,} <<x1>> labels the share of {_apart} goes from {_by.iloc[0]:.1%} to {_by.iloc[-1]:.1%}." if len(_by) else "There is nothing to compare.",
    "statistics": _said,
    "bars": {str(_label): float(_value) for _label, _value in _by.tail(6).items()},
}
"""
    code = code_from(template, x=literal(x), y=literal(y), y1=start(labels[0]), x1=said(labels[1]))
    picture = f"""
_bars = shares.iloc[:12].rename_axis("group").reset_index().melt("group", var_name="label", value_name="share")
alt.Chart(_bars, title={literal(f"{labels[0]} by {labels[1]}")}).mark_bar().encode(
    y=alt.Y("group:N", title={literal(labels[1])}, axis=alt.Axis(labelLimit=200)),
    x=alt.X("share:Q", title="share of the rows", axis=alt.Axis(format="%")),
    color=alt.Color("label:N", title={literal(labels[0])}),
    tooltip=["group", "label", alt.Tooltip("share:Q", format=".1%")],
).properties(width="container", height=alt.Step(26))
""".strip()
    chart = f"""
_bars = result.sum(axis=1).sort_values(ascending=False).head(10).rename_axis("label").reset_index(name="rows")
_chart = alt.Chart(_bars, title={literal(f"Rows by {labels[1]}")}).mark_bar(color="{BLUE}").encode(
    y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=180)), x=alt.X("rows:Q", title="rows"),
).properties(width="container", height=alt.Step(16))
""".strip()
    return Story(
        picture=picture,
        findings=(Finding(variable="together", chart=chart, has_statistics=True),),
        cells=(rows.cell, CellDraft(name="headline", code=code)),
        columns=tuple(dict.fromkeys([x, y, *rows.columns])),
        choices=rows.choices,
        trust=("sure",),
        checks=(
            check_cell(
                "check_the_counts",
                "No row is counted twice.",
                "def test_no_row_is_counted_twice():\n    assert result.to_numpy().sum() <= len(selected)",
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
result["p"] = stats.false_discovery_control(result["p"].fillna(1).clip(0, 1), method="by") if len(result) else result["p"]
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
                "Every comparison is in the correction.",
                'def test_every_comparison_is_counted():\n    assert result["p"].between(0, 1).all()',
            ),
        ),
        readings=("No measure was named, so every measure is compared.",),
    )
