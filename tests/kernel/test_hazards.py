"""May a kernel be forked? The judgement on facts, whatever they say, and on a real caged kernel."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.kernel.branches.hazards import Safe, SafeAfter, Unsafe, judge_fork
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright_guest.report_wire import (
    MOST_LISTED,
    ChildProcess,
    DatabaseFile,
    HazardFacts,
    NativeThreads,
    OpenMpRuntime,
    PythonThread,
    SharedMapping,
)

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


def _native(owner: str, name: str = "python", count: int = 1) -> NativeThreads:
    return NativeThreads(owner=owner, name=name, count=count)


def _threads(*names: str) -> list[PythonThread]:
    return [PythonThread(name=name, kind="threading.Thread") for name in names]


_TQDM_LOCK = SharedMapping(path="/dev/shm/sem.mp-1x", is_deleted=True, owner="tqdm")
_TQDM_WATCH = PythonThread(name="Thread-1", kind="tqdm._monitor.TMonitor")

_HARMLESS = {
    "nothing": HazardFacts(),
    "BLAS and Arrow": HazardFacts(
        native_threads=[_native("libscipy_openblas64_"), _native("libarrow", count=4)], libraries=["pyarrow"]
    ),
    "DuckDB in memory": HazardFacts(native_threads=[_native("_duckdb", count=8)], libraries=["duckdb"]),
    "polars, imported only": HazardFacts(
        native_threads=[
            _native("_polars_runtime", "jemalloc_bg_thd", 2),
            _native("libpython3.11", "jemalloc_bg_thd", 1),
            _native("_polars_runtime", "polars-ooc-clea"),
        ]
    ),
    "sockets and empty pipes": HazardFacts(sockets=3, pipes=2),
    "a tqdm bar": HazardFacts(python_threads=[_TQDM_WATCH], shared_mappings=[_TQDM_LOCK], libraries=["tqdm"]),
    "torch on the processor": HazardFacts(libraries=["torch"]),
}


@pytest.mark.parametrize("facts", _HARMLESS.values(), ids=_HARMLESS.keys())
def test_what_is_known_to_survive_a_fork_is_safe(facts: HazardFacts) -> None:
    assert judge_fork(facts) == Safe()


def test_openmp_is_safe_once_it_is_paused() -> None:
    facts = HazardFacts(
        native_threads=[_native("libgomp"), _native("libarrow")],
        openmp=[OpenMpRuntime(library="libgomp", is_pausable=True), OpenMpRuntime(library="libomp", is_pausable=True)],
    )
    assert judge_fork(facts) == SafeAfter(steps=("pause OpenMP: libgomp, libomp",))


_HARMFUL: list[tuple[HazardFacts, list[str]]] = [
    (HazardFacts(python_threads=_threads("worker-0", "worker-1")), ["2 Python threads: worker-0, worker-1"]),
    (HazardFacts(python_threads=_threads(*"abcde")), ["5 Python threads: a, b, c and 2 more"]),
    (HazardFacts(native_threads=[_native("_polars_runtime", "polars-0", 2)]), ["polars has a thread pool running"]),
    (HazardFacts(native_threads=[_native("libtorch_cpu", count=2)]), ["libtorch_cpu has 2 threads running"]),
    (HazardFacts(native_threads=[_native("unknown")]), ["1 thread of a library that could not be told"]),
    (
        HazardFacts(
            native_threads=[_native("libomp", count=3)], openmp=[OpenMpRuntime(library="libomp", is_pausable=False)]
        ),
        ["OpenMP (libomp) has 3 threads that cannot be paused"],
    ),
    (HazardFacts(children=[ChildProcess(pid=7, name="sleep")]), ["a child process: sleep"]),
    (
        HazardFacts(children=[ChildProcess(pid=7, name="sleep"), ChildProcess(pid=8, name="cat")]),
        ["2 child processes: sleep, cat"],
    ),
    (HazardFacts(pools=["loky"]), ["a pool of processes stands: loky"]),
    (
        HazardFacts(shared_mappings=[SharedMapping(path="/dev/shm/x")]),
        ["memory shared with other processes: /dev/shm/x"],
    ),
    (
        HazardFacts(shared_mappings=[SharedMapping(path="/dev/shm/sem.mp-2", is_deleted=True)], libraries=["tqdm"]),
        ["memory shared with other processes: /dev/shm/sem.mp-2"],
    ),
    (
        HazardFacts(
            databases=[
                DatabaseFile(engine="sqlite", path="data.db", has_journal=False),
                DatabaseFile(engine="duckdb", path="b.duckdb", has_journal=True),
            ]
        ),
        [
            "an open SQLite database file: data.db",
            "an open DuckDB database file: b.duckdb (a journal lies beside it)",
        ],
    ),
    (HazardFacts(tasks=3, timers=2), ["3 unfinished asyncio tasks"]),
    (HazardFacts(timers=1), ["1 asyncio timer waiting"]),
    (HazardFacts(readers=1), ["asyncio watches 1 descriptor for the notebook"]),
    (HazardFacts(anonymous={"inotify": 1}), ["a watch on files (inotify)"]),
    (HazardFacts(anonymous={"odd": 1}), ["a special descriptor: odd"]),
    (HazardFacts(pipes=2, unread_pipes=1), ["1 pipe with bytes that nobody has read"]),
    (HazardFacts(devices=["/dev/nvidia0"]), ["an open device: /dev/nvidia0"]),
    (HazardFacts(libraries=["jax"]), ["jax is loaded, which does not work in a fork"]),
    (HazardFacts(libraries=["torch"], is_cuda_initialised=True), ["torch uses a graphics card (CUDA)"]),
    (HazardFacts(unseen=["threads"]), ["the kernel could not look at its own threads"]),
    (HazardFacts(children=[ChildProcess(pid=1, name=f"\x1b\n{'x' * 99}")]), [f"a child process: ��{'x' * 58}…"]),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "reasons"), _HARMFUL, ids=[reasons[0][:40] for _, reasons in _HARMFUL])
def test_a_hazard_is_named_in_words(facts: HazardFacts, reasons: list[str]) -> None:
    assert judge_fork(facts) == Unsafe(reasons=tuple(reasons))


def test_a_hazard_is_unsafe_although_openmp_could_be_paused() -> None:
    facts = HazardFacts(openmp=[OpenMpRuntime(library="libgomp", is_pausable=True)], tasks=1)
    assert judge_fork(facts) == Unsafe(reasons=("1 unfinished asyncio task",))


def test_a_list_that_may_have_been_cut_is_not_counted_exactly() -> None:
    verdict = judge_fork(HazardFacts(python_threads=_threads(*(str(number) for number in range(MOST_LISTED)))))
    assert isinstance(verdict, Unsafe)
    assert verdict.reasons == (f"{MOST_LISTED} or more Python threads: 0, 1, 2 and 197 more",)


_text = st.text(max_size=400)
_count = st.integers(-(1 << 63), (1 << 64) - 1)
_kinds = st.sampled_from(["libgomp", "polars", "unknown", "_duckdb", "eventpoll", "jax", "tqdm", "sqlite"]) | _text
_facts = st.fixed_dictionaries(
    {},
    optional={
        "python_threads": st.lists(st.fixed_dictionaries({"name": _text, "kind": _text})),
        "native_threads": st.lists(st.fixed_dictionaries({"owner": _kinds, "name": _text, "count": _count})),
        "children": st.lists(st.fixed_dictionaries({"pid": _count, "name": _text})),
        "shared_mappings": st.lists(
            st.fixed_dictionaries({"path": _text, "is_deleted": st.booleans(), "owner": _kinds})
        ),
        "sockets": _count,
        "unread_pipes": _count,
        "databases": st.lists(
            st.fixed_dictionaries({"engine": _kinds, "path": _text, "has_journal": st.booleans()})
        ),
        "anonymous": st.dictionaries(_kinds, _count),
        "devices": st.lists(_text),
        "tasks": _count,
        "timers": _count,
        "readers": _count,
        "libraries": st.lists(_kinds),
        "pools": st.lists(_text),
        "openmp": st.lists(st.fixed_dictionaries({"library": _kinds, "is_pausable": st.booleans()})),
        "unseen": st.lists(_text),
    },
)  # fmt: skip


@given(said=_facts)
def test_whatever_a_hostile_kernel_says_the_words_stay_few_short_and_printable(said: dict[str, Any]) -> None:
    verdict = judge_fork(msgspec.msgpack.decode(msgspec.msgpack.encode(said), type=HazardFacts))
    match verdict:
        case Safe():
            texts: tuple[str, ...] = ()
        case SafeAfter(steps=texts):
            assert texts
        case Unsafe(reasons=texts):
            assert texts
    assert len(texts) <= 12
    assert all(text.isprintable() and len(text) <= 600 for text in texts)


def test_a_thousand_hazards_make_a_dozen_reasons() -> None:
    facts = HazardFacts(native_threads=[_native(f"lib{number}") for number in range(1_000)])
    verdict = judge_fork(facts)
    assert isinstance(verdict, Unsafe)
    assert len(verdict.reasons) == 12
    assert verdict.reasons[-1] == "and 989 more reasons"


_SURVEY = """
import asyncio, os, msgspec
from cellwright_guest.forks.hazard_survey import survey

