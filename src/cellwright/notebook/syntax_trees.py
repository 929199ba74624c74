"""Syntax trees, made by one thread at a time.

CPython keeps the depth of a tree under construction once for all threads. When the garbage collector lets another
thread in that makes a tree, too, `ast.parse` fails with "AST constructor recursion depth mismatch": rarely, and in a
process with many notebooks sooner or later. Nothing is lost by taking turns: trees are made under the interpreter's
lock anyway.
"""

from __future__ import annotations

import ast
import threading
from typing import Any, Final

_parse: Final[Any] = ast.parse
TURN: Final = threading.RLock()
"""Held while a tree is made in any other way than by `ast.parse`."""


def parse_in_turn(*arguments: Any, **more: Any) -> Any:
    """`ast.parse`, when no other thread is in it."""
    with TURN:
        return _parse(*arguments, **more)


def take_turns() -> None:
    """From now on everybody's trees, marimo's too, are made in turn."""
    ast.parse = parse_in_turn
