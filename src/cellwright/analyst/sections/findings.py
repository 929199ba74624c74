"""The section of findings: what was asked for first, then the strongest, each with its chart and its live claim. Pure.

A claim is a sentence made in the notebook from a row of `tests`: there is no way to write one without its test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from cellwright.analyst.drafts import CellDraft, Section, TestKind, TestRow
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.methods.source import source_cells
from cellwright.analyst.names import Namer, NotebookNames
from cellwright.analyst.sections import attribution
from cellwright.analyst.sections.charts import chart_functions, finding_chart
from cellwright.analyst.sections.columns import Columns
from cellwright.analyst.sections.selection import TIME_KINDS, ReportedFinding, ReportedFindings, select_tests
from cellwright.analyst.sections.text import capital, code_of, live_words_cell, shown, words_cell
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import Profile

_MAX_PART_LENGTH: Final = 20


def reported_findings(
    columns: Columns, names: NotebookNames, wanted: AnalysisRequest, tests: Sequence[TestRow]
) -> tuple[ReportedFinding, ...]:
    """What the notebook tells of, in order. The same for the same tests, so that later sections can refer to it."""
    namer = Namer(names)
    chosen = select_tests(tests, columns.requested(wanted), wanted)
    explained = next((row for row, _ in chosen if attribution.can_be_explained(row, columns, wanted)), None)
    return tuple(
        ReportedFinding(
            row=row,
            is_asked=is_asked,
            variable=namer(f"{_name(row)}_finding"),
            topic=_topic(row, columns, wanted),
            y_label=columns.label(row.table, row.y),
            x_label=columns.label(row.table, row.x),
            is_explained=row is explained,
            spans=attribution.spans_of(wanted, columns),
        )
        for row, is_asked in chosen
    )


def findings_section(
    *, profile: Profile, names: NotebookNames, wanted: AnalysisRequest, tests: Sequence[TestRow]
) -> Section:
    """At most eight findings, or the plain statement that there are none."""
    columns = Columns(profile, names)
    findings = reported_findings(columns, names, wanted, tests)
    cells = [live_words_cell(names.free("about_the_findings"), _opening(findings, names.fixed("tests")))]
    for each in findings:
        cells += _finding_cells(each, names)
        if each.is_explained:
            cells += attribution.explanation_cells(each.row, columns, wanted, each.variable)
    functions = [name for each in findings for name in chart_functions(each)]
    functions += ["with_labels", "could_be_seen"] if findings else []
    functions += attribution.ATTRIBUTION_FUNCTIONS if any(each.is_explained for each in findings) else ()
    cells += source_cells(functions)
    return Section(id="findings", title="Tell the findings", cells=tuple(cells), caveats=_caveats(findings))


def _finding_cells(finding: ReportedFinding, names: NotebookNames) -> Iterator[CellDraft]:
    row = finding.row
    about = _ABOUT[row.kind].format(y=shown(finding.y_label), x=shown(finding.x_label))
    yield words_cell(f"{finding.variable}_words", f"### {shown(capital(finding.topic), 120)}\n\n{about}")
    labels = {row.y: finding.y_label, row.x: finding.x_label}
    labels = {name: label for name, label in labels.items() if name != label}
    key = ", ".join(map(literal, (row.table, row.y, row.x, row.kind)))
    yield CellDraft(
        name=finding.variable,
        code=f"{finding.variable} = with_labels(\n    claim({names.fixed('tests')}, {key}),\n    {code_of(labels)},\n)"
        f"\n{finding.claim} = say({finding.variable})\n"
        f'mo.md(f"{{{finding.claim}}} {{escaped(could_be_seen({finding.variable}))}}")',
    )
    yield CellDraft(name=f"{finding.variable}_chart", code=finding_chart(finding))


# ── words ──


def _opening(findings: ReportedFindings, tests: str) -> str:
    counts = (
        f'Of {{len({tests}):,}} tests, **{{int({tests}["is_finding"].sum()):,}}** are findings: certain enough with '
        "all tests taken together, and strong enough to matter."
    )
    if not findings:
        return (
            f"## Findings\n\n{counts} Nothing is claimed here: no relation in this data could be told from chance. "
            "That is no proof that there is none; it may be too weak for so few rows, or of a kind that was not tested."
        )
    return (
        f"## Findings\n\n{counts} Here are those that were asked for and the strongest of the others. Each sentence "
        "is made from its row in the table of tests: switch a repair, and it changes, or says that it no longer "
        "holds."
    )


_ABOUT: Final[dict[TestKind, str]] = {
    "difference": "Whether {y} differs between the groups of {x}. Light bars hold the middle half of the values, dots "
    "are medians, dark lines say between what the true median is likely (95 %).",
    "association": "Whether {y} and {x} go together. Each bar is one value of {x}, divided by {y}.",
    "correlation": "Whether {y} and {x} rise and fall together. Points are rows (a sample where there are many), the "
    "line follows the medians; where there are very many rows, brighter fields hold more of them.",
    "trend": "Whether {y} rises or falls over time. Neighbours in time are alike, and the test allows for it.",
    "season": "Whether {y} follows the calendar. Light bars hold the middle half of the values, the line the means.",
    "break": "Whether the level of {y} changed at some moment and stayed so.",
    "change": "Whether {y} differs between the two spans of time that were asked for.",
}
_TOPICS: Final[dict[TestKind, str]] = {
    "difference": "{y} by {x}",
    "association": "{y} and {x}",
    "correlation": "{y} and {x}",
    "trend": "{y} over time",
    "season": "{y} through the calendar",
    "break": "a change of level in {y}",
    "change": "{y}, {spans}",
}


def _topic(row: TestRow, columns: Columns, wanted: AnalysisRequest) -> str:
    y, x = columns.label(row.table, row.y), columns.label(row.table, row.x)
    return _TOPICS[row.kind].format(
        y=y, x=x, spans=attribution.against_words(wanted, columns) if row.kind == "change" else ""
    )


def _name(row: TestRow) -> str:
    y, x = row.y[:_MAX_PART_LENGTH], row.x[:_MAX_PART_LENGTH]
    return f"{y} {row.kind}" if row.kind in TIME_KINDS else _TOPICS[row.kind].format(y=y, x=x)


def _caveats(findings: ReportedFindings) -> tuple[str, ...]:
    if any(each.row.is_finding for each in findings):
        return ("The data was observed, not made in an experiment: what goes together need not cause each other.",)
    return ("No relation in this data could be told from chance; that is no proof that there is none.",)
