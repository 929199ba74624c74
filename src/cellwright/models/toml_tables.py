"""Tables of a TOML text that know where they stand, so that a mistake can be shown in its place."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar, cast

from cellwright.policy.toml_places import Outline, Place, outline

_Word = TypeVar("_Word", bound=str)

LARGEST_FILE: Final = 1_000_000
_AT: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)")


class Fault(Exception):
    """What is wrong, and where."""

    def __init__(self, place: Place | None, message: str, hint: str) -> None:
        super().__init__(message)
        self.place = place
        self.message = message
        self.hint = hint


def read_tables(text: str) -> Table:
    """The text's outermost table. Raises `Fault`."""
    return Table(data=_parse(text), path=(), places=outline(text))


def _parse(text: str) -> Mapping[str, Any]:
    if len(text) > LARGEST_FILE:
        raise Fault(None, f"the file has more than {LARGEST_FILE} characters.", "Is this the right file?")
    try:
        return tomllib.loads(text)
    except ValueError as error:
        found = _AT.search(str(error))
        place = Place(line=int(found[1]), column=int(found[2])) if found and found[1] else None
        raise Fault(place, f"this is not TOML: {_AT.sub('', str(error))}.", "See docs/models.md.") from None
    except RecursionError:
        raise Fault(None, "brackets are nested too deeply.", "See docs/models.md.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of the file, which knows where it stands."""

    data: Mapping[str, Any]
    path: tuple[str, ...]
    places: Outline

    def refuse(self, key: str | None, message: str, hint: str) -> NoReturn:
        """Ends reading, at this key or at the table itself."""
        raise Fault(self._place(key), message, hint)

    def check_keys(self, known: Collection[str], *, what: str) -> None:
        """Refuses every key not known."""
        for key in self.data:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
                self.refuse(key, f"unknown {what} {key!r}.", hint)

    def table(self, key: str) -> Table:
        """A table inside; an empty one if it is not there."""
        found = self.data.get(key, {})
        if not isinstance(found, dict):
            self.refuse(key, f"{key!r} must be a table.", f"Write [{'.'.join((*self.path, key))}].")
        return Table(data=cast("dict[str, Any]", found), path=(*self.path, key), places=self.places)

    def text(self, key: str) -> str | None:
        """A text, if there is one."""
        found = self.data.get(key)
        if found is not None and not isinstance(found, str):
            self.refuse(key, f"{key!r} must be a text.", f'Write {key} = "…".')
        return found

    def flag(self, key: str) -> bool | None:
        """Yes or no, if it is said."""
        found = self.data.get(key)
        if found is not None and not isinstance(found, bool):
            self.refuse(key, f"{key!r} must be true or false.", "Without quotes.")
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; an empty one if it is not there."""
        found = self.data.get(key, [])
        if not isinstance(found, list) or not all(isinstance(item, str) for item in cast("list[Any]", found)):
            self.refuse(key, f"{key!r} must be a list of texts.", f'Write {key} = ["…", "…"].')
        return tuple(cast("list[str]", found))

    def word(self, key: str, known: Collection[_Word]) -> _Word | None:
        """One of these words, if one is there."""
        found = self.text(key)
        for word in known:
            if found == word:
                return word
        if found is None:
            return None
        return self.refuse(key, f"{key!r} cannot be {found!r}.", f"Known: {', '.join(known)}.")

    def _place(self, key: str | None) -> Place | None:
        name = ".".join(self.path)
        tables = [table for table in self.places.tables if table.name == name]
        for table in tables:
            if key is not None and key in table.entries:
                return table.entries[key].key
        if key is not None:
            full = f"{name}.{key}" if name else key
            tables += [table for table in self.places.tables if table.name == full or table.name.startswith(f"{full}.")]
        return next((table.place for table in tables if table.name), None)
