"""The answer one reading gives: a number, words, a list or a table; asked of the kernel, and held against another's.

What comes back was printed by notebook code: it is data, and read as such.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, assert_never

import msgspec

from cellwright.notebook.prompt_summary import clip
from cellwright.tools.tool import Done, ToolResult, result_text

Atom = str | int | float | bool | None
Evaluate = Callable[[str], Awaitable[ToolResult]]
"""Runs a cell's code where the notebook's variables are, and answers what `apply` would."""
Sameness = Literal["same", "rounded", "different"]
"""rounded: one is the other with fewer digits."""

_MARK: Final = "cellwright-answer: "
_RELATIVE: Final = 1e-9
_ROUNDING: Final = 0.005
"""A rounded figure is this near to the exact one; 0.5 for 0.46 is another answer."""
_SHOWN_TOKENS: Final = 80
_SHOWN_ROWS: Final = 8
_WHY_TOKENS: Final = 80


class NumberAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="figure"):
    """A number."""

    number: int | float


class TextAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="words"):
    """Anything said in one text: a name, a date, yes or no."""

    text: str


class ListAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="list"):
    """Values in order."""

    items: tuple[Atom, ...]
    count: int
    digest: str = ""
    """Of all of them, where there are more than are here."""

    @property
    def is_whole(self) -> bool:
        """Whether all items are here."""
        return len(self.items) == self.count

    def texts(self) -> tuple[str, ...]:
        """The items that are texts."""
        return tuple(item for item in self.items if isinstance(item, str))


class TableAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="table"):
    """Rows of named columns; the order of rows and columns does not matter."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Atom, ...], ...]
    count: int
    digest: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all rows are here."""
        return len(self.rows) == self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """The reading could not be tried."""

    why: str


_PRINTED: Final = msgspec.json.Decoder(NumberAnswer | TextAnswer | ListAnswer | TableAnswer)
ReadingAnswer = NumberAnswer | TextAnswer | ListAnswer | TableAnswer | NoAnswer


async def evaluate_answer(how: str, evaluate: Evaluate) -> ReadingAnswer:
    """What this code comes to: an expression, or statements that end with one."""
    code = answer_code(how)
    if code is None:
        return NoAnswer(why="It is no Python that ends with an expression.")
    return parse_printed_answer(await evaluate(code))


def answer_code(how: str) -> str | None:
    """A cell that prints the value in a form programs can read, and defines nothing; None if it cannot be one."""
    try:
        *before, last = ast.parse(how).body
        [function] = ast.parse("def _reading(): ...").body
        if not isinstance(last, ast.Expr) or not isinstance(function, ast.FunctionDef):
            return None
        function.body = [*before, ast.Return(value=last.value)]
        code = f"{ast.unparse(function)}\n\n{_PRINTER}\nprint({_MARK!r} + _told(_reading()))"
        # What the grammar allows the compiler may still refuse: `return *x`.
        compile(code, "reading", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return code


# ── reading ──


def parse_printed_answer(result: ToolResult) -> ReadingAnswer:
    """The answer in what such a cell came to."""
    if not isinstance(result, Done):
        return NoAnswer(why=clip(result_text(result), _WHY_TOKENS))
    cells = _cells(result.value)
    for text in [*(str(cell.get("console", "")) for cell in cells), result.text]:
        if (at := text.rfind(_MARK)) >= 0:
            try:
                return _PRINTED.decode(text[at + len(_MARK) :].split("\n", 1)[0])
            except (msgspec.MsgspecError, ValueError, RecursionError):
                return NoAnswer(why="Its answer could not be read.")
    errors = [error for cell in cells if isinstance(error := cell.get("error"), dict)]
    why = next((f"{each['type']}: {each['message']}" for each in errors if {"type", "message"} <= each.keys()), "")
    return NoAnswer(why=clip(why or "It gave no answer.", _WHY_TOKENS))


def _cells(value: Any) -> list[dict[str, Any]]:
    cells: Any = value.get("cells") if isinstance(value, dict) else None
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []


# ── comparing ──


def compare_answers(one: ReadingAnswer, other: ReadingAnswer) -> Sameness:
    """Whether two answers say the same."""
    match one, other:
        case NumberAnswer(number=first), NumberAnswer(number=second):
            return _numbers(first, second)
        case TextAnswer(text=first), TextAnswer(text=second):
            return "same" if " ".join(first.split()) == " ".join(second.split()) else "different"
        case ListAnswer(), ListAnswer():
            if one.count != other.count or not (one.is_whole and other.is_whole):
                return "same" if (one.count, one.digest) == (other.count, other.digest) else "different"
            return worst(_cells_alike(a, b) for a, b in zip(one.items, other.items, strict=True))
        case TableAnswer(), TableAnswer():
            return _tables(one, other)
        case _:
            return "different"


def _tables(one: TableAnswer, other: TableAnswer) -> Sameness:
    if (one.count, len(one.columns)) != (other.count, len(other.columns)):
        return "different"
    if not (one.is_whole and other.is_whole):
        return "same" if one.digest == other.digest else "different"
    # Where the columns are called the same, their order does not matter; else it is all there is to go by.
    by_name = sorted(one.columns) == sorted(other.columns)
    mine, theirs = _ordered(one, by_name=by_name), _ordered(other, by_name=by_name)
    return worst(
        _cells_alike(a, b) for row, same in zip(mine, theirs, strict=True) for a, b in zip(row, same, strict=True)
    )


def _ordered(table: TableAnswer, *, by_name: bool) -> list[list[Atom]]:
    order = range(len(table.columns))
    if by_name:
        order = sorted(order, key=lambda at: table.columns[at])
    rows = [[row[at] if at < len(row) else None for at in order] for row in table.rows]
    # Rough numbers first: digits that differ by rounding must not change the order of rows that differ otherwise.
    return sorted(rows, key=lambda row: ([_sorting(value, ".3g") for value in row], [_sorting(value) for value in row]))


def _sorting(value: Atom, digits: str = "") -> tuple[int, float, str]:
    """Texts, then numbers with so many digits, then what is no finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0, 0.0, repr(value)
    if not math.isfinite(value):
        return 2, 0.0, str(value)
    return 1, float(f"{value:{digits}}"), ""


