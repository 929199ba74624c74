"""Pickling for another kernel: arrays laid into the file as they are, and nothing that only looks carried.

What pickle would copy although it is shared or bound to its place is found here: tables that other variables refer
to, arrays that are views of each other, and numbers of open files, which in another process are nothing or another
file. A number says nothing about what it is for: one that is a file's may mean that file, several in a small
container do if all of them are files'.
"""

from __future__ import annotations

import io
import math
import mmap
import pickle  # noqa: TID251  # written in one cage and read in another; the host never opens it
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from cellwright_guest.previews import identity
from cellwright_guest.transfer.memory_file import PAGE, FileFull, MemoryFileReader, MemoryFileWriter, Segment

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


PROTOCOL: Final = 5
_FRAMES: Final = (("pyarrow.lib", "Table"), ("pyarrow.lib", "RecordBatch"), ("polars", "DataFrame"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayExtent:
    """The memory of one array that was met."""

    name: str
    """The variable it was first met in."""
    array: Any
    low: int
    high: int
    is_pandas: bool
    """It belongs to pandas, which copies before it writes."""


@dataclass(slots=True, kw_only=True)
class PickleNotes:
    """What was met on the way through the variables."""

    name: str = ""
    """The variable that is being pickled."""
    tables: set[int] = field(default_factory=set[int])
    """Identities of tables, pyarrow's and polars'."""
    extents: list[ArrayExtent] = field(default_factory=list[ArrayExtent])
    held: set[int] = field(default_factory=set[int])
    """Identities of pandas' own arrays."""


class Pickler(pickle.Pickler):
    """Several `dump`s of one pickler keep what the variables share; `load` as often, in the same order."""

    def __init__(
        self, out: Any, file: MemoryFileWriter, notes: PickleNotes, *, views: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(out, PROTOCOL, buffer_callback=self._lay)
        self._file = file
        self._notes = notes
        self._views = views
        self._families: dict[type, str] = {}
        self.buffers: list[Segment] = []

    def reducer_override(self, value: Any) -> Any:
        """Our own way for arrays, a refusal for what is bound to its cell, pickle's way for all else."""
        kind = type(value)
        family = self._families.get(kind)
        if family is None:
            family = self._families[kind] = _family(kind)
        match family:
            case "array":
                return self._array(value)
            case "table":
                self._notes.tables.add(id(value))
            case "pandas":
                self._notes.held.update(id(array) for array in _arrays_of_pandas(value))
            case "":
                pass
            case refusal:
                raise pickle.PicklingError(refusal)
        return NotImplemented

    def _lay(self, buffer: pickle.PickleBuffer) -> bool:
        """True keeps it inside the pickle."""
        raw = buffer.raw()
        if raw.nbytes < PAGE:
            return True
        self.buffers.append(self._file.put(raw))
        return False

    def _array(self, array: Any) -> Any:
        if array.nbytes > self._file.room:
            raise FileFull
        owner = _owner(array)
        if isinstance(owner, mmap.mmap) and array.flags.writeable:
            raise pickle.PicklingError("it is an array that stands for a file")
        self._note(array)
        if id(array) in self._views:
            offset = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
            return view_of, (owner, offset, array.dtype, array.shape, array.strides, not array.flags.writeable)
        is_locked = not array.flags.writeable
        if array.dtype.hasobject or array.nbytes < PAGE:
            return (locked, (array.copy(),)) if is_locked else array.__reduce__()
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        whole = array if array.flags.forc else array.copy(order="C")
        segment = self._file.put(octets_of(whole))
        return array_at, (segment.offset, array.dtype, array.shape, order, is_locked)

    def _note(self, array: Any) -> None:
        if not array.size:
            return
        low = high = array.__array_interface__["data"][0]
        for length, stride in zip(array.shape, array.strides, strict=True):
            reach = (length - 1) * stride
            low, high = (low + reach, high) if reach < 0 else (low, high + reach)
        self._notes.extents.append(
            ArrayExtent(
                name=self._notes.name,
                array=array,
                low=low,
                high=high + array.itemsize,
                is_pandas=id(array) in self._notes.held,
            )
        )


def _family(kind: type) -> str:
    """array, table, pandas, nothing special (empty), or why values of this class are not carried."""
    packages = identity.packages_of(kind)
    if "marimo" in packages:
        return "it belongs to the cell that made it"
    if identity.is_kind(kind, "numpy", "memmap"):
        return "it is an array that stands for a file"
    if kind is identity.loaded("numpy", "ndarray"):
        return "array"
    if any(kind is identity.loaded(module, name) for module, name in _FRAMES):
        return "table"
    return "pandas" if "pandas" in packages else ""


def table_kind(value: object) -> str:
    """polars, table or batch; empty for what is none of them."""
    kinds = ("table", "batch", "polars")
    found = [kind for kind, name in zip(kinds, _FRAMES, strict=True) if type(value) is identity.loaded(*name)]
    return found[0] if found else ""


def _arrays_of_pandas(value: Any) -> Iterator[Any]:
    """The arrays a part of a pandas object holds; only what is there already, as some are made when asked for."""
    kind = type(value)
    if "internals" in identity.module_of(kind):
        yield from (block.values for block in getattr(value, "blocks", (value,)) if hasattr(block, "values"))
    if identity.class_attribute(kind, "_ndarray") is not None:
        yield value._ndarray
    held = identity.instance_attributes(value)
    yield from (held.get("_data"), held.get("_mask"), *held.get("_codes", ()))


def _owner(array: Any) -> Any:
    """Who has the memory: the array itself, another one, or something else altogether."""
    ndarray = identity.loaded("numpy", "ndarray")
    while isinstance(array, ndarray) and array.base is not None:
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


# ── arrays that share memory ──


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedArrays:
    """What has to be done so that arrays in one memory stay in one memory."""

    views: frozenset[int] = frozenset()
    """Identities of arrays to pickle as views of their owners."""
    left: frozenset[str] = frozenset()
    """Variables whose arrays share memory in a way that cannot be kept."""


def shared_memory(notes: PickleNotes) -> SharedArrays:
    """Look at all arrays that were met. Pickle would make each its own copy, and a change in one stay in one."""
    views: set[int] = set()
    left: set[str] = set()
    for cluster in _clusters(notes.extents):
        plain = [extent for extent in cluster if not extent.is_pandas]
        if not _matters(cluster, plain):
            continue
        if len(plain) == len(cluster) and (owner := _common_owner(cluster)) is not None:
            views.update(id(extent.array) for extent in cluster if extent.array is not owner)
        elif len(names := {extent.name for extent in cluster}) > 1:
            left |= names
    return SharedArrays(views=frozenset(views), left=frozenset(left))


def _clusters(extents: Sequence[ArrayExtent]) -> Iterator[list[ArrayExtent]]:
    cluster: list[ArrayExtent] = []
    high = 0
    for extent in sorted(extents, key=lambda extent: extent.low):
        if extent.low >= high and cluster:
            yield cluster
            cluster = []
        cluster.append(extent)
        high = max(high, extent.high)
    if cluster:
        yield cluster


def _matters(cluster: list[ArrayExtent], plain: list[ArrayExtent]) -> bool:
    if len(cluster) < 2:
        return False
    if not plain:
        return not _copies_on_write()
    return any(extent.array.flags.writeable for extent in plain)


def _copies_on_write() -> bool:
    version = getattr(sys.modules.get("pandas"), "__version__", "0")
    return int(version.partition(".")[0]) >= 3


def _common_owner(cluster: list[ArrayExtent]) -> Any:
    """The one array all of these are views of, if it can be made again with the same layout."""
    owner = _owner(cluster[0].array)
    if type(owner) is not identity.loaded("numpy", "ndarray") or owner.dtype.hasobject or not owner.flags.forc:
        return None
    return owner if all(_owner(extent.array) is owner for extent in cluster) else None


# ── in the other kernel ──


def octets_of(array: Any) -> Any:
    """The memory of an array in one piece, as bytes."""
    return array.reshape(-1, order="A" if array.flags.forc else "C").view("u1")


def array_at(*_: object) -> Any:
    """Stands in a pickle for an array that lies in the file; `Unpickler` knows how to read it."""
    raise pickle.UnpicklingError("an array without its file")


def locked(array: Any) -> Any:
    """The array, not to be written to."""
    array.flags.writeable = False
    return array


def view_of(owner: Any, offset: int, dtype: Any, shape: Any, strides: Any, is_locked: bool) -> Any:
    """Another array in the memory of `owner`."""
    made = type(owner)(shape, dtype, buffer=octets_of(owner), offset=offset, strides=strides)
    return locked(made) if is_locked else made


class Unpickler(pickle.Unpickler):
    """The other end: every array gets memory of its own, filled from the file."""

    def __init__(self, file: MemoryFileReader, stream: Sequence[Segment], buffers: Sequence[Segment]) -> None:
        super().__init__(io.BytesIO(file.joined(stream)), buffers=(file.copy(segment) for segment in buffers))
        self._file = file
        self._own: dict[tuple[str, str], Callable[..., Any]] = {(__name__, array_at.__name__): self._array}

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Ours by what they are, all others where they say."""
        return self._own.get((module_name, global_name)) or super().find_class(module_name, global_name)

    def _array(self, offset: int, dtype: Any, shape: tuple[int, ...], order: Literal["C", "F"], is_locked: bool) -> Any:
        import numpy

        self._file.check(Segment(offset, math.prod(shape) * dtype.itemsize))
        array: Any = numpy.empty(shape, dtype, order=order)
        self._file.fill(octets_of(array), offset)
        return locked(array) if is_locked else array
