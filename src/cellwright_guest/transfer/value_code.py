"""The code that values bring with them to be written and read: it may raise anything.

Its classes and functions are looked for in the notebook.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from cellwright_guest.transfer.memory_file import FileFull

_Made = TypeVar("_Made")

REASON: Final = 300
"""Limit of characters of a reason."""
NO_ROOM: Final = "it is larger than the room there is for carried values"
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class BoundState:
    """What travels of something that marimo binds to its cell, which runs in the other kernel and makes it anew."""

    kind: Literal["ui", "state", "setter"]
    value: Any = None
    """As the frontend says it, for a `mo.ui` element."""


class NotTransferred(Exception):
    """This variable stays behind."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason


def transferred(name: str, work: Callable[[], _Made]) -> _Made:
    """What the work gives; `NotTransferred` whatever it raises."""
    try:
        return work()
    except KeyboardInterrupt:
        raise
    except FileFull:
        raise NotTransferred(name, NO_ROOM) from None
    except BaseException as error:  # noqa: BLE001  # values bring their own code for this, which may raise anything
        raise NotTransferred(name, _text_of(error)) from None


class _Main:
    """The notebook's variables in the form of a module."""

    def __init__(self, globals_: dict[str, Any]) -> None:
        self.__dict__ = globals_


@contextmanager
def main_is(globals_: dict[str, Any]) -> Generator[None]:
    """Classes and functions of cells say they are in `__main__`: have pickle look for them in the notebook."""
    before = sys.modules.get("__main__")
    if before is not None and before.__dict__ is globals_:
        yield
        return
    # Pickle only asks for attributes.
    main: Any = _Main(globals_)
    sys.modules["__main__"] = main
    try:
        yield
    finally:
        if before is None:
            del sys.modules["__main__"]
        else:
            sys.modules["__main__"] = before


def _text_of(error: BaseException) -> str:
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  # its own code again
        text = type(error).__name__
    return _ADDRESS.sub("", text[: REASON * 2])[:REASON].encode("utf-8", "replace").decode("utf-8")
