from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from marimo._messaging.notebook.changes import SetCode
from marimo._messaging.notebook.document import NotebookCell
from marimo._types.ids import CellId_t

from cellwright.ids import CellId
from cellwright.kernel.observation import Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import Cell, CellConfig
from cellwright.notebook.edits import CreateCell, DeleteCell, EditCell
from cellwright.server.editor import Editor, open_editor
from cellwright.server.editor.document_sync import config_of
from cellwright.server.editor.page_texts import PageTexts
from tests.server.editor.visitor import Visits

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


def changes_of(data: Any) -> list[tuple[str, str]]:
    return [(change["type"], change.get("code", "")) for change in data["transaction"]["changes"]]


def set_code(cell: str, code: str) -> dict[str, Any]:
    return {"changes": [{"type": "set-code", "cellId": cell, "code": code}]}


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(120):
        while not is_so():
            await anyio.lowlevel.checkpoint()


async def test_who_joins_sees_what_ran_before_they_came(opened: Opener, visit: Visits) -> None:
    async with opened("x = 20", "x + 1", "1 / 0", "print('said')") as notebook:
        await notebook.run("all")
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            ready = await frames.until("kernel-ready")
            shown = {}
            while len(shown) < 4:
                data = await frames.until("cell-op")
                shown[data["cell_id"]] = data
        cells = [cell.id for cell in notebook.document.cells]
        assert ready["codes"] == ["x = 20", "x + 1", "1 / 0", "print('said')"]
        assert ready["resumed"] is True
        assert ready["last_executed_code"] == dict(zip(cells, ready["codes"], strict=True))
        assert ready["capabilities"]["terminal"] is False
        assert "21" in shown[cells[1]]["output"]["data"]
        assert shown[cells[2]]["output"]["data"][0]["exception_type"] == "ZeroDivisionError"
        assert shown[cells[3]]["console"][0]["data"] == "said\n"


async def test_a_cell_run_in_the_editor_runs_in_our_kernel_and_everybody_who_observes_is_told(
    opened: Opener, visit: Visits
) -> None:
    async with opened("x = 1", "y = x + 1") as notebook, notebook.observe() as events:
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            cell = notebook.document.cells[0]
            answer = await visitor.post("/api/kernel/run", {"cellIds": [cell.id], "codes": ["x = 41"]})
            assert answer.status_code == 200
            with anyio.fail_after(120):
                while not isinstance(event := await events.receive(), Observation):
                    pass
            await frames.until("cell-op", lambda data: data["status"] == "idle")
        assert [outcome.status for outcome in event.cells] == ["ok", "ok"]
        assert {variable.text for outcome in event.cells for variable in outcome.variables} == {"41", "42"}
        assert notebook.document.cells[0].code == "x = 41"
        assert notebook.document.cells[0].version == cell.version + 1


async def test_a_new_cell_that_is_run_before_its_making_is_told_stands_where_the_person_put_it(
    opened: Opener, visit: Visits
) -> None:
    async with opened("x = 1", "z = 3") as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            first = notebook.document.cells[0]
            run = {"cellIds": ["newA"], "codes": ["y = x + 1"]}
            assert (await visitor.post("/api/kernel/run", run)).status_code == 200
            made = {"type": "create-cell", "cellId": "newA", "code": "", "name": "_", "config": {}, "after": first.id}
            assert (await visitor.post("/api/document/transaction", {"changes": [made]})).status_code == 200
            await frames.until("variable-values", lambda data: data["variables"][-1]["value"] == "2")
        assert [cell.code for cell in notebook.document.cells] == ["x = 1", "y = x + 1", "z = 3"]


