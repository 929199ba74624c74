"""What a profile says. Plain values that cross the wall as JSON: the host decodes them into these types or refuses.

Everything in strings comes from files of strangers: names, values and labels are bounded in length where they are made,
and whoever shows them escapes them.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

LONGEST_NAME: Final = 200
"""Limit of characters of a column's, table's or file's name; longer ones are cut with an ellipsis."""
LONGEST_VALUE: Final = 120
"""Limit of characters of a value that is shown as an example."""
LONGEST_QUERY: Final = 100_000

Format = Literal["csv", "parquet", "feather", "json", "jsonl", "excel", "sqlite", "duckdb", "connection"]
"""connection: a table or query of a named database. Only the host says so: what is read in the cage is a file of it."""
Kind = Literal["integer", "number", "boolean", "date", "datetime", "time", "text", "nested", "empty"]
"""What the values are once they are read as `Conversion` says."""
Meaning = Literal["id", "category", "measure", "currency", "date", "text", "code", "flag", "constant", "unknown"]
"""id: names a row or a thing. code: digits that are no quantity (postcode, leading zeros). measure: a quantity.
currency: a quantity of money. category: few values that repeat. text: words of people."""

OddityKind = Literal[
    "sentinel", "mixed-types", "total-rows", "footnotes", "repeated-header", "duplicate-rows", "near-duplicate-rows",
    "near-duplicate-labels", "outliers", "constant", "all-null", "mostly-null", "leading-zeros", "numbers-as-text",
    "dates-as-text", "mixed-date-formats", "ambiguous-dates", "decimal-comma", "currency-text", "percent-text",
    "spaces-around", "infinities", "negative-where-positive", "impossible-dates", "duplicate-names", "unnamed-columns",
    "wrong-encoding", "ragged-rows", "huge-fields", "skewed", "unbalanced", "mixed-units", "placeholder-nulls",
    "encoding-guessed", "not-read",
]  # fmt: skip

Proof = Literal["", "read", "digits", "text"]
"""What gives exactly the values that are told, tried on each. read: pandas' own reading, told the table's marks, and of
dates which they are. digits: taking off all but digits, the decimal mark and a minus. text: pandas would take the text
for numbers unless it is told. Empty: none of these, or nothing is needed."""
Relation = Literal["one-to-one", "many-to-one", "one-to-many", "many-to-many"]
Severity = Literal["note", "warning", "problem"]


Step = Literal["", "second", "minute", "hour", "day", "week", "month", "quarter", "year"]

# What no honest profile goes beyond; the host refuses one that does. A cut text may be longer by its ellipsis.
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Name = Annotated[str, msgspec.Meta(max_length=LONGEST_NAME + 8)]
Mark = Annotated[str, msgspec.Meta(max_length=LONGEST_VALUE + 8)]
Option = Annotated[str, msgspec.Meta(max_length=48)]
Words = Annotated[tuple[Mark, ...], msgspec.Meta(max_length=200)]
Moment = Annotated[str, msgspec.Meta(max_length=40, pattern=r"^[-+0-9T:.]*$")]


class _Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    pass


# ── how a table is read ──


