"""Which cells a fresh kernel runs and which values it takes over, worked out without any kernel."""

from __future__ import annotations

from collections.abc import Mapping

from cellwright.ids import CellId
from cellwright.kernel.branches.transfer_plan import TransferPlan, plan_replay, plan_transfer
from cellwright.kernel.observation import CellOutcome, CellStatus
from cellwright.notebook.document import SETUP_ID, Cell, CellConfig, Document

IMPORTS = "import numpy as np"
LOAD = "raw = np.load('raw.npy')"
CLEAN = "def clean(values):\n    return values[values > limit]"
LIMIT = "limit = 3"
TABLE = "table = clean(raw)"
SHOW = "table.mean()"
KINDS = {"np": "module", "raw": "array", "clean": "function", "limit": "number", "table": "array"}


def document(**cells: str) -> Document:
    return Document(cells=tuple(Cell(id=CellId(name), code=code) for name, code in cells.items()))


def all_ran(notebook: Document, **other: CellStatus) -> dict[CellId, CellOutcome]:
    statuses: dict[str, CellStatus] = dict.fromkeys((cell.id for cell in notebook.cells), "ok")
    statuses |= other
    return {CellId(cell): CellOutcome(id=CellId(cell), name=cell, status=status) for cell, status in statuses.items()}


def planned(notebook: Document, candidate: str, kinds: Mapping[str, str], *cannot: str) -> TransferPlan:
    return plan_transfer(notebook, all_ran(notebook), {CellId(candidate)}, kinds, cannot=cannot)


def test_only_what_the_candidate_refers_to_is_carried() -> None:
    notebook = document(imports=IMPORTS, load=LOAD, limit=LIMIT, clean=CLEAN, table=TABLE, show=SHOW)
    assert planned(notebook, "show", KINDS) == TransferPlan(
        replay=[],
        carry=["table"],
        fresh=[CellId(cell) for cell in ("imports", "load", "limit", "clean", "table")],
        needed=frozenset({"table"}),
    )


def test_modules_and_functions_are_made_again_and_what_functions_use_is_carried() -> None:
    notebook = document(imports=IMPORTS, load=LOAD, limit=LIMIT, clean=CLEAN, table=TABLE, show=SHOW)
    assert planned(notebook, "table", KINDS) == TransferPlan(
        replay=[CellId("clean")],
        carry=["limit", "raw"],
        fresh=[CellId("imports"), CellId("load"), CellId("limit")],
        needed=frozenset({"limit", "raw"}),
    )


def test_what_a_cell_needs_while_it_runs_is_replayed_before_it() -> None:
    default = "def clean(values, limit=limit):\n    return values[values > limit]"
    notebook = document(limit=LIMIT, clean=default, raw="raw = [4]", table=TABLE)
    assert planned(notebook, "table", KINDS | {"raw": "list"}).replay == ["limit", "clean"]


def test_a_function_that_its_own_cell_calls_has_its_needs_replayed() -> None:
    calls = "def clean(values):\n    return values[values > limit]\nfirst = clean(raw)"
    notebook = document(raw="raw = [4]", limit=LIMIT, clean=calls, other="clean([5])")
    assert planned(notebook, "other", KINDS | {"raw": "list", "first": "list"}).replay == ["raw", "limit", "clean"]


def test_a_class_body_and_a_decorator_count_as_running() -> None:
    decorated = "import functools\n@functools.wraps(model)\ndef clean(values):\n    return limit"
    body = "class Clean:\n    bound = limit\n    def of(self):\n        return raw"
    kinds = KINDS | {"model": "function", "Clean": "class", "functools": "module"}
    notebook = document(raw="raw = [4]", limit=LIMIT, model="def model(): ...", clean=decorated, use="clean(1)")
    assert planned(notebook, "use", kinds).replay == ["limit", "model", "clean"]
    notebook = document(raw="raw = [4]", limit=LIMIT, clean=body, use="Clean()")
    made = planned(notebook, "use", kinds)
    assert (made.replay, made.carry) == (["limit", "clean"], ["limit", "raw"])


def test_cells_whose_classes_a_carried_object_may_be_of_are_replayed() -> None:
    notebook = document(point="class Point:\n    x = 1", make="points = [Point()]", count="n = 5", use="points, n")
    kinds = {"Point": "class", "points": "list", "n": "number"}
    made = planned(notebook, "use", kinds)
    assert (made.replay, made.carry, made.fresh) == (["point"], ["n", "points"], ["make", "count"])


def test_plain_numbers_and_tables_need_no_classes() -> None:
    notebook = document(load="def load():\n    return 1\nraw = load()", total="total = raw + 1", use="total")
    made = planned(notebook, "use", {"load": "function", "raw": "array", "total": "number"})
    assert (made.replay, made.carry, made.fresh) == ([], ["total"], ["load", "total"])


