"""A figure by the labels of one column, and small things that figures, shares and groups have in common. Pure."""

from __future__ import annotations

from cellwright.analyst.answers.story import (
    Finding,
    Measure,
    code_from,
    said,
)
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.sections.charts import BLUE
from cellwright.notebook.source_text import literal


def split_cell(measure: Measure, column: str, label: str) -> CellDraft:
    """A figure by the labels of a column: defines `split` and the finding `by_group`."""
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


def split_finding(measure: Measure, label: str) -> Finding:
    """Its picture."""
    chart = f"""
_bars = split.head(8).rename_axis("label").reset_index(name="value").assign(label=lambda _each: _each["label"].map(str))
_chart = alt.Chart(_bars, title={literal(f"{measure.label} by {label}")}).mark_bar(color="{BLUE}").encode(
    y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=180)), x=alt.X("value:Q", title={literal(measure.label)}),
    tooltip=["label", alt.Tooltip("value:Q", format="{measure.share_format}")],
).properties(width="container", height=alt.Step(18))
""".strip()
    return Finding(variable="by_group", chart=chart)


def lowered(words: str) -> str:
    """With its first letter in lower case."""
    return words[:1].lower() + words[1:]


def columns_in_use(measure: Measure, columns: list[str]) -> tuple[str, ...]:
    """The measure's and these, each once."""
    return tuple(dict.fromkeys(name for name in (measure.column, *columns) if name))