def _cells_alike(one: Atom, other: Atom) -> Sameness:
    numbers = [value for value in (one, other) if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == 2:
        return _numbers(*numbers)
    return "same" if one == other else "different"


def worst(found: Iterator[Sameness]) -> Sameness:
    """All of them taken together."""
    seen = set(found)
    return "different" if "different" in seen else "rounded" if "rounded" in seen else "same"


def _numbers(one: float, other: float) -> Sameness:
    if one == other or math.isclose(one, other, rel_tol=_RELATIVE):
        return "same"
    if not (math.isfinite(one) and math.isfinite(other)):
        return "same" if math.isnan(one) and math.isnan(other) else "different"
    coarse, fine = sorted((Decimal(str(one)), Decimal(str(other))), key=_decimals)
    half = Decimal(5).scaleb(-_decimals(coarse) - 1)
    # A whole number is a figure of its own: 100 for 100.01 may well be another sum.
    is_rounding = 0 < _decimals(coarse) < _decimals(fine) and abs(fine - coarse) <= half
    is_near = math.isclose(one, other, rel_tol=_ROUNDING)
    return "rounded" if is_rounding and is_near else "different"


def _decimals(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


# ── showing ──


def brief_text(answer: ReadingAnswer) -> str:
    """The same for a person: of a long fraction what matters."""
    match answer:
        case NumberAnswer(number=float() as number):
            return f"{number:,.6g}"
        case _:
            return answer_text(answer)


def answer_text(answer: ReadingAnswer) -> str:
    """An answer on one line, within bounds."""
    match answer:
        case NumberAnswer(number=number):
            return f"{number:,}" if isinstance(number, int) else repr(number)
        case TextAnswer(text=text):
            return clip(" ".join(text.split()), _SHOWN_TOKENS)
        case ListAnswer(items=items, count=count):
            more = f", … ({count} in all)" if count > _SHOWN_ROWS else ""
            return clip(", ".join(map(str, items[:_SHOWN_ROWS])) + more, _SHOWN_TOKENS)
        case TableAnswer(columns=columns, rows=rows, count=count):
            lines = ["/".join(map(str, row)) for row in rows[:_SHOWN_ROWS]]
            return clip(f"{count} rows of {'/'.join(columns)}: {'; '.join(lines)}", _SHOWN_TOKENS)
        case NoAnswer(why=why):
            return f"no answer ({' '.join(why.split())})"
        case _:
            assert_never(answer)


_PRINTER: Final = """\
def _told(value):
    import hashlib, json, math

    def atom(x):
        if type(x).__module__.partition(".")[0] == "numpy" and hasattr(x, "item"):
            x = x.item()
        if x is None or isinstance(x, (bool, str)):
            return x if not isinstance(x, str) else x[:500]
        if isinstance(x, int):
            return x
        if isinstance(x, float) or type(x).__name__ in ("Decimal", "Fraction"):
            x = float(x)
            return x if math.isfinite(x) else str(x)
        return None if type(x).__name__ in ("NAType", "NaTType") else str(x)[:500]

    def rough(x):
        return f"{x:.9g}" if isinstance(x, float) else str(x)

    def digest(rows):
        return hashlib.sha256("\\n".join(rows).encode("utf-8", "replace")).hexdigest()

    def table(columns, rows):
        rows = [[atom(x) for x in row] for row in rows]
        order = sorted(range(len(columns)), key=lambda i: str(columns[i]))
        kept = rows if len(json.dumps(rows)) < 8000 else []
        alike = digest(sorted("\\t".join(rough(row[i]) for i in order) for row in rows))
        names = [str(c)[:200] for c in columns]
        return {"is": "table", "columns": names, "rows": kept, "count": len(rows), "digest": alike}

    def listed(values):
        values = [atom(x) for x in values]
        kept = values if len(json.dumps(values)) < 8000 else []
        return {"is": "list", "items": kept, "count": len(values), "digest": digest(rough(x) for x in values)}

    def plain(x):
        if hasattr(x, "__len__") and not isinstance(x, str) and len(x) > 100_000:
            raise ValueError(f"an answer of {len(x):,} rows is too long to compare")
        kind, home = type(x).__name__, type(x).__module__.partition(".")[0]
        if home == "polars":
            if kind == "LazyFrame":
                x, kind = x.collect(), "DataFrame"
            return table(x.columns, x.rows()) if kind == "DataFrame" else listed(x.to_list())
        if kind == "DuckDBPyRelation":
            return table(x.columns, x.fetchall())
        if home == "pyarrow" and kind == "Table":
            return table(x.column_names, [list(row.values()) for row in x.to_pylist()])
        if home == "pandas" and kind in ("DataFrame", "Series"):
            if kind == "Series":
                x = x.to_frame(x.name if x.name is not None else "value")
            if type(x.index).__name__ != "RangeIndex":
                names = [n if n is not None else f"index {i}" for i, n in enumerate(x.index.names)]
                keys = [k if isinstance(k, tuple) else (k,) for k in x.index]
                return table([*names, *x.columns], [[*k, *row] for k, row in zip(keys, x.itertuples(index=False))])
            return table(list(x.columns), [list(row) for row in x.itertuples(index=False)])
        if isinstance(x, dict):
            return table(["key", "value"], [[k, v] for k, v in x.items()])
        if hasattr(x, "tolist") and home == "numpy":
            x = x.tolist()
        if isinstance(x, (set, frozenset)):
            x = sorted(x, key=str)
        if isinstance(x, (list, tuple)) or home == "pandas" and hasattr(x, "tolist"):
            x = list(x)
            if x and all(isinstance(row, (list, tuple)) and len(row) == len(x[0]) for row in x):
                return table([f"{i}" for i in range(len(x[0]))], x)
            return listed(x)
        x = atom(x)
        if isinstance(x, (int, float)) and not isinstance(x, bool):
            return {"is": "figure", "number": x}
        return {"is": "words", "text": str(x)[:2000]}

    return json.dumps(plain(value))

"""
"""Runs in the notebook, and imports nothing that the notebook did not."""
