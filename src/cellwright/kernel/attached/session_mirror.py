"""What is known of an attached notebook: its session's messages, added up. Pure: no socket, no clock but the caller's.

A cell's version is made of its text, name and configuration, so it is the same for whoever looks, now or tomorrow.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any, Final, assert_never

from cellwright.ids import CellId
from cellwright.kernel.attached import stream_messages as told
from cellwright.kernel.observation import CellFault, CellOutcome, CellOutput, CellStatus, VariablePreview
from cellwright.notebook.document import DEFAULT_NAME, SETUP_ID, SETUP_NAME, Cell, CellConfig, Document

MOST_CELLS: Final = 20_000
_MOST_CODE: Final = 1_000_000
_LINE: Final = 2_000
_TEXT: Final = 40_000
_RICH: Final = 400_000
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TRACEBACK: Final = "application/vnd.marimo+traceback"


def version_of(code: str, name: str, config: CellConfig) -> int:
    """The version of a cell that reads so."""
    parts = (code, name, repr(config))
    return int(hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:7], 16) + 1


@dataclass(slots=True)
class _CellState:
    """What became of one cell."""

    status: str = ""
    """marimo's own word for what it does now."""
    is_stale: bool = True
    began: float = 0.0
    ms: float = 0.0
    has_run: bool = False
    console: str = ""
    traceback: str = ""
    output: CellOutput | None = None
    error: CellFault | None = None
    ended_as: CellStatus = "ok"
    """How it came out, once it has run."""
    ran_code: str | None = None