async def test_a_notebook_without_cells_offers_one_that_is_none_of_its_own_until_somebody_types_into_it(
    opened: Opener, visit: Visits
) -> None:
    async with opened() as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            (offered,) = (await frames.until("kernel-ready"))["cell_ids"]
            assert notebook.document.cells == ()
            body = set_code(offered, "x = 1")
            assert (await visitor.post("/api/document/transaction", body)).status_code == 200
            assert [cell.code for cell in notebook.document.cells] == ["x = 1"]
            cell = notebook.document.cells[0]
            await notebook.apply([DeleteCell(cell=cell.id, base_version=cell.version), CreateCell(code="y = 2")])
            told = await frames.until("notebook-document-transaction")
            assert changes_of(told) == [("create-cell", "y = 2"), ("delete-cell", "")]


@pytest.mark.slow
async def test_what_an_agent_does_to_the_cells_is_told_in_order_and_not_said_back(
    opened: Opener, visit: Visits
) -> None:
    async with opened("x = 1") as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            await notebook.apply([CreateCell(code="y = x + 1")])
            first = changes_of(await frames.until("notebook-document-transaction"))
            await frames.until("cell-op", lambda data: data["status"] == "idle")
            cell = notebook.document.cells[0]
            await notebook.apply([EditCell(cell=cell.id, base_version=cell.version, code="x = 2")])
            second = changes_of(await frames.until("notebook-document-transaction"))
            # marimo's frontend sends back what it was told, and that may come late.
            cell = notebook.document.cells[0]
            await notebook.apply([EditCell(cell=cell.id, base_version=cell.version, code="x = 3")])
            assert (await visitor.post("/api/document/transaction", set_code(cell.id, "x = 2"))).status_code == 200
        assert first == [("create-cell", "y = x + 1")]
        assert second == [("set-code", "x = 2")]
        assert notebook.document.cells[0].code == "x = 3"


@pytest.mark.slow
async def test_what_a_person_types_is_the_documents_at_once_even_while_a_cell_runs_and_is_not_run(
    opened: Opener, visit: Visits
) -> None:
    async with opened("x = 1", "y = x") as notebook, anyio.create_task_group() as tasks:
        await notebook.run("all")
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            busy = notebook.apply([CreateCell(code="import time\nwhile True:\n    time.sleep(0.01)")])

            async def work() -> None:
                await busy

            tasks.start_soon(work)
            await until(lambda: busy.running is not None)
            cell = notebook.document.cells[0]
            assert await visitor.post("/api/document/transaction", set_code(cell.id, "x = ("))
            assert notebook.document.cells[0].code == "x = ("
            assert (await visitor.post("/api/kernel/interrupt")).status_code == 200
            await until(lambda: busy.observation is not None)
        # Half a line of somebody's typing breaks nothing that runs meanwhile.
        observation = await notebook.run([notebook.document.cells[1].id])
        assert [(outcome.status, outcome.error) for outcome in observation.cells] == [("ok", None)]
        refused = await notebook.apply([EditCell(cell=cell.id, base_version=cell.version, code="x = 5")])
        assert refused.refused is not None
        assert refused.refused.current is not None
        assert (refused.refused.current.code, refused.refused.wanted) == ("x = (", "x = 5")


@pytest.mark.slow
async def test_text_that_is_being_typed_is_not_overwritten_by_an_edit_that_comes_before_it_is_known(
    opened: Opener, visit: Visits
) -> None:
    async with opened("x = 1", "y = 2") as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            edited, deleted = notebook.document.cells
            for cell in (edited, deleted):
                assert (await visitor.post("/cellwright/typing", {"cell": cell.id})).status_code == 204
            await notebook.apply(
                [
                    EditCell(cell=edited.id, base_version=edited.version, code="x = 5  # agent"),
                    DeleteCell(cell=deleted.id, base_version=deleted.version),
                    CreateCell(code="z = 3"),
                ]
            )
            told = changes_of(await frames.until("notebook-document-transaction"))
            assert told == [("create-cell", "z = 3")]
            await visitor.post("/api/document/transaction", set_code(edited.id, "x = 10  # by hand"))
            await visitor.post("/api/document/transaction", set_code(deleted.id, "y = 20  # by hand"))
        found = {cell.id: cell.code for cell in notebook.document.cells}
        assert found[edited.id] == "x = 10  # by hand"
        assert found[deleted.id] == "y = 20  # by hand"
        assert "z = 3" in found.values()


