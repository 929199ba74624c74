"""The section of tests: what each column may serve as, every test made at once, corrected together, and shown. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from cellwright.analyst.drafts import CellDraft, Section
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.methods.source import method_cells
from cellwright.analyst.names import NotebookNames
from cellwright.analyst.sections.attribution import DateBounds, spans_of
from cellwright.analyst.sections.columns import ColumnDescription, Columns
from cellwright.analyst.sections.selection import RequestedColumns
from cellwright.analyst.sections.text import check_cell, code_of, listed, live_words_cell, shown, words_cell, wrapped
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import Profile

_MAX_COLUMNS: Final = 16
"""Limit for each use in each table, so that the cell stays readable; `examine` takes the twelve most telling."""
_MAX_OTHERS: Final = 3

_METHOD_WORDS: Final = """
## Tests

What is said further down rests on tests, and all of them stand here, also those that found nothing.

- **A measure by groups**: Mann-Whitney or Brunner-Munzel for two groups, Kruskal-Wallis for more. They compare ranks,
  so no bell curve is assumed and far-out values weigh no more than others.
- **Two categories**: chi-square, or Fisher's exact test where counts are small.
- **Two measures**: Spearman's rank correlation.
- **A measure over time**: trend, season and break, each allowing for neighbours in time that are alike.

Many tests find something by chance alone. So all p-values are corrected together (Benjamini-Yekutieli): of what is
called a finding, at most 5 % is expected to be chance. A finding must also be strong enough to matter: a rank-biserial
or rank correlation of 0.2, an epsilon squared of 0.02, a Cramer's V of 0.1, half a standard deviation for a trend or a
break, a fifth for a change. Effects come with a 95 % interval.
"""


_METHODS_FOLDED: Final = """
### Methods

The functions behind the tests follow, one in each cell, their code folded away. They need pandas, numpy and scipy only.
"""


def test_section(*, profile: Profile, names: NotebookNames, wanted: AnalysisRequest) -> Section:
    """The methods, the roles of the columns, the table `tests`, and checks of it."""
    columns = Columns(profile, names)
    asked = columns.requested(wanted)
    tests = names.fixed("tests")
    spans = spans_of(wanted, columns)
    roles = {table: _roles(columns.of(table), table, asked) for table in columns.tables}
    left_out = tuple(_left_out(columns, roles))
    methods = ["examine", "claim", "say", *(["explain_change"] if spans else [])]
    cells = [
        words_cell(names.free("about_the_tests"), _METHOD_WORDS + ("\n" + "\n".join(left_out) if left_out else "")),
        *(
            CellDraft(name=f"{table}_roles", code=f"{table}_roles = {wrapped(of_table)}")
            for table, of_table in roles.items()
        ),
        CellDraft(name=names.free("all_tests"), code=_tests_code(tests, tuple(roles), asked, spans)),
        live_words_cell(names.free("made_tests"), _made_words(tests)),
        CellDraft(name=names.free("all_tests_shown"), code=_shown_code(tests)),
        *_checks(tests, names),
        words_cell(names.free("about_the_methods"), _METHODS_FOLDED),
        *(replace(cell, is_words=True) for cell in method_cells(methods)),
    ]
    return Section(id="test", title="Test what may be related", cells=tuple(cells), caveats=left_out)


def _roles(columns: Sequence[ColumnDescription], table: str, asked: RequestedColumns) -> dict[str, str]:
    """What each column may serve as: those the goal names first, then the most complete, bounded per use."""
    ordered = sorted(columns, key=lambda each: (not asked.has(table, each.name), each.record.nulls > each.record.count))
    kept, counts = set[str](), dict[str, int]()
    for each in ordered:
        if each.is_repeated and each.use == "measure":
            continue
        use = each.use or each.record.meaning
        counts[use] = counts.get(use, 0) + 1
        if counts[use] <= (_MAX_COLUMNS if each.use in {"measure", "group"} else _MAX_OTHERS):
            kept.add(each.name)
    return {each.name: each.record.meaning for each in columns if each.name in kept}


def _left_out(columns: Columns, roles: dict[str, dict[str, str]]) -> Iterator[str]:
    for table, kept in roles.items():
        out = [
            each.label
            for each in columns.of(table)
            if each.use in {"measure", "group"} and not each.is_repeated and each.name not in kept
        ]
        if out:
            names = listed([shown(each) for each in out])
            yield f"Not tested in {shown(table)}, because there are too many columns: {names}."


def _tests_code(
    tests: str, tables: Sequence[str], asked: RequestedColumns, spans: tuple[DateBounds, DateBounds] | None
) -> str:
    lines = [
        "{" + ", ".join(f"{literal(table)}: {table}" for table in tables) + "}",
        "{" + ", ".join(f"{literal(table)}: {table}_roles" for table in tables) + "}",
    ]
    first = sorted(asked.measures | asked.groups)
    lines += [f"first={wrapped(first, indent=4)}"] if first else []
    lines += [f"spans={code_of([spans])}"] if spans else []
    return f"{tests} = examine(\n" + "".join(f"    {line},\n" for line in lines) + ")"


def _made_words(tests: str) -> str:
    return (
        f'**{{len({tests}):,}} tests** were made; {{int({tests}["is_finding"].sum()):,}} of them are findings after '
        "the correction. The table holds all of them, the surest first; `effect` is the size with its interval from "
        "`low` to `high`, `checked` says which assumptions were looked at. "
        f'{{"Left out: " + "; ".join(escaped(_why, 120) for _why in {tests}.attrs["left_out"][:8]) + "." '
        f'if {tests}.attrs.get("left_out") else ""}}'
    )


def _shown_code(tests: str) -> str:
    return f"""
_order = {tests}.sort_values(["is_finding", "p_adjusted", "kind", "table", "y", "x"], ascending=[False] + [True] * 5)
_columns = ["is_finding", "kind", "table", "y", "x", "effect", "low", "high", "effect_name", "p_adjusted", "p", "n"]
mo.ui.table(_order[[*_columns, "test", "statistic", "checked"]].round(4), selection=None, page_size=10)
""".strip()


def _checks(tests: str, names: NotebookNames) -> Iterator[CellDraft]:
    yield check_cell(
        names.free("check_that_tests_are_counted"),
        "The correction takes every test into account.",
        f"""
def test_every_test_is_counted():
    \"\"\"Correcting the p-values of all tests again gives the same: none was left out of the family.\"\"\"
    corrected = stats.false_discovery_control({tests}["p"], method="by") if len({tests}) else []
    assert np.allclose(corrected, {tests}["p_adjusted"], rtol=1e-6)
""",
    )
    yield check_cell(
        names.free("check_that_findings_are_certain"),
        "Nothing is a finding that is not certain after the correction.",
        f"""
def test_findings_are_certain_and_complete():
    \"\"\"Every finding is certain after the correction, and has an effect with its interval.\"\"\"
    found = {tests}[{tests}["is_finding"].astype(bool)]
    assert (found["p_adjusted"] <= 0.05).all()
    assert found[["effect", "low", "high"]].notna().all(axis=None)
    assert found["says"].str.len().gt(0).all()
""",
    )
