"""Variables for another kernel, when this one cannot be forked: written into a memory file here, read there.

Names keep what they share: the same object under two names, or inside two containers, is one object again on the other
side, and arrays that are views of each other stay so. Tables of pyarrow and polars go in Arrow's format; everything
else is pickled, pandas too, whose pickles are exact and quicker than a way through Arrow. What cannot be taken along
is left, with the reason. The host makes the file and hands it on, and never opens what is in it.

Not carried: attributes of modules and classes, and what lives outside Python's variables (open files, connections,
tables of a database in memory). Classes and functions of cells are found by their names: their cells run first.
"""

from __future__ import annotations

import io
import pickle  # noqa: TID251  # written in one cage and read in another; the host never opens it
import random
import re
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from marimo._plugins.ui._core.ui_element import UIElement
from marimo._runtime.state import SetFunctor, State
from marimo._types.ids import CellId_t

from cellwright_guest.transfer.memory_file import (
    BadFile,
    FileFull,
    Frame,
    Index,
    MemoryFileReader,
    MemoryFileWriter,
    Segment,
    SegmentReader,
    SegmentWriter,
)
from cellwright_guest.transfer.pickler import (
    PickleNotes,
    Pickler,
    Unpickler,
    means_open_files,
    shared_memory,
    table_kind,
)

if TYPE_CHECKING:
    from marimo._runtime.runtime import Kernel

_Made = TypeVar("_Made")

_REASON: Final = 300
_MOST_ATTEMPTS: Final = 8
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
_NO_ROOM: Final = "it is larger than the room there is for carried values"
_SHARED: Final = "its arrays share their memory with another variable's"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """What the file holds now."""

    carried: list[str]
    left: dict[str, str]
    """Name → why it is not in the file."""
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """What became of it in the other kernel."""

    restored: list[str]
    left: dict[str, str]
    """Name → why there is no such value."""


@dataclass(frozen=True, slots=True)
class BoundState:
    """What travels of something that marimo binds to its cell, which runs in the other kernel and makes it anew."""

    kind: Literal["ui", "state", "setter"]
    value: Any = None
    """As the frontend says it, for a `mo.ui` element."""


def export(
    globals_: dict[str, Any],
    names: Iterable[str],
    descriptor: int,
    *,
    most_bytes: int,
    open_files: Collection[int] = (),
) -> ExportResult:
    """Write the named variables and the states of the global random generators into the file.

    A number that is one of `open_files` may mean that file, which is open in this process only: it is not carried, nor
    is a pair of them.
    """
    file = MemoryFileWriter(descriptor, most_bytes)
    exporting = _Exporter(globals_=globals_, file=file, open_files=open_files)
    with _main_is(globals_):
        states = exporting.states()
        for name in dict.fromkeys(names):
            exporting.want(name)
        frames = exporting.frames()
        index = exporting.pickled(frames)
    index = Index(
        pickled=index.pickled,
        stream=index.stream,
        buffers=index.buffers,
        frames=exporting.tables(frames),
        states=states,
    )
    carried = [*index.pickled, *(name for frame in index.frames for name in frame.names)]
    return ExportResult(carried=carried, left=exporting.left, bytes=file.finish(index))


def restore(globals_: dict[str, Any], descriptor: int) -> RestoreResult:
    """Take over what is in the file. Values are new here: nothing of them is in the file's memory."""
    file = MemoryFileReader(descriptor)
    try:
        index = file.index()
    except BadFile as error:
        return RestoreResult(restored=[], left={"*": f"the file cannot be read: {error}"[:_REASON]})
    restoring = _Restorer(globals_=globals_, file=file)
    with _main_is(globals_):
        restoring.pickled(index)
        for frame in index.frames:
            restoring.table(frame)
        # Last: whatever was unpickled may have drawn numbers.
        restoring.states(index.states)
    return RestoreResult(restored=restoring.restored, left=restoring.left)


def mark_fresh(kernel: Kernel, cells: Iterable[str]) -> list[str]:
    """Have these cells count as run, because what is needed of them is carried; says which are known.

    Before any cell is replayed, as marimo runs all stale ancestors of what it is asked to run, and again afterwards,
    as what was replayed makes its dependents stale.
    """
    known = [CellId_t(cell) for cell in cells if CellId_t(cell) in kernel.graph.cells]
    for cell_id in known:
        cell = kernel.graph.cells[cell_id]
        cell.set_stale(stale=False)
        cell.set_run_result_status("success")
        cell.set_runtime_state("idle")
    return [str(cell) for cell in known]


# ── writing ──


