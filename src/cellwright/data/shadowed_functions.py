"""Whether a statement may call a function or operator of somebody's own in the place of the server's. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from cellwright.data.dialects import Dialect

_WORD: Final = re.compile(r"[^\W\d]\w*")
_BY_WORDS: Final = frozenset({"=", "<>", "<", ">", "<=", ">=", "~~", "!~~", "~~*", "!~~*"})
"""Operators that IN, BETWEEN, LIKE, CASE and USING call without showing them."""


def first_shadowed(text: str, dialect: Dialect, shadowing: Sequence[str], allowed: Collection[str]) -> str:
    """The first of them that the statement may call; empty: it calls none. `allowed` are the person's word."""
    names = [name for name in shadowing if name.casefold() not in allowed]
    if dialect == "duckdb":
        # There `x + y`, `[x]` and much else are functions, too, and a macro takes their place.
        return next(iter(names), "")
    return next((name for name in names if _may_call(text, name)), "")


def _may_call(text: str, name: str) -> bool:
    if _WORD.fullmatch(name):
        return re.search(rf'(?<!\w)"?{re.escape(name)}"?\s*\(', text, re.IGNORECASE) is not None
    return name in _BY_WORDS or name in text
