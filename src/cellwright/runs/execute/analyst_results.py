"""What the analyst reads back from its live notebook: the state of a section's cells, its tests, and the answer.

Bounded and validated: it comes out of a cage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError

from cellwright.analyst.answers.notebook import FINDING, PICTURE
from cellwright.analyst.drafts import CellDraft, TestRow
from cellwright.analyst.methods.source import method_cells, method_imports
from cellwright.ids import CellId
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.policy.actions import Action, RunCode
from cellwright.profiles.profile import one_line
from cellwright.runs.deliver.delivery import DeliveredFinding, ToldReport
from cellwright.tools.notebook.editor import NotebookEditor, json_cell_code, read_live_json
from cellwright.tools.section_cells import AnalystCell, FittedSection
from cellwright.tools.tool import Done, Tool, ToolError, ToolResult, tool

_BAD: Final = frozenset({"failed", "interrupted", "cancelled", "lost"})
_LONGEST: Final = 240
ANCESTOR_FAILED: Final = "AncestorFailed"
"""So begins why a cell has no result that only needs another one's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionState:
    """A section in the notebook. Plain values: a step's result."""

    cells: tuple[AnalystCell, ...] = ()
    bad: tuple[tuple[str, str], ...] = ()
    """Drafts whose cells have no result, and why."""
    harmed: tuple[str, ...] = ()
    """Cells of others that ran before and fail now."""


def failing_cells(notebook: OpenNotebook) -> tuple[str, ...]:
    """The ids of all cells that have failed."""
    return tuple(cell for cell, outcome in notebook.outcomes.items() if outcome.status in _BAD)


def section_state_of(
    editor: NotebookEditor,
    section: str,
    drafts: Sequence[CellDraft],
    fitted: FittedSection,
    *,
    keys: Sequence[str],
    failing: Sequence[str],
) -> SectionState:
    """How the section stands after these calls; `failing`: cells that had failed before them."""
    document = editor.notebook.document
    now = [
        replace(cell, version=found.version)
        for cell in (*fitted.stands, *_created(editor, section, drafts, fitted, keys))
        if (found := document.find(CellId(cell.id))) is not None
    ]
    wrong = [(cell.draft, why) for cell in now if (why := _why_not(editor.notebook, cell.id))]
    harmed = set(failing_cells(editor.notebook)) - {cell.id for cell in now} - set(failing)
    return SectionState(
        cells=tuple(now),
        bad=tuple(wrong),
        harmed=tuple(sorted(editor.notebook.state.name_of(CellId(cell)) for cell in harmed)),
    )


def _created(
    editor: NotebookEditor, section: str, drafts: Sequence[CellDraft], fitted: FittedSection, keys: Sequence[str]
) -> list[AnalystCell]:
    """The cells that these calls made, as the editor remembers them, in the order of the drafts."""
    turns = [turn for key in keys if (turn := editor.done(key)) is not None]
    made = {change.after.name: change.after for turn in turns for change in turn.changes if change.after is not None}
    named = dict(fitted.names)
    return [
        AnalystCell(section=section, draft=draft.name, id=cell.id, code=cell.code, is_at_start=draft.at_start)
        for draft in drafts
        if draft.name in named and (cell := made.get(named[draft.name])) is not None
    ]


def _why_not(notebook: OpenNotebook, cell: str) -> str:
    """Why a cell has no result; empty if it has one."""
    outcome = notebook.outcomes.get(CellId(cell))
    if outcome is None:
        return "it did not run"
    if outcome.status not in _BAD:
        return ""
    fault = outcome.error
    return outcome.status if fault is None else one_line(f"{fault.type}: {fault.message}", _LONGEST)


READ_TESTS: Final = "read_tests"
_MOST_ROWS: Final = 500
_LONGEST_WORDS: Final = 600
_LONGEST_ANSWER: Final = 4_000
_NUMBERS: Final = ("statistic", "p", "p_adjusted", "effect", "low", "high")
_WORDS: Final = ("table", "y", "x", "test", "effect_name", "checked", "says")
_ROWS: Final = TypeAdapter(list[TestRow])
_BODY: Final = """\
_first = TABLE.sort_values("is_finding", ascending=False, kind="stable").head(MOST).sort_index()
return _first.to_json(orient="records", double_precision=15, default_handler=str)"""


_QUIET: Final = """\
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    SCREENING"""


