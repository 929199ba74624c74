"""Words of people as code and markdown: names, literals, and text that means nothing but itself. Pure."""

from __future__ import annotations

import builtins
import itertools
import json
import keyword
import unicodedata
from collections.abc import Callable, Collection, Iterable
from typing import Final

_TAKEN: Final = frozenset({"mo", "marimo", "app", "data_folder", *dir(builtins), *keyword.softkwlist})
_MAX_NAME_LENGTH: Final = 60
_MARKS: Final = str.maketrans(
    {mark: f"\\{mark}" for mark in "`*_#$"} | {mark: f"&#{ord(mark)};" for mark in "\\[]{}|~"}
    | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)  # fmt: skip


def variable_name(name: str, *, is_folder: bool = False, taken: Collection[str] = ()) -> str:
    """A variable for a file of this name: `Sales Q3.CSV` is `sales_q3_csv`. Never one that is taken already."""
    dot = "." in name.strip(".")
    words = name if dot and not is_folder else f"{name}_{'folder' if is_folder else 'file'}"
    plain = identifier(words) or "data_file"
    return numbered(plain, lambda candidate: candidate not in taken and candidate not in _TAKEN)


def numbered(name: str, is_free: Callable[[str], bool]) -> str:
    """The name, or the first of `name_2`, `name_3` … that is free."""
    others = (f"{name}_{number}" for number in itertools.count(2))
    return next(candidate for candidate in itertools.chain([name], others) if is_free(candidate))


def identifier(words: str) -> str:
    """The words as one lower-case name; empty when nothing in them can stand in a name.

    Never with a leading underscore: marimo keeps such names inside their cell.
    """
    lowered = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", words).lower())
    spaced = "".join(sign if f"a{sign}".isidentifier() and sign != "_" else " " for sign in lowered)
    name = "_".join(spaced.split())[:_MAX_NAME_LENGTH].rstrip("_")
    if name and not name.isidentifier():
        name = f"data_{name}"
    if keyword.iskeyword(name):
        name = f"{name}_"
    return name if name.isidentifier() and unicodedata.normalize("NFKC", name) == name else ""


def markdown_text(words: str) -> str:
    """Words that mean nothing but themselves in marimo's markdown, and do not end a raw string."""
    return words.translate(_MARKS).replace('"""', "&quot;&quot;&quot;")


def sql_name(name: str) -> str:
    """A table's name that SQL takes for nothing else."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """The text as Python writes it, in double quotes where that is easy to read."""
    return json.dumps(text, ensure_ascii=False) if text.replace("\n", "").isprintable() else repr(text)


def quoted_names(names: Iterable[str], mark: str) -> str:
    """Columns as a statement lists them, in a database that quotes names with this mark."""
    return ", ".join(f"{mark}{name.replace(mark, mark * 2)}{mark}" for name in names)
