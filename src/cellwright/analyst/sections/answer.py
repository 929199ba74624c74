"""The answer: a title and a few short sentences on top, made in the notebook from its claims and repairs. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.methods.source import source_cells
from cellwright.analyst.names import NotebookNames
from cellwright.analyst.sections.attribution import because_variable
from cellwright.analyst.sections.columns import Columns
from cellwright.analyst.sections.selection import ReportedFindings
from cellwright.analyst.sections.text import capital, counted, listed, plain, shown
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import Profile

_MAX_CLAIMS: Final = 3


def answer_cells(
    profile: Profile, names: NotebookNames, wanted: AnalysisRequest, columns: Columns, findings: ReportedFindings
) -> Iterator[CellDraft]:
    """The sentences as a list, the answer as one text, and the page's first cell that shows them."""
    answer, sentences = names.fixed("answer_text"), names.fixed("answer_sentences")
    lines = "".join(f"    {line},\n" for line in _lines(profile, names, wanted, columns, findings))
    yield CellDraft(
        name=sentences, code=f'{sentences} = [\n{lines}]\n{answer} = "\\n\\n".join(filter(None, {sentences}))'
    )
    title = shown(_title(profile, wanted, columns), 120)
    yield CellDraft(
        name=names.fixed("answer"),
        code=f'mo.md(\n    r"""# {title}\n\n"""\n'
        f'    + "\\n".join(f"- {{escaped(sentence, 600)}}" for sentence in {sentences} if sentence)\n)',
        is_words=True,
        at_start=True,
    )
    yield from source_cells(("told_in_brief", "repairs_in_use"))


def _lines(
    profile: Profile, names: NotebookNames, wanted: AnalysisRequest, columns: Columns, findings: ReportedFindings
) -> Iterator[str]:
    """Each the code of one sentence; the answer comes first."""
    if not wanted.is_understood:
        yield literal(not_understood(profile))
    if wanted.purpose == "quality":
        yield literal(_trust(profile))
    if untested := _untested(wanted, columns, findings):
        yield literal(untested)
    yield from _claims(names, findings)
    yield _data(profile, names)
    if wanted.purpose != "quality":
        yield literal(_trust(profile))
    logs = ", ".join(f"{literal(plain(each.name))}: ({each.repaired}, {each.repairs}.value)" for each in names.tables)
    yield f"repairs_in_use({{{logs}}})"


def not_understood(profile: Profile) -> str:
    """What a reader is told whose goal names nothing of the data."""
    known = [plain(column.name) for table in profile.tables for column in table.columns if column.meaning != "id"]
    named = f" Name columns to ask for more, such as {listed(known[:3])}." if known else ""
    return f"Nothing in the goal was recognised as part of this data, so this is an overview.{named}"


def _claims(names: NotebookNames, findings: ReportedFindings) -> Iterator[str]:
    """What was asked for, else the strongest; never a sentence that has no row in the table of tests behind it."""
    asked = [each for each in findings if each.is_asked] or list(findings)
    if not asked:
        tests = names.fixed("tests")
        yield (
            f'f"Nothing stood out: of {{len({tests}):,}} tests, taken together, '
            f"{{int({tests}['is_finding'].sum()):,}} could be told from chance.\" "
            f'if len({tests}) else "Nothing could be tested: no measures or groups with enough rows."'
        )
    for each in asked[:_MAX_CLAIMS]:
        yield f"told_in_brief({each.variable}, {literal(each.topic[:1].upper() + each.topic[1:])})"
        if each.is_explained:
            yield because_variable(each.variable)


def _untested(wanted: AnalysisRequest, columns: Columns, findings: ReportedFindings) -> str:
    """What was asked for and could not be tested."""
    asked = columns.requested(wanted)
    is_pair = bool(asked.measures) and bool(asked.groups) and wanted.purpose in {"compare", "relate"}
    if not is_pair or any(
        asked.has(each.row.table, each.row.y) and asked.has(each.row.table, each.row.x) for each in findings
    ):
        return ""
    measure, group = (columns.label(*sorted(places)[0]) for places in (asked.measures, asked.groups))
    return (
        f"{capital(plain(measure))} by {plain(group)}: not tested. They stand in tables that are not joined, or too "
        "few rows are independent of each other: rows of one thing, such as one product, count once."
    )


def _data(profile: Profile, names: NotebookNames) -> str:
    """What the data is, with the rows as they are at that moment."""
    parts: list[str] = []
    for each in names.tables[:4]:
        table = next(one for one in profile.tables if one.name == each.name)
        times = next((column.times for column in table.columns if column.name == table.time_column), None)
        period = f", from {plain(times.first[:10])} to {plain(times.last[:10])}" if times else ""
        name, columns = _braced(plain(table.name)), counted(len(table.columns), "column")
        rows = "row" if table.rows == 1 else "rows"
        parts.append(f"{name} ({{len({each.table}):,}} {rows}, {columns}{_braced(period)})")
    more = len(names.tables) - len(parts)
    parts += [counted(more, "more table")] if more > 0 else []
    return f"f{literal(f'The data: {listed(parts)}.')}"


def _braced(words: str) -> str:
    """Words of a file inside an f-string: their braces are no code."""
    return words.replace("{", "{{").replace("}", "}}")


def _trust(profile: Profile) -> str:
    oddities = [oddity for table in profile.tables for oddity in table.oddities]
    problems = [oddity for oddity in oddities if oddity.severity == "problem"]
    warnings = [oddity for oddity in oddities if oddity.severity == "warning"]
    if not problems and not warnings:
        return "How far to trust it: no problem was found in the files."
    counts = listed([
        *([counted(len(problems), "problem")] if problems else []),
        *([counted(len(warnings), "thing to watch", "things to watch")] if warnings else []),
    ])  # fmt: skip
    gravest = plain((problems or warnings)[0].says, 200).rstrip(".")
    return f"How far to trust it: {counts} found in the files, first of all: {gravest}."


def _title(profile: Profile, wanted: AnalysisRequest, columns: Columns) -> str:
    tables = listed([plain(table.name) for table in profile.tables], 3) or "the data"
    asked = columns.requested(wanted)
    measures = [columns.label(*place) for place in sorted(asked.measures)]
    groups = [columns.label(*place) for place in sorted(asked.groups)]
    measure = listed(list(dict.fromkeys(measures)), 3)
    group = listed(list(dict.fromkeys(groups)), 3)
    spans = " and ".join(span.words for span in wanted.spans)
    match wanted.purpose:
        case "change" if measure:
            return f"Why {measure} changed" + (f": {spans}" if spans else "")
        case "trend" if measure:
            return f"{capital(measure)} over time"
        case "quality":
            return f"How far {tables} can be trusted"
        case _ if measure and group:
            return f"{capital(measure)} by {group}"
        case _ if measure or group:
            return f"What goes with {measure or group}"
        case _:
            return f"A first look at {tables}"
