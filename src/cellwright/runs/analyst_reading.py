"""What the analyst reads back from its live notebook: its tests, and the answer. Bounded and validated."""

from __future__ import annotations

import math
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from cellwright.analyst.drafts import TestRow
from cellwright.analyst.profile import one_line
from cellwright.policy import Action, RunCode
from cellwright.tools.live_values import telling_code, told_json
from cellwright.tools.notebook_desk import NotebookDesk
from cellwright.tools.tool import Done, Tool, ToolError, ToolResult, tool

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


def tests_tool(desk: NotebookDesk, table: str) -> Tool:
    """Reads the table of tests, whatever it is called in this notebook. Only the analyst has it."""
    path = str(desk.notebook.path)
    code = telling_code(_BODY.replace("TABLE", table).replace("MOST", str(_MOST_ROWS)))

    def action(_: Any) -> Action:
        return RunCode(notebook=path, code=code)

    @tool(name=READ_TESTS, action=action, seconds=None)
    async def read_tests() -> ToolResult:
        """The rows of the table of tests."""
        try:
            rows = _ROWS.validate_python([_cut(row) for row in await told_json(desk, code)])
        except (ValidationError, TypeError) as error:
            return ToolError(kind="failed", message=f"The table of tests is none: {one_line(str(error), 300)}")
        return Done(text=f"{len(rows)} tests.", value=[_kept(row) for row in rows], is_untrusted=True)

    return read_tests


def parse_tests(value: Any) -> tuple[TestRow, ...]:
    """The tests as a record keeps them."""
    return tuple(_ROWS.validate_python([_whole(row) for row in value]))


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
