"""Variables for another kernel, when this one cannot be forked: written into a memory file here, read there.

Names keep what they share: the same object under two names, or inside two containers, is one object again on the other
side, and arrays that are views of each other stay so. Tables of pyarrow and polars go in Arrow's format; everything
else is pickled, pandas too, whose pickles are exact and quicker than a way through Arrow. What cannot be taken along
is left, with the reason. The host makes the file and hands it on, and never opens what is in it.

Not carried: attributes of modules and classes, and what lives outside Python's variables (open files, connections,
tables of a database in memory). Classes and functions of cells are found by their names: their cells run first.
"""

from __future__ import annotations

import os
import pickle  # noqa: TID251  # written in one cage and read in another; the host never opens it
import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from marimo._plugins.ui._core.ui_element import UIElement
from marimo._runtime.runtime import Kernel
from marimo._runtime.state import SetFunctor, State
from marimo._types.ids import CellId_t

from cellwright_guest import transfer_wire
from cellwright_guest.transfer.exporter import REASON, BoundState, Exporter, NotTransferred, main_is, transferred
from cellwright_guest.transfer.memory_file import BadFile, Frame, Index, MemoryFileReader, MemoryFileWriter, Segment
from cellwright_guest.transfer.pickler import Unpickler


def export(
    globals_: dict[str, Any],
    names: Iterable[str],
    descriptor: int,
    *,
    most_bytes: int,
    open_files: Collection[int] = (),
    request: int = 0,
) -> transfer_wire.Exported:
    """Write the named variables and the states of the global random generators into the file.

    A number that is one of `open_files` may mean that file, which is open in this process only: it is not carried, nor
    is a pair of them.
    """
    file = MemoryFileWriter(descriptor, most_bytes)
    exporting = Exporter(globals_=globals_, file=file, open_files=open_files)
    with main_is(globals_):
        states = exporting.states()
        for name in dict.fromkeys(names):
            exporting.want(name)
        frames = exporting.frames()
        index = exporting.pickled(frames)
    index = msgspec.structs.replace(index, frames=exporting.tables(frames), states=states)
    carried = [*index.pickled, *(name for frame in index.frames for name in frame.names)]
    return transfer_wire.Exported(request=request, carried=carried, left=exporting.left, bytes=file.finish(index))


def restore(globals_: dict[str, Any], descriptor: int, request: int = 0) -> transfer_wire.Imported:
    """Take over what is in the file. Values are new here: nothing of them is in the file's memory."""
    file = MemoryFileReader(descriptor)
    try:
        index = file.index()
    except BadFile as error:
        return transfer_wire.Imported(request=request, left={"*": f"the file cannot be read: {error}"[:REASON]})
    restoring = _Restorer(globals_=globals_, file=file)
    with main_is(globals_):
        restoring.pickled(index)
        for frame in index.frames:
            restoring.table(frame)
        # Last: whatever was unpickled may have drawn numbers.
        restoring.states(index.states)
    return transfer_wire.Imported(request=request, restored=restoring.restored, left=restoring.left)


def answer_export(
    asked: transfer_wire.ExportValues, variables: dict[str, Any], descriptor: int, own: set[int]
) -> transfer_wire.Exported:
    """Export into the file, which is closed; `own` are the descriptors that are not the notebook's."""
    try:
        theirs = {int(name) for name in os.listdir("/proc/self/fd")} - own - {0, 1, 2, descriptor}  # noqa: PTH208
        return export(
            variables, asked.names, descriptor, most_bytes=asked.most_bytes, open_files=theirs, request=asked.request
        )
    except Exception as error:  # noqa: BLE001  a notebook's own objects say how they are written, and may do anything
        return transfer_wire.Exported(request=asked.request, error=f"{type(error).__name__}: {error}"[:500])
    finally:
        os.close(descriptor)


def answer_import(request: int, variables: dict[str, Any], descriptor: int) -> transfer_wire.Imported:
    """Restore from the file, which is closed."""
    try:
        return restore(variables, descriptor, request)
    except Exception as error:  # noqa: BLE001  a notebook's own objects say how they are written, and may do anything
        return transfer_wire.Imported(request=request, error=f"{type(error).__name__}: {error}"[:500])
    finally:
        os.close(descriptor)


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
                value = transferred(name, unpickler.load)
            except NotTransferred as error:
                rest = index.pickled[position + 1 :]
                self.left |= {name: error.reason} | dict.fromkeys(
                    rest, f"{name[:80]!r} before it could not be restored"
                )
                return
            self._take(name, value)

    def table(self, frame: Frame) -> None:
        try:
            value = transferred(frame.names[0], lambda: self._table(frame))
        except NotTransferred as error:
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
                transferred(name, lambda: _set(value, self.globals_.get(name)))
            except NotTransferred as error:
                self.left[name] = error.reason
                return
        else:
            self.globals_[name] = value
        self.restored.append(name)

    def _table(self, frame: Frame) -> Any:
        content = self.file.joined(frame.stream)
        if frame.kind == "polars":
            import polars

            return polars.read_ipc(content)
        import pyarrow

        with pyarrow.ipc.open_stream(pyarrow.py_buffer(content)) as reader:
            return reader.read_all() if frame.kind == "table" else reader.read_next_batch()


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
