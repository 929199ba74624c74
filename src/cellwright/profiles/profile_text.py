"""A profile for a prompt: as much as the tokens allow, the most useful first. Pure.

Whoever puts it into a prompt fences it: it is full of names and values from files of strangers.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from enum import IntEnum
from typing import Final

from cellwright.notebook.prompt_summary import clip, estimate_tokens
from cellwright.notebook.source_text import literal
from cellwright.profiles import profile_view
from cellwright.profiles.file_differences import difference_lines
from cellwright.profiles.file_groups import FileGroup, RankedGroups, key_joins, rank_groups
from cellwright.profiles.folder_text import FEW_FILES, folder_tree
from cellwright.profiles.profile import (
    ColumnProfile,
    Join,
    PairJoin,
    Profile,
    ShapeColumn,
    TableProfile,
    spoken,
)
from cellwright.profiles.read_lines import digits_code, parsed_dates, read_line, reading_line

_FEW_ODDITIES: Final = 5
_MANY_ODDITIES: Final = 24
_FEW_NAMES: Final = 40
_COUNT_TOKENS: Final = 12
_MAX_JOINS: Final = 12
_FEW_SKIPPED: Final = 3
_TREE_SHARE: Final = 0.3
_TAIL_SHARE: Final = 0.25
_CLOSE_SHARE: Final = 0.6
_IN_COLUMNS: Final = frozenset({"constant", "all-null", "dates-as-text"})
"""Oddities that a column's own line says."""
_READ_ANYWAY: Final[dict[str, frozenset[str]]] = {
    "read": frozenset({"decimal-comma", "numbers-as-text"}),
    "digits": frozenset({"decimal-comma", "numbers-as-text", "currency-text", "percent-text"}),
    "text": frozenset({"leading-zeros"}),
}
"""Oddities that the line of code, or that of the column, takes care of."""


class Detail(IntEnum):
    """How much is said of a table, or of files of one shape."""

    HEAD = 0
    """What it is."""
    LINE = 1
    """In one line how to read it, how large it is, and its columns by name."""
    SOME = 2
    """Of the first columns kind, range and gaps, and the gravest problems."""
    MOST = 3
    """Of many more of them."""
    COLUMNS = 4
    """Of all columns."""
    ALL = 5
    """And conversions, patterns, examples, every problem."""


_FEW_NEGATIVE: Final = 0.1
_DESCRIBED_COLUMNS: Final = {Detail.SOME: 20, Detail.MOST: 80}


def profile_text(profile: Profile, *, tokens: int, goal: str = "", named: Collection[str] = ()) -> str:
    """The profile in words, within so many tokens.

    Many files begin with a tree of their folders. Then every file, or group of one shape, has a line; what is left is
    spent on those that a person `named`, else on those that speak of the goal, or on all where none does. What did not
    fit is counted.
    """
    ranked = rank_groups(profile, goal, named)
    tree = folder_tree(profile, ranked, tokens=int(tokens * _TREE_SHARE))
    tail = clip("\n".join(_tail(profile, ranked)), int(tokens * _TAIL_SHARE))
    texts = _fitting(ranked, tokens - estimate_tokens(tree) - estimate_tokens(tail) - 2)
    return clip("\n\n".join(text for text in (tree, *texts, tail) if text), tokens)


def _fitting(ranked: RankedGroups, tokens: int) -> list[str]:
    """As many as fit, each as closely as there is room for: the first ones, and the first step, first."""
    groups = ranked.groups
    texts = [group_text(group, Detail.HEAD) for group in groups]
    costs = [estimate_tokens(text) + 1 for text in texts]
    if sum(costs) > tokens:
        fitting = sum(end <= tokens - _COUNT_TOKENS for end in itertools.accumulate(costs))
        return [*texts[:fitting], f"and {profile_view.many(len(texts) - fitting, 'more table')}"]
    spent, told = sum(costs), [Detail.HEAD] * len(groups)
    for detail, index, limit in _steps(ranked, tokens, spent):
        if detail <= told[index]:
            continue
        text = group_text(groups[index], detail, ranked.words)
        cost = estimate_tokens(text) + 1
        if spent - costs[index] + cost <= limit:
            spent += cost - costs[index]
            texts[index], costs[index], told[index] = text, cost, detail
    # Lines stand together, what is told at length stands apart.
    return ["\n".join(part) if is_line else "\n\n".join(part) for is_line, part in _parts(texts)]