class ReadOptions(_Record, frozen=True, kw_only=True):
    """How to read a table again: enough for a line of pandas.

    For text: `pandas.read_csv(path, sep=delimiter, quotechar=quote or '"', quoting=0 if quote else 3,
    encoding=encoding, encoding_errors="replace", skiprows=skip_first, header=header_rows[0] if header_rows else None,
    names=names or None, skipinitialspace=skips_spaces,
    usecols=range(first_column, first_column + width) if width else None, index_col=False, skipfooter=skip_last,
    engine="python" if skip_last else "c", compression=compression or None, dtype=str, keep_default_na=False,
    na_values=[""])`. For a sheet: `pandas.read_excel(path, sheet_name=part, ...)` with `skiprows`, `header`, `names`,
    `usecols` and `skipfooter` alike.
    """

    path: str
    """As it was asked for: relative to the folder the profile was asked in. Of a connection, its name."""
    format: Format
    part: Name = ""
    """The sheet of a workbook, the table of a database, the key of a JSON object; empty where there is one only."""
    query: Annotated[str, msgspec.Meta(max_length=LONGEST_QUERY)] = ""
    """What is asked of a connection for all of its rows; names in it are quoted with `quote`."""
    encoding: Option = "utf-8"
    delimiter: Option = ","
    quote: Option = '"'
    """Empty: nothing is quoted."""
    header_rows: tuple[Count, ...] = (0,)
    """Lines of the file (0-based, after `skip_first`) that hold names; several are joined with a space; empty: none."""
    skip_first: Count = 0
    """Lines (rows of a sheet) before the header that are no data."""
    skip_last: Count = 0
    """Lines at the end that are no data: footnotes."""
    compression: Option = ""
    """`gzip`, or empty."""
    names: Annotated[tuple[Name, ...], msgspec.Meta(max_length=5_000)] = ()
    """The columns' names where no one line of the file gives them as they are: no header, several header lines joined,
    a header that does not fit. Then `header_rows` is empty and `skip_first` counts the header's lines too."""
    width: Count = 0
    """Columns to be read where there are more (`usecols=range(first_column, first_column + width)`); 0: all."""
    first_column: Count = 0
    """Where the table begins in a sheet that has empty columns on its left; only together with `width`."""
    skips_spaces: bool = False
    """Spaces after a delimiter are no part of the value (`skipinitialspace`)."""
    is_nested: bool = False
    """Rows of JSON hold objects, whose parts are columns `outer.inner` (`pandas.json_normalize(…, max_level=1)`), or
    there is but one row, which is no list."""


class Conversion(_Record, frozen=True, kw_only=True):
    """How a column's text becomes values. All defaults: it is what it is already."""

    kind: Literal["none", "number", "date", "boolean"] = "none"
    decimal: Mark = "."
    thousands: Mark = ""
    prefix: Mark = ""
    """To be taken off first: `€`, `US$`."""
    suffix: Mark = ""
    """To be taken off first, with the spaces before it: `kg`, `%`."""
    scale: float = 1.0
    """To be multiplied with afterwards: 0.01 for percent text."""
    formats: Words = ()
    """`strptime` formats, the commonest first; each value is read by the first that fits."""
    true_words: Words = ()
    false_words: Words = ()
    null_words: Words = ()
    """Text that stands for nothing: `n/a`, `-`."""
    has_parentheses: bool = False
    """`(12)` is minus twelve."""
    other_suffixes: tuple[tuple[str, float], ...] = ()
    """Other units among the values, with the factor into that of `suffix`: (`lb`, 0.45359237); 0: not known."""


# ── columns ──


class ValueCount(_Record, frozen=True, kw_only=True):
    """A value and how often it occurs in what was looked at."""

    value: str
    count: Count


class Oddity(_Record, frozen=True, kw_only=True):
    """Something that a careful person would want to know before using the data."""

    kind: OddityKind
    says: str
    """One plain sentence with its numbers."""
    column: Name = ""
    """Empty: it concerns the whole table."""
    count: Count = 0
    """Rows, or values, concerned."""
    examples: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    """The exact texts concerned, where a repair needs them: sentinels, labels of one group (the commonest first),
    total labels, null words."""
    rows: tuple[Count, ...] = ()
    """0-based data rows concerned, the first few."""
    severity: Severity = "warning"


class Numbers(_Record, frozen=True, kw_only=True):
    """The distribution of numbers; of dates in seconds since 1970."""

    least: float
    greatest: float
    mean: float
    deviation: float
    quartiles: tuple[float, float, float]
    skew: float = 0.0
    zeros: Count = 0
    negatives: Count = 0
    histogram: tuple[Count, ...] = ()
    """Counts in equal steps from `least` to `greatest`; for strongly skewed ones up to the 99th percentile."""
    has_integers_only: bool = False


class Texts(_Record, frozen=True, kw_only=True):
    """The shape of text."""

    shortest: int
    longest: int
    mean_length: float
    mean_words: float = 0.0


