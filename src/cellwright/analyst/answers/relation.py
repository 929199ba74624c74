"""Whether two columns go together: by ranks, or by how labels meet. Pure."""

from __future__ import annotations

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.answers.selection import selection_of
from cellwright.analyst.answers.story import Finding, Measure, Story, code_from, said, start
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.question import Question
from cellwright.analyst.sections.charts import BLUE, VERMILION
from cellwright.analyst.sections.columns import label_of
from cellwright.analyst.sections.text import check_cell
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
