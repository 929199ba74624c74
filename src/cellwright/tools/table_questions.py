"""Questions to a table of the notebook as code that answers them, and the answers in words. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.methods.source import method_cells, method_imports
from cellwright.analyst.names import free_name
from cellwright.notebook.source_text import identifier, literal
from cellwright.profiles.profile import one_line
from cellwright.tools.notebook.editor import json_cell_code

METHOD: Final = "method_"
"""So begin the names of cells that hold a method."""
_MOST_PARTS: Final = 12
_CERTAIN: Final = 0.05
_PANDAS: Final = "import pandas as pd"
_METHODS: Final = ("difference", "association", "correlation")
_CHOOSE: Final = """\
def _is_number(name):
    return pd.api.types.is_numeric_dtype(TABLE[name]) and not pd.api.types.is_bool_dtype(TABLE[name])


_numeric = [name for name in (FIRST, SECOND) if _is_number(name)]
if len(_numeric) == 2:
    _row = correlation(TABLE, FIRST, SECOND)
elif _numeric:
    _row = difference(TABLE, _numeric[0], SECOND if _numeric[0] == FIRST else FIRST)
else:
    _row = association(TABLE, FIRST, SECOND)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuestion:
    """What is asked of a table."""

    method: Literal["difference", "relate", "explain_change"]
    table: str
    columns: tuple[str, ...]
    spans: tuple[tuple[str, str], ...] = ()
    keep: bool = False
    """The cells that answer it are put into the notebook."""


def question_cell(question: TableQuestion) -> str:
    """A cell that shows the answer as JSON and leaves nothing behind."""
    wanted = _methods(question)
    methods = "\n\n\n".join(draft.code for draft in method_cells(wanted))
    if question.method == "explain_change":
        ending = f'return {_call(question)}.to_json(orient="records", double_precision=12)'
    else:
        asked = _choose(question) if question.method == "relate" else f"_row = {_call(question)}"
        ending = f"{asked}\nreturn json.dumps(_row, default=str)"
    return json_cell_code(f"import json\n\n{_libraries(wanted)}\n\n\n{methods}\n\n\n{ending}")


def cells_for(question: TableQuestion, answer: Any, *, taken: Collection[str]) -> tuple[CellDraft, ...]:
    """The cells that give the same answer in the notebook: imports, methods, the answer as a table."""
    call = _call(question, answer)
    words = "_".join([question.method, *(question.columns if question.spans else reversed(question.columns))])
    name = free_name(identifier(words)[:50] or "answer", taken)
    made = call if question.method == "explain_change" else f"pd.DataFrame([{call} or {{}}])"
    wanted = _methods(question, answer)
    return (
        CellDraft(name="libraries", code=_libraries(wanted)),
        *method_cells(wanted),
        CellDraft(name=name, code=f"{name} = {made}\n{name}"),
    )


def answer_words(question: TableQuestion, row: Any) -> str | None:
    """One test in words; None if it could not be made. The row came out of a cage."""
    if not isinstance(row, dict) or not row:
        return None
    known: dict[str, Any] = row
    p, effect, low, high = (_number(known.get(key)) for key in ("p", "effect", "low", "high"))
    test, name = one_line(str(known.get("test")), 80), one_line(str(known.get("effect_name")), 80)
    size = f"{name} {effect:.3g}, 95 % interval {low:.3g} to {high:.3g}"
    says = one_line(str(known.get("says")), 400)
    lines = [
        f"{says}." if p <= _CERTAIN else f"Nothing that can be told from chance. In these rows: {says}.",
        f"{test}: n = {_number(known.get('n')):,.0f}, p = {p:.3g}; {size}.",
        f"Checked: {one_line(str(known.get('checked')), 300) or 'nothing'}.",
        f"One test by itself: correct for it if you make many. That they go together in {question.table} says not why.",
    ]
    return "\n".join(lines)


def change_words(question: TableQuestion, parts: Any) -> str | None:
    """Where a change comes from, in words; None if there is nothing in these spans."""
    if not isinstance(parts, list) or not parts:
        return None
    rows: list[dict[str, Any]] = [part for part in parts if isinstance(part, dict)]
    before, after = (sum(_number(row.get(key)) for row in rows) for key in ("first", "second"))
    measure, _, by = question.columns
    lines = [
        f"- {one_line(str(row.get('label')), 80)}: {_number(row.get('change')):+,.6g} ({_share(row.get('share'))})"
        for row in rows[:_MOST_PARTS]
    ]
    lines += [f"- {len(rows) - _MOST_PARTS} more"] if len(rows) > _MOST_PARTS else []
    head = f"The total of {one_line(measure, 80)} went from {before:,.6g} to {after:,.6g} ({after - before:+,.6g})."
    return "\n".join([head, f"By {one_line(by, 80)}, the parts adding up to the whole:", *lines])


def finite(value: Any) -> Any:
    """The value without numbers that JSON has no word for."""
    match value:
        case dict():
            return {str(key): finite(each) for key, each in value.items()}
        case list():
            return [finite(each) for each in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


# ── code ──


def _libraries(methods: Sequence[str]) -> str:
    return "\n".join(dict.fromkeys([*method_imports(methods), _PANDAS]))


def _methods(question: TableQuestion, answer: Any = None) -> Sequence[str]:
    match question.method:
        case "relate":
            kind = answer.get("kind") if isinstance(answer, dict) else None
            return (kind,) if kind in _METHODS else _METHODS
        case method:
            return (method,)


def _call(question: TableQuestion, answer: Any = None) -> str:
    """The method's call, columns as literals; for `relate` of the kind that was chosen."""
    method, columns = question.method, question.columns
    if question.method == "relate":
        row: dict[str, Any] = answer if isinstance(answer, dict) else {}
        kind = row.get("kind")
        method = kind if kind in _METHODS else "association"
        columns = columns[::-1] if row.get("y") == columns[1] else columns
    arguments = [literal(column) for column in columns]
    if question.spans:
        measure, when, by = arguments
        spans = [f"({literal(first)}, {literal(last)})" for first, last in question.spans]
        arguments = [measure, when, *spans, by]
    return f"{method}({question.table}, {', '.join(arguments)})"


def _choose(question: TableQuestion) -> str:
    first, second = (literal(column) for column in question.columns)
    words = {"TABLE": question.table, "FIRST": first, "SECOND": second}
    # One pass: a column may itself be called SECOND.
    return re.sub("TABLE|FIRST|SECOND", lambda found: words[found[0]], _CHOOSE)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _share(value: Any) -> str:
    share = _number(value)
    return f"{share:.0%} of the change" if math.isfinite(share) else "share unknown"
