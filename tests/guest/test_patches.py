from __future__ import annotations

import asyncio
import copy
import functools
import gc
import getpass
import json
import queue
import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from marimo._ast.app_config import _AppConfig
from marimo._ast.cell import CellImpl
from marimo._config.config import DEFAULT_CONFIG
from marimo._messaging.types import KernelMessage, KernelStreams, Stderr, Stdout, Stream
from marimo._runtime.commands import (
    AppMetadata,
    DeleteCellCommand,
    ExecuteCellCommand,
    UpdateCellConfigCommand,
    UpdateUIElementCommand,
)
from marimo._runtime.context.types import get_global_context
from marimo._runtime.dataflow.topology import MutableGraphTopology
from marimo._runtime.kernel_lifecycle import KernelArgs, create_kernel, teardown_kernel
from marimo._runtime.runner.hooks import Priority
from marimo._session.model import SessionMode
from marimo._types.ids import CellId_t, UIElementId

from cellwright_guest.patches import swap
from cellwright_guest.patches.audience import ONLY_FOR_AN_EDITOR, audience, hooks, lean_hooks
from cellwright_guest.patches.swap import Swap
from cellwright_guest.patches.warm import warm

# ── a marimo kernel in this process, and all that can be seen of it ──


class _Notifications(Stream):
    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def write(self, data: KernelMessage) -> None:
        self.sent.append(json.loads(data))


class _Out(Stdout):
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def _write_with_mimetype(self, data: str, mimetype: str) -> int:
        self.lines.append(_anonymous(data))
        return len(data)


class _Err(Stderr):
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def _write_with_mimetype(self, data: str, mimetype: str) -> int:
        self.lines.append(_anonymous(data))
        return len(data)


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|0x[0-9a-f]{5,}")
_PLAIN = (int, float, str, list, tuple, dict, bool, type(None))