def is_console(number):
    try:
        return os.path.sameopenfile(1, number)
    except OSError:
        return False

def look(*needs):
    facts = survey(asyncio.get_running_loop(), own=[number for number in range(64) if is_console(number)])
    return msgspec.to_builtins(facts)
"""


async def _surveyed(notebook: OpenNotebook) -> HazardFacts:
    observation = await notebook.run("all")
    assert [cell.status for cell in observation.cells] == ["ok"] * len(observation.cells)
    said = (await notebook.values(["said"]))["said"]
    return msgspec.convert(said.json, type=HazardFacts)


@pytest.mark.slow
async def test_a_caged_kernel_knows_whose_threads_it_has_and_may_be_forked_with_those(opened: Opener) -> None:
    used = (
        "import io, numpy, pyarrow, pyarrow.csv\n"
        "pyarrow.set_cpu_count(2)\n"
        "table = pyarrow.csv.read_csv(io.BytesIO(b'a,b\\n' + b'1,2\\n' * 100_000))\n"
        "product = numpy.ones((1500, 1500)) @ numpy.ones((1500, 1500))"
    )
    async with opened(_SURVEY, used, "said = look(table, product)") as notebook:
        facts = await _surveyed(notebook)
    assert facts.unseen == []
    owners = {threads.owner for threads in facts.native_threads}
    assert "libarrow" in owners
    assert owners <= {"libarrow", "libscipy_openblas64_"}
    assert judge_fork(facts) == Safe()


async def test_a_caged_kernel_with_a_background_task_and_a_process_may_not(opened: Opener) -> None:
    started = (
        "import subprocess\nwaiting = asyncio.create_task(asyncio.Event().wait())\n"
        "process = subprocess.Popen(['sleep', '1000'])"
    )
    async with opened(_SURVEY, started, "said = look(process)") as notebook:
        verdict = judge_fork(await _surveyed(notebook))
    assert verdict == Unsafe(reasons=("a child process: sleep", "1 unfinished asyncio task"))