def test_a_ui_element_is_made_again_and_set_as_it_was() -> None:
    notebook = document(mo="import marimo as mo", slider="slider = mo.ui.slider(1, 9)", use="slider.value")
    made = planned(notebook, "use", {"mo": "module", "slider": "ui"})
    assert (made.replay, made.carry, made.fresh) == (["mo", "slider"], ["slider"], [])


def test_a_state_is_made_again_and_set_as_it_was() -> None:
    notebook = document(mo="import marimo as mo", state="get_x, set_x = mo.state(0)", use="get_x()")
    made = planned(notebook, "use", {"mo": "module", "get_x": "object", "set_x": "object"})
    assert (made.replay, made.carry) == (["mo", "state"], ["get_x"])


def test_a_name_without_a_value_is_no_variable_and_its_cell_is_replayed() -> None:
    create = 'mo.sql("CREATE TABLE sales AS SELECT 1 AS a")'
    notebook = document(mo="import marimo as mo", create=create, use='mo.sql("SELECT * FROM sales")')
    assert planned(notebook, "use", {"mo": "module"}).replay == ["mo", "create"]


def test_what_cannot_be_carried_is_replayed_with_what_it_needs() -> None:
    notebook = document(path="path = 'a.db'", open="database = open(path)", use="database.read()")
    kinds = {"path": "text", "database": "object"}
    assert planned(notebook, "use", kinds).fresh == ["path", "open"]
    made = planned(notebook, "use", kinds, "database")
    assert (made.replay, made.carry, made.fresh) == (["path", "open"], ["path"], [])


def test_whatever_else_a_fresh_cell_defines_comes_along() -> None:
    notebook = document(make="a = 1\nb = 2\ndef c(): ...", use="a")
    made = planned(notebook, "use", {"a": "number", "b": "number", "c": "function"})
    assert (made.carry, made.needed, made.fresh) == (["a", "b"], frozenset({"a"}), ["make"])


def test_dependents_of_the_candidates_have_what_they_need_too() -> None:
    notebook = document(a="a = 1", b="b = 2", edited="c = a", below="d = c + b", apart="e = b")
    made = planned(notebook, "edited", dict.fromkeys("abcde", "number"))
    assert (made.carry, made.fresh) == (["a", "b"], ["a", "b"])


def test_a_cell_that_has_not_run_well_runs_with_the_candidates() -> None:
    notebook = document(a="a = 1", b="b = a + 1", beside="f = b", use="b")
    outcomes = all_ran(notebook, b="failed")
    made = plan_transfer(notebook, outcomes, {CellId("use")}, {"a": "number", "f": "number"})
    assert (made.replay, made.carry, made.fresh) == ([], ["a"], ["a"])


def test_the_setup_cell_is_always_replayed() -> None:
    notebook = document(**{SETUP_ID: "import numpy as np", "a": "a = 1", "use": "a"})
    made = planned(notebook, "use", {"np": "module", "a": "number"})
    assert (made.replay, made.carry) == (["setup"], ["a"])
    assert plan_replay(notebook, all_ran(notebook), {CellId("use")}).replay == ["setup", "a"]


def test_a_disabled_cell_is_neither_carried_nor_replayed() -> None:
    cells = (Cell(id=CellId("a"), code="a = 1", config=CellConfig(disabled=True)), Cell(id=CellId("use"), code="a"))
    notebook = Document(cells=cells)
    outcomes = all_ran(notebook, a="disabled")
    assert plan_transfer(notebook, outcomes, {CellId("use")}, {}) == TransferPlan(replay=[], carry=[], fresh=[])
    assert plan_replay(notebook, outcomes, {CellId("use")}).replay == []


def test_replay_alone_runs_every_ancestor_in_order_and_nothing_else() -> None:
    notebook = document(show=SHOW, table=TABLE, clean=CLEAN, limit=LIMIT, load=LOAD, imports=IMPORTS, apart="z = 1")
    made = plan_replay(notebook, all_ran(notebook), {CellId("show")})
    assert made == TransferPlan(
        replay=[CellId("limit"), CellId("clean"), CellId("imports"), CellId("load"), CellId("table")],
        carry=[],
        fresh=[],
    )


def test_a_long_chain_of_cells_is_worked_out() -> None:
    cells = {f"c{n}": f"def f{n}(x=f{n - 1}()): ..." if n else "def f0(): ..." for n in range(400)}
    notebook = document(**cells, use="f399()")
    assert len(planned(notebook, "use", {f"f{n}": "function" for n in range(400)}).replay) == 400