class Times(_Record, frozen=True, kw_only=True):
    """What a date column covers."""

    first: Moment
    """ISO 8601."""
    last: Moment
    step: Step = ""
    """The usual distance of neighbouring distinct values, where there is one; of many a day, that of the days."""
    interval_seconds: float = 0.0
    """The usual distance itself, where most values keep it and it is no step of those: a quarter of an hour."""
    gaps: tuple[str, ...] = ()
    """Where steps are missing: `2024-03-01 to 2024-03-14`; the longest first, a few."""
    missing_steps: int = 0


class ColumnProfile(_Record, frozen=True, kw_only=True):
    """One column."""

    name: Name
    kind: Kind
    meaning: Meaning
    meaning_why: str = ""
    """In a few words."""
    conversion: Conversion = Conversion()
    proof: Proof = ""
    count: Count = 0
    """Values that are there, of the rows looked at, once null words are taken out."""
    nulls: Count = 0
    distinct: Count = 0
    """Of the rows looked at."""
    is_unique: bool = False
    unit: Mark = ""
    """`kg`, `EUR`, `%`, from the name or the values; empty: not known."""
    numbers: Numbers | None = None
    texts: Texts | None = None
    times: Times | None = None
    common: tuple[ValueCount, ...] = ()
    """The commonest values, up to 60."""
    examples: tuple[str, ...] = ()
    """A few different values as they stand in the file."""
    null_pattern: str = ""
    """Where values are missing: `mostly when region is empty`, `at the end`; empty: no pattern seen."""


# ── tables, and what is between them ──


class Repeat(_Record, frozen=True, kw_only=True):
    """Two columns that say the same."""

    first: str
    second: str
    how: Literal["equal", "one-to-one", "linear"]
    says: str


class SharedRows(_Record, frozen=True, kw_only=True):
    """Rows of a file that stand, value for value, in another one too."""

    file: str
    other: str
    rows: Count
    of: Count
    """Different rows of `file`."""


class TableProfile(_Record, frozen=True, kw_only=True):
    """One table."""

    name: Name
    """A short name: the file's stem, with the sheet or table behind it where there are several."""
    reading: ReadOptions
    rows: Count
    """Data rows in the whole table; see `is_counted`."""
    is_counted: bool = True
    """False: `rows` is an estimate."""
    looked_at: Count
    """Rows that the figures of the columns are about."""
    sampling: str = ""
    """How those were chosen, in words; empty: all of them."""
    bytes: Count = 0
    columns: Annotated[tuple[ColumnProfile, ...], msgspec.Meta(max_length=5_000)] = ()
    oddities: Annotated[tuple[Oddity, ...], msgspec.Meta(max_length=5_000)] = ()
    """Of the table and of its columns."""
    keys: tuple[tuple[str, ...], ...] = ()
    """Columns, or few columns together, that name each row looked at once; the simplest first."""
    repeats: tuple[Repeat, ...] = ()
    missing_together: tuple[tuple[str, ...], ...] = ()
    """Columns that are empty in the same rows."""
    time_column: Name = ""
    """The column that says when, where one does."""
    files: tuple[str, ...] = ()
    """Where several files of one shape were read as one table: all of them."""
    shared: Annotated[tuple[SharedRows, ...], msgspec.Meta(max_length=1_000)] = ()
    """Files of it at least half of which stands in another file."""
    decimal: Mark = "."
    """What `pandas.read_csv` is told, so that columns with the proof `read` are numbers; `thousands` likewise."""
    thousands: Mark = ""


class Join(_Record, frozen=True, kw_only=True):
    """Two columns by which tables can be joined."""

    left: str
    """A table's name."""
    left_column: Name
    right: str
    right_column: Name
    left_coverage: Share
    """Which part of the left one's distinct values occur in the right one: 0 to 1."""
    right_coverage: Share
    relation: Relation
    says: str = ""
    needs: tuple[Literal["spaces", "case", "zeros"], ...] = ()
    """What must be levelled on both sides first: spaces stripped, case folded, leading zeros dropped."""


