"""How each format is read: the code of one cell, plain pandas, nothing converted on the way. Pure.

Text stays text: what it means is decided by visible steps afterwards. Tables that are too long are read in pieces, of
which every n-th row is kept, so that memory stays bounded.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from msgspec.structs import replace as with_fields

from cellwright.analyst.names import NotebookNames, TableNames
from cellwright.analyst.sections.repairs import leaves_out_footnotes
from cellwright.analyst.sections.text import code_of, is_sampled, ordinal, plain, rows_of, wrapped
from cellwright.notebook.source_text import literal, quoted_names, sql_name
from cellwright.profiles.profile import LONGEST_NAME, Format, Profile, ReadOptions, TableProfile, is_remote
from cellwright.profiles.read_lines import place_options, quoted_code

_NEEDS: Final[dict[Format, dict[str, str]]] = {
    "parquet": {"pq": "import pyarrow.parquet as pq"},
    "feather": {"feather": "from pyarrow import feather"},
    "json": {"json": "import json"},
    "jsonl": {"json": "import json"},
    "sqlite": {"sqlite3": "import sqlite3", "closing": "from contextlib import closing"},
    "duckdb": {"duckdb": "import duckdb"},
}
_PIECE: Final = 50_000
"""Rows read at once of a table that is sampled."""
_ROWS: Final = "_rows"
_LONGEST_LINE: Final = 100
_Arguments = list[str]


def read_tables(profile: Profile, names: NotebookNames) -> list[tuple[TableProfile, TableNames]]:
    """The tables that the notebook reads, each with its names."""
    profiles = {table.name: table for table in profile.tables}
    return [(profiles[each.name], each) for each in names.tables]


def reading_code(table: TableProfile, names: TableNames, *, step: int, columns: Sequence[str] = ()) -> str:
    """Code that defines the table as it was read; every `step`-th row of it.

    A database, Parquet behind a connection, and CSV and Parquet that are long are asked for these `columns` only; none:
    for all. Other files are read as they are.
    """
    counted = list(_count(table, names)) if table.reading.format == "connection" else []
    if columns and counted:
        table = with_fields(table, reading=with_fields(table.reading, query=narrowed_query(table, columns)))
    wanted = _narrowed_columns(table, columns)
    sampled = f"# Every {ordinal(step)} of {rows_of(table)}: read in pieces, so that memory stays bounded."
    comment = [sampled] if step > 1 else []
    if wanted:
        narrow = _parquet if table.reading.format == "parquet" else _csv_or_excel
        return "\n".join([*comment, *narrow(table, names, step, wanted)])
    read = _copied if needs_copy(table) else _READERS[table.reading.format]
    return "\n".join([*comment, *counted, *read(table, names, step), *_renamed(table, names)])


def columns_read(table: TableProfile, columns: Sequence[str]) -> int:
    """How many columns are read of the file where these are asked for; none: all."""
    return len(_narrowed_columns(table, columns)) or len(table.columns)


def imports_of(table: TableProfile) -> dict[str, str]:
    """What reading it needs beside pandas: alias → import."""
    needs = dict(_NEEDS.get(table.reading.format, {}))
    if "json" in needs and table.reading.compression:
        needs["gzip"] = "import gzip"
    if needs_copy(table):
        needs |= {"tempfile": "import tempfile", "Path": "from pathlib import Path"}
    return needs


def needs_copy(table: TableProfile) -> bool:
    """Whether its library reads files of this machine only, and it is behind a connection."""
    return is_remote(table.reading) and table.reading.format in ("sqlite", "duckdb")


def adds_file(table: TableProfile) -> bool:
    """Whether a column `file` says which of several files a row comes from."""
    is_free = all(column.name != "file" for column in table.columns)
    return len(table.files) > 1 and table.reading.format == "csv" and is_free


# ── text and sheets ──


def _csv_arguments(table: TableProfile, columns: Sequence[str]) -> _Arguments:
    reading = table.reading
    arguments = [f"sep={literal(reading.delimiter)}", f"encoding={literal(reading.encoding)}"]
    # Footnotes may have more fields than the table; they are read too, and dropped in sight.
    is_ragged = not columns and (reading.width or reading.skip_last or len(table.files) > 1)
    arguments += [
        'encoding_errors="replace"',
        *_place(table, (reading.width or len(table.columns)) if is_ragged else 0),
        *([f"usecols={wrapped(columns, indent=4)}"] if columns else []),
    ]
    if reading.compression:
        arguments.append(f"compression={literal(reading.compression)}")
    return [*arguments, "index_col=False", 'dtype="str"', "keep_default_na=False", 'na_values=[""]']


def _place(table: TableProfile, width: int) -> Iterator[str]:
    skip_last = table.reading.skip_last if leaves_out_footnotes(table) else 0
    names = wrapped(table.reading.names, indent=4)
    return place_options(table.reading, names=names, width=width, skip_last=skip_last)


def _excel_arguments(table: TableProfile) -> _Arguments:
    sheet = [f"sheet_name={literal(table.reading.part)}"] if table.reading.part else []
    empty = ["", "#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"]
    arguments = [*sheet, *_place(table, table.reading.width), "dtype=object", "keep_default_na=False"]
    # Whether cells hold the error of a formula instead of a value.
    has_errors = any(oddity.kind == "placeholder-nulls" and not oddity.column for oddity in table.oddities)
    return [*arguments, f"na_values={code_of(empty if has_errors else empty[:1])}"]


def _csv_or_excel(table: TableProfile, names: TableNames, step: int, columns: Sequence[str] = ()) -> Iterator[str]:
    is_csv = table.reading.format == "csv"
    call = "pd.read_csv" if is_csv else "pd.read_excel"
    arguments = _csv_arguments(table, columns) if is_csv else _excel_arguments(table)
    has_pieces = step > 1 and is_csv and not leaves_out_footnotes(table)
    if has_pieces:
        arguments = [*arguments, f"chunksize={_PIECE:_}"]
    keep = f"{_ROWS}[{_ROWS}.index % {step} == 0]"
    if len(table.files) > 1:
        yield f"_files = {_listed(names)}"
        yield "_tables = ["
        pieces = f"\n    for {_ROWS} in " if has_pieces else ""
        add = ".assign(file=_file.name)" if adds_file(table) else ""
        one = _call(call, "_file", arguments, indent=4) + ("" if has_pieces else add)
        keep += add
        yield (
            f"    {keep}\n    for _file in _files{pieces}{one}" if has_pieces else f"    {one}\n    for _file in _files"
        )
        yield "]"
        yield f"{names.as_read} = pd.concat(_tables, ignore_index=True)"
    elif has_pieces:
        yield f"_pieces = {_call(call, names.source, arguments)}"
        yield f"{names.as_read} = pd.concat([{keep} for {_ROWS} in _pieces])"
    else:
        yield f"{names.as_read} = {_call(call, names.source, arguments)}{'' if step == 1 else f'.iloc[::{step}]'}"


def _call(call: str, source: str, arguments: _Arguments, *, indent: int = 0) -> str:
    whole = f"{call}({', '.join([source, *arguments])})"
    if len(whole) + indent <= 100 and "\n" not in whole:
        return whole
    inner, outer = " " * (indent + 4), " " * indent
    return f"{call}(\n" + "".join(f"{inner}{each},\n" for each in _joined([source, *arguments])) + f"{outer})"


def _joined(arguments: _Arguments) -> Iterator[str]:
    """Several to a line."""
    line = ""
    for each in arguments:
        if line and (len(line) + len(each) > 90 or "\n" in each or "\n" in line):
            yield line
            line = ""
        line = f"{line}, {each}" if line else each
    yield line


def _listed(names: TableNames) -> str:
    """The list of files, over several lines where they are many."""
    if len(names.source) <= 90:
        return names.source if len(names.sources) > 1 else f"[{names.source}]"
    return "[\n" + "".join(f"    {line},\n" for line in _joined(list(names.sources))) + "]"


# ── JSON ──


def _json_lines(table: TableProfile, names: TableNames, step: int) -> Iterator[str]:
    yield "_records, _broken = [], 0"
    yield f"for _file in {_listed(names)}:"
    yield f"    with {_opened(table.reading)} as _lines:"
    yield "        for _line in _lines:"
    yield "            try:"
    yield '                _record = json.loads(_line.strip().rstrip(",") or "null")'
    yield "            except ValueError:"
    yield "                _broken += 1"
    yield "                continue"
    yield "            if _record is not None:"
    yield f"                _records.append({_as_row('_record', table)})"
    yield f"{names.as_read} = pd.json_normalize(_records{_every(step)}, max_level=1)"


def _json(table: TableProfile, names: TableNames, step: int) -> Iterator[str]:
    part = f"[{literal(table.reading.part)}]" if table.reading.part else ""
    yield "_records = []"
    yield f"for _file in {_listed(names)}:"
    yield f"    with {_opened(table.reading)} as _text:"
    yield f"        _content = json.load(_text){part}"
    if not part:
        yield "    if isinstance(_content, dict):"
        yield "        # Columns of one length, or else a single row."
        yield "        _lengths = {len(_each) if isinstance(_each, list) else -1 for _each in _content.values()}"
        yield "        _is_columns = len(_lengths) == 1 and -1 not in _lengths"
        yield '        _content = pd.DataFrame(_content).to_dict("records") if _is_columns else [_content]'
    yield f"    _records += [{_as_row('_record', table)} for _record in _content]"
    yield f"{names.as_read} = pd.json_normalize(_records{_every(step)}, max_level=1)"


def _as_row(record: str, table: TableProfile) -> str:
    """What is no object is a row with one value."""
    has_bare = any(column.name == "value" for column in table.columns)
    return f'{record} if isinstance({record}, dict) else {{"value": {record}}}' if has_bare else record


def _every(step: int) -> str:
    return "" if step == 1 else f"[::{step}]"


def _opened(reading: ReadOptions) -> str:
    encoding = literal("utf-8-sig" if reading.encoding == "utf-8" else reading.encoding)
    if reading.compression == "gzip":
        return f'gzip.open({_handle("_file", reading)}, "rt", encoding={encoding}, errors="replace")'
    return f'_file.open(encoding={encoding}, errors="replace")'


# ── columnar files and databases ──


def _handle(path: str, reading: ReadOptions) -> str:
    """What a library is given that knows paths of this machine, and open files."""
    return f'{_operand(path)}.open("rb")' if is_remote(reading) else path


def _operand(path: str) -> str:
    """Before a dot: `folder / "name"` in parentheses."""
    return path if path.isidentifier() else f"({path})"


def _narrowed_columns(table: TableProfile, columns: Sequence[str]) -> list[str]:
    """Of what is far or long, the columns that are read; none: all, as it is not asked for fewer by name."""
    names = [column.name for column in table.columns if column.name in columns]
    match table.reading.format:
        case "parquet":
            is_narrowed = is_remote(table.reading) or is_sampled(table)
        case "csv":
            has_names = bool(table.reading.header_rows or table.reading.names)
            is_narrowed = is_sampled(table) and has_names and not table.reading.width and not table.reading.skip_last
        case _:
            is_narrowed = False
    return names if is_narrowed and not _is_renamed(table) and len(names) < len(table.columns) else []


def _parquet(table: TableProfile, names: TableNames, step: int, columns: Sequence[str] = ()) -> Iterator[str]:
    only = f", columns={wrapped(columns)}" if columns else ""
    if len(table.files) > 1:
        one = f"pq.read_table({_handle('_file', table.reading)}{only}).to_pandas(ignore_metadata=True)"
        yield f"_files = {_listed(names)}"
        yield f"_tables = [{one} for _file in _files]"
        yield f"{names.as_read} = pd.concat(_tables, ignore_index=True){'' if step == 1 else f'.iloc[::{step}]'}"
        return
    source = _handle(names.source, table.reading)
    if step == 1:
        yield f"{names.as_read} = pq.read_table({source}{only}).to_pandas(ignore_metadata=True)"
        return
    yield f"_pieces = pq.ParquetFile({source}).iter_batches(batch_size={_PIECE // step * step:_}{only})"
    yield f"_tables = [_piece.to_pandas().iloc[::{step}] for _piece in _pieces]"
    yield f"{names.as_read} = pd.concat(_tables, ignore_index=True)"


def _feather(table: TableProfile, names: TableNames, step: int) -> Iterator[str]:
    handle = _handle("_file", table.reading)
    yield f"_tables = [feather.read_table({handle}) for _file in {_listed(names)}]"
    every = "" if step == 1 else f".take(np.arange(0, _table.num_rows, {step}))"
    frames = f"[_table{every}.to_pandas(ignore_metadata=True) for _table in _tables]"
    yield f"{names.as_read} = pd.concat({frames}, ignore_index=True)"


def _sqlite(table: TableProfile, names: TableNames, step: int) -> Iterator[str]:
    yield "# Opened so that nothing can be written to it."
    yield f'_place = {names.source}.resolve().as_uri() + "?mode=ro&immutable=1"'
    yield "with closing(sqlite3.connect(_place, uri=True)) as _connection:"
    query = literal(f"SELECT * FROM {sql_name(table.reading.part)}")
    if step == 1:
        yield f"    {names.as_read} = pd.read_sql_query({query}, _connection)"
        return
    yield f"    _pieces = pd.read_sql_query({query}, _connection, chunksize={_PIECE // step * step:_})"
    yield f"    {names.as_read} = pd.concat([_piece.iloc[::{step}] for _piece in _pieces], ignore_index=True)"


def _duckdb(table: TableProfile, names: TableNames, step: int) -> Iterator[str]:
    # `schema.table` is one name in SQLite, two in DuckDB.
    name = ".".join(map(sql_name, table.reading.part.split(".", 1)))
    query = f"SELECT * FROM {name}"
    if step > 1:
        query = f"SELECT * EXCLUDE (row_at) FROM (SELECT *, row_number() OVER () AS row_at FROM {name}) "
        query += f"WHERE row_at % {step} = 0"
    safely = '{"enable_external_access": "false"}'
    yield f"with duckdb.connect(str({names.source}), read_only=True, config={safely}) as _connection:"
    yield f"    {names.as_read} = _connection.sql({literal(query)}).df()"


def _copied(table: TableProfile, names: TableNames, step: int) -> Iterator[str]:
    """Read from a copy that is gone afterwards."""
    yield "with tempfile.TemporaryDirectory() as _folder:"
    yield f"    _copy = Path(_folder, {literal(PurePosixPath(table.reading.path).name)})"
    yield f"    _copy.write_bytes({_operand(names.source)}.read_bytes())"
    inner = _READERS[table.reading.format](table, replace(names, sources=("_copy",)), step)
    yield from (f"    {line}" for line in inner)


def narrowed_query(table: TableProfile, columns: Sequence[str]) -> str:
    """The query for these columns, in the table's own order; the whole one where it does not list columns."""
    kept = [column.name for column in table.columns if column.name in columns]
    place = _place_in_query(table)
    return f"select {quoted_names(kept, table.reading.quote)} from {place}" if place else table.reading.query


