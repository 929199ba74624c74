"""Whose a variable is: of the agent whose last call changed the cell that defines it, unless somebody did since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cellwright.ids import CellId
from cellwright.notebook.document import Document
from cellwright.notebook.marimo_graph import graph
from cellwright.runs.plan.plan import Task
from cellwright.tools.history.timeline import Revision
from cellwright.tools.notebook.cell_changes import changes_by
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.reports import with_news
from cellwright.tools.tool import CallContext, Done, Tool, ToolResult


def cell_owners(revisions: Sequence[Revision], document: Document) -> dict[CellId, str]:
    """The agent of the last change of each cell that is as that change left it; `revisions` are those that stand."""
    made = {change.id: (revision.agent, change.after) for revision in revisions for change in revision.changes}
    found = dict[CellId, str]()
    for cell in document.cells:
        agent, after = made.get(cell.id, ("", None))
        if after is not None and (after.code, after.name) == (cell.code, cell.name):
            found[cell.id] = agent
    return found


def defined_names(document: Document, cells: Sequence[CellId]) -> dict[CellId, tuple[str, ...]]:
    """The names that each of these cells gives to others."""
    nodes = graph(document).nodes
    return {cell: tuple(sorted(nodes[cell].defs)) for cell in cells if cell in nodes}


def warns_of_owners(
    tool: Tool, own: NotebookEditor, editor: NotebookEditor, agent: str, tasks: Mapping[str, Task]
) -> Tool:
    """The tool that changes cells, for this agent: where it changed another task's variables, its result says whose.

    `own` is where the agent works, `editor` the run's notebook, which knows who made what; `tasks` are by their agents.
    """

    async def run(parsed: Any, calling: CallContext) -> ToolResult:
        changes = changes_by(parsed.edits, own.notebook.document)
        changed = [change.id for change in changes if change.before is not None]
        said = owner_text(changed, editor, agent, tasks)
        result = await tool.run(parsed, calling)
        return with_news(result, said) if said and isinstance(result, Done) else result

    return replace(tool, run=run)


def owner_text(changed: Sequence[CellId], editor: NotebookEditor, agent: str, tasks: Mapping[str, Task]) -> str:
    """Whose variables these cells define, if they are another's."""
    document = editor.notebook.document
    owners = cell_owners(editor.timeline.standing, document)
    mine = tasks[agent].id if agent in tasks else ""
    lines: list[str] = []
    for cell, names in defined_names(document, changed).items():
        task = tasks.get(owners.get(cell, ""))
        if task is not None and task.id != mine and names:
            lines.append(f"{', '.join(names)}: made by the task {task.id!r} ({task.title}), not by yours.")
    if not lines:
        return ""
    return "\n".join(
        [*lines, "Others go by what it was. Put it back and make new names, unless it is wrong as it was."]
    )
