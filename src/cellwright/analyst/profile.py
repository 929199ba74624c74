"""A profile as the host knows it: what the guest's records say, decoded from bytes nobody trusts.

The only module here that knows the guest. Names and values are exactly as in the files, so that code can use them:
whoever shows them escapes them. Sentences have no control characters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath
from typing import Final

import msgspec
from msgspec.structs import replace

from cellwright.errors import Unavailable
from cellwright_guest.profiling.records import (
    LONGEST_NAME,
    LONGEST_VALUE,
    ColumnProfile,
    Conversion,
    Format,
    Join,
    Kind,
    Meaning,
    Numbers,
    Oddity,
    OddityKind,
    Profile,
    ProfileRequest,
    ReadOptions,
    SkippedFile,
    TableProfile,
    Texts,
    Times,
    ValueCount,
)

__all__ = [
    "LONGEST_NAME",
    "LONGEST_VALUE",
    "MAX_BYTES",
    "ColumnProfile",
    "Conversion",
    "Format",
    "Join",
    "Kind",
    "Meaning",
    "Numbers",
    "Oddity",
    "OddityKind",
    "Profile",
    "ProfileRequest",
    "ReadOptions",
    "SkippedFile",
    "TableProfile",
    "Texts",
    "Times",
    "ValueCount",
    "one_line",
    "profile_json",
    "question_json",
    "read_profile",
    "with_paths",
    "with_remarks",
]

MAX_BYTES: Final = 64 << 20
"""What a guest may answer; 40 files of 500 columns take a tenth of it."""
_MAX_TABLES: Final = 1_000
_MAX_COLUMNS: Final = 5_000
_MAX_SENTENCES: Final = 5_000
_MAX_VALUES: Final = 200
_MAX_SENTENCE_LENGTH: Final = 600
_MAX_PATH_LENGTH: Final = 4_096
_ROOM: Final = 8
"""Characters a cut name may be longer than the bound: its ellipsis."""
_LARGEST: Final = 1 << 62


def read_profile(data: bytes) -> Profile:
    """The profile in a guest's answer. `Unavailable` if it is none, or says what no honest one could."""
    if len(data) > MAX_BYTES:
        raise _unsound(f"it is longer than {MAX_BYTES} bytes")
    try:
        profile = msgspec.json.decode(data, type=Profile)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unsound(one_line(str(error), 200)) from None
    _check_profile(profile)
    return replace(
        profile,
        tables=tuple(_plain_table(table) for table in profile.tables),
        joins=tuple(replace(join, says=one_line(join.says)) for join in profile.joins),
        skipped=tuple(replace(skipped, why=one_line(skipped.why)) for skipped in profile.skipped[:_MAX_SENTENCES]),
        notes=tuple(one_line(note) for note in profile.notes[:_MAX_VALUES]),
    )


def question_json(question: ProfileRequest) -> bytes:
    """A question as the guest reads it."""
    return msgspec.json.encode(question)


def profile_json(profile: Profile) -> bytes:
    """A profile as it is handed to programs."""
    return msgspec.json.encode(profile)


def with_paths(profile: Profile, rename: Callable[[str], str]) -> Profile:
    """The profile with other names for its files: those somebody else has for them."""
    return replace(
        profile,
        tables=tuple(
            replace(
                table,
                reading=replace(table.reading, path=rename(table.reading.path)),
                files=tuple(map(rename, table.files)),
            )
            for table in profile.tables
        ),
        skipped=tuple(replace(skipped, path=rename(skipped.path)) for skipped in profile.skipped),
    )


def with_remarks(profile: Profile, *, skipped: Sequence[SkippedFile] = (), notes: Sequence[str] = ()) -> Profile:
    """The profile, with what its guest could not know."""
    return replace(profile, skipped=(*profile.skipped, *skipped), notes=(*profile.notes, *notes))


def one_line(text: str, longest: int = _MAX_SENTENCE_LENGTH) -> str:
    """Text from a file on one line that can be shown: nothing that moves a cursor or turns the writing around."""
    cut = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(sign if sign.isprintable() else " " if sign.isspace() else "�" for sign in cut)


# ── what no honest guest says ──


def _unsound(why: str) -> Unavailable:
    return Unavailable(f"What came out of the cage is no profile: {why}.", hint="Report it if it happens again.")