class PairJoin(_Record, frozen=True, kw_only=True):
    """Two pairs of columns by which tables can be joined; the right one names each row of its table."""

    left: str
    """A table's name."""
    left_columns: tuple[Name, Name]
    right: str
    right_columns: tuple[Name, Name]
    left_coverage: Share
    """Which part of the left one's distinct pairs occur in the right one: 0 to 1."""
    right_coverage: Share
    relation: Relation


class ShapeColumn(_Record, frozen=True, kw_only=True):
    """A column as the head of a file shows it."""

    name: Name
    kind: Literal[Kind, "unknown"] = "unknown"


class FileShape(_Record, frozen=True, kw_only=True):
    """Files that one line reads but for the path, with the same columns in the same order; known from their heads."""

    reading: ReadOptions
    """Of the first."""
    columns: Annotated[tuple[ShapeColumn, ...], msgspec.Meta(max_length=5_000)] = ()
    files: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=5_000)]
    rows: Count = 0
    """In all of them; see `is_counted`."""
    is_counted: bool = True
    bytes: Count = 0
    spoken: Words = ()
    """Words of the request that are among the values in the heads."""


class SkippedFile(_Record, frozen=True, kw_only=True):
    """A file that is not in the profile."""

    path: str
    why: str


class Profile(_Record, frozen=True, kw_only=True):
    """Everything that was found."""

    tables: Annotated[tuple[TableProfile, ...], msgspec.Meta(max_length=1_000)] = ()
    joins: tuple[Join, ...] = ()
    """The best first."""
    pair_joins: tuple[PairJoin, ...] = ()
    """Of tables whose rows no single column names."""
    skipped: Annotated[tuple[SkippedFile, ...], msgspec.Meta(max_length=5_000)] = ()
    notes: tuple[str, ...] = ()
    """What was left out for its size, and the like."""
    shapes: Annotated[tuple[FileShape, ...], msgspec.Meta(max_length=5_000)] = ()
    """Where there are more files than are read closely: all of them by shape; then `tables` are of a few of them."""
    others: Annotated[tuple[str, ...], msgspec.Meta(max_length=5_000)] = ()
    """Paths of files that lie in the same folders and are not opened: pictures, documents, those beyond the limit."""


class ProfileRequest(_Record, frozen=True, kw_only=True):
    """What the program in the cage is asked."""

    paths: tuple[str, ...]
    """Files, relative to where it stands."""
    most_rows: int = 200_000
    """Larger tables are sampled."""
    most_files: int = 60
    most_columns: int = 500
    seconds: float = 60.0
    """It stops looking for more after so long, and says so."""
    words: tuple[str, ...] | None = None
    """What the goal is about. Where there are more than `most_files`, the heads of all are looked at first, and only
    files that speak of these words are read closely; None: the first `most_files` are."""
    survey_seconds: float = 20.0
    """For the heads, before `seconds` begin."""
    is_plan: bool = False
    """Of Parquet files only the footers are there: say which row groups are wanted of each (`ParquetPlans`)."""
    groups: dict[str, tuple[int, ...]] = {}
    """Of these files only so many row groups are there, and are read."""


class RowGroup(_Record, frozen=True, kw_only=True):
    """Where a row group lies in its file."""

    number: Count
    start: Count
    stop: Count


class ParquetPlan(_Record, frozen=True, kw_only=True):
    """A Parquet file by its footer alone."""

    path: str
    rows: Count
    columns: Annotated[tuple[Name, ...], msgspec.Meta(max_length=500)]
    """Names and types; the first ones."""
    groups: Annotated[tuple[RowGroup, ...], msgspec.Meta(max_length=64)] = ()
    """Those that are wanted for a close look."""
    all_groups: Count = 0


class ParquetPlans(_Record, frozen=True, kw_only=True):
    """What the footers of many files say."""

    plans: Annotated[tuple[ParquetPlan, ...], msgspec.Meta(max_length=20_000)] = ()
    skipped: tuple[SkippedFile, ...] = ()
