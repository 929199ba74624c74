"""JSON becomes tables: a list of objects, an object of columns, or an object with such lists in it; JSON lines."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec

from cellwright_guest.profiling.raw import NotReadable, RawTable, ReadBudget, SourceFile
from cellwright_guest.profiling.readers.formats import OpenedBytes, find_encoding
from cellwright_guest.profiling.readers.reader_columns import pandas_names, raw_table, typed_columns
from cellwright_guest.profiling.records import LONGEST_NAME, Oddity, ReadOptions
from cellwright_guest.profiling.wording import counted, cut

_MOST_WHOLE: Final = 96 << 20
_CHUNK: Final = 1 << 20
_LONGEST_VALUE: Final = 32 << 20
_LONGEST_LINE: Final = 32 << 20
_MOST_PARTS: Final = 12
_CHECK_TIME_EVERY: Final = 5_000


def read_json(source: SourceFile, budget: ReadBudget, *, head: bytes, compression: str) -> list[RawTable]:
    """The tables in a JSON file; raises `NotReadable`."""
    encoding = find_encoding(source.path, compression, head)
    name = encoding.name if encoding.name != "utf-8" else "utf-8-sig"
    reading = ReadOptions(path=source.shown, format="json", encoding=encoding.name, compression=compression)
    with OpenedBytes(source.path, compression) as opened:
        decoder = codecs.getreader(name)(opened.stream, "replace")
        text = decoder.read(size=-1, chars=_CHUNK)
        if text.lstrip()[:1] == "[":
            records = _Records(budget=budget)
            first = text.lstrip()[1:].lstrip()[:1]
            if first == "{" or not first:
                for item in _items(text, decoder):
                    records.offer(item)
                    if records.is_over:
                        break
                return [_table(source, reading, records, opened.consumed)]
        while len(text) <= _MOST_WHOLE and (more := decoder.read(size=-1, chars=_CHUNK)):
            text += more
    if len(text) > _MOST_WHOLE:
        raise NotReadable(f"it is one JSON value of more than {_MOST_WHOLE >> 20} MB; save it as JSON lines")
    return _parts(source, budget, reading, _whole(text))


def read_json_lines(source: SourceFile, budget: ReadBudget, *, head: bytes, compression: str) -> RawTable:
    """The table in a file that has an object on each line; raises `NotReadable`."""
    encoding = find_encoding(source.path, compression, head)
    name = encoding.name if encoding.name != "utf-8" else "utf-8-sig"
    records = _Records(budget=budget)
    with OpenedBytes(source.path, compression) as opened:
        lines = io.TextIOWrapper(opened.stream, encoding=name, errors="replace")
        while (line := lines.readline(_LONGEST_LINE)) and not records.is_over:
            if len(line) == _LONGEST_LINE:
                raise NotReadable(f"it has a line of more than {_LONGEST_LINE >> 20} MB")
            if line.strip():
                records.offer_line(line)
        consumed = opened.consumed
        lines.detach()
    if not records.kept:
        raise NotReadable("no line of it is JSON")
    reading = ReadOptions(path=source.shown, format="jsonl", encoding=encoding.name, compression=compression)
    return _table(source, reading, records, consumed)


@dataclass(slots=True, kw_only=True)
class _Records:
    """Objects, thinned while they come."""

    budget: ReadBudget
    stride: int = 1
    seen: int = 0
    broken: int = 0
    """Lines that are no JSON."""
    is_over: bool = False
    is_nested: bool = False
    """Objects in them became columns of their own."""
    kept: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def offer(self, item: Any) -> None:
        """Keep the item if the stride falls on it."""
        if self.seen % self.stride == 0:
            self.kept.append(flattened(item))
            inner = cast(dict[str, Any], item).values() if isinstance(item, dict) else ()
            self.is_nested = self.is_nested or any(isinstance(value, dict) for value in inner)
            # Python's own objects are large: far fewer are kept than of other formats.
            while len(self.kept) > min(self.budget.most_rows, 100_000) and len(self.kept) > 1:
                self.kept = self.kept[::2]
                self.stride *= 2
        self.seen += 1
        if self.seen % _CHECK_TIME_EVERY == 0:
            self.is_over = self.budget.is_spent

    def offer_line(self, line: str) -> None:
        """Keep what stands on the line if it is JSON and the stride falls on it."""
        try:
            self.offer(json.loads(line.strip().rstrip(",")))
        except (ValueError, RecursionError):
            self.broken += 1


def flattened(item: Any) -> dict[str, Any]:
    """An object as a row, objects in it as `outer.inner`, like `pandas.json_normalize(max_level=1)`."""
    if not isinstance(item, Mapping):
        return {"value": item}
    row: dict[str, Any] = {}
    nested: dict[str, Any] = {}
    for key, value in cast(Mapping[Any, Any], item).items():
        if isinstance(value, Mapping):
            nested |= {f"{key}.{inner}": within for inner, within in cast(Mapping[Any, Any], value).items()}
        else:
            row[str(key)] = value
    return row | nested


def _items(text: str, decoder: codecs.StreamReader) -> Iterator[Any]:
    """The items of a long list, read one by one."""
    scanner, buffer, at = json.JSONDecoder(), text, text.index("[") + 1
    while True:
        while at < len(buffer) and buffer[at] in " \t\r\n,":
            at += 1
        if at < len(buffer) and buffer[at] == "]":
            return
        try:
            if at >= len(buffer):
                raise ValueError
            item, end = scanner.raw_decode(buffer, at)
            # A number at the very end of the buffer may go on behind it.
            if end == len(buffer):
                raise ValueError
        except RecursionError as error:
            raise NotReadable("its values are nested too deeply") from error
        except ValueError as error:
            more = decoder.read(size=-1, chars=max(_CHUNK, len(buffer) - at))
            if len(buffer) - at > _LONGEST_VALUE or not more:
                why = f"it has a value of more than {_LONGEST_VALUE >> 20} MB" if more else "it is broken JSON"
                raise NotReadable(why) from error
            buffer, at = buffer[at:] + more, 0
            continue
        at = end
        yield item


def _whole(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise NotReadable("its values are nested too deeply") from error
    except ValueError as error:
        raise NotReadable("it is broken JSON") from error


def _parts(source: SourceFile, budget: ReadBudget, reading: ReadOptions, value: Any) -> list[RawTable]:
    """The tables in a value that was read whole."""
    if isinstance(value, list):
        return [_of_rows(source, budget, reading, "", cast(list[Any], value))]
    if not isinstance(value, dict):
        raise NotReadable("it is one JSON value, no table")
    value = cast(dict[str, Any], value)
    found = {key: inner for key, inner in value.items() if isinstance(inner, list)}
    lists = {key: inner for key, inner in found.items() if inner and isinstance(inner[0], dict)}
    if lists:
        parts = list(lists.items())[:_MOST_PARTS]
        return [_of_rows(source, budget, reading, key, inner) for key, inner in parts]
    if found and len(found) == len(value) and len({len(inner) for inner in found.values()}) == 1:
        rows = [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]
        return [_of_rows(source, budget, reading, "", rows)]
    if value and all(isinstance(inner, dict) for inner in value.values()):
        raise NotReadable("it is an object of objects: which of its levels are rows is not clear")
    return [_of_rows(source, budget, msgspec.structs.replace(reading, is_nested=True), "", [value])]


def _of_rows(source: SourceFile, budget: ReadBudget, reading: ReadOptions, part: str, rows: Sequence[Any]) -> RawTable:
    if not rows:
        raise NotReadable("it is an empty list")
    records = _Records(budget=budget)
    for row in rows:
        records.offer(row)
    return _table(source, msgspec.structs.replace(reading, part=part), records, source.size_bytes)


def _table(source: SourceFile, reading: ReadOptions, records: _Records, consumed: int) -> RawTable:
    if not records.kept:
        raise NotReadable("it is an empty list")
    names = list(dict.fromkeys(key for row in records.kept for key in row))
    reading = msgspec.structs.replace(reading, is_nested=reading.is_nested or records.is_nested)
    used = names[: records.budget.most_columns]
    total = records.seen
    if records.is_over:
        total = max(total, int(total * source.size_bytes / max(1, consumed)))
    shown = pandas_names([cut(name, LONGEST_NAME) for name in used])
    columns, odd = typed_columns(shown, [[row.get(name) for name in used] for row in records.kept])
    if len(used) < len(names):
        says = f"Only the first {len(used):,} of {len(names):,} columns were read."
        odd.append(Oddity(kind="not-read", says=says, count=len(names) - len(used)))
    if records.broken:
        says = f"{counted(records.broken, 'line')} could not be read as JSON."
        odd.append(Oddity(kind="not-read", says=says, count=records.broken, severity="problem"))
    seen, stride, is_whole = records.seen, records.stride, not records.is_over
    return raw_table(source, reading, columns, odd, rows=total, seen=seen, stride=stride, is_whole=is_whole)