@dataclass(slots=True, kw_only=True)
class _Exporter:
    globals_: dict[str, Any]
    file: MemoryFileWriter
    open_files: Collection[int] = ()
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    left: dict[str, str] = field(default_factory=dict[str, str])

    def want(self, name: str) -> None:
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
            except _NotTransferred as error:
                self.left[error.name] = error.reason
                names = [name for name in names if name != error.name]
                if attempt == 0 and error.reason != _NO_ROOM:
                    names = [name for name in names if not self._fails(name)]
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
            raise _NotTransferred(done[-1] if done else "*", _NO_ROOM) from None

    def _dump(self, pickler: Pickler, name: str, notes: PickleNotes) -> None:
        notes.name = name
        _or_not_carried(name, lambda: pickler.dump(self.values[name]))

    def _fails(self, name: str) -> bool:
        """Whether it cannot be pickled even alone. One that breaks off spoils what others share: all are tried."""
        nowhere = _NullFile(self.file.room)
        try:
            _or_not_carried(name, lambda: Pickler(nowhere, nowhere, PickleNotes()).dump(self.values[name]))
        except _NotTransferred as error:
            self.left[name] = error.reason
            return True
        return False

    def tables(self, frames: dict[int, list[str]]) -> list[Frame]:
        """Each by itself, in Arrow's format."""
        written: list[Frame] = []
        for names in frames.values():
            start = self.file.end
            try:
                written.append(_or_not_carried(names[0], lambda names=names: self._table(names)))
            except _NotTransferred as error:
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


class _NotTransferred(Exception):
    """This variable stays behind."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason


def _or_not_carried(name: str, work: Callable[[], _Made]) -> _Made:
    try:
        return work()
    except KeyboardInterrupt:
        raise
    except FileFull:
        raise _NotTransferred(name, _NO_ROOM) from None
    except BaseException as error:  # noqa: BLE001  # values bring their own code for this, which may raise anything
        raise _NotTransferred(name, _said(error)) from None


class _NullFile(io.RawIOBase):
    """A file for trying."""

    def __init__(self, room: int) -> None:
        self.room = room

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: Any, /) -> int:
        """Gone."""
        return memoryview(data).nbytes

    def put(self, data: Any) -> Segment:
        """Gone too."""
        return Segment(0, 0)


# ── reading ──


@dataclass(slots=True, kw_only=True)
class _Restorer:
    globals_: dict[str, Any]
    file: MemoryFileReader
    restored: list[str] = field(default_factory=list[str])
    left: dict[str, str] = field(default_factory=dict[str, str])

    def pickled(self, index: Index) -> None:
        """One after the other; behind one that fails, nothing can be trusted to be whole."""
        unpickler = Unpickler(self.file, index.stream, index.buffers)
        for position, name in enumerate(index.pickled):
            try:
                value = _or_not_carried(name, unpickler.load)
            except _NotTransferred as error:
                rest = index.pickled[position + 1 :]
                self.left |= {name: error.reason} | dict.fromkeys(
                    rest, f"{name[:80]!r} before it could not be restored"
                )
                return
            self._take(name, value)

    def table(self, frame: Frame) -> None:
        try:
            value = _or_not_carried(frame.names[0], lambda: self._table(frame))
        except _NotTransferred as error:
            self.left |= dict.fromkeys(frame.names, error.reason)
            return
        for name in frame.names:
            self._take(name, value)

    def states(self, segments: Sequence[Segment]) -> None:
        for segment in segments:
            of_random, of_numpy = pickle.loads(self.file.copy(segment))  # noqa: S301  # inside the cage
            random.setstate(of_random)
            if of_numpy is not None:
                import numpy

                numpy.random.set_state(of_numpy)

    def _take(self, name: str, value: Any) -> None:
        if isinstance(value, BoundState):
            try:
                _or_not_carried(name, lambda: _set(value, self.globals_.get(name)))
            except _NotTransferred as error:
                self.left[name] = error.reason
                return
        else:
            self.globals_[name] = value
        self.restored.append(name)

    def _table(self, frame: Frame) -> Any:
        content = io.BufferedReader(SegmentReader(self.file, frame.stream)).read()
        if frame.kind == "polars":
            import polars

            return polars.read_ipc(content)
        import pyarrow

        with pyarrow.ipc.open_stream(pyarrow.py_buffer(content)) as reader:
            if frame.kind == "table":
                return reader.read_all()
            return reader.read_next_batch()


def _set(bound: BoundState, held: object) -> None:
    match bound.kind, held:
        case "ui", UIElement():
            held._update_value(bound.value)
        case "state", State():
            # Not by its setter, which would have the cells that read it run.
            held._value = bound.value
        case "setter", SetFunctor():
            pass
        case _:
            raise BadFile("the cell that makes it has not run here")


# ── both ──


class _Main:
    """The notebook's variables in the form of a module."""

    def __init__(self, globals_: dict[str, Any]) -> None:
        self.__dict__ = globals_


@contextmanager
def _main_is(globals_: dict[str, Any]) -> Generator[None]:
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


def _said(error: BaseException) -> str:
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  # its own code again
        text = type(error).__name__
    return _ADDRESS.sub("", text[: _REASON * 2])[:_REASON].encode("utf-8", "replace").decode("utf-8")
