"""Values and names of a profile as text of a cell: markdown for people, Python literals for code. Pure.

Names and values come from files of strangers: what is put into markdown goes through `shown`, what is put into code
through `code_of` or `wrapped`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from cellwright.analyst.drafts import CellDraft
from cellwright.notebook.source_text import literal, markdown_text
from cellwright.profiles.profile import MOST_ROWS, TableProfile, is_remote

_MAX_NAME_LENGTH: Final = 60


def plain(words: str, longest: int = _MAX_NAME_LENGTH) -> str:
    """The words on one printable line, cut where they are too long; not escaped."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in words).split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def shown(words: str, longest: int = _MAX_NAME_LENGTH) -> str:
    """Words of a file in markdown: they show as they are, whatever they hold."""
    return markdown_text(plain(words, longest)) or "(no name)"


def counted(count: int, word: str, plural: str = "") -> str:
    """`1 row`, `2,300 rows`."""
    return f"{count:,} {word if count == 1 else plural or f'{word}s'}"


def capital(words: str) -> str:
    """With its first letter in upper case."""
    return words[:1].upper() + words[1:]


def ordinal(number: int) -> str:
    """`2nd`, `50th`, `101st`."""
    if number % 100 in (11, 12, 13):
        return f"{number:,}th"
    return f"{number:,}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def percent(part: float, whole: float) -> str:
    """A share in words that never say 0 % for something or 100 % for not all."""
    if not whole or part <= 0:
        return "0 %"
    share = 100 * part / whole
    if share >= 100:
        return "100 %"
    return "under 1 %" if share < 1 else "over 99 %" if share > 99 else f"{share:.0f} %"


def listed(words: Sequence[str], most: int = 6) -> str:
    """`a, b and c`; of many the first few, and how many more."""
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most:,} more"
    return " and ".join(part for part in [", ".join(words[:-1]), *words[-1:]] if part)


def rows_of(table: TableProfile) -> str:
    """`1,200 rows`, or `about 1,200 rows` where they were estimated."""
    return f"{'' if table.is_counted else 'about '}{counted(table.rows, 'row')}"


def rows_used(table: TableProfile) -> int:
    """About how many rows the notebook uses: those the profile looked at.

    A database gives all. Of a file behind a connection the profile looks at parts, which says nothing of its length.
    """
    if table.reading.format == "connection":
        return table.rows
    return max(table.looked_at, min(table.rows, MOST_ROWS)) if is_remote(table.reading) else table.looked_at


def is_sampled(table: TableProfile) -> bool:
    """Whether the notebook uses a part of the rows only."""
    return rows_used(table) < table.rows


# ── cells ──


def words_cell(name: str, text: str) -> CellDraft:
    """A markdown cell as marimo's editor writes it. Everything of a file in `text` is escaped already."""
    return CellDraft(name=name, code=f'mo.md(r"""\n{text.strip()}\n""")', is_words=True)


def live_words_cell(name: str, text: str) -> CellDraft:
    """A markdown cell whose braces are code: its numbers are those of the moment."""
    return CellDraft(name=name, code=f'mo.md(rf"""\n{text.strip()}\n""")', is_words=True)


def check_cell(name: str, shows: str, code: str) -> CellDraft:
    """A cell with one test function, and what that shows."""
    return CellDraft(name=name, code=code.strip(), shows=shows)


_WIDTH: Final = 100
_LONG_LIST: Final = 700
"""Limit of characters of a list of names; longer ones are given by position."""
_MAX_LINES: Final = 14
"""Limit of lines of one literal; a longer one stands on a single line that nobody need read."""
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
    if len(whole) > _MAX_LINES * _WIDTH:
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


def columns_code(table: TableProfile, names: Sequence[str], frame: str) -> str:
    """Code that gives these columns' names: as a list, or by their places in `frame` where they are very many."""
    if len(code_of(names)) <= _LONG_LIST:
        return wrapped(names)
    if table.reading.format in ("json", "jsonl"):
        # Objects have no order: the notebook may meet the keys in another one.
        return code_of(names)
    wanted = set(names)
    places = [at for at, column in enumerate(table.columns) if column.name in wanted]
    return f"{frame}.columns[np.r_[{', '.join(_stretches(places))}]]"


def pairs_code(table: TableProfile, values: Mapping[str, Plain], frame: str) -> str:
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
