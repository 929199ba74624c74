"""Lines of pandas that read a table as its profile tells it. Pure.

What a line promises was tried in the cage on every value (`Proof`): names and kinds are those of the profile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from msgspec.structs import replace

from cellwright.notebook.source_text import literal, sql_name
from cellwright.profiles.profile import ColumnProfile, Format, ReadOptions, TableProfile, is_remote

_FEW_NAMES: Final = 40
_FEW_OPTIONS: Final = 8
_FEW_NULLS: Final = 4
_PANDAS_NULLS: Final = frozenset({
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
})  # fmt: skip
"""What pandas takes for nothing anyway."""


def digits_code(column: ColumnProfile) -> str:
    """The steps that make numbers of its text."""
    conversion = column.conversion
    is_bare = (conversion.prefix, conversion.suffix, conversion.thousands, conversion.decimal) == ("", "", "", ".")
    bare = "" if is_bare else f'.str.replace(r"[^\\d{conversion.decimal}-]", "", regex=True)'
    point = '.str.replace(",", ".")' if conversion.decimal == "," else ""
    kind = "int" if column.kind == "integer" and not column.nulls else "float"
    return f"{bare}{point}.astype({kind}){' / 100' if conversion.scale == 0.01 else ''}"


_READ_LINES: Final[dict[Format, str]] = {
    "parquet": "pd.read_parquet({path})",
    "feather": "pd.read_feather({path})",
    "sqlite": "pd.read_sql({query}, sqlite3.connect({path}))",
    "duckdb": "duckdb.connect({path}, read_only=True).sql({query}).df()",
}


def read_line(table: TableProfile) -> str:
    """A line of pandas that reads a table; of several files of one shape, the one that reads the first."""
    path = table.files[0] if table.files else table.reading.path
    return reading_line(replace(table.reading, path=path), table)


def reading_line(reading: ReadOptions, table: TableProfile | None = None) -> str:
    """A line of pandas that reads what these options describe; `table`, where known, says what its values are."""
    path = literal(reading.path)
    values = list(_value_words(table)) if table is not None else []
    if is_remote(reading) and reading.format in ("sqlite", "duckdb"):
        store, inside = _remote_place(reading)
        copy = f"/tmp/{PurePosixPath(inside).name}"
        return (
            f"{store}.get_file({literal(inside)}, {literal(copy)}); {reading_line(replace(reading, path=copy), table)}"
        )
    match reading.format:
        case "csv":
            return f"pd.read_csv({', '.join([path, *_csv_words(reading), *_place_words(reading), *values])})"
        case "excel":
            sheet = [f"sheet_name={literal(reading.part)}"] if reading.part else []
            return f"pd.read_excel({', '.join([path, *sheet, *_place_words(reading), *values])})"
        case "json" | "jsonl":
            return _json_line(reading, table.columns if table is not None else ())
        case "connection":
            return f"{reading.path}.sql({quoted_code(reading.query)}).to_pandas()"
        case other:
            query = literal(f"SELECT * FROM {sql_name(reading.part)}")
            return _READ_LINES[other].format(path=path, query=query)


def _remote_place(reading: ReadOptions) -> tuple[str, str]:
    """The file system of a file behind a connection, and its path there."""
    connection, _, inside = reading.path.partition("://")[2].partition("/")
    return f"cellwright.files({literal(connection)})", inside


def quoted_code(query: str) -> str:
    """SQL as a Python text: in single quotes, which leave the quotes of its names alone, where that can be."""
    is_plain = query.isprintable() and "'" not in query and "\\" not in query
    return f"'{query}'" if is_plain and '"' in query else literal(query)


def _json_line(reading: ReadOptions, columns: Sequence[ColumnProfile]) -> str:
    """Objects in the rows become columns of the names the profile has; text stays text."""
    path, encoding = literal(reading.path), ", ".join(_encoding_words(reading))
    is_lines = reading.format == "jsonl"
    if not reading.is_nested and not reading.part:
        is_text = any(column.proof or column.conversion.kind != "none" for column in columns)
        words = [*(["lines=True"] if is_lines else []), encoding, *(["dtype=False"] if is_text else [])]
        return f"pd.read_json({', '.join([path, *filter(None, words)])})"
    place = f"pathlib.Path({path})"
    if is_remote(reading):
        store, inside = _remote_place(reading)
        place = f"({store} / {literal(inside)})"
    text = f"{place}.open({encoding}).read()" if is_remote(reading) else f"{place}.read_text({encoding})"
    if reading.compression == "gzip":
        text = f"gzip.decompress({place}.read_bytes()).decode({literal(reading.encoding)})"
    part = f"[{literal(reading.part)}]" if reading.part else ""
    rows = f'[json.loads(line) for line in {text}.split("\\n") if line.strip()]' if is_lines else f"json.loads({text})"
    level = ", max_level=1" if any(column.kind == "nested" for column in columns) else ""
    return f"pd.json_normalize({rows}{part}{level})"


def _encoding_words(reading: ReadOptions) -> list[str]:
    is_usual = reading.encoding.lower() in {"utf-8", "ascii"}
    return [] if is_usual else [f"encoding={literal(reading.encoding)}"]


def _csv_words(reading: ReadOptions) -> Iterator[str]:
    if reading.delimiter != ",":
        yield f"sep={literal(reading.delimiter)}"
    yield from _encoding_words(reading)


def _value_words(table: TableProfile) -> Iterator[str]:
    """What makes values of text that pandas would not make out by itself, and keeps text that it would change."""
    if table.decimal != ".":
        yield f"decimal={literal(table.decimal)}"
    if table.thousands:
        yield f"thousands={literal(table.thousands)}"
    if texts := [column for column in table.columns if column.proof == "text"][:_FEW_OPTIONS]:
        yield f"dtype={{{', '.join(f'{literal(column.name)}: str' for column in texts)}}}"
    if dates := parsed_dates(table):
        yield f"parse_dates=[{', '.join(map(literal, dates))}]"
    numbers = (column for column in table.columns if column.proof in {"read", "digits"} and column.numbers is not None)
    words = {column.name: sorted({*column.conversion.null_words} - _PANDAS_NULLS) for column in numbers}
    told = [
        f"{literal(name)}: [{', '.join(map(literal, few))}]"
        for name, few in words.items()
        if 0 < len(few) <= _FEW_NULLS
    ]
    if told:
        yield f"na_values={{{', '.join(told[:_FEW_OPTIONS])}}}"


def parsed_dates(table: TableProfile) -> list[str]:
    """Columns that pandas makes dates of, once it is told which they are; none where they are many."""
    dates = [column.name for column in table.columns if column.times is not None and column.proof == "read"]
    return dates if len(dates) <= _FEW_OPTIONS else []


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
        begin = f"{reading.first_column}, " if reading.first_column else ""
        yield f"usecols=range({begin}{reading.first_column + width})"
    if reading.skips_spaces:
        yield "skipinitialspace=True"
    if skip_last:
        yield f"skipfooter={skip_last}"
        yield from ['engine="python"'] if reading.format == "csv" else []