def _steps(ranked: RankedGroups, tokens: int, spent: int) -> Iterator[tuple[Detail, int, int]]:
    """What is told more closely, in which order, and how much may be spent by then.

    Most of the room first goes to what speaks of the goal, then everything has its line, then the rest is used up.
    """
    is_close = _are_close(ranked)
    close = [at for at, is_told in enumerate(is_close) if is_told]
    first = spent + int((tokens - spent) * _CLOSE_SHARE)
    if len(close) < len(is_close):
        yield from ((detail, at, first) for detail in list(Detail)[1 : Detail.ALL] for at in close)
    yield from ((Detail.LINE, at, tokens) for at in range(len(is_close)) if not is_close[at])
    yield from ((detail, at, tokens) for detail in list(Detail)[1:] for at in close)


def _are_close(ranked: RankedGroups) -> Sequence[bool]:
    """Which are told at length: those that a person named, or of many those that speak of the goal, where some do."""
    is_choice = ranked.is_named or (len(ranked.groups) > FEW_FILES and any(ranked.is_relevant))
    return ranked.is_relevant if is_choice else [True] * len(ranked.groups)


def _parts(texts: Sequence[str]) -> Iterator[tuple[bool, list[str]]]:
    for is_line, part in itertools.groupby(texts, key=lambda text: "\n" not in text):
        yield is_line, list(part)


def _tail(profile: Profile, ranked: RankedGroups) -> list[str]:
    lines = [f"join {profile_view.join_words(join, profile)}" for join in _worth_telling(profile, ranked)[:_MAX_JOINS]]
    reasons: dict[str, list[str]] = {}
    for skipped in profile.skipped:
        reasons.setdefault(skipped.why, []).append(profile_view.shown(skipped.path))
    for why, paths in reasons.items():
        more = f" and {len(paths) - _FEW_SKIPPED:,} more" if len(paths) > _FEW_SKIPPED else ""
        lines.append(f"not read: {', '.join(paths[:_FEW_SKIPPED])}{more} ({why})")
    return [*lines, *(f"note: {note}" for note in profile.notes)]


def _worth_telling(profile: Profile, ranked: RankedGroups) -> list[Join | PairJoin]:
    """Joins of tables that are told at length, by a key of one of them; files of one shape are stacked, not joined."""
    place = {name: at for at, group in enumerate(ranked.groups) for name in group.names}
    is_close = _are_close(ranked)
    # What is beside a file that a person named may be needed to read it.
    least = 1 if ranked.is_named else 2
    return [
        join
        for join in key_joins(profile)
        if place[join.left] != place[join.right] and least <= is_close[place[join.left]] + is_close[place[join.right]]
    ]


def group_text(group: FileGroup, detail: Detail, words: Sequence[str] = ()) -> str:
    """One table, or files of one shape with the table that stands for them; without one never more than a line."""
    more = f" and {len(group.files) - 1:,} more of one shape" if len(group.files) > 1 else ""
    rows = f"{'' if group.is_counted else 'about '}{profile_view.many(group.rows, 'row')}{' in all' if more else ''}"
    size = f"{rows}, {profile_view.many(len(group.columns), 'column')}"
    if detail == Detail.HEAD:
        part = f" {profile_view.quoted(group.reading.part)}" if group.reading.part else ""
        return f"{profile_view.shown(group.reading.path)}{part}{more}, {group.reading.format}: {size}"
    if detail == Detail.LINE or group.table is None:
        line = reading_line(group.reading, group.table)
        return "\n".join([f"{line}{more}: {size}: {_names(group.columns)}", *difference_lines(group)])
    return _table_text(group, group.table, detail, words)


def _table_text(group: FileGroup, table: TableProfile, detail: Detail, words: Sequence[str]) -> str:
    lines = [profile_view.head_words(table), f"  read: {read_line(table)}"]
    if group.is_one_looked_at:
        counted = "" if group.is_counted else "about "
        of_all = f"{len(group.files):,} files of one shape, {counted}{profile_view.many(group.rows, 'row')} in all"
        many, looked = (f"{len(table.files):,}", "these") if table.files else ("One", "this one")
        lines.append(f"  {many} of {of_all}; what follows is of {looked} alone")
    lines += [f"  {fact}" for fact in profile_view.fact_words(table)]
    chosen = _described(table, detail, words)
    lines += [f"  - {column_text(column, table, detail)}" for column in chosen]
    if rest := [column for column in table.columns if column not in chosen]:
        lines.append(f"  - and {_names(rest)}")
    return "\n".join([*lines, *_oddities(table, detail), *difference_lines(group)])


