"""Numbers of open files, alone or together: in another process they are nothing, or another file.

A number says nothing about what it is for. One that is a file's may mean that file; several in a small container do if
all of them are files'. More would be guessing: a value wrongly left behind is made again by its cell, without what
other cells did to it since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from cellwright_guest.previews import identity

_MOST_ITEMS: Final = 64
_DEPTH: Final = 3
_CONTAINERS: tuple[type[Any], ...] = (tuple, list, set, frozenset)


def means_open_files(value: object, open_files: Collection[int]) -> bool:
    """Whether it is the number of an open file, or all numbers in it are."""
    if not open_files:
        return False
    found = list(_numbers(value, _DEPTH))
    return bool(found) and all(number in open_files for number in found)


def _numbers(value: object, depth: int) -> Iterator[object]:
    """All numbers in it; None for one that is no descriptor, and for what is too large or too deep to be a few."""
    if type(value) is int:
        yield value
    elif isinstance(value, float | complex):
        yield None
    elif (inner := _inside(value)) is not None:
        size, items = inner
        if size > _MOST_ITEMS or not depth:
            yield None
            return
        for item in items:
            yield from _numbers(item, depth - 1)


def _inside(value: object) -> tuple[int, Iterable[object]] | None:
    """How much is in it, and what; None for what is no container."""
    for kind in _CONTAINERS:
        if isinstance(value, kind):
            return kind.__len__(value), kind.__iter__(value)
    if isinstance(value, dict):
        return dict.__len__(value), dict.values(value)
    if identity.module_of(type(value)) == "__main__":
        held = identity.instance_attributes(value)
        return len(held), held.values()
    return None
