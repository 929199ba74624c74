"""Writing variables into a memory file: together where they share something, each table by itself.

Values bring their own code for being written and read, which may raise anything; it looks for its classes and functions
in the notebook.
"""

from __future__ import annotations

import pickle  # noqa: TID251  # written in one cage and read in another; the host never opens it
import random
import re
import sys
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar

from marimo._plugins.ui._core.ui_element import UIElement
from marimo._runtime.state import SetFunctor, State

from cellwright_guest.transfer.memory_file import FileFull, Frame, Index, MemoryFileWriter, Segment, SegmentWriter
from cellwright_guest.transfer.pickler import PickleNotes, Pickler, means_open_files, shared_memory, table_kind

# ── the code of values ──

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


# ── one export ──

_MOST_ATTEMPTS: Final = 8
_SHARED: Final = "its arrays share their memory with another variable's"


@dataclass(slots=True, kw_only=True)
class Exporter:
    """One export: what is wanted, and what stays behind."""

    globals_: dict[str, Any]
    file: MemoryFileWriter
    open_files: Collection[int] = ()
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    left: dict[str, str] = field(default_factory=dict[str, str])

    def want(self, name: str) -> None:
        """Have it exported, if it can be."""
        if name not in self.globals_:
            self.left[name] = "it has no value"
            return
        value = self.globals_[name]
        match value:
            case UIElement():
                self.values[name] = BoundState("ui", value._value_frontend)
            case State():
                self.values[name] = BoundState("state", value._value)
            case SetFunctor():
                self.values[name] = BoundState("setter")
            case _ if means_open_files(value, self.open_files):
                self.left[name] = "it is the number of an open file"
            case _:
                self.values[name] = value

    def states(self) -> list[Segment]:
        """Of the generators that belong to nobody."""
        numpy = sys.modules.get("numpy")
        held = (random.getstate(), numpy.random.get_state(legacy=False) if numpy is not None else None)
        try:
            return [self.file.put(pickle.dumps(held, 5))]
        except FileFull:
            return []

    def frames(self) -> dict[int, list[str]]:
        """Tables by their identity, with the names that hold them."""
        found: dict[int, list[str]] = {}
        for name, value in self.values.items():
            if table_kind(value) and _is_kept_by_arrow(value):
                found.setdefault(id(value), []).append(name)
        return found

    def pickled(self, frames: dict[int, list[str]]) -> Index:
        """All that is no table of its own. Tables found inside other values are taken out of `frames`."""
        start = self.file.end
        views: frozenset[int] = frozenset()
        met: list[PickleNotes] = []
        names = [name for name, value in self.values.items() if id(value) not in frames]
        for attempt in range(_MOST_ATTEMPTS):
            self.file.end = start
            notes = PickleNotes()
            # Kept, so that no other array gets an identity that stands in `views`.
            met.append(notes)
            try:
                index, inside = self._attempt(names, frames, notes, views)
            except NotTransferred as error:
                self.left[error.name] = error.reason
                names = [name for name in names if name != error.name]
                if attempt == 0 and error.reason != NO_ROOM:
                    names = [name for name in names if not self._fails(name, start)]
                continue
            shared = shared_memory(notes)
            if shared.left:
                self.left |= dict.fromkeys(shared.left, _SHARED)
                names = [name for name in names if name not in shared.left]
            elif views or not shared.views:
                for identity in inside:
                    del frames[identity]
                return index
            views |= shared.views
        self.left |= dict.fromkeys(names, "something else could not be carried")
        self.file.end = start
        return Index()

    def _attempt(
        self, names: list[str], frames: dict[int, list[str]], notes: PickleNotes, views: frozenset[int]
    ) -> tuple[Index, list[int]]:
        stream = SegmentWriter(self.file)
        pickler = Pickler(stream, self.file, notes, views=views)
        done: list[str] = []
        for name in names:
            self._dump(pickler, name, notes)
            done.append(name)
        inside = [identity for identity in frames if identity in notes.tables]
        for name in [name for identity in inside for name in frames[identity]]:
            self._dump(pickler, name, notes)
            done.append(name)
        try:
            return Index(pickled=done, stream=stream.segments(), buffers=pickler.buffers), inside
        except FileFull:
            raise NotTransferred(done[-1] if done else "*", NO_ROOM) from None

    def _dump(self, pickler: Pickler, name: str, notes: PickleNotes) -> None:
        notes.name = name
        transferred(name, lambda: pickler.dump(self.values[name]))

    def _fails(self, name: str, start: int) -> bool:
        """Whether it cannot be pickled even alone. One that breaks off spoils what others share: all are tried."""
        self.file.end = start
        pickler = Pickler(SegmentWriter(self.file), self.file, PickleNotes())
        try:
            transferred(name, lambda: pickler.dump(self.values[name]))
        except NotTransferred as error:
            self.left[name] = error.reason
        return name in self.left

    def tables(self, frames: dict[int, list[str]]) -> list[Frame]:
        """Each by itself, in Arrow's format."""
        written: list[Frame] = []
        for names in frames.values():
            start = self.file.end
            try:
                written.append(transferred(names[0], lambda names=names: self._table(names)))
            except NotTransferred as error:
                self.file.end = start
                self.left |= dict.fromkeys(names, error.reason)
        return written

    def _table(self, names: list[str]) -> Frame:
        value = self.values[names[0]]
        stream = SegmentWriter(self.file)
        match table_kind(value):
            case "polars":
                value.write_ipc(stream)
                kind: Literal["polars", "table", "batch"] = "polars"
            case found:
                _write_arrow(value, stream)
                kind = "table" if found == "table" else "batch"
        return Frame(names=names, kind=kind, stream=stream.segments())


def _is_kept_by_arrow(value: Any) -> bool:
    """Whether Arrow's format gives the same columns back; an extension type may be known to this kernel only."""
    polars, pyarrow = sys.modules.get("polars"), sys.modules.get("pyarrow")
    if table_kind(value) == "polars":
        return polars is not None and polars.Object not in value.schema.dtypes()
    if pyarrow is None:
        return False
    return pyarrow.ipc.read_schema(value.schema.serialize()).equals(value.schema, check_metadata=True)


def _write_arrow(value: Any, stream: SegmentWriter) -> None:
    import pyarrow

    with pyarrow.ipc.new_stream(stream, value.schema) as writer:
        writer.write(value)
