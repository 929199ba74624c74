"""What people ask of the kernel in an editor, in order: cells run as our own calls do, the rest in marimo's words."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, Protocol

import anyio
import msgspec
from marimo._messaging.notebook.changes import DeleteCell, DocumentChange
from marimo._runtime import commands

from cellwright.errors import CellwrightError
from cellwright.ids import CellId
from cellwright.kernel.observation import Observation
from cellwright.kernel.process.call import Call
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import ConfigureCell
from cellwright.server.http.page_remedies import page_problem

logger = logging.getLogger(__name__)

_MAX_QUEUED: Final = 1_000
PASSED_ON: Final = (
    commands.UpdateUIElementCommand,
    commands.ModelCommand,
    commands.InvokeFunctionCommand,
    commands.CodeCompletionCommand,
    commands.DiscoverDataSourcesCommand,
    commands.PreviewDatasetColumnCommand,
    commands.PreviewSQLTableCommand,
    commands.ListSQLTablesCommand,
    commands.ListSQLSchemasCommand,
    commands.ListDataSourceConnectionCommand,
    commands.ValidateSQLCommand,
)
"""Carried out by marimo's kernel itself, in its cage."""


class CommandSource(Protocol):
    """Where these commands come from, and where it is said what became of them."""

    @property
    def notebook(self) -> OpenNotebook:
        """Which notebook."""
        ...

    def typed(self, page: str, texts: Iterable[tuple[CellId, str]]) -> None:
        """These are the texts of cells in this page."""
        ...

    def changed(self, page: str, changes: Sequence[DocumentChange]) -> None:
        """A person changed the notebook in this page."""
        ...

    def shows(self, cell: CellId) -> bool:
        """Whether pages have this cell, as far as is known here."""
        ...

    async def until_shown(self, cells: Sequence[CellId]) -> None:
        """Wait, not for long, until it was told that these cells were made."""
        ...

    def alert(self, title: str, text: str) -> None:
        """Say something to everybody who looks."""
        ...

    async def send(self, command: bytes) -> None:
        """One of marimo's own commands, carried out by the kernel. Raises `KernelLost`."""
        ...


class EditorCommands:
    """A queue of commands, and whoever carries them out one after the other."""

    def __init__(self, source: CommandSource) -> None:
        self._source = source
        self._waiting: list[tuple[commands.CommandMessage, str]] = []
        self._pulse = anyio.Event()

    def enqueue(self, command: commands.CommandMessage, page: str) -> None:
        """Take a command; what was typed with it counts at once."""
        if isinstance(command, commands.ExecuteCellsCommand):
            self._source.typed(page, [(cell, code) for cell, code in _texts(command) if self._source.shows(cell)])
        elif isinstance(command, commands.DeleteCellCommand):
            self._source.changed(page, [DeleteCell(cell_id=command.cell_id)])
        elif isinstance(command, commands.UpdateCellConfigCommand):
            self._configure(command)
        if len(self._waiting) >= _MAX_QUEUED:
            self._source.alert("Too much at once", "The kernel is behind; this was not carried out.")
            return
        self._waiting.append((command, page))
        self._pulse.set()

    async def run(self) -> None:
        """Carry out what comes, until cancelled."""
        while True:
            while self._waiting:
                await self._do(*self._next())
            self._pulse = anyio.Event()
            await self._pulse.wait()

    def _next(self) -> tuple[commands.CommandMessage, str]:
        """The first in the queue; a slider that was moved on meanwhile counts once."""
        first, page = self._waiting.pop(0)
        if not isinstance(first, commands.UpdateUIElementCommand):
            return first, page
        values = dict(first.ids_and_values)
        while self._waiting and isinstance(following := self._waiting[0][0], commands.UpdateUIElementCommand):
            values |= dict(following.ids_and_values)
            self._waiting.pop(0)
        merged = commands.UpdateUIElementCommand(
            object_ids=list(values), values=list(values.values()), token=first.token
        )
        return merged, page

    async def _do(self, command: commands.CommandMessage, page: str) -> None:
        try:
            if isinstance(command, commands.ExecuteCellsCommand):
                await self._run(command, page)
            elif isinstance(command, commands.DeleteCellCommand):
                await _await_call(self._source.notebook.apply())
            elif isinstance(command, commands.UpdateCellConfigCommand):
                await self._run_configured(command)
            elif isinstance(command, PASSED_ON):
                if "request" in command.__struct_fields__:
                    # Without who asked and how: a notebook's code gets to see a command's request.
                    command = msgspec.structs.replace(command, request=None)
                await self._source.send(msgspec.json.encode(command))
        except CellwrightError as problem:
            self._source.alert("Not done", page_problem(problem))

    async def _run(self, command: commands.ExecuteCellsCommand, page: str) -> None:
        texts = _texts(command)
        unknown = [cell for cell, _ in texts if not self._source.shows(cell)]
        if unknown:
            # A new cell that is run at once: marimo tells of its making only after that.
            await self._source.until_shown(unknown)
            self._source.typed(page, [(cell, code) for cell, code in texts if cell in unknown])
        notebook = self._source.notebook
        observation = await _await_call(notebook.run([cell for cell, _ in texts if notebook.document.find(cell)]))
        if observation.problem:
            self._source.alert("Not run", observation.problem)

    def _configure(self, command: commands.UpdateCellConfigCommand) -> None:
        for id, wanted in command.configs.items():
            cell = self._source.notebook.document.find(CellId(id))
            known = {"column", "disabled", "hide_code", "expand_output"} & wanted.keys()
            if cell is not None:
                config = replace(cell.config, **{name: wanted[name] for name in known})
                if config != cell.config:
                    self._source.notebook.edit([ConfigureCell(cell=cell.id, base_version=cell.version, config=config)])

    async def _run_configured(self, command: commands.UpdateCellConfigCommand) -> None:
        switched = {CellId(id): wanted["disabled"] for id, wanted in command.configs.items() if "disabled" in wanted}
        if switched:
            on = [cell for cell, is_off in switched.items() if not is_off]
            await _await_call(self._source.notebook.run(on or "none"))


def _texts(command: commands.ExecuteCellsCommand) -> list[tuple[CellId, str]]:
    return [(CellId(cell), code) for cell, code in zip(command.cell_ids, command.codes, strict=True)]


async def _await_call(call: Call) -> Observation:
    """What a call came to. It is nobody's who could go away: an editor that is closed stops nothing."""
    call.start()
    while call.observation is None:
        await call.is_over.wait()
    return call.observation
