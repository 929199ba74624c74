"""Values of a profile as Python literals, wrapped so that a cell stays readable. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from cellwright.analyst.profile import Table
from cellwright.notebook.wording import literal

_WIDTH: Final = 100
_LONG_LIST: Final = 700
"""Characters of a list of names; longer ones are given by position."""
_MOST_LINES: Final = 14
"""Of one literal; what is longer stands on one line that nobody need read."""
_FEW: Final = 12
Plain = str | float | int | bool | None | Sequence["Plain"] | Mapping[str, "Plain"]


def code_of(value: Plain) -> str:
    """The value as code on one line."""
    match value:
        case str():
            return literal(value)
        case Mapping():
            return "{" + ", ".join(f"{literal(key)}: {code_of(each)}" for key, each in value.items()) + "}"
        case Sequence():
            return "[" + ", ".join(map(code_of, value)) + "]"
        case _:
            return repr(value)


def wrapped(value: Plain, *, indent: int = 0) -> str:
    """The value as code, over several lines where one would be too long; `indent` is that of its first line."""
    whole = code_of(value)
    if len(whole) + indent <= _WIDTH or not isinstance(value, (Mapping, Sequence)) or isinstance(value, str):
        return whole
    if isinstance(value, Mapping):
        items, ends = [f"{literal(key)}: {code_of(each)}" for key, each in value.items()], "{}"
    else:
        items, ends = [code_of(each) for each in value], "[]"
    inner, outer = " " * (indent + 4), " " * indent
    if len(whole) > _MOST_LINES * _WIDTH:
        return whole
    return f"{ends[0]}\n" + "".join(f"{inner}{line}\n" for line in _lines(items)) + f"{outer}{ends[1]}"


def _lines(items: Iterable[str]) -> Iterable[str]:
    line = ""
    for item in items:
        if line and len(line) + len(item) > _WIDTH - 6:
            yield line
            line = ""
        line = f"{line} {item}," if line else f"{item},"
    if line:
        yield line


def columns_code(table: Table, names: Sequence[str], frame: str, *, indent: int = 0) -> str:
    """Code that gives these columns' names: as a list, or by their places in `frame` where they are very many."""
    if len(code_of(names)) <= _LONG_LIST:
        return wrapped(names, indent=indent)
    if table.reading.format in ("json", "jsonl"):
        # Objects have no order: the notebook may meet the keys in another one.
        return code_of(names)
    wanted = set(names)
    places = [at for at, column in enumerate(table.columns) if column.name in wanted]
    return f"{frame}.columns[np.r_[{', '.join(_stretches(places))}]]"


def pairs_code(table: Table, values: Mapping[str, Plain], frame: str) -> str:
    """Code that gives columns with what belongs to each; many columns with the same are told together."""
    if len(values) <= _FEW:
        return f"{wrapped(values)}.items()"
    alike: dict[str, list[str]] = {}
    for name, value in values.items():
        alike.setdefault(code_of(value), []).append(name)
    groups = "".join(f"        ({columns_code(table, names, frame)}, {same}),\n" for same, names in alike.items())
    return f"[\n    (_one, _same)\n    for _many, _same in [\n{groups}    ]\n    for _one in _many\n]"


def _stretches(places: Sequence[int]) -> Iterable[str]:
    starts = [places[0], *(after for before, after in pairwise(places) if after != before + 1)]
    ends = [*(before for before, after in pairwise(places) if after != before + 1), places[-1]]
    for start, end in zip(starts, ends, strict=True):
        yield f"{start}:{end + 1}" if end > start else str(start)