@dataclass(slots=True)
class SessionMirror:
    """Cells and outcomes as the session has told them so far."""

    cells: list[Cell] = field(default_factory=list[Cell])
    is_ready: bool = False
    """True from the first message on that lists the cells."""
    awaited: set[str] = field(default_factory=set[str])
    """Cells that ran before, whose outcome has not been told yet."""
    typed: dict[CellId, float] = field(default_factory=dict[CellId, float])
    """When a person last changed a cell."""
    typed_at: float = 0.0
    """When somebody's page last gave a sign of typing, wherever."""
    told_at: float = 0.0
    """When somebody's page last told all that was typed in it."""
    typed_code: list[tuple[CellId, str]] = field(default_factory=list[tuple[CellId, str]])
    """What people's pages sent since this was last emptied."""
    finished: set[str] = field(default_factory=set[str])
    """Requests that are over, by marimo's id."""
    own_runs: dict[str, str] = field(default_factory=dict[str, str])
    """Our executions: their mark, and marimo's id for them."""
    touched: dict[str, set[CellId]] = field(default_factory=dict[str, set[CellId]])
    """Which cells each request ran."""
    _states: dict[CellId, _CellState] = field(default_factory=dict[CellId, _CellState])
    _names: dict[CellId, list[str]] = field(default_factory=dict[CellId, list[str]])
    _values: dict[str, VariablePreview] = field(default_factory=dict[str, VariablePreview])

    # ── what it says ──

    def document(self) -> Document:
        """The cells as a document, whose edits can be foreseen."""
        return Document(cells=tuple(self.cells))

    @property
    def running(self) -> tuple[CellId, ...]:
        """Cells that run or wait to."""
        return tuple(cell.id for cell in self.cells if self._state(cell.id).status in {"queued", "running"})

    @property
    def stale(self) -> tuple[CellId, ...]:
        """Cells that must run to be current, in notebook order."""
        return tuple(cell.id for cell in self.cells if cell.code.strip() and self._is_stale(cell))

    def outcome(self, cell: Cell) -> CellOutcome:
        """What became of a cell."""
        state = self._state(cell.id)
        name = cell.name if cell.name != DEFAULT_NAME else cell.id
        if not state.has_run and state.error is None:
            status: CellStatus = "running" if state.status in {"queued", "running"} else "stale"
            return CellOutcome(id=cell.id, name=name, status="disabled" if cell.config.disabled else status)
        defined = self._names.get(cell.id, [])
        variables = tuple(self.variables(defined)) if defined and state.error is None else ()
        return CellOutcome(
            id=cell.id,
            name=name,
            status="running" if state.status in {"queued", "running"} else state.ended_as,
            ms=state.ms,
            error=replace(state.error, traceback=state.traceback) if state.error else None,
            console=state.console,
            output=state.output,
            variables=variables,
        )

    def variables(self, names: Iterable[str] = ()) -> Sequence[VariablePreview]:
        """Values as text; of all names when none is given."""
        wanted = list(names) or sorted(name for defined in self._names.values() for name in defined)
        return [self._values[name] for name in wanted if name in self._values]

    def _is_stale(self, cell: Cell) -> bool:
        state = self._state(cell.id)
        return state.is_stale or not state.has_run or (state.ran_code not in {None, cell.code})

    def _state(self, cell: CellId) -> _CellState:
        return self._states.setdefault(cell, _CellState())

    # ── what it hears ──

    def hear(self, message: told.Told, now: float) -> None:
        """Take in one message."""
        match message:
            case told.KernelReady():
                self._begin(message)
            case told.DocumentChanged(transaction=transaction):
                is_person = transaction.source == "frontend"
                self.told_at = now if is_person else self.told_at
                for change in transaction.changes[:MOST_CELLS]:
                    # A page that was told a cell's text may say it back: nobody typed that.
                    is_echo = isinstance(change, told.CodeChange) and self._code(change.cell_id) == change.code
                    self._change(change)
                    if is_person and not is_echo and not isinstance(change, told.ReorderChange):
                        self._typed(change, now)
            case told.CellTold():
                self._cell(message)
            case told.ExecutionTold():
                self._execution(message)
            case told.RunCompleted(run_id=str(run)):
                self.finished.add(run)
            case told.NamesTold(variables=variables):
                self._declared(variables)
            case told.ValuesTold(variables=variables):
                self._valued(variables)
            case told.CompletionTold():
                self.typed_at = now
            case told.RunCompleted():
                pass
            case _:
                assert_never(message)

    def _begin(self, ready: told.KernelReady) -> None:
        self.is_ready = True
        listed = zip(ready.cell_ids, ready.codes, ready.names, ready.configs, strict=False)
        known = [_cell(id, code, name, config) for id, code, name, config in listed]
        self.cells = [cell for cell in known[:MOST_CELLS] if cell is not None]
        self.awaited = {id for id in ready.last_execution_time if _ID.fullmatch(id)}
        for id in self.awaited:
            self._state(CellId(id)).ms = max(0.0, ready.last_execution_time[id])

    def _typed(self, change: told.Change, now: float) -> None:
        self.typed_at = now
        if not isinstance(change, told.ReorderChange) and _ID.fullmatch(change.cell_id):
            self.typed[CellId(change.cell_id)] = now
        if isinstance(change, told.CodeChange) and len(self.typed_code) < MOST_CELLS:
            self.typed_code.append((CellId(change.cell_id), change.code[:_MOST_CODE]))

    def _change(self, change: told.Change) -> None:
        match change:
            case told.CreateChange():
                cell = _cell(change.cell_id, change.code, change.name, change.config)
                if cell is not None and len(self.cells) < MOST_CELLS and self._at(cell.id) is None:
                    self.cells.insert(self._place(change.before, change.after), cell)
            case told.DeleteChange():
                self.cells = [cell for cell in self.cells if cell.id != change.cell_id]
                self._states.pop(CellId(change.cell_id), None)
            case told.MoveChange():
                at = self._at(change.cell_id)
                if at is not None:
                    cell = self.cells.pop(at)
                    self.cells.insert(self._place(change.before, change.after), cell)
            case told.ReorderChange():
                order = {id: at for at, id in enumerate(change.cell_ids)}
                self.cells.sort(key=lambda cell: order.get(cell.id, len(order)))
            case told.CodeChange():
                self._replace(change.cell_id, code=change.code[:_MOST_CODE])
            case told.NameChange():
                self._replace(change.cell_id, name=change.name)
            case told.ConfigChange():
                self._configure(change)
            case _:
                assert_never(change)

    def _code(self, id: str) -> str | None:
        at = self._at(id)
        return None if at is None else self.cells[at].code

    def _configure(self, change: told.ConfigChange) -> None:
        at = self._at(change.cell_id)
        if at is not None:
            old = self.cells[at].config
            given = {name: getattr(change, name) for name in ("disabled", "hide_code", "expand_output")}
            config = replace(old, column=change.column, **{key: v for key, v in given.items() if v is not None})
            self._replace(change.cell_id, config=config)

    def _replace(self, id: str, **members: Any) -> None:
        at = self._at(id)
        if at is not None:
            cell = self.cells[at]
            if "name" in members:
                members["name"] = _name(members["name"], cell.id)
            cell = replace(cell, **members)
            self.cells[at] = replace(cell, version=version_of(cell.code, cell.name, cell.config))

    def _at(self, id: str | None) -> int | None:
        return next((at for at, cell in enumerate(self.cells) if cell.id == id), None)

    def _place(self, before: str | None, after: str | None) -> int:
        if (at := self._at(after)) is not None:
            return at + 1
        return at if (at := self._at(before)) is not None else len(self.cells)

    # ── what ran ──

    def _execution(self, message: told.ExecutionTold) -> None:
        if message.phase != "planned" or message.run_id is None:
            return
        if message.cell_id == told.SCRATCH:
            mark = re.search(r"cellwright-([0-9a-f]{32})", (message.code or "")[:4_000])
            if mark is not None:
                self.own_runs.setdefault(mark.group(1), message.run_id[:200])
        elif _ID.fullmatch(message.cell_id):
            self.touched.setdefault(message.run_id, set()).add(CellId(message.cell_id))
            state = self._state(CellId(message.cell_id))
            state.ran_code = (message.code or "")[:_MOST_CODE]

    def _cell(self, message: told.CellTold) -> None:
        self.awaited.discard(message.cell_id)
        if message.cell_id == told.SCRATCH or not _ID.fullmatch(message.cell_id):
            return
        cell = CellId(message.cell_id)
        state = self._state(cell)
        if message.run_id is not None and (message.status or message.output):
            self.touched.setdefault(message.run_id, set()).add(cell)
        if message.stale_inputs is not None:
            state.is_stale = message.stale_inputs
        if message.status == "running":
            state.began, state.console, state.traceback, state.is_stale = message.timestamp, "", "", False
            state.error, state.output, state.ended_as = None, None, "ok"
        elif message.status == "idle":
            state.has_run = True
            if message.stale_inputs is None and state.began == 0:
                # What ran before anybody looked on: marimo tells the last of it alone.
                state.is_stale = False
            if state.status == "running":
                state.ms = max(0.0, message.timestamp - state.began) * 1000
        state.status = message.status[:40] if message.status is not None else state.status
        printed = message.console
        for part in printed[:10_000] if isinstance(printed, list) else [printed] if printed is not None else ():
            _hear_console(state, part)
        if message.output is not None:
            _hear_output(state, message.output, cell)

    def _declared(self, variables: Sequence[told.DeclaredWire]) -> None:
        self._names = {}
        for variable in variables[:MOST_CELLS]:
            for cell in variable.declared_by[:10]:
                if _ID.fullmatch(cell):
                    self._names.setdefault(CellId(cell), []).append(variable.name[:200])

    def _valued(self, variables: Sequence[told.ValueWire]) -> None:
        for each in variables[:MOST_CELLS]:
            if len(self._values) < MOST_CELLS or each.name in self._values:
                kind, text = (each.datatype or "")[:100], (each.value or "")[:_LINE]
                self._values[each.name[:200]] = VariablePreview(name=each.name[:200], kind=kind, type=kind, text=text)


