"""A profile as the host knows it: what the guest's records say, decoded from bytes nobody trusts.

The only module here that knows the guest. Names and values are exactly as in the files, so that code can use them:
whoever shows them escapes them. Sentences have no control characters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from cellwright.errors import Unavailable
from cellwright_guest.profiling import records
from cellwright_guest.profiling.records import *  # noqa: F403  # the vocabulary of a profile, which the host speaks too
from cellwright_guest.profiling.relevance import *  # noqa: F403  # both sides of the wall rank alike

MOST_ROWS: Final = 200_000
"""Of a larger table a sample is looked at, and used."""
MAX_BYTES: Final = 64 << 20
"""What a guest may answer; 40 files of 500 columns take a tenth of it."""
_MAX_VALUES: Final = 200
_MAX_SENTENCE_LENGTH: Final = 600
_MAX_PATH_LENGTH: Final = 4_096
_SENTENCES: Final = frozenset({"says", "why", "sampling", "meaning_why", "null_pattern", "gaps", "notes"})
_VALUES: Final = frozenset({"examples", "values", "value"})
_CUT: Final = frozenset({
    "examples", "values", "common", "rows", "histogram", "gaps", "notes", "keys", "repeats", "missing_together",
})  # fmt: skip
"""Lists of which nobody reads more than the beginning; longer ones of other things are refused."""


def read_profile(data: bytes) -> records.Profile:
    """The profile in a guest's answer. `Unavailable` if it is none, or says what no honest one could."""
    if len(data) > MAX_BYTES:
        raise _unsound(f"it is longer than {MAX_BYTES} bytes")
    try:
        profile = msgspec.convert(_plain("", msgspec.json.decode(data)), records.Profile)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _unsound(one_line(str(error), 200)) from None
    _check_profile(profile)
    return profile


def read_plans(data: bytes) -> records.ParquetPlans:
    """What a guest says of footers. `Unavailable` if it is none of that."""
    if len(data) > MAX_BYTES:
        raise _unsound(f"it is longer than {MAX_BYTES} bytes")
    try:
        return msgspec.convert(_plain("", msgspec.json.decode(data)), records.ParquetPlans)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _unsound(one_line(str(error), 200)) from None


def question_json(question: records.ProfileRequest) -> bytes:
    """A question as the guest reads it."""
    return msgspec.json.encode(question)


def profile_json(profile: records.Profile) -> bytes:
    """A profile as it is handed to programs."""
    return msgspec.json.encode(profile)


def with_paths(profile: records.Profile, rename: Callable[[str], str]) -> records.Profile:
    """The profile with other names for its files: those somebody else has for them."""

    def renamed(table: records.TableProfile) -> records.TableProfile:
        reading = replace(table.reading, path=rename(table.reading.path))
        shared = (replace(each, file=rename(each.file), other=rename(each.other)) for each in table.shared)
        return replace(table, reading=reading, files=tuple(map(rename, table.files)), shared=tuple(shared))

    def reshaped(shape: records.FileShape) -> records.FileShape:
        reading = replace(shape.reading, path=rename(shape.reading.path))
        return replace(shape, reading=reading, files=tuple(map(rename, shape.files)))

    return replace(
        profile,
        tables=tuple(map(renamed, profile.tables)),
        skipped=tuple(replace(each, path=rename(each.path)) for each in profile.skipped),
        shapes=tuple(map(reshaped, profile.shapes)),
        others=tuple(map(rename, profile.others)),
    )


def with_remarks(
    profile: records.Profile,
    *,
    skipped: Sequence[records.SkippedFile] = (),
    notes: Sequence[str] = (),
    others: Sequence[str] = (),
) -> records.Profile:
    """The profile, with what its guest could not know."""
    return replace(
        profile,
        skipped=(*profile.skipped, *skipped),
        notes=(*profile.notes, *notes),
        others=(*profile.others, *others),
    )


def with_others(profile: records.Profile, paths: Collection[str]) -> records.Profile:
    """The profile without a word on why these files are no tables: what they are is told elsewhere."""
    skipped = tuple(each for each in profile.skipped if each.path not in paths)
    return replace(profile, skipped=skipped, others=tuple(dict.fromkeys([*profile.others, *paths])))


def is_remote(reading: records.ReadOptions) -> bool:
    """Whether the file is behind a connection: `cellwright://NAME/path`."""
    return reading.path.startswith("cellwright://")


def one_line(text: str, longest: int = _MAX_SENTENCE_LENGTH) -> str:
    """Text from a file on one line that can be shown: nothing that moves a cursor or turns the writing around."""
    cut = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(sign if sign.isprintable() else " " if sign.isspace() else "�" for sign in cut)


# ── what no honest guest says ──


def _unsound(why: str) -> Unavailable:
    return Unavailable(f"What came out of the cage is no profile: {why}.", hint="Report it if it happens again.")


def _plain(key: str, held: Any) -> Any:
    """What was decoded, with sentences that can be shown, and nothing longer than anybody reads."""
    match held:
        case dict():
            return {name: _plain(name, inner) for name, inner in held.items()}
        case list():
            return [_plain(key, inner) for inner in (held[:_MAX_VALUES] if key in _CUT else held)]
        case str() if key in _SENTENCES:
            return one_line(held)
        case str() if key in _VALUES:
            # Exactly as it is, up to a length no honest one has.
            return held[: records.LONGEST_VALUE * 4]
        case _:
            return held


def _check_profile(profile: records.Profile) -> None:
    """What types cannot say: each name is there once, joins are of tables that are there, no path leads elsewhere."""
    tables = [table.name for table in profile.tables]
    named = [tables, *([column.name for column in table.columns] for table in profile.tables)]
    if any(len(set(names)) < len(names) for names in named):
        raise _unsound("two of its tables, or two columns of a table, have one name")
    joins = (*profile.joins, *profile.pair_joins)
    if not {name for join in joins for name in (join.left, join.right)} <= set(tables):
        raise _unsound("a join is between tables that are not there")
    read = (path for table in profile.tables for path in (table.reading.path, *table.files))
    shaped = (path for shape in profile.shapes for path in (shape.reading.path, *shape.files))
    shared = (path for table in profile.tables for each in table.shared for path in (each.file, each.other))
    for path in (*read, *shaped, *shared, *profile.others, *(skipped.path for skipped in profile.skipped)):
        is_long = len(path) > _MAX_PATH_LENGTH
        if not path or is_long or "\0" in path or path.startswith("/") or ".." in PurePosixPath(path).parts:
            raise _unsound("a path in it leads elsewhere")
