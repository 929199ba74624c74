"""A profile for a prompt: as much as the tokens allow, the most useful first. Pure.

Whoever puts it into a prompt fences it: it is full of names and values from files of strangers.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Final

from cellwright.analyst import profile_view
from cellwright.analyst.profile import ColumnProfile, Format, Profile, ReadOptions, TableProfile
from cellwright.notebook.prompt_summary import clip, estimate_tokens
from cellwright.notebook.source_text import literal, sql_name

_FEW_ODDITIES: Final = 5
_MANY_ODDITIES: Final = 24
_FEW_NAMES: Final = 40
_COUNT_TOKENS: Final = 12
_MAX_JOINS: Final = 12
_TAIL_SHARE: Final = 0.25


class Detail(IntEnum):
    """How much is said of a table."""

    HEAD = 0
    """What it is."""
    READ = 1
    """And how to read it."""
    NAMES = 2
    """And its columns by name, and its gravest problems."""
    SOME = 3
    """And of the first columns kind, range and gaps."""
    MOST = 4
    """Of many more of them."""
    COLUMNS = 5
    """Of all columns."""
    ALL = 6
    """And conversions, patterns, examples, every problem."""


_DESCRIBED_COLUMNS: Final = {Detail.SOME: 20, Detail.MOST: 80}


def profile_text(profile: Profile, *, tokens: int) -> str:
    """The profile in words, within so many tokens.

    Tables come first, each with the line that reads it; where there are many, or wide ones, all are told with less
    before some are told with more. What did not fit is counted.
    """
    tail = clip("\n".join(_tail(profile)), int(tokens * _TAIL_SHARE))
    texts = _fitting(profile.tables, tokens - estimate_tokens(tail) - 1)
    return clip("\n\n".join([*texts, tail] if tail else texts), tokens)


def _fitting(tables: Sequence[TableProfile], tokens: int) -> list[str]:
    """As many tables as fit, each as closely as there is room for: the first ones, and the first step, first."""
    texts = [table_text(table, Detail.HEAD) for table in tables]
    costs = [estimate_tokens(text) + 1 for text in texts]
    if sum(costs) > tokens:
        fitting = sum(end <= tokens - _COUNT_TOKENS for end in itertools.accumulate(costs))
        return [*texts[:fitting], f"and {profile_view.many(len(texts) - fitting, 'more table')}"]
    spent = sum(costs)
    for detail in list(Detail)[1:]:
        for index, table in enumerate(tables):
            text = table_text(table, detail)
            cost = estimate_tokens(text) + 1
            if spent - costs[index] + cost <= tokens:
                spent += cost - costs[index]
                texts[index], costs[index] = text, cost
    return texts


def _tail(profile: Profile) -> list[str]:
    lines = [f"join {profile_view.join_words(join)}" for join in profile.joins[:_MAX_JOINS]]
    lines += [
        f"not read: {profile_view.shown(skipped.path)} ({skipped.why})" for skipped in profile.skipped[:_FEW_NAMES]
    ]
    if len(profile.skipped) > _FEW_NAMES:
        lines.append(f"not read: {len(profile.skipped) - _FEW_NAMES:,} more")
    return [*lines, *(f"note: {note}" for note in profile.notes)]


def table_text(table: TableProfile, detail: Detail) -> str:
    """One table."""
    lines = [profile_view.head_words(table)]
    if detail >= Detail.READ:
        lines.append(f"  read: {read_line(table)}")
    if detail == Detail.NAMES:
        lines.append(f"  columns: {_names(table.columns)}")
    elif detail > Detail.NAMES:
        described = _DESCRIBED_COLUMNS.get(detail, len(table.columns))
        lines += [f"  {fact}" for fact in profile_view.fact_words(table)]
        lines += [f"  - {column_text(column, table.looked_at, detail)}" for column in table.columns[:described]]
        if rest := table.columns[described:]:
            lines.append(f"  - and {_names(rest)}")
    return "\n".join([*lines, *(_oddities(table, detail) if detail >= Detail.NAMES else [])])


def _names(columns: Sequence[ColumnProfile]) -> str:
    names = ", ".join(f"{literal(column.name)} {column.kind}" for column in columns[:_FEW_NAMES])
    rest = Counter(column.kind for column in columns[_FEW_NAMES:])
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in rest.most_common())
    return f"{names}, and {rest.total():,} more ({kinds})" if rest else names


def _oddities(table: TableProfile, detail: Detail) -> list[str]:
    most = _MANY_ODDITIES if detail == Detail.ALL else _FEW_ODDITIES
    oddities = profile_view.by_severity(table.oddities)
    lines = [f"  ! {profile_view.oddity_words(oddity)}" for oddity in oddities[:most]]
    return [*lines, f"  ! and {len(oddities) - most:,} more oddities"] if len(oddities) > most else lines


def column_text(column: ColumnProfile, rows: int, detail: Detail) -> str:
    """One column in one line."""
    parts = [f"{literal(column.name)}: {profile_view.what_words(column)}"]
    if values := profile_view.value_words(column, rows):
        parts.append(values)
    if column.nulls:
        pattern = f", {column.null_pattern}" if column.null_pattern and detail == Detail.ALL else ""
        parts.append(f"{profile_view.share(column.nulls, rows)} missing{pattern}")
    if detail == Detail.ALL:
        parts += _more(column)
    return "; ".join(parts)


def _more(column: ColumnProfile) -> list[str]:
    """What somebody who writes code with it wants to know too."""
    parts: list[str] = []
    if column.numbers is not None and column.meaning in {"measure", "currency"}:
        mean, deviation = map(profile_view.figure, (column.numbers.mean, column.numbers.deviation))
        parts.append(f"mean {mean}, deviation {deviation}")
    elif column.distinct and not column.is_unique:
        parts.append(f"{column.distinct:,} distinct")
    if column.times is not None and column.times.missing_steps:
        parts.append(profile_view.time_words(column).partition(", ")[2])
    if words := _conversion_words(column):
        parts.append(words)
    return parts


def _conversion_words(column: ColumnProfile) -> str:
    """How its text becomes values, with an example of the text."""
    conversion = column.conversion
    if conversion.kind == "none":
        return ""
    settings = {
        "decimal": conversion.decimal if conversion.decimal != "." else "",
        "thousands": conversion.thousands,
        "prefix": conversion.prefix,
        "suffix": conversion.suffix,
        "formats": ", ".join(conversion.formats),
        "null words": ", ".join(conversion.null_words),
    }
    rules = "; ".join(f"{name} {profile_view.quoted(value)}" for name, value in settings.items() if value)
    like = f" such as {profile_view.quoted(column.examples[0])}" if column.examples else ""
    return f"text{like}{f' ({rules})' if rules else ''}" if rules or conversion.kind == "date" else ""


# ── how to read it ──

_READ_LINES: Final[dict[Format, str]] = {
    "parquet": "pd.read_parquet({path})",
    "feather": "pd.read_feather({path})",
    "json": "pd.read_json({path})",
    "jsonl": "pd.read_json({path}, lines=True)",
    "sqlite": "pd.read_sql({query}, sqlite3.connect({path}))",
    "duckdb": "duckdb.connect({path}, read_only=True).sql({query}).df()",
}


def read_line(table: TableProfile) -> str:
    """A line of pandas that reads a table; of several files of one shape, the one that reads the first."""
    reading = table.reading
    path = literal(table.files[0] if table.files else reading.path)
    match reading.format:
        case "csv":
            return f"pd.read_csv({', '.join([path, *_csv_words(table)])})"
        case "excel":
            sheet = [f"sheet_name={literal(reading.part)}"] if reading.part else []
            return f"pd.read_excel({', '.join([path, *sheet, *_place_words(reading)])})"
        case "json" if reading.part:
            return f"pd.DataFrame(json.loads(pathlib.Path({path}).read_text())[{literal(reading.part)}])"
        case other:
            query = literal(f"SELECT * FROM {sql_name(reading.part)}")
            return _READ_LINES[other].format(path=path, query=query)


def _csv_words(table: TableProfile) -> list[str]:
    reading = table.reading
    words = [f"sep={literal(reading.delimiter)}"] if reading.delimiter != "," else []
    if reading.encoding.lower() not in {"utf-8", "ascii"}:
        words.append(f"encoding={literal(reading.encoding)}")
    if any(column.conversion.decimal == "," for column in table.columns):
        words.append('decimal=","')
    return [*words, *_place_words(reading)]


def _place_words(reading: ReadOptions) -> Iterator[str]:
    names = f"[{', '.join(map(literal, reading.names))}]" if len(reading.names) <= _FEW_NAMES else ""
    return place_options(reading, names=names, width=reading.width, skip_last=reading.skip_last)


def place_options(reading: ReadOptions, *, names: str, width: int, skip_last: int) -> Iterator[str]:
    """Arguments by which pandas finds a table in its text or sheet; `names` is code of those no line gives."""
    if reading.quote != '"':
        yield f"quotechar={literal(reading.quote)}" if reading.quote else "quoting=3"
    if reading.skip_first:
        yield f"skiprows={reading.skip_first}"
    if not reading.header_rows:
        yield "header=None"
        yield from [f"names={names}"] if reading.names and names else []
    if width:
        yield f"usecols=range({reading.first_column}, {reading.first_column + width})"
    if reading.skips_spaces:
        yield "skipinitialspace=True"
    if skip_last:
        yield f"skipfooter={skip_last}"
        yield from ['engine="python"'] if reading.format == "csv" else []
