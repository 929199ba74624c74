"""A person takes a run at work back to before a cell: among its changes under their name, and undone like those."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.notebook.files import read
from cellwright.runs.history.history import before_cell
from cellwright.tools.history.moves import Moved, MoveRefused
from cellwright.tools.notebook.editor import NotebookEditor
from tests.runs.histories import changes_in, undo_live

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


async def items(notebook: OpenNotebook) -> object:
    return (await notebook.values(["items"]))["items"].json


async def test_a_persons_journey_is_a_change_of_the_run_under_their_name(opened: Opener, tmp_path: Path) -> None:
    async with opened("items = [1]") as notebook:
        desk = await NotebookEditor.open(notebook, tmp_path / "desk.json")
        await desk.run("all", key="r/agent:1/s0c0")
        for number in (2, 3):
            cell = CreateCell(code=f"items.append({number})", name=f"append_{number}")
            await desk.apply([cell], key=f"r/agent:1/s{number}c0")
        gone = await desk.history.move(before_cell("append_2", run="r", person="ann"))
        assert gone == Moved(cells=("removed append_3",), by="checkpoint")
        assert await items(notebook) == [1]
        assert [cell.name for cell in read(notebook.path).document.cells] == ["_", "append_2"]
        assert [(turn.number, turn.agent) for turn in changes_in(tmp_path / "desk.json")] == [
            (1, "r/agent:1"), (2, "r/agent:1"), (3, "r/person:ann"),
        ]  # fmt: skip
        back = await undo_live(desk, step=3)
        assert isinstance(back, Moved)
        assert (back.cells, back.by) == (("brought back append_3",), "checkpoint")
        assert await items(notebook) == [1, 2, 3]


async def test_where_nothing_is_kept_of_a_cell_it_is_said_which_cells_there_are(opened: Opener, tmp_path: Path) -> None:
    async with opened("items = [1]") as notebook:
        desk = await NotebookEditor.open(notebook, tmp_path / "desk.json")
        await desk.apply([CreateCell(code="items.append(2)", name="more")], key="r/agent:1/s1c0")
        refused = await desk.history.move(before_cell("nope", run="r", person="ann"))
        assert isinstance(refused, MoveRefused)
        assert refused.why.endswith("Cells one can go before: Hbol, more.")
        assert await items(notebook) == [1, 2]