def _described(table: TableProfile, detail: Detail, words: Sequence[str]) -> Sequence[ColumnProfile]:
    """The columns that are described, in their own order: first those that speak of the goal, then the first ones."""
    columns = table.columns
    most = _DESCRIBED_COLUMNS.get(detail, len(columns))
    if len(columns) <= most:
        return columns
    order = sorted(range(len(columns)), key=lambda at: (not spoken(columns[at].name, words), at))
    return [columns[at] for at in sorted(order[:most])]


def _names(columns: Sequence[ColumnProfile] | Sequence[ShapeColumn]) -> str:
    names = ", ".join(
        literal(column.name) + (f" {column.kind}" if column.kind != "unknown" else "")
        for column in columns[:_FEW_NAMES]
    )
    rest = Counter(column.kind for column in columns[_FEW_NAMES:])
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in rest.most_common())
    return f"{names}, and {rest.total():,} more ({kinds})" if rest else names


def _oddities(table: TableProfile, detail: Detail) -> list[str]:
    most = _MANY_ODDITIES if detail == Detail.ALL else _FEW_ODDITIES
    proofs = {column.name: column.proof for column in table.columns}
    oddities = [
        oddity
        for oddity in profile_view.by_severity(table.oddities)
        if oddity.kind not in _IN_COLUMNS and oddity.kind not in _READ_ANYWAY.get(proofs.get(oddity.column, ""), ())
    ]
    lines = [f"  ! {profile_view.oddity_words(oddity)}" for oddity in oddities[:most]]
    return [*lines, f"  ! and {len(oddities) - most:,} more oddities"] if len(oddities) > most else lines


def column_text(column: ColumnProfile, table: TableProfile, detail: Detail) -> str:
    """One column in one line."""
    rows = table.looked_at
    parts = [f"{literal(column.name)}: {profile_view.what_words(column)}"]
    # What time covers is said of the table.
    if column.name != table.time_column and (values := profile_view.value_words(column, rows)):
        parts.append(values)
    if column.nulls:
        pattern = f", {column.null_pattern}" if column.null_pattern and detail == Detail.ALL else ""
        parts.append(f"{profile_view.share(column.nulls, rows)} missing{pattern}")
    if detail == Detail.ALL:
        parts += _more(column, table)
    return "; ".join(parts)


def _more(column: ColumnProfile, table: TableProfile) -> list[str]:
    """What somebody who writes code with it wants to know too."""
    parts: list[str] = []
    if column.numbers is not None and column.meaning in {"measure", "currency"}:
        mean, deviation = map(profile_view.figure, (column.numbers.mean, column.numbers.deviation))
        parts.append(f"mean {mean}, deviation {deviation}")
        if 0 < column.numbers.negatives <= _FEW_NEGATIVE * column.count:
            parts.append(f"{column.numbers.negatives:,} negative")
    elif column.distinct and not column.is_unique:
        parts.append(f"{column.distinct:,} distinct")
    if column.texts is not None and column.meaning == "text" and column.examples:
        parts.append(f"such as {profile_view.quoted(column.examples[0])}")
    if column.times is not None and column.times.missing_steps and column.name != table.time_column:
        parts.append(profile_view.time_words(column).partition(", ")[2])
    if words := _conversion_words(column, table):
        parts.append(words)
    return parts


def _conversion_words(column: ColumnProfile, table: TableProfile) -> str:
    """How its text becomes values, with an example of the text; nothing where it is read as they are."""
    conversion = column.conversion
    like = f" such as {profile_view.quoted(column.examples[0])}" if column.examples else ""
    if conversion.kind == "none" or (column.proof == "read" and (column.times is None or parsed_dates(table))):
        return ""
    if conversion.kind == "boolean":
        is_read = {*map(str.casefold, (*conversion.true_words, *conversion.false_words))} <= {"true", "false"}
        return "" if is_read else "text, no bool"
    if column.proof == "digits" and not table.sampling:
        return f"text{like}: {digits_code(column)}"
    settings = {
        "decimal": conversion.decimal if conversion.decimal != "." else "",
        "thousands": conversion.thousands,
        "prefix": conversion.prefix,
        "suffix": conversion.suffix,
        "formats": ", ".join(conversion.formats),
        "null words": ", ".join(conversion.null_words),
    }
    rules = "; ".join(f"{name} {profile_view.quoted(value)}" for name, value in settings.items() if value)
    return f"text{like}{f' ({rules})' if rules else ''}" if rules or conversion.kind == "date" else ""