@pytest.mark.slow
async def test_an_edit_held_back_for_somebody_who_then_typed_nothing_is_shown(opened: Opener, visit: Visits) -> None:
    async with opened("x = 1") as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            cell = notebook.document.cells[0]
            await visitor.post("/cellwright/typing", {"cell": cell.id})
            await notebook.apply([EditCell(cell=cell.id, base_version=cell.version, code="x = 5")])
            assert changes_of(await frames.until("notebook-document-transaction")) == [("set-code", "x = 5")]


async def test_a_page_that_lost_its_connection_catches_up_and_undoes_nothing_by_saving_what_it_had(
    opened: Opener, visit: Visits
) -> None:
    async with opened("x = 1") as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
        cell = notebook.document.cells[0]
        await notebook.apply(
            [EditCell(cell=cell.id, base_version=cell.version, code="x = 2"), CreateCell(code="y = x")]
        )
        async with visitor.connected() as frames:
            missed = changes_of(await frames.until("notebook-document-transaction"))
            assert ("set-code", "x = 2") in missed
            assert ("create-cell", "y = x") in missed
            old = {"cellIds": [cell.id], "codes": ["x = 2"], "names": ["_"], "configs": [{}], "filename": "n.py"}
            assert (await visitor.post("/api/kernel/save", old)).status_code == 200
        assert [cell.code for cell in notebook.document.cells] == ["x = 2", "y = x"]


async def test_saving_is_ours_and_goes_to_our_file_whatever_name_the_page_says(
    opened: Opener, visit: Visits, tmp_path: Any
) -> None:
    async with opened("x = 1") as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            cell, elsewhere = notebook.document.cells[0], tmp_path / "elsewhere.py"
            body = {
                "cellIds": [cell.id],
                "codes": ["x = 77"],
                "names": ["_"],
                "configs": [{}],
                "filename": str(elsewhere),
            }
            answer = await visitor.post("/api/kernel/save", body)
            assert "x = 77" in answer.text
            assert "x = 77" in notebook.path.read_text()
            assert not elsewhere.exists()
            notebook.path.write_text(notebook.path.read_text() + "\n# somebody else\n")
            conflict = await visitor.post("/api/kernel/save", body | {"codes": ["x = 78"]})
            assert conflict.status_code == 409
            assert "somebody else" in notebook.path.read_text()


@pytest.mark.slow
async def test_a_reader_can_change_nothing_until_they_take_over(opened: Opener, visit: Visits) -> None:
    async with opened("x = 1") as notebook:
        ana, ben = visit("s_ana"), visit("s_ben")
        await ana.enter(notebook)
        await ben.enter(notebook, person="ben")
        async with ana.connected() as first, ben.connected() as second:
            assert (await first.until("kernel-ready"))["consumer_capabilities"]["edit"] is True
            assert (await second.until("kernel-ready"))["consumer_capabilities"]["edit"] is False
            cell = notebook.document.cells[0]
            run = {"cellIds": [cell.id], "codes": ["x = 3"]}
            save = {"cellIds": [], "codes": [], "names": [], "configs": [], "filename": "n.py"}
            for path, body in (
                ("/api/document/transaction", set_code(cell.id, "x = 3")),
                ("/api/kernel/run", run),
                ("/api/kernel/save", save),
                ("/api/kernel/restart_session", {}),
                ("/api/kernel/interrupt", {}),
                ("/cellwright/typing", {"cell": cell.id}),
            ):
                assert (await ben.post(path, body)).status_code == 403
            assert notebook.document.cells[0] == cell
            assert (await ben.post("/api/kernel/takeover")).status_code == 200
            assert (await ben.post("/api/document/transaction", set_code(cell.id, "x = 3"))).status_code == 200
            assert (await ana.post("/api/document/transaction", set_code(cell.id, "x = 4"))).status_code == 403
            told = await first.until("notebook-document-transaction")
            assert changes_of(told) == [("set-code", "x = 3")]
        assert notebook.document.cells[0].code == "x = 3"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["leaves", "closes"])