def _anonymous(text: str) -> str:
    return _UUID.sub("…", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything a notebook's kernel holds that anything later could depend on."""

    cells: dict[str, tuple[object, ...]]
    parents: dict[str, list[str]]
    definitions: dict[str, list[str]]
    cycles: list[object]
    errors: dict[str, list[str]]
    variables: dict[str, str]
    ran: list[str]
    lifecycle_items: dict[str, int]
    states: list[str]


@dataclass(slots=True)
class Notebook:
    """marimo's kernel, hosted as the guest does it: one thread, our streams."""

    mode: str = "autorun"
    is_lean: bool = False
    ran: list[str] = field(default_factory=list[str])
    console: list[str] = field(default_factory=list[str])
    stream: _Notifications = field(default_factory=_Notifications)
    loop: asyncio.Runner = field(default_factory=asyncio.Runner)
    kernel: Any = None
    context: Any = None
    given: frozenset[str] = frozenset()
    """Names marimo itself put into the globals; it does so only once per process for some."""

    def open(self) -> None:
        config = copy.deepcopy(DEFAULT_CONFIG)
        config["runtime"]["on_cell_change"] = cast(Any, self.mode)
        config["runtime"]["auto_reload"] = "off"
        self.kernel, self.context = create_kernel(
            KernelArgs(
                streams=KernelStreams(
                    stream=self.stream, stdout=_Out(self.console), stderr=_Err(self.console), stdin=None
                ),
                debugger=None,
                configs={},
                app_metadata=AppMetadata(query_params={}, cli_args={}, app_config=_AppConfig(), filename=None),
                user_config=config,
                mode=SessionMode.EDIT,
                control_queue=queue.Queue(),
                set_ui_element_queue=queue.Queue(),
                virtual_file_storage=None,
            )
        )
        self.given = frozenset(self.kernel.globals)
        if self.is_lean:
            self.kernel._hooks = lean_hooks(self.kernel._hooks)
        self.kernel._hooks.add_pre_execution(self._note, Priority.EARLY)

    def close(self) -> None:
        self.loop.close()
        teardown_kernel(self.kernel, self.context)

    def _note(self, cell: CellImpl, context: object) -> None:
        self.ran.append(cell.cell_id)

    def run(self, **codes: str) -> None:
        requests = [ExecuteCellCommand(cell_id=CellId_t(cell), code=code) for cell, code in codes.items()]
        self.loop.run(self.kernel.run(requests))

    def delete(self, *cells: str) -> None:
        for cell in cells:
            self.loop.run(self.kernel.delete_cell(DeleteCellCommand(cell_id=CellId_t(cell))))

    def disable(self, cell: str, disabled: bool = True) -> None:
        self.loop.run(
            self.kernel.set_cell_config(UpdateCellConfigCommand(configs={CellId_t(cell): {"disabled": disabled}}))
        )

    def run_stale(self) -> None:
        self.loop.run(self.kernel.run_stale_cells())

    def set_ui(self, name: str, value: object) -> None:
        element = UIElementId(self.kernel.globals[name]._id)
        self.loop.run(
            self.kernel.set_ui_element_value(
                UpdateUIElementCommand.from_ids_and_values([(element, value)]), notify_frontend=False
            )
        )

    def snapshot(self) -> Snapshot:
        graph = self.kernel.graph
        if self.context.state_registry._states:
            # The registry holds states weakly: when a dropped one goes is the collector's choice.
            gc.collect()
        return Snapshot(
            cells={
                cell_id: (
                    cell.runtime_state,
                    cell.run_result_status,
                    cell.stale,
                    cell.config.disabled,
                    type(cell.exception).__name__,
                    sorted(cell.import_workspace.imported_defs),
                    cell.output is None,
                )
                for cell_id, cell in graph.cells.items()
            },
            parents={cell_id: sorted(parents) for cell_id, parents in graph.parents.items()},
            definitions={name: sorted(cells) for name, cells in graph.definitions.items()},
            cycles=sorted(graph.cycles),
            errors={cell_id: [error.describe() for error in errors] for cell_id, errors in self.kernel.errors.items()},
            variables={
                name: repr(value) if isinstance(value, _PLAIN) else type(value).__name__
                for name, value in self.kernel.globals.items()
                if not name.startswith("__") and name not in self.given
            },
            ran=list(self.ran),
            lifecycle_items={cell: len(items) for cell, items in self.context.cell_lifecycle_registry.registry.items()},
            states=sorted(self.context.state_registry._states),
        )

    def notifications(self) -> dict[str, list[object]]:
        """In the order sent, per cell; ids and times taken out, lists that marimo makes from sets sorted."""
        told: dict[str, list[object]] = {}
        for message in self.stream.sent:
            about = str(message.get("cell_id") or message["op"])
            told.setdefault(about, []).append(_without_ids(message))
        return told


def _without_ids(value: object) -> object:
    match value:
        case dict():
            mapping = cast("dict[str, object]", value)
            kept = {name: _without_ids(item) for name, item in mapping.items() if name not in _IDS}
            return {n: _sorted(i) if n in {"declared_by", "used_by", "variables"} else i for n, i in kept.items()}
        case list():
            return [_without_ids(item) for item in cast("list[object]", value)]
        case str():
            return _anonymous(value)
        case _:
            return value


def _sorted(value: object) -> object:
    return sorted(cast("list[object]", value), key=repr) if isinstance(value, list) else value


_IDS = frozenset({"timestamp", "execution_id", "run_id", "caused_by"})

Script = Callable[[Notebook], Iterator[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    snapshots: list[Snapshot]
    console: list[str]
    notifications: dict[str, list[object]]


@contextmanager
def _process_as_it_was() -> Generator[None]:
    argv, path, ask = sys.argv, list(sys.path), getpass.getpass
    has_matplotlib = get_global_context().mpl_installed
    try:
        yield
    finally:
        get_global_context().set_mpl_installed(has_matplotlib)
        sys.argv, sys.path[:], getpass.getpass = argv, path, ask


def play(script: Script, *, mode: str = "autorun", is_lean: bool = False) -> Told:
    with _process_as_it_was():
        notebook = Notebook(mode=mode, is_lean=is_lean)
        notebook.open()
        try:
            snapshots = [notebook.snapshot() for _ in script(notebook)]
            return Told(snapshots=snapshots, console=notebook.console, notifications=notebook.notifications())
        finally:
            notebook.close()


@pytest.fixture(autouse=True)
def stock_marimo() -> Iterator[None]:
    swap.remove()
    audience.is_watching = True
    yield
    swap.remove()
    audience.is_watching = True


# ── the battery: what notebooks do ──


def diamond(notebook: Notebook) -> Iterator[None]:
    notebook.run(a="x = 1", b="y = x + 1", c="z = x * 2", d="w = y + z\nw")
    yield
    notebook.run(a="x = 10")
    yield
    notebook.run(b="y = 0")
    yield
    notebook.run(a="x = 3", c="z = 5")
    yield


def registered_backwards(notebook: Notebook) -> Iterator[None]:
    notebook.run(d="w = y + z", c="z = x * 2", b="y = x + 1", a="x = 1")
    yield
    notebook.run(e="v = w", a="x = 2")
    yield


def failing(notebook: Notebook) -> Iterator[None]:
    notebook.run(a="x = 1", b="y = 1 / 0\nlost = 1", c="z = y", d="w = z + x")
    yield
    notebook.run(e="print(y)", g="x / 0")
    yield
    notebook.run(a="x = 1")
    yield
    notebook.run(b="y = 1")
    yield
    notebook.run(a="x = undefined_name")
    yield
    notebook.run(a="x = 1\n)")
    yield
    notebook.run(a="x = 2;")
    yield


def cycles(notebook: Notebook) -> Iterator[None]:
    notebook.run(a="x = y", b="y = z", c="z = 1")
    yield
    notebook.run(c="z = x")
    yield
    notebook.run(d="q = z", e="p = q + y")
    yield
    notebook.run(c="z = 2")
    yield


def defined_twice(notebook: Notebook) -> Iterator[None]:
    notebook.run(a="x = 1", b="y = x")
    yield
    notebook.run(c="x = 2")
    yield
    notebook.run(d="x = 3\nq = 1", e="q = 2")
    yield
    notebook.delete("a")
    yield
    notebook.delete("d")
    yield


def deleted_names(notebook: Notebook) -> Iterator[None]:
    notebook.run(a="x = [1]", b="len(x)", c="del x")
    yield
    notebook.run(d="del x")
    yield
    notebook.delete("c", "d")
    yield
    notebook.run(a="x = [2]")
    yield


def deletion(notebook: Notebook) -> Iterator[None]:
    notebook.run(a="x = 1", b="y = x", c="z = y", d="w = 1")
    yield
    notebook.delete("a")
    yield
    notebook.delete("d", "c")
    yield
    notebook.run(a="x = 5")
    yield


def disabling(notebook: Notebook) -> Iterator[None]:
    notebook.run(a="x = 1", b="y = x", c="z = y", d="w = z", e="v = 1")
    yield
    notebook.disable("b")
    yield
    notebook.run(a="x = 2", e="v = x")
    yield
    notebook.run(f="u = w", g="t = x")
    yield
    notebook.run(a="x = 1 / 0")
    yield
    notebook.run(a="x = 3")
    yield
    notebook.disable("c")
    yield
    notebook.disable("b", disabled=False)
    yield
    notebook.disable("c", disabled=False)
    yield
    notebook.run(b="y = x + 1")
    notebook.delete("b")
    yield


def disabled_in_a_cycle(notebook: Notebook) -> Iterator[None]:
    notebook.run(a="x = y", c="k = 1")
    notebook.disable("a")
    yield
    notebook.run(b="y = x", d="m = y")
    yield
    notebook.run(a="x = y + 0")
    yield
    notebook.run(b="y = 1")
    yield
    notebook.disable("a", disabled=False)
    yield


def states(notebook: Notebook) -> Iterator[None]:
    notebook.run(m="import marimo as mo", s="get, put = mo.state(0)", r="seen = get()", t="n = 0")
    yield
    notebook.run(w="put(5)")
    yield
    notebook.run(w="put(lambda v: v + 1)", loop="if get() < 9:\n    put(get() + 1)")
    yield
    notebook.delete("s")
    yield


def elements(notebook: Notebook) -> Iterator[None]:
    notebook.run(m="import marimo as mo", s="slider = mo.ui.slider(1, 10)\nslider", r="doubled = slider.value * 2")
    yield
    notebook.set_ui("slider", 7)
    yield
    notebook.run(s="slider = mo.ui.slider(1, 20, value=3)", q="pair = mo.ui.array([slider])\npair")
    yield
    notebook.run(x="mo.output.append(doubled)\nmo.stop(doubled > 5, 'enough')\nafter = 1", y="after")
    yield
    notebook.set_ui("slider", 2)
    yield


def import_blocks(notebook: Notebook) -> Iterator[None]:
    notebook.run(i="import math\nimport json", u="p = math.pi > 3", v="j = json.dumps(1)")
    yield
    notebook.run(i="import math\nimport json\nimport re")
    yield
    notebook.run(i="import math\nimport not_a_module_at_all", w="r = 1")
    yield
    notebook.run(i="import math")
    yield


def setup_cell(notebook: Notebook) -> Iterator[None]:
    notebook.run(setup="base = 1", a="x = base")
    yield
    notebook.run(setup="base = x")
    yield
    notebook.run(setup="base = 4")
    yield


def asynchronous(notebook: Notebook) -> Iterator[None]:
    notebook.run(i="import asyncio", a="await asyncio.sleep(0)\nx = 1", b="y = x + 1")
    yield
    notebook.run(a="x = await asyncio.sleep(0, result=4)\nx")
    yield
    notebook.run(a="await asyncio.sleep(0)\nraise ValueError('no')")
    yield


def temporaries(notebook: Notebook) -> Iterator[None]:
    notebook.run(a="_x = 1\n_y = 2\ndef f():\n    return _x\nf()", b="g = f()", c="_x = 3\nclass K:\n    pass")
    yield
    notebook.run(a="_x = 5\ndef f():\n    return _x", d="_x")
    yield
    notebook.run(a="def f():\n    return 7")
    yield


def printing(notebook: Notebook) -> Iterator[None]:
    notebook.run(a="print('one')\nimport sys\nprint('two', file=sys.stderr)", b="print('\\u00e9')\n'shown';")
    yield
    notebook.run(b="{'a': [1, 2]}", c="'text; with semicolon'", d="x = 'a;'\nx # ;")
    yield


def figures(notebook: Notebook) -> Iterator[None]:
    notebook.run(
        i=(
            "import matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\n"
            "import marimo._output.mpl\n"
            "from marimo._runtime.context.types import get_global_context\n"
            "get_global_context().set_mpl_installed(True)"
        ),
        a="figure = plt.figure()\nopen_now = len(plt.get_fignums())",
        b="open_later = len(plt.get_fignums()) + 0 * open_now",
    )
    yield
    notebook.run(a="figure = plt.figure()\nplt.figure()\nopen_now = len(plt.get_fignums())")
    yield
    assert notebook.kernel.globals["open_now"] == 2


def reordered(notebook: Notebook) -> Iterator[None]:
    notebook.run(a="x = 1", b="y = x", c="z = x", e="left_out")
    notebook.kernel.graph.topology.reorder_nodes(["c", "b", "a"])
    yield
    notebook.run(a="x = 2", d="w = x", f="left_out = 1")
    yield


def scratch(notebook: Notebook) -> Iterator[None]:
    notebook.run(a="x = 1")
    notebook.loop.run(notebook.kernel.run_scratchpad("print(x)\nx + 1"))
    yield
    notebook.loop.run(notebook.kernel.run_scratchpad("x +"))
    yield


def many(notebook: Notebook) -> Iterator[None]:
    notebook.run(r="x = 1", **{f"c{n}": f"v{n} = x + {n}" for n in range(30)})
    yield
    notebook.run(r="x = 2")
    yield
    notebook.run(**{f"c{n}": f"v{n} = v{n - 1} + x" for n in range(1, 30)})
    yield
    notebook.run(c0="v0 = 0", r="x = 1 / 0")
    yield
    notebook.run_stale()
    yield


def sql(notebook: Notebook) -> Iterator[None]:
    notebook.run(
        m="import marimo as mo",
        t="_made = mo.sql('create or replace table people as select 1 as age', output=False)",
        q="found = mo.sql('select age from people', output=False)",
        n="rows = len(found)",
    )
    yield
    notebook.run(t="_made = mo.sql('create or replace table people as select 2 as age', output=False)")
    yield
    notebook.run(q="found = mo.sql('select nothing from people', output=False)")
    yield
    notebook.delete("t")
    yield


BATTERY: Sequence[Script] = (
    diamond,
    registered_backwards,
    failing,
    cycles,
    defined_twice,
    deleted_names,
    deletion,
    disabling,
    disabled_in_a_cycle,
    states,
    elements,
    import_blocks,
    setup_cell,
    asynchronous,
    temporaries,
    printing,
    figures,
    reordered,
    scratch,
    many,
    sql,
)
MODES = ("autorun", "lazy")


@functools.cache
def play_stock(script: Script, mode: str = "autorun") -> Told:
    swap.remove()
    return play(script, mode=mode)


def _named(script: Script) -> str:
    return cast(Any, script).__name__


# Each script in one mode every time, the modes in turns, and in the other mode among the slow ones.
each_script = pytest.mark.parametrize(
    ("script", "mode"),
    [
        pytest.param(script, mode, id=f"{_named(script)}-{mode}", marks=[pytest.mark.slow] if other else [])
        for place, script in enumerate(BATTERY)
        for other, mode in enumerate(MODES[:: 1 if place % 2 else -1])
    ],
)


@pytest.mark.sampled(11)
@each_script
def test_a_patched_kernel_computes_and_tells_what_a_stock_one_does(script: Script, mode: str) -> None:
    stock = play_stock(script, mode)
    assert all(isinstance(outcome, swap.PatchApplied) for outcome in swap.apply())
    assert play(script, mode=mode) == stock


@pytest.mark.slow
@pytest.mark.sampled(5)
@each_script
def test_an_unwatched_kernel_with_lean_hooks_computes_the_same_and_tells_nothing(script: Script, mode: str) -> None:
    stock = play_stock(script, mode)
    swap.apply()
    audience.is_watching = False
    unwatched = play(script, mode=mode, is_lean=True)
    assert unwatched.snapshots == stock.snapshots
    assert unwatched.console == stock.console
    assert unwatched.notifications == {}


@pytest.mark.slow
@pytest.mark.parametrize("patch", swap.PATCHES, ids=str)
def test_each_patch_alone_changes_nothing_that_can_be_seen(patch: str) -> None:
    scripts = (failing, disabling, cycles, states, elements)
    stock = [play_stock(script) for script in scripts]
    outcomes = swap.apply(frozenset(swap.PATCHES) - {patch})
    assert [o.name for o in outcomes if isinstance(o, swap.PatchApplied)] == [patch]
    assert [play(script) for script in scripts] == stock


def test_a_kernel_watched_halfway_tells_from_then_on() -> None:
    def script(notebook: Notebook) -> Iterator[None]:
        audience.is_watching = False
        notebook.run(a="x = 1")
        audience.is_watching = True
        notebook.run(a="x = 2")
        yield

    swap.apply()
    told = play(script).notifications
    assert [cast(Any, message)["phase"] for message in told["a"] if cast(Any, message)["op"] == "execution"] == [
        "planned",
        "running",
        "completed",
    ]


# ── random notebooks, random edits ──

_CELLS = [f"c{n}" for n in range(5)]
_NAMES = ["x", "y", "z", "w"]
_cell = st.sampled_from(_CELLS)
_name = st.sampled_from(_NAMES)
_code = st.one_of(
    st.builds("{} = 1".format, _name),
    st.builds("{} = {} + 1".format, _name, _name),
    st.builds("{} = {}\n_t = {}".format, _name, _name, _name),
    st.builds("{} = {} = {}".format, _name, _name, _name),
    st.builds("{} / 0".format, _name),
    st.builds("del {}".format, _name),
    st.builds("import math as {}".format, _name),
    st.builds("import asyncio as _a\nawait _a.sleep(0)\n{} = 2".format, _name),
    st.builds("def {}():\n    return {}".format, _name, _name),
    st.sampled_from(["", "1 +", "# nothing", "raise KeyboardInterrupt", "5;"]),
)
_edit = st.one_of(
    st.tuples(st.just("run"), st.dictionaries(_cell, _code, min_size=1, max_size=4)),
    st.tuples(st.just("delete"), _cell),
    st.tuples(st.just("disable"), st.tuples(_cell, st.booleans())),
    st.tuples(st.just("run_stale"), st.none()),
)


def _edited(edits: list[tuple[str, Any]]) -> Script:
    def script(notebook: Notebook) -> Iterator[None]:
        for kind, what in edits:
            match kind:
                case "run":
                    notebook.run(**what)
                case "delete":
                    notebook.delete(what)
                case "disable":
                    notebook.disable(*what)
                case _:
                    notebook.run_stale()
            yield

    return script


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(_edit, min_size=1, max_size=8), mode=st.sampled_from(MODES), watched=st.booleans())
def test_random_edits_leave_patched_and_stock_kernels_alike(
    edits: list[tuple[str, Any]], mode: str, watched: bool
) -> None:
    swap.remove()
    audience.is_watching = True
    stock = play(_edited(edits), mode=mode)
    swap.apply()
    audience.is_watching = watched
    patched = play(_edited(edits), mode=mode, is_lean=not watched)
    assert patched.snapshots == stock.snapshots
    assert patched.console == stock.console
    assert patched.notifications == (stock.notifications if watched else {})


# ── in, out, and not at all ──


def _all_functions() -> dict[str, object]:
    return {
        f"{name}.{attribute}": value
        for name, module in list(sys.modules.items())
        if name.startswith("marimo.")
        for attribute, value in vars(module).items()
        if callable(value) or attribute.endswith("_HOOKS")
    }


def test_removing_the_patches_gives_marimo_every_function_back() -> None:
    swap.apply()
    swap.remove()
    before = {name: list(v) if isinstance(v, list) else v for name, v in _all_functions().items()}
    stock_method = MutableGraphTopology.add_node
    swap.apply()
    assert MutableGraphTopology.add_node is not stock_method
    swap.remove()
    assert MutableGraphTopology.add_node is stock_method
    assert _all_functions() == before


def test_applying_twice_changes_nothing_and_a_disabled_patch_is_taken_out() -> None:
    first = swap.apply()
    assert swap.apply() == first
    again = swap.apply(frozenset({"spans"}))
    assert again[1] == swap.PatchNotApplied(name="spans", reason="switched off")
    assert [type(outcome).__name__ for outcome in again].count("PatchApplied") == len(swap.PATCHES) - 1
    assert play(diamond) == play(diamond)


def test_a_function_marimo_changed_is_left_alone_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def add_node(self: MutableGraphTopology, cell_id: CellId_t, cell: CellImpl, position: int = 0) -> None: ...

    monkeypatch.setattr(MutableGraphTopology, "add_node", add_node)
    outcome = {outcome.name: outcome for outcome in swap.apply()}["graph-index"]
    assert isinstance(outcome, swap.PatchNotApplied)
    assert outcome.reason.startswith("MutableGraphTopology.add_node has changed")
    assert MutableGraphTopology.add_node is add_node


def test_a_function_marimo_lost_spoils_one_patch_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(MutableGraphTopology, "get_path")
    outcomes = swap.apply()
    assert [o for o in outcomes if isinstance(o, swap.PatchNotApplied)] == [
        swap.PatchNotApplied(name="graph-walks", reason="MutableGraphTopology.get_path is gone")
    ]


def test_a_patch_whose_module_cannot_be_imported_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap, "PATCHES", ("no-such-patch",))
    (outcome,) = swap.apply()
    reason = "No module named 'cellwright_guest.patches.no_such_patch'"
    assert outcome == swap.PatchNotApplied(name="no-such-patch", reason=reason)


def test_an_index_made_before_the_patches_were_taken_out_is_not_believed_after() -> None:
    def script(notebook: Notebook) -> Iterator[None]:
        notebook.run(a="x = 1", b="y = x")
        swap.remove()
        notebook.delete("b")
        notebook.run(c="z = x")
        swap.apply()
        notebook.run(d="x")
        yield
        assert notebook.kernel.graph.get_referring_cells("x", "python") == {"c", "d"}

    swap.apply()
    play(script)


def test_a_swap_names_its_target() -> None:
    swap = Swap(owner=MutableGraphTopology, name="add_node", fingerprint="", ours=print)
    assert swap.target == "MutableGraphTopology.add_node"


def test_the_lean_hooks_are_marimos_less_those_that_only_tell() -> None:
    def names(hooks: Any) -> set[str]:
        return {entry.hook.__name__ for listed in hooks._lists.values() for entry in listed._entries}

    every, lean = names(hooks(is_watched=True)), names(hooks(is_watched=False))
    assert every - lean == ONLY_FOR_AN_EDITOR
    assert lean < every


def test_a_stream_of_its_own_is_told_even_when_nobody_watches() -> None:
    def script(notebook: Notebook) -> Iterator[None]:
        notebook.run(a="x = 1")
        cell = notebook.kernel.graph.cells["a"]
        cell.set_stale(True, stream=other)
        cell.set_runtime_state("idle", stream=other)
        yield

    other = _Notifications()
    swap.apply()
    audience.is_watching = False
    assert play(script).notifications == {}
    assert [message["op"] for message in other.sent] == ["cell-op", "cell-op"]


def test_every_module_to_warm_exists_in_this_marimo() -> None:
    assert warm(with_pandas=True) == ()
