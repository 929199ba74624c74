"""What people ask of the kernel in an editor, in order: cells run as our own calls do, the rest in marimo's words."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import anyio
import anyio.abc
import msgspec
from marimo._messaging.notebook.changes import DeleteCell
from marimo._runtime import commands

from cellwright.errors import CellwrightError
from cellwright.ids import CellId
from cellwright.kernel.observation import Observation
from cellwright.kernel.process.call import Call
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import ConfigureCell
from cellwright.server.editor.mirror import NotebookMirror
from cellwright.server.editor.sessions import Sessions
from cellwright.server.http.page_remedies import page_problem

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
    commands.StorageListEntriesCommand,
)
"""Carried out by marimo's kernel itself, in its cage."""


class EditorCommands(NotebookMirror):
    """A notebook's mirror with a queue of commands, which are carried out one after the other."""

    def __init__(self, notebook: OpenNotebook, sessions: Sessions, tasks: anyio.abc.TaskGroup) -> None:
        super().__init__(notebook, sessions, tasks)
        self._waiting: list[tuple[commands.CommandMessage, str]] = []
        self._pulse = anyio.Event()

    def heard(self, command: commands.CommandMessage, page: str) -> None:
        """Take a command; what was typed with it counts at once."""
        if isinstance(command, commands.ExecuteCellsCommand):
            self.typed(page, [(cell, code) for cell, code in _texts(command) if self.shows(cell)])
        elif isinstance(command, commands.DeleteCellCommand):
            self.changed(page, [DeleteCell(cell_id=command.cell_id)])
        elif isinstance(command, commands.UpdateCellConfigCommand):
            self._configure(command)
        if len(self._waiting) >= _MAX_QUEUED:
            self.alert("Too much at once", "The kernel is behind; this was not carried out.")
            return
        self._waiting.append((command, page))
        self._pulse.set()

    async def carry_out(self) -> None:
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
                await self._run_cells(command, page)
            elif isinstance(command, commands.DeleteCellCommand):
                await _await_call(self.notebook.apply())
            elif isinstance(command, commands.UpdateCellConfigCommand):
                await self._run_configured(command)
            elif isinstance(command, PASSED_ON):
                if "request" in command.__struct_fields__:
                    # Without who asked and how: a notebook's code gets to see a command's request.
                    command = msgspec.structs.replace(command, request=None)
                await self.send(msgspec.json.encode(command))
        except CellwrightError as problem:
            self.alert("Not done", page_problem(problem))

    async def _run_cells(self, command: commands.ExecuteCellsCommand, page: str) -> None:
        texts = _texts(command)
        unknown = [cell for cell, _ in texts if not self.shows(cell)]
        if unknown:
            # A new cell that is run at once: marimo tells of its making only after that.
            await self.until_shown(unknown)
            self.typed(page, [(cell, code) for cell, code in texts if cell in unknown])
        found = [cell for cell, _ in texts if self.notebook.document.find(cell)]
        observation = await _await_call(self.notebook.run(found))
        if observation.problem:
            self.alert("Not run", observation.problem)

    def _configure(self, command: commands.UpdateCellConfigCommand) -> None:
        for id, wanted in command.configs.items():
            cell = self.notebook.document.find(CellId(id))
            known = {"column", "disabled", "hide_code", "expand_output"} & wanted.keys()
            if cell is not None:
                config = replace(cell.config, **{name: wanted[name] for name in known})
                if config != cell.config:
                    self.notebook.edit([ConfigureCell(cell=cell.id, base_version=cell.version, config=config)])

    async def _run_configured(self, command: commands.UpdateCellConfigCommand) -> None:
        switched = {CellId(id): wanted["disabled"] for id, wanted in command.configs.items() if "disabled" in wanted}
        if switched:
            on = [cell for cell, is_off in switched.items() if not is_off]
            await _await_call(self.notebook.run(on or "none"))


def _texts(command: commands.ExecuteCellsCommand) -> list[tuple[CellId, str]]:
    return [(CellId(cell), code) for cell, code in zip(command.cell_ids, command.codes, strict=True)]


async def _await_call(call: Call) -> Observation:
    """What a call came to. It is nobody's who could go away: an editor that is closed stops nothing."""
    call.start()
    while call.observation is None:
        await call.is_over.wait()
    return call.observation
