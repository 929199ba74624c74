"""Names that a room has and loads only when they are used: those that take long, and those of the version before."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping


def lazy_names(
    room: str,
    homes: Mapping[str, tuple[str, ...]],
    *,
    former: Mapping[str, tuple[str, ...]] | None = None,
    renamed: Mapping[str, str] | None = None,
) -> Callable[[str], object]:
    """A room's `__getattr__`: `homes` has the names of each module, relative to the room.

    Names in `former` have moved there and `renamed` ones are called otherwise now: both work for one version more, and
    say so.
    """
    found = {name: f"{room}.{home}" for home, names in homes.items() for name in names}
    moved = {name: f"{room}.{home}" for home, names in (former or {}).items() for name in names}
    new_names = renamed or {}

    def find(name: str) -> object:
        if name in new_names:
            message = f"{room}.{name} is called {new_names[name]} now; the old name goes with the next version."
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            name = new_names[name]
        if name in moved:
            message = f"`{room}.{name}` is imported from `{moved[name]}` now."
            warnings.warn(message, DeprecationWarning, stacklevel=2)
        if (home := moved.get(name) or found.get(name)) is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(importlib.import_module(home), name)

    return find