async def test_neither_who_leaves_nor_an_editor_that_is_closed_ends_a_kernel(
    opened: Opener, visit: Visits, editor: Editor, how: str
) -> None:
    async with opened("x = 1") as notebook:
        await notebook.run("all")
        if how == "leaves":
            visitor = visit()
            await visitor.enter(notebook)
            async with visitor.connected() as frames:
                await frames.until("kernel-ready")
                assert editor.people(notebook) == 1
            await until(lambda: editor.people(notebook) == 0)
        else:
            async with open_editor() as another:
                await another.address(notebook, person="ana")
        assert {variable.text for variable in await notebook.look(["x"])} == {"1"}
        assert (await editor.address(notebook, person="ana")).startswith(editor.origin)


@pytest.mark.slow
async def test_a_kernel_that_dies_is_said_to_have_and_the_next_run_brings_everything_back(
    opened: Opener, visit: Visits
) -> None:
    async with opened("x = 1", "y = x + 1") as notebook:
        await notebook.run("all")
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            killer = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
            observation = await notebook.apply([CreateCell(code=killer)])
            assert observation.kernel_end is not None
            banner = await frames.until("banner")
            assert "SIGKILL" in banner["description"]
            last, second = notebook.document.cells[-1], notebook.document.cells[1]
            notebook.edit([DeleteCell(cell=last.id, base_version=last.version)])
            run = {"cellIds": [second.id], "codes": ["y = x + 1"]}
            assert (await visitor.post("/api/kernel/run", run)).status_code == 200
            await frames.until("variable-values", lambda data: data["variables"][0]["value"] == "2")


@pytest.mark.slow
async def test_a_restart_asked_for_in_the_editor_is_a_fresh_kernel_and_the_same_session(
    opened: Opener, visit: Visits
) -> None:
    async with opened("x = 1\nx") as notebook:
        await notebook.run("all")
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            assert (await visitor.post("/api/kernel/restart_session")).status_code == 200
            await frames.until("cell-op", lambda data: data["output"] is not None and data["output"]["data"] == "")
        assert notebook.outcomes == {}
        assert await notebook.look(["x"]) == ()
        visitor.page = "s_after"
        async with visitor.connected() as frames:
            assert (await frames.until("kernel-ready"))["last_executed_code"] == {}


@pytest.mark.slow
async def test_a_slider_moved_in_the_editor_moves_in_our_kernel_and_runs_what_depends_on_it(
    opened: Opener, visit: Visits
) -> None:
    async with opened("import marimo as mo\ns = mo.ui.slider(0, 9, value=3)\ns", "doubled = s.value * 2") as notebook:
        await notebook.run("all")
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            cell = notebook.document.cells[0]
            for value in (4, 5, 6, 7):
                body = {"objectIds": [f"{cell.id}-0"], "values": [value]}
                assert (await visitor.post("/api/kernel/set_ui_element_value", body)).status_code == 200
            await frames.until("variable-values", lambda data: data["variables"][0]["value"] == "14")
        assert {variable.text for variable in await notebook.look(["doubled"])} == {"14"}
        visitor.page = "s_later"
        async with visitor.connected() as frames:
            assert (await frames.until("kernel-ready"))["ui_values"] == {f"{cell.id}-0": 7}


@pytest.mark.slow
async def test_completions_come_from_our_kernel(opened: Opener, visit: Visits) -> None:
    async with opened("some_long_name = 1") as notebook:
        await notebook.run("all")
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            body = {"id": "1", "document": "some_l", "cellId": notebook.document.cells[0].id}
            assert (await visitor.post("/api/kernel/code_autocomplete", body)).status_code == 200
            result = await frames.until("completion-result")
        assert "some_long_name" in [option["name"] for option in result["options"]]


