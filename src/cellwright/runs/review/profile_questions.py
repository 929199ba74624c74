"""Questions that the data of a goal raises, and by which cell of a notebook each is settled. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from cellwright.analyst.goal.question import Question
from cellwright.analyst.goal.question_reader import read_question
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import Join, Oddity, OddityKind, Profile, TableProfile, one_line
from cellwright.runs.review.answer_figures import AnswerText
from cellwright.runs.review.findings import Finding, ReviewQuestion
from cellwright.runs.review.merge_calls import merge_calls
from cellwright.runs.review.question_words import question_words
from cellwright.runs.review.spoken_names import is_spoken

_KINDS: Final[dict[OddityKind, str]] = {
    "total-rows": "total-rows",
    "sentinel": "sentinel",
    "mixed-units": "mixed-units",
    "repeated-header": "doubled-headers",
    "duplicate-rows": "duplicate-rows",
}
_WORDS: Final[dict[OddityKind, tuple[str, ...]]] = {
    "total-rows": ("total", "sum"), "sentinel": ("sentinel", "placeholder"), "mixed-units": ("unit",),
    "repeated-header": ("header",), "ragged-rows": ("ragged", "line"), "impossible-dates": ("date", "impossible"),
    "not-read": ("broken", "read"),
}  # fmt: skip
"""How an answer may speak of it."""
_LONGEST: Final = 300
_COMMON_NUMBERS: Final = frozenset({0.0, 1.0, -1.0})
"""They stand in code for many reasons."""
_FEW_ROWS: Final = ("drop_duplicates", "skipfooter", "nrows")
_WHOLE_TIME: Final = ("asfreq", "reindex", "date_range", "resample", "period_range")
_LEVELLING: Final = ("strip", "zfill", "lstrip", "casefold", "lower", "upper", "astype", "to_numeric")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellUse:
    """What a cell's code says: its strings and numbers, what it calls, which columns it compares."""

    name: str
    code: str
    strings: frozenset[str]
    numbers: frozenset[float]
    calls: frozenset[str]
    compared: frozenset[str]


def questions_from_profile(goal: str, profile: Profile, document: Document) -> tuple[ReviewQuestion, ...]:
    """Each thing in the data that makes figures wrong in silence, of files that the notebook reads."""
    cells = [_use(cell) for cell in document.cells]
    code = "\n".join(cell.code for cell in cells)
    read = [table for table in profile.tables if _is_read(table, code)]
    asked = [question for table in read for question in _of_table(goal, table, cells, code)]
    names = {table.name: table for table in read}
    joins = [join for join in profile.joins if join.left in names and join.right in names]
    asked += [question for join in joins for question in _of_join(join, names, cells, document)]
    return tuple(dict.fromkeys(asked))


def asks_about_quality(goal: str, profile: Profile) -> bool:
    """Whether the goal asks how far the data can be trusted, and for no figure."""
    question = read_question(question_words(goal).words, profile)
    return isinstance(question, Question) and question.kind == "quality"


def quality_finding(profile: Profile, answer: AnswerText) -> Finding | None:
    """An answer to how far data can be trusted that names nothing of what is wrong with it."""
    wrong = [(table, each) for table in profile.tables for each in table.oddities if each.severity == "problem"]
    words = {word.casefold() for _, each in wrong for word in (each.column, *each.values, *_WORDS.get(each.kind, ()))}
    words = {word for word in words if word}
    if not wrong or any(word in answer.text.casefold() for word in words):
        return None
    table, first = wrong[0]
    says = one_line(f"{table.reading.path}: {first.says}", _LONGEST)
    code = (
        f"_said = {answer.code}\nassert any(_word in _said.casefold() for _word in {sorted(words)!r}), {literal(says)}"
    )
    return Finding(
        claim=answer.claim,
        found=says,
        shows=code,
        by="code",
        kind=first.kind,
        is_of_words=not answer.is_of_notebook,
    )


def _is_read(table: TableProfile, code: str) -> bool:
    """Whether the code names its file, or a folder that it lies in."""
    paths = [PurePosixPath(path) for path in table.files or (table.reading.path,)]
    names = {path.name for path in paths} | {part for path in paths for part in path.parts[:-1]}
    stems = {re.sub(r"\W+", "_", path.name.casefold()) for path in paths}
    return any(name in code for name in names) or any(stem in code for stem in stems)


# ── tables ──