# ── out of one message ──


def _cell(id: str, code: str, name: str, config: told.ConfigWire) -> Cell | None:
    if not _ID.fullmatch(id):
        return None
    own = CellConfig(
        column=config.column,
        disabled=config.disabled,
        hide_code=config.hide_code,
        expand_output=config.expand_output,
    )
    code, named = code[:_MOST_CODE], _name(name, id)
    return Cell(id=CellId(id), code=code, name=named, config=own, version=version_of(code, named, own))


def _name(name: str, id: str) -> str:
    if id == SETUP_ID:
        return SETUP_NAME
    return name[:200] if name.isidentifier() else DEFAULT_NAME


def _hear_console(state: _CellState, part: told.OutputWire) -> None:
    text = str(part.data)[:_TEXT] if part.data is not None else ""
    if part.mimetype == _TRACEBACK:
        state.traceback = plain_text(text)[:_TEXT]
    elif part.channel in {"stdout", "stderr"}:
        state.console = (state.console + text)[:_TEXT]


_ENDINGS: Final[dict[str, CellStatus]] = {
    "interruption": "interrupted",
    "ancestor-prevented": "cancelled",
    "ancestor-stopped": "stopped",
}


def _hear_output(state: _CellState, output: told.OutputWire, cell: CellId) -> None:
    if output.channel != "marimo-error":
        shown = output.data if isinstance(output.data, str) else "" if output.data is None else str(output.data)[:_RICH]
        mimetype = output.mimetype[:200]
        text = plain_text(shown) if mimetype == "text/html" else shown
        is_cut = len(text) > _TEXT or len(shown) > _RICH
        data = shown if len(shown) <= _RICH else ""
        state.error = None
        if output.channel == "output":
            made = CellOutput(mimetype=mimetype, text=text[:_TEXT].strip(), data=data, is_cut=is_cut)
            state.output = made if shown else None
        return
    first = output.data[0] if isinstance(output.data, list) and output.data else {}
    said: dict[str, Any] = first if isinstance(first, dict) else {}
    kind = str(said.get("type", "unknown"))[:200]
    state.has_run, state.output = True, None
    ancestor = said.get("raising_cell")
    state.ended_as = "cancelled" if isinstance(ancestor, str) else _ENDINGS.get(kind, "failed")
    if isinstance(ancestor, str):
        message = f"Not run: cell {ancestor[:64]!r}, which it needs, failed."
        state.error = CellFault(type="AncestorFailed", message=message)
    elif state.ended_as != "stopped":
        line = re.search(rf"__marimo__cell_{cell}_\S*, line (\d{{1,7}})", state.traceback)
        state.error = CellFault(
            type=str(said.get("exception_type") or kind)[:200],
            message=str(said.get("msg") or kind)[:_TEXT],
            line=int(line.group(1)) if line else None,
        )


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in {"script", "style"}

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in {"script", "style"}))
        if tag in {"p", "div", "tr", "li", "pre"}:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def plain_text(html: str) -> str:
    """The words of some HTML, for a model."""
    words = _Words()
    words.feed(html[:_RICH])
    words.close()
    return "".join(words.parts).strip()