async def test_a_cell_switched_off_in_the_editor_is_off_for_everybody(opened: Opener, visit: Visits) -> None:
    async with opened("x = 1", "y = x") as notebook:
        await notebook.run("all")
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            cell = notebook.document.cells[1]
            body = {"configs": {cell.id: {"disabled": True}}}
            assert (await visitor.post("/api/kernel/set_cell_config", body)).status_code == 200
            assert notebook.document.cells[1].config == CellConfig(disabled=True)
            await frames.until("completed-run")
        observation = await notebook.run("all")
        assert [outcome.status for outcome in observation.cells] == ["ok", "disabled"]


async def test_who_joins_while_a_cell_runs_sees_it_run_and_then_what_it_came_to(opened: Opener, visit: Visits) -> None:
    async with opened("x = 1") as notebook, anyio.create_task_group() as tasks:
        call = notebook.apply([CreateCell(code="import time\nwhile True:\n    time.sleep(0.01)")])

        async def work() -> None:
            await call

        tasks.start_soon(work)
        await until(lambda: call.running is not None)
        visitor = visit()
        with anyio.fail_after(120):
            await visitor.enter(notebook)
        async with visitor.connected() as frames:
            assert len((await frames.until("kernel-ready"))["codes"]) == 2
            await frames.until("cell-op", lambda data: data["status"] == "running")
            assert (await visitor.post("/api/kernel/interrupt")).status_code == 200
            ended = await frames.until("cell-op", lambda data: data["status"] == "idle")
            assert ended["output"]["data"] == [{"type": "interruption"}]


WIDGET = """
from marimo._plugins.ui._impl.comm import MarimoComm, MarimoCommManager
manager = MarimoCommManager()
widget = MarimoComm(comm_id="w1", comm_manager=manager, target_name="t", data={"method": "open", "state": {"n": 1}})
widget.send(data={"method": "update", "state": {"n": 2}})
"""


async def test_a_widget_made_before_anybody_looked_is_there_for_who_joins(opened: Opener, visit: Visits) -> None:
    async with opened(WIDGET) as notebook:
        assert (await notebook.run("all")).is_ok
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            found = await frames.until("model-lifecycle")
        assert found["model_id"] == "w1"
        assert found["message"]["state"] == {"n": 2}


FLOOD = """
import json as _json
from marimo._runtime.context import get_context as _context
for _ in range(12):
    _text = _json.dumps({"op": "alert", "title": "", "description": "x" * (4 << 20)})
    _context().stream.write(_text.encode())
"""


@pytest.mark.slow
async def test_a_page_that_does_not_keep_up_is_cut_off_and_nobody_waits_for_it(
    opened: Opener, visit: Visits, editor: Editor
) -> None:
    async with opened(FLOOD) as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected(keeps_up=False) as frames:
            await frames.until("kernel-ready")
            runs = 0
            while editor.people(notebook) and runs < 10:
                assert (await notebook.run("all")).is_ok
                runs += 1
            assert editor.people(notebook) == 0
        assert (await notebook.apply([CreateCell(code="x = 1")])).is_ok


def test_only_what_a_page_has_changed_itself_is_news_from_it() -> None:
    now = 0.0
    screens, cell = PageTexts(clock=lambda: now), CellId("Hbol")
    shown = NotebookCell(id=CellId_t(cell), code="x = 1", name="_", config=config_of(Cell(id=cell, code="")))
    screens.shows("page", [shown])
    assert not screens.typed("page", cell, "x = 1")
    for code in ("x = 2", "x = 3"):
        screens.were_sent(["page"], [SetCode(cell_id=CellId_t(cell), code=code)])
    assert not screens.typed("page", cell, "x = 2")
    assert screens.typed("page", cell, "x = 4")
    now = 60.0
    assert screens.typed("page", cell, "x = 2")