def _check_profile(profile: Profile) -> None:
    names = [table.name for table in profile.tables]
    if len(names) > _MAX_TABLES or len(set(names)) < len(names):
        raise _unsound("its tables are too many, or two have one name")
    for table in profile.tables:
        _check_table(table)
    known = set(names)
    for join in profile.joins:
        _check_lengths([join.left_column, join.right_column], LONGEST_NAME)
        if not {join.left, join.right} <= known or not all(
            0 <= part <= 1 for part in (join.left_coverage, join.right_coverage)
        ):
            raise _unsound("a join is between tables that are not there, or covers more than all")
    for skipped in profile.skipped:
        _check_path(skipped.path)


def _check_table(table: TableProfile) -> None:
    columns = [column.name for column in table.columns]
    if max(len(columns), len(table.reading.names)) > _MAX_COLUMNS or len(set(columns)) < len(columns):
        raise _unsound("a table's columns are too many, or two have one name")
    _check_lengths([table.name, *columns, table.time_column, table.reading.part], LONGEST_NAME)
    for path in (table.reading.path, *table.files):
        _check_path(path)
    reading = table.reading
    for few in (reading.delimiter, reading.quote, reading.encoding, reading.compression):
        _check_lengths([few], 40)
    _check_counts([table.rows, table.looked_at, table.bytes, reading.skip_first, reading.skip_last])
    _check_counts([reading.width, reading.first_column, *reading.header_rows])
    _check_lengths(reading.names, LONGEST_NAME)
    if len(table.oddities) > _MAX_SENTENCES:
        raise _unsound("a table has more oddities than anybody reads")
    for column in table.columns:
        _check_column(column)
    for oddity in table.oddities:
        _check_lengths([oddity.column], LONGEST_NAME)
        _check_counts([oddity.count, *oddity.rows])


def _check_column(column: ColumnProfile) -> None:
    _check_counts([column.count, column.nulls, column.distinct, *(common.count for common in column.common)])
    conversion = column.conversion
    words = (*conversion.formats, *conversion.true_words, *conversion.false_words, *conversion.null_words)
    affixes = (conversion.decimal, conversion.thousands, conversion.prefix, conversion.suffix, column.unit)
    _check_lengths([*words[:_MAX_VALUES], *affixes], LONGEST_VALUE)
    if len(words) > _MAX_VALUES or not math.isfinite(conversion.scale):
        raise _unsound("a column is to be converted in too many ways")
    if column.numbers is not None:
        _check_counts([column.numbers.zeros, column.numbers.negatives, *column.numbers.histogram[:_MAX_VALUES]])


def _check_lengths(texts: Iterable[str], longest: int) -> None:
    if any(len(text) > longest + _ROOM for text in texts):
        raise _unsound(f"a name in it is longer than {longest} characters")


def _check_counts(counts: Sequence[int]) -> None:
    if any(not 0 <= count <= _LARGEST for count in counts):
        raise _unsound("it counts less than nothing, or more than there can be")


def _check_path(path: str) -> None:
    parts = PurePosixPath(path).parts
    if not path or len(path) > _MAX_PATH_LENGTH or "\0" in path or path.startswith("/") or ".." in parts:
        raise _unsound("a path in it leads elsewhere")


# ── sentences that can be shown ──


def _plain_table(table: TableProfile) -> TableProfile:
    return replace(
        table,
        sampling=one_line(table.sampling),
        columns=tuple(_plain_column(column) for column in table.columns),
        oddities=tuple(_plain_oddity(oddity) for oddity in table.oddities),
        repeats=tuple(replace(repeat, says=one_line(repeat.says)) for repeat in table.repeats[:_MAX_VALUES]),
        keys=table.keys[:_MAX_VALUES],
        missing_together=table.missing_together[:_MAX_VALUES],
    )


def _plain_column(column: ColumnProfile) -> ColumnProfile:
    numbers, times = column.numbers, column.times
    return replace(
        column,
        meaning_why=one_line(column.meaning_why),
        null_pattern=one_line(column.null_pattern),
        examples=_values(column.examples),
        common=tuple(replace(common, value=_value(common.value)) for common in column.common[:_MAX_VALUES]),
        numbers=numbers and replace(numbers, histogram=numbers.histogram[:_MAX_VALUES]),
        times=times
        and replace(
            times,
            first=one_line(times.first, 40),
            last=one_line(times.last, 40),
            gaps=tuple(one_line(gap, 80) for gap in times.gaps[:_MAX_VALUES]),
        ),
    )


def _plain_oddity(oddity: Oddity) -> Oddity:
    return replace(
        oddity,
        says=one_line(oddity.says),
        examples=_values(oddity.examples),
        values=_values(oddity.values),
        rows=oddity.rows[:_MAX_VALUES],
    )


def _values(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(_value, values[:_MAX_VALUES]))


def _value(value: str) -> str:
    """Exactly as it is, up to a length no honest one has."""
    return value[: LONGEST_VALUE * 4]