def tests_tool(editor: NotebookEditor, table: str, screening: str = "") -> Tool:
    """Reads the table of tests, whatever it is called in this notebook. Only the analyst has it.

    `screening` is code that makes the tests first, in a cell that is taken out again: the notebook does not keep it.
    """
    path = str(editor.notebook.path)
    body = _BODY.replace("TABLE", "_tests" if screening else table).replace("MOST", str(_MOST_ROWS))
    if screening:
        methods = (*method_imports(["examine"]), *(cell.code for cell in method_cells(["examine"])))
        body = "\n".join([*methods, _QUIET.replace("SCREENING", screening), body])
    code = json_cell_code(body)

    def action(_: Any) -> Action:
        return RunCode(notebook=path, code=code)

    @tool(name=READ_TESTS, action=action, seconds=None)
    async def read_tests() -> ToolResult:
        """The rows of the table of tests."""
        try:
            rows = _ROWS.validate_python([_cut(row) for row in await read_live_json(editor, code)])
        except (ValidationError, TypeError) as error:
            return ToolError(kind="failed", message=f"The table of tests is none: {one_line(str(error), 300)}")
        return Done(text=f"{len(rows)} tests.", value=[_kept(row) for row in rows], is_untrusted=True)

    return read_tests


def parse_tests(value: Any) -> tuple[TestRow, ...]:
    """The tests as a record keeps them."""
    return tuple(_ROWS.validate_python([_whole(row) for row in value]))


_MOST_FINDINGS: Final = 4
_MOST_BARS: Final = 8
_LONGEST_SENTENCE: Final = 600


def told_in(value: object) -> ToldReport:
    """What the first screen says, from the notebook's own variable: bounded, one line each."""
    told: dict[str, Any] = dict(value) if isinstance(value, dict) else {}
    findings = [each for each in _sequence(told.get("findings")) if isinstance(each, dict)][:_MOST_FINDINGS]
    return ToldReport(
        headline=_sentence(told.get("headline")),
        findings=tuple(
            DeliveredFinding(
                says=_sentence(each.get("says")),
                statistics=_sentence(each.get("statistics"), _LONGEST_ANSWER),
                cell=f"{FINDING}{number}",
                bars=_bars(each.get("bars")),
            )
            for number, each in enumerate(findings, start=1)
        ),
        picture=PICTURE,
        trust=" ".join(filter(None, (_sentence(each) for each in _sequence(told.get("trust"))[:8]))),
        readings=tuple(filter(None, (_sentence(each) for each in _sequence(told.get("readings"))[:8]))),
    )


def _sequence(value: object) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, list) else []


def _sentence(value: object, longest: int = _LONGEST_SENTENCE) -> str:
    return one_line(value, longest).strip() if isinstance(value, str) else ""


def _bars(value: object) -> tuple[tuple[str, float], ...]:
    items = list(value.items())[:_MOST_BARS] if isinstance(value, dict) else []
    numbers = ((one_line(str(label), 60), number) for label, number in items if isinstance(number, int | float))
    return tuple((label, float(number)) for label, number in numbers if math.isfinite(number))


def answer_words(told: ToldReport) -> str:
    """The answer as text: the headline, then the findings."""
    sentences = [told.headline, *(each.says for each in told.findings)]
    return "\n\n".join(sentence for sentence in sentences if sentence)


def answer_in(value: object) -> str:
    """The answer as the notebook has it; empty if it is no text."""
    if not isinstance(value, str):
        return ""
    lines = [one_line(line, _LONGEST_ANSWER) for line in value[: _LONGEST_ANSWER * 2].splitlines()]
    return "\n".join(lines).strip()[:_LONGEST_ANSWER]


def _cut(row: Any) -> dict[str, Any]:
    """A row of strangers with its words on one line each; numbers that are none become `nan`."""
    if not isinstance(row, dict):
        raise TypeError("a row is no row")
    known: dict[str, Any] = dict(row)
    known |= {key: one_line(str(known.get(key, "")), _LONGEST_WORDS) for key in _WORDS}
    return _whole(known)


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    """`null` in the place of a number is a number nobody knows."""
    return row | {key: math.nan for key in _NUMBERS if row.get(key) is None}


def _kept(row: TestRow) -> dict[str, Any]:
    """The row as JSON has it, which knows no `nan` and no infinity."""
    plain: dict[str, Any] = {key: getattr(row, key) for key in TestRow.__slots__}
    return plain | {key: None for key in _NUMBERS if not math.isfinite(plain[key])}
