"""Plain words for people: counts, lists, names of columns, and the markdown cells they stand in. Pure.

Names and values come from files of strangers: what is put into markdown goes through `shown`, what is put into code
through `cellwright.analyst.writing.literals`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.profile import Table
from cellwright.notebook.wording import markdown_text

_LONGEST_NAME: Final = 60


def plain(words: str, longest: int = _LONGEST_NAME) -> str:
    """The words on one printable line, cut where they are too long; not escaped."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in words).split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def shown(words: str, longest: int = _LONGEST_NAME) -> str:
    """Words of a file in markdown: they show as they are, whatever they hold."""
    return markdown_text(plain(words, longest)) or "(no name)"


def counted(count: int, word: str, plural: str = "") -> str:
    """`1 row`, `2,300 rows`."""
    return f"{count:,} {word if count == 1 else plural or f'{word}s'}"


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


def rows_of(table: Table) -> str:
    """`1,200 rows`, or `about 1,200 rows` where they were estimated."""
    return f"{'' if table.is_counted else 'about '}{counted(table.rows, 'row')}"


def is_sampled(table: Table) -> bool:
    """Whether the profile looked at a part of the rows only; the notebook does so too."""
    return table.looked_at < table.rows


# ── cells ──


def words_cell(name: str, text: str) -> CellDraft:
    """A markdown cell as marimo's editor writes it. Everything of a file in `text` is escaped already."""
    return CellDraft(name=name, code=f'mo.md(r"""\n{text.strip()}\n""")', is_words=True)


def live_words_cell(name: str, text: str) -> CellDraft:
    """A markdown cell whose braces are code: its numbers are those of the moment."""
    return CellDraft(name=name, code=f'mo.md(rf"""\n{text.strip()}\n""")', is_words=True)


def check_cell(name: str, code: str) -> CellDraft:
    """A cell with one test function."""
    return CellDraft(name=name, code=code.strip())
