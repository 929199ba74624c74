"""A profile in words and small pictures, column by column: for a person's eyes and for a prompt. Pure.

Names and values from files are quoted wherever they stand: none can pose as a line of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import (
    ColumnProfile,
    Join,
    Oddity,
    PairJoin,
    Profile,
    SharedRows,
    TableProfile,
    Times,
    one_line,
)

_BARS: Final = "▁▂▃▄▅▆▇█"
_BAR_WIDTH: Final = 10
_FEW_VALUES: Final = 4
_MAX_SHOWN_LENGTH: Final = 40
_MAX_NAME_LENGTH: Final = 120
_SEVERITY: Final = {"problem": 0, "warning": 1, "note": 2}
_LARGE: Final = 1e15
_REPEATS: Final = frozenset({"duplicate-rows", "near-duplicate-rows"})
_LEVELLED: Final = {"spaces": "stripped", "case": "in one case", "zeros": "without leading zeros"}


def column_cells(column: ColumnProfile, rows: int) -> tuple[str, str, str, str, str]:
    """All that is shown of a column, of so many rows looked at: name, what it is, missing, values, a histogram."""
    missing = share(column.nulls, rows) if column.nulls else ""
    is_counted = column.meaning in {"category", "flag"} and len(column.common) > 1
    counts = [common.count for common in column.common] if is_counted else []
    shape = bars(column.numbers.histogram if column.numbers else counts)
    return one_line(column.name), what_words(column), missing, value_words(column, rows), shape


# ── tables ──


def head_words(table: TableProfile) -> str:
    """What it is and how large, in one line."""
    reading = table.reading
    place = shown(reading.path) + (f" {quoted(reading.part)}" if reading.part else "")
    files = f" and {len(table.files) - 1:,} more of one shape" if len(table.files) > 1 else ""
    rows = f"{'' if table.is_counted else 'about '}{many(table.rows, 'row')}"
    size = f", {size_words(table.bytes)}" if table.bytes else ""
    return f"{place}{files}, {reading.format}: {rows}, {many(len(table.columns), 'column')}{size}"


def fact_words(table: TableProfile) -> list[str]:
    """What holds for a table as a whole, a sentence each."""
    facts: list[str] = []
    if table.sampling:
        facts.append(f"Figures are from {many(table.looked_at, 'row')}: {table.sampling}")
    if table.keys:
        keys = " or ".join(" + ".join(map(literal, key)) for key in table.keys[:3])
        facts.append(f"Each row is named by {keys}")
    if table.looked_at and not table.sampling and not any(column.nulls for column in table.columns):
        # A key says it too, an oddity says otherwise.
        is_said = table.keys or any(oddity.kind in _REPEATS for oddity in table.oddities)
        facts.append("No nulls" if is_said else "No nulls, no repeated rows")
    facts += [time_words(column) for column in table.columns if column.name == table.time_column and column.times]
    facts += [f"In {shown(shared.file)} {shared_words(shared)}" for shared in table.shared]
    facts += [repeat.says for repeat in table.repeats[:6]]
    facts += [f"Empty in the same rows: {', '.join(map(literal, group))}" for group in table.missing_together[:4]]
    return facts


def shared_words(shared: SharedRows) -> str:
    """How much of a file stands in another."""
    rows = "all rows" if shared.rows == shared.of else f"{shared.rows:,} of {many(shared.of, 'row')}"
    return f"{rows} are those of {shown(shared.other)}"


def time_words(column: ColumnProfile) -> str:
    """What a time column covers, and what it leaves out."""
    times = column.times
    if times is None:
        return ""
    missing = f", {many(times.missing_steps, times.step)} without a row" if times.missing_steps else ""
    gaps = f" (longest gaps: {'; '.join(times.gaps[:3])})" if times.gaps else ""
    return f"Time is in {literal(column.name)}: {times.first} to {times.last}{_pace(times)}{missing}{gaps}"


def _pace(times: Times) -> str:
    if times.interval_seconds:
        minutes, seconds = divmod(times.interval_seconds, 60)
        return f" every {minutes:g} min" if minutes and not seconds else f" every {times.interval_seconds:g} s"
    return f" by {times.step}" if times.step else ""


def join_words(join: Join | PairJoin, profile: Profile) -> str:
    """Which columns join which tables, and how much of each side finds its match: in a sample less than in all rows."""
    match join:
        case PairJoin():
            lefts, rights, of, levelled = join.left_columns, join.right_columns, "pairs", ""
        case Join():
            lefts, rights, of = (join.left_column,), (join.right_column,), "values"
            levelled = f" once {' and '.join(_LEVELLED[need] for need in join.needs)}" if join.needs else ""
    left, right = f"{shown(join.left)}.{_together(lefts)}", f"{shown(join.right)}.{_together(rights)}"
    is_sampled = any(table.sampling for table in profile.tables if table.name in (join.left, join.right))
    covered = f"{join.left_coverage:.0%} of the left {of} found on the right, {join.right_coverage:.0%} of the right"
    covered = f"in samples {covered}" if is_sampled else covered
    return f"{left} = {right}{levelled}: {join.relation}, {covered} on the left"


def _together(columns: Sequence[str]) -> str:
    named = ", ".join(map(literal, columns))
    return named if len(columns) == 1 else f"({named})"


def by_severity(oddities: Sequence[Oddity]) -> tuple[Oddity, ...]:
    """The gravest first, else as they came."""
    return tuple(sorted(oddities, key=lambda oddity: _SEVERITY[oddity.severity]))


def oddity_words(oddity: Oddity) -> str:
    """The sentence, with its column unless that is named in it."""
    is_named = not oddity.column or one_line(oddity.column) in oddity.says
    return oddity.says if is_named else f"{quoted(oddity.column)}: {oddity.says}"


# ── columns ──


def what_words(column: ColumnProfile) -> str:
    """Kind, meaning and unit."""
    unit = f" ({shown(column.unit)})" if column.unit else ""
    is_plain = column.meaning in {"unknown", column.kind} or (column.meaning, column.kind) == ("date", "datetime")
    meaning = "" if is_plain else f", {column.meaning}"
    is_telling = column.is_unique and column.count > 1 and column.meaning not in {"measure", "currency", "text"}
    unique = ", unique" if is_telling else ""
    return f"{column.kind}{meaning}{unit}{unique}"


def value_words(column: ColumnProfile, rows: int) -> str:
    """What is in it: a span of time, a range, the commonest values, or the length of texts."""
    if column.times is not None:
        return f"{column.times.first} to {column.times.last}{_pace(column.times)}"
    if column.numbers is not None and column.meaning not in {"id", "code", "category", "flag", "constant"}:
        numbers = column.numbers
        least, middle, greatest = (
            figure(value, whole=numbers.has_integers_only)
            for value in (numbers.least, numbers.quartiles[1], numbers.greatest)
        )
        return f"{least} to {greatest}, median {middle}"
    if column.common and (column.meaning in {"category", "flag", "constant"} or column.distinct <= _FEW_VALUES):
        return common_words(column, rows)
    if column.texts is not None and column.meaning == "text":
        return f"{column.texts.shortest:,} to {column.texts.longest:,} characters"
    return f"such as {', '.join(map(quoted, column.examples[:2]))}" if column.examples else ""


def common_words(column: ColumnProfile, rows: int) -> str:
    """The commonest values with their shares, and how many more there are."""
    few = column.common[:_FEW_VALUES]
    text = ", ".join(f"{quoted(common.value)} {share(common.count, rows)}" for common in few)
    more = column.distinct - len(few)
    return f"{text}, {more:,} more" if more > 0 else text


def bars(counts: Sequence[int], width: int = _BAR_WIDTH) -> str:
    """A histogram one line high; empty if there is nothing to show."""
    steps = _gathered([max(0, count) for count in counts], width)
    top = max(steps, default=0)
    return "".join(_BARS[round(step / top * (len(_BARS) - 1))] if step else " " for step in steps) if top else ""


def _gathered(counts: list[int], width: int) -> list[int]:
    """Neighbours added up, until there are at most so many."""
    if len(counts) <= width:
        return counts
    edges = [round(index * len(counts) / width) for index in range(width + 1)]
    return [sum(counts[low:high]) for low, high in itertools.pairwise(edges)]


# ── small words ──


def quoted(text: str) -> str:
    """A value from a file, in quotes, on one line, cut where it is long."""
    return _in_quotes(one_line(text, _MAX_SHOWN_LENGTH))


def shown(text: str) -> str:
    """A name that is plain enough to stand by itself, else in quotes; a very long one is cut in its middle."""
    name = text
    if len(text) > _MAX_NAME_LENGTH:
        end = _MAX_NAME_LENGTH // 2
        name = f"{text[: end - 1]}…{text[-end:]}"
    is_plain = name and all(sign.isalnum() or sign in "_-./%€$…" for sign in name)
    return name if is_plain else _in_quotes(one_line(name))


def _in_quotes(line: str) -> str:
    return f"'{line}'" if "'" not in line else f'"{line.replace(chr(34), chr(39))}"'


def figure(value: float, *, whole: bool = False) -> str:
    """A number as people read it."""
    if whole and abs(value) < _LARGE and value == int(value):
        return f"{int(value):,}"
    text = f"{value:,.4g}"
    return f"{value:,.0f}" if "e+" in text and abs(value) < _LARGE else text


def share(count: int, rows: int) -> str:
    """`3.1 %`; what is there is never 0 %, and what is missing never makes it 100 %."""
    part = 100 * count / rows if rows else 0.0
    if 0 < part < 0.1:
        return "<0.1 %"
    if 99.9 < part < 100:
        return ">99.9 %"
    return f"{part:.2g} %" if part < 10 else f"{part:.0f} %"


def many(count: int, word: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def size_words(size: int) -> str:
    """`1.2 MB`."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return many(size, "byte")