def _of_table(goal: str, table: TableProfile, cells: Sequence[CellUse], code: str) -> Iterator[ReviewQuestion]:
    for oddity in table.oddities:
        kind = _KINDS.get(oddity.kind)
        if kind is None or (oddity.severity == "note" and oddity.kind != "duplicate-rows"):
            continue
        is_of_rows = oddity.kind in ("total-rows", "repeated-header", "duplicate-rows")
        if is_of_rows or _is_used(oddity.column, goal, code):
            yield ReviewQuestion(
                kind=kind,
                says=one_line(f"{table.reading.path}: {oddity.says}", _LONGEST),
                settled=_settled(oddity, cells),
            )
    for column in table.columns:
        if column.times is not None and column.times.missing_steps and _is_used(column.name, goal, code):
            gaps = f", the longest {column.times.gaps[0]}" if column.times.gaps else ""
            missing = f"{column.times.missing_steps:,} {column.times.step or 'step'}s are missing{gaps}"
            yield ReviewQuestion(
                kind="missing-periods",
                says=one_line(f"{table.reading.path}: in {column.name} {missing}.", _LONGEST),
                settled=_by_call(cells, _WHOLE_TIME, "fills or counts the steps of time"),
            )


def _is_used(column: str, goal: str, code: str) -> bool:
    return (
        not column or f'"{column}"' in code or f"'{column}'" in code or f".{column}" in code or is_spoken(column, goal)
    )


def _settled(oddity: Oddity, cells: Sequence[CellUse]) -> str:
    """By which cell and how; empty: by none that could be told."""
    values = {value.strip().casefold() for value in oddity.values}
    numbers = {float(value) for value in values if re.fullmatch(r"-?\d+(?:\.\d+)?", value)} - _COMMON_NUMBERS
    for cell in cells:
        if named := sorted(values & {text.strip().casefold() for text in cell.strings}):
            return f"{cell.name} names {named[0]!r}"
        if numbers & cell.numbers:
            return f"{cell.name} names {min(numbers & cell.numbers):g}"
        if oddity.column and oddity.column in cell.compared:
            return f"{cell.name} selects by {oddity.column}"
        if "test" in cell.name and oddity.column and oddity.column in cell.strings:
            return f"{cell.name} tests {oddity.column}"
    if oddity.kind in ("total-rows", "repeated-header", "duplicate-rows"):
        return _by_call(cells, _FEW_ROWS, "leaves such rows out")
    return ""


def _by_call(cells: Sequence[CellUse], calls: Sequence[str], how: str) -> str:
    found = next(((cell, call) for cell in cells for call in calls if call in cell.calls), None)
    return f"{found[0].name} {how} ({found[1]})" if found else ""


# ── joins ──


def _of_join(
    join: Join, tables: dict[str, TableProfile], cells: Sequence[CellUse], document: Document
) -> Iterator[ReviewQuestion]:
    """Joins that the notebook makes by these columns."""
    made = [
        merge
        for merge in merge_calls(document)
        if {join.left_column, join.right_column} & {*merge.left_keys, *merge.right_keys}
    ]
    if not made:
        return
    between = f"{tables[join.left].reading.path} and {tables[join.right].reading.path} by {join.left_column}"
    if join.relation == "many-to-many":
        validated = next((merge.cell for merge in made if merge.is_validated), "")
        yield ReviewQuestion(
            kind="many-to-many",
            says=one_line(f"Joining {between} counts rows several times: the keys repeat on both sides.", _LONGEST),
            settled=f"{validated} validates the join"
            if validated
            else _by_call(cells, ("drop_duplicates",), "keeps one"),
        )
    if join.needs or join.left_coverage < 1:
        why = (
            f"unless {' and '.join(join.needs)} are levelled" if join.needs else f"{1 - join.left_coverage:.0%} of keys"
        )
        yield ReviewQuestion(
            kind="lost-rows",
            says=one_line(f"Joining {between} loses rows: {why}.", _LONGEST),
            settled=_by_call(cells, _LEVELLING, "levels keys") if join.needs else _kept(made),
        )


def _kept(made: Sequence[object]) -> str:
    kept = next((merge for merge in made if getattr(merge, "how", "") in ("left", "outer", "right")), None)
    return f"{getattr(kept, 'cell', 'A cell')} keeps rows without a partner" if kept else ""


# ── what code says ──


def _use(cell: Cell) -> CellUse:
    try:
        tree: ast.AST = ast.parse(cell.code)
    except SyntaxError:
        tree = ast.Module(body=[], type_ignores=[])
    strings, numbers, calls, compared = set[str](), set[float](), set[str](), set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)):
                strings |= {text, *re.findall(r"[\w.-]+", text)}
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                numbers.add(-float(number))
            case ast.Constant(value=int() | float() as number):
                numbers.add(float(number))
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                calls.add(name)
            case ast.Compare():
                compared |= {
                    each.value
                    for each in ast.walk(node)
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                }
            case _:
                continue
    return CellUse(
        name=cell.name if cell.name != "_" else "A cell",
        code=cell.code,
        strings=frozenset(strings),
        numbers=frozenset(numbers),
        calls=frozenset(calls),
        compared=frozenset(compared),
    )