def _place_in_query(table: TableProfile) -> str:
    """What its query reads from; empty: it does not simply list the table's columns."""
    listed = f"select {quoted_names((column.name for column in table.columns), table.reading.quote)} from "
    query = table.reading.query
    return query.removeprefix(listed) if query.startswith(listed) else ""


def _count(table: TableProfile, names: TableNames) -> Iterator[str]:
    place = _place_in_query(table) or f"({table.reading.query}) as whole"
    yield "# Counted first: where rows are added meanwhile, there are more, and never fewer."
    query = quoted_code(f"select count(*) from {place}")
    yield f"{names.counted} = {names.source}.sql({query}).column(0)[0].as_py()"


def _connection(table: TableProfile, names: TableNames, step: int) -> Iterator[str]:
    del step  # a database is asked for all rows, or for none
    query = table.reading.query
    line = f"{names.as_read} = {names.source}.sql({quoted_code(query)}).to_pandas()"
    is_plain = query.isprintable() and "\\" not in query and '"""' not in query and not query.endswith('"')
    head, _, rest = query.partition(" from ")
    if len(line) <= _LONGEST_LINE or not is_plain or " from " in rest:
        yield line
        return
    yield f'{names.as_read} = {names.source}.sql("""'
    yield from textwrap.wrap(
        head,
        _LONGEST_LINE,
        initial_indent="    ",
        subsequent_indent="        ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield f"    from {rest}"
    yield '""").to_pandas()'


_READERS: Final[dict[Format, Callable[[TableProfile, TableNames, int], Iterator[str]]]] = {
    "csv": _csv_or_excel, "excel": _csv_or_excel, "jsonl": _json_lines, "json": _json, "parquet": _parquet,
    "feather": _feather, "sqlite": _sqlite, "duckdb": _duckdb, "connection": _connection,
}  # fmt: skip


# ── names that a file does not give as the profile has them ──


def _renamed(table: TableProfile, names: TableNames) -> Iterator[str]:
    """Where names were cut or are given twice, the columns get those of the profile, by their places."""
    columns = [column.name for column in table.columns]
    cut = {at: name for at, name in enumerate(columns) if len(name) >= LONGEST_NAME}
    if _has_twins(table):
        yield f"{names.as_read} = {names.as_read}.set_axis({wrapped(columns)}, axis=1)"
    elif cut:
        yield "# These names are too long to work with: the columns are found by their places."
        yield f"_short = {{{', '.join(f'{at}: {literal(plain(name, LONGEST_NAME))}' for at, name in cut.items())}}}"
        yield f"{names.as_read} = {names.as_read}.set_axis("
        yield f"    [_short.get(_at, _name) for _at, _name in enumerate({names.as_read}.columns)], axis=1"
        yield ")"


def _has_twins(table: TableProfile) -> bool:
    is_typed = table.reading.format not in ("csv", "excel")
    return is_typed and any(oddity.kind == "duplicate-names" for oddity in table.oddities)


def _is_renamed(table: TableProfile) -> bool:
    return _has_twins(table) or any(len(column.name) >= LONGEST_NAME for column in table.columns)
