"""`semicolon`: a cell without a semicolon is not tokenized to find out that it does not end in one.

A fifth of the time to compile a small cell.
"""

from __future__ import annotations

from marimo._ast import compiler

from cellwright_guest.patches.swap import Swap

_stock_ends_with_semicolon = compiler.ends_with_semicolon


def _ends_with_semicolon(code: str) -> bool:
    return ";" in code and _stock_ends_with_semicolon(code)


SWAPS = (Swap(owner=compiler, name="ends_with_semicolon", fingerprint="4d066f836b33", ours=_ends_with_semicolon),)
