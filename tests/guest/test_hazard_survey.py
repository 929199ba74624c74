"""What a process sees of itself before a fork, and what works in the child: real libraries in real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec
import pytest
from dirty_equals import IsPartialDict

from cellwright.kernel.branches.hazards import Safe, SafeAfter, Unsafe, Verdict, judge_fork
from cellwright_guest.report_wire import HazardFacts, PythonThread
from tests.sampling import some

_SECONDS = 280
_TWO_THREADS = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "POLARS_MAX_THREADS": "2"}

_BEFORE = """
import asyncio, json, os, random, signal, sys
import msgspec
from cellwright_guest.forks.hazard_survey import quiesce, settle_child, survey

signal.alarm(240)
_say = os.dup(1)
_loop = asyncio.new_event_loop()

def tell(own=(), children=(), **more):
    facts = survey(_loop, own={_say, *own}, children=children)
    os.write(_say, msgspec.json.encode({"facts": facts, **more}) + b"\\n")
"""


def _run(code: str, folder: Path) -> list[dict[str, Any]]:
    """What the code told, each time it called `tell`."""
    script = folder / "used.py"
    script.write_text(_BEFORE + dedent(code))
    ended = subprocess.run(
        [sys.executable, "-B", str(script)],
        cwd=folder,
        env={**os.environ, **_TWO_THREADS, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def _survey(code: str, folder: Path) -> HazardFacts:
    [told] = _run(code, folder)
    return msgspec.convert(told["facts"], type=HazardFacts)


def _owners(facts: HazardFacts) -> set[str]:
    return {threads.owner for threads in facts.native_threads}


# ── threads ──


def test_a_process_that_holds_nothing_tells_nothing(tmp_path: Path) -> None:
    facts = _survey("tell()", tmp_path)
    assert facts == HazardFacts()


_LIBRARIES = {
    "numpy": (
        "import numpy\nm = numpy.ones((1200, 1200))\n(m @ m).sum()\ntell()",
        {"libscipy_openblas64_"},
        Safe(),
    ),
    "pandas": (
        """
        import io, pandas, pyarrow
        pyarrow.set_cpu_count(2)
        pandas.read_csv(io.StringIO("a,b\\n" + "1,2\\n" * 100_000), engine="pyarrow").groupby("a").sum()
        tell()
        """,
        {"libarrow", "libscipy_openblas64_"},
        Safe(),
    ),
    "pyarrow": (
        """
        import pyarrow, pyarrow.parquet
        pyarrow.set_cpu_count(2)
        pyarrow.parquet.write_table(pyarrow.table({"a": list(range(100_000)), "b": ["x"] * 100_000}), "t.parquet")
        pyarrow.parquet.read_table("t.parquet").group_by("b").aggregate([("a", "sum")])
        tell()
        """,
        {"libarrow", "libscipy_openblas64_"},
        Safe(),
    ),
    "duckdb in memory": (
        """
        import duckdb
        connection = duckdb.connect(config={"threads": 3})
        connection.sql("select sum(i) from range(3000000) t(i)").fetchall()
        tell()
        """,
        {"_duckdb"},
        Safe(),
    ),
    "polars, imported only": ("import polars\ntell()", {"_polars_runtime"}, Safe()),
    "polars, a lazy query": (
        """
        import polars
        polars.LazyFrame({"a": list(range(100_000))}).select(polars.col("a").sum()).sort("a").collect()
        tell()
        """,
        {"_polars_runtime"},
        Unsafe(reasons=("polars has a thread pool running",)),
    ),
}


@pytest.mark.slow
@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", _LIBRARIES)
def test_threads_are_told_by_the_library_they_belong_to(name: str, tmp_path: Path) -> None:
    code, owners, verdict = _LIBRARIES[name]
    facts = _survey(code, tmp_path)
    assert _owners(facts) == owners
    assert _without_descriptors(judge_fork(facts)) == verdict


def _without_descriptors(verdict: Verdict) -> Verdict:
    """A thread pool may hold descriptors of its own to wait with; these tests are about the threads."""
    if isinstance(verdict, Unsafe):
        return Unsafe(reasons=tuple(reason for reason in verdict.reasons if "thread" in reason))
    return verdict


_BOOSTING = """
import numpy
from sklearn.ensemble import HistGradientBoostingClassifier
def work():
    rows = numpy.random.default_rng(0).random((3000, 4))
    model = HistGradientBoostingClassifier(max_iter=3, random_state=0)
    return model.fit(rows, numpy.arange(3000) % 2).predict_proba(rows)[:, 0].tolist()
"""
_CLUSTERS = """
import numpy
from sklearn.cluster import KMeans
def work():
    rows = numpy.random.default_rng(0).random((3000, 4))
    return KMeans(3, n_init=1, random_state=0).fit(rows).labels_.tolist()
"""


@pytest.mark.slow
@pytest.mark.parametrize("code", some([_CLUSTERS, _BOOSTING], 1), ids=["KMeans", "HistGradientBoosting"])
def test_openmp_threads_are_gone_once_quiet_and_come_back_with_the_next_work(code: str, tmp_path: Path) -> None:
    steps = "work(); tell(); done = quiesce(); tell(done=done); work(); tell()"
    before, quiet, after = _run(f"{code}\n{steps}", tmp_path)
    used, paused, again = (
        msgspec.convert(told["facts"], type=HazardFacts) for told in (before, quiet, after)
    )  # fmt: skip
    assert "libgomp" in _owners(used)
    assert judge_fork(used) == SafeAfter(steps=("pause OpenMP: libgomp",))
    assert quiet["done"] == ["paused OpenMP (libgomp)"]
    assert "libgomp" not in _owners(paused)
    assert "libgomp" in _owners(again)


def test_python_threads_are_told_by_name(tmp_path: Path) -> None:
    facts = _survey(
        """
        import threading
        from concurrent.futures import ThreadPoolExecutor
        stop = threading.Event()
        threading.Thread(target=stop.wait, name="worker-0").start()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(abs, 1).result()
            tell()
            stop.set()
        """,
        tmp_path,
    )
    assert facts.python_threads == [
        PythonThread(name="worker-0", kind="threading.Thread"),
        PythonThread(name="ThreadPoolExecutor-0_0", kind="threading.Thread"),
    ]
    assert facts.native_threads == []
    assert judge_fork(facts) == Unsafe(reasons=("2 Python threads: worker-0, ThreadPoolExecutor-0_0",))


def test_a_thread_that_threading_does_not_know_is_pythons(tmp_path: Path) -> None:
    facts = _survey(
        """
        import _thread
        begun, stop = _thread.allocate_lock(), _thread.allocate_lock()
        begun.acquire(); stop.acquire()
        def wait():
            begun.release()
            stop.acquire()
        _thread.start_new_thread(wait, ())
        begun.acquire()
        tell()
        """,
        tmp_path,
    )
    [owner] = _owners(facts)
    assert "python" in owner
    assert judge_fork(facts) == Unsafe(reasons=(f"{owner} has 1 thread running",))


# ── processes ──


def test_children_are_told_and_our_own_are_not(tmp_path: Path) -> None:
    told = _run(
        """
        import subprocess
        running = subprocess.Popen(["sleep", "1000"])
        ended = subprocess.Popen(["true"])
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        tell()
        tell(children=[running.pid])
        running.kill(); running.wait(); ended.wait()
        """,
        tmp_path,
    )
    both, one = (msgspec.convert(each["facts"], type=HazardFacts) for each in told)
    assert [child.name for child in both.children] == ["sleep", "true"]
    assert one.children == both.children[1:]
    assert judge_fork(one) == Unsafe(reasons=("a child process: true",))


def test_a_pool_of_processes_is_seen_with_its_threads_and_workers(tmp_path: Path) -> None:
    facts = _survey(
        """
        import multiprocessing
        with multiprocessing.Pool(2) as pool:
            pool.map(abs, [1, 2])
            tell()
        """,
        tmp_path,
    )
    assert facts.pools == ["multiprocessing"]
    assert len(facts.children) == 2
    assert len(facts.python_threads) == 3
    assert isinstance(judge_fork(facts), Unsafe)


@pytest.mark.slow
def test_lokys_pool_is_seen(tmp_path: Path) -> None:
    facts = _survey(
        """
        import joblib
        from joblib.externals.loky import get_reusable_executor
        joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(number) for number in range(4))
        tell()
        get_reusable_executor().shutdown(wait=True, kill_workers=True)
        """,
        tmp_path,
    )
    assert "loky" in facts.pools
    assert facts.children
    assert isinstance(judge_fork(facts), Unsafe)


# ── databases and files ──


_SQLITE = {
    "connected to a new file": ("connection = sqlite3.connect('d.db')\ntell()", [("d.db", False)]),
    "committed": ("connection = made()\ntell()", [("d.db", False)]),
    "in a transaction": (
        "connection = made()\nconnection.execute('insert into t values (1)')\ntell()",
        [("d.db", True)],
    ),
    "creating its first table": (
        "connection = sqlite3.connect('d.db', isolation_level=None)\n"
        "connection.execute('begin')\nconnection.execute('create table t (a)')\ntell()",
        [("d.db", True)],
    ),
    "closed": ("connection = made()\nconnection.close()\ntell()", []),
    "in memory": ("connection = sqlite3.connect(':memory:')\nconnection.execute('create table t (a)')\ntell()", []),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", _SQLITE)
def test_an_open_sqlite_file_is_told_with_its_journal(name: str, tmp_path: Path) -> None:
    code, expected = _SQLITE[name]
    made = """
import sqlite3
def made():
    connection = sqlite3.connect("d.db")
    connection.execute("create table t (a)")
    connection.commit()
    return connection
"""
    facts = _survey(made + code, tmp_path)
    assert [(Path(each.path).name, each.has_journal) for each in facts.databases] == expected
    assert {each.engine for each in facts.databases} <= {"sqlite"}
    assert isinstance(judge_fork(facts), Unsafe) == bool(expected)


def test_a_write_ahead_log_and_its_shared_memory_are_seen(tmp_path: Path) -> None:
    facts = _survey(
        """
        import sqlite3
        connection = sqlite3.connect("d.db")
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table t (a)")
        connection.commit()
        tell()
        """,
        tmp_path,
    )
    assert [(each.engine, each.has_journal) for each in facts.databases] == [("sqlite", True)]
    assert [Path(mapping.path).name for mapping in facts.shared_mappings] == ["d.db-shm"]


def test_a_duckdb_file_is_told_and_not_once_it_is_closed(tmp_path: Path) -> None:
    told = _run(
        """
        import duckdb
        connection = duckdb.connect("d.duckdb")
        connection.execute("create table t as select 1 as a")
        connection.execute("checkpoint")
        tell()
        connection.close()
        tell()
        """,
        tmp_path,
    )
    opened, closed = (msgspec.convert(each["facts"], type=HazardFacts) for each in told)
    assert [(each.engine, each.path) for each in opened.databases] == [("duckdb", str(tmp_path / "d.duckdb"))]
    assert isinstance(judge_fork(opened), Unsafe)
    assert judge_fork(closed) == Safe()


def test_open_files_and_a_name_that_is_no_text_do_no_harm(tmp_path: Path) -> None:
    facts = _survey(
        """
        import tempfile
        read = open("used.py")
        written = open("out.txt", "w")
        odd = open(b"odd-\\xff", "w")
        import sqlite3
        named = tempfile.NamedTemporaryFile(dir=".")
        nameless = tempfile.TemporaryFile()
        tell()
        """,
        tmp_path,
    )
    assert facts.databases == []
    assert judge_fork(facts) == Safe()


def test_descriptors_are_sorted_and_our_own_left_out(tmp_path: Path) -> None:
    facts = _survey(
        """
        import select, socket
        left, right = socket.socketpair()
        ours = socket.socket()
        empty, full = os.pipe(), os.pipe()
        os.write(full[1], b"x")
        held = [select.epoll(), open("/dev/urandom", "rb"), open("/dev/ptmx", "rb")]
        os.eventfd(0); os.memfd_create("m")
        folder = os.open(".", os.O_RDONLY)
        tell(own=[ours.fileno()])
        """,
        tmp_path,
    )
    assert msgspec.to_builtins(facts) == IsPartialDict(
        sockets=2,
        pipes=4,
        unread_pipes=2,
        anonymous={"eventpoll": 1, "eventfd": 1, "memfd": 1},
        devices=["/dev/ptmx"],
    )


# ── memory ──


def test_writable_shared_memory_is_told_and_memory_that_is_only_read_is_not(tmp_path: Path) -> None:
    facts = _survey(
        """
        import mmap, numpy
        numpy.save("a.npy", numpy.zeros(9))
        shared = numpy.load("a.npy", mmap_mode="r+")
        read = numpy.load("a.npy", mmap_mode="r")
        private = numpy.load("a.npy", mmap_mode="c")
        nameless = mmap.mmap(-1, mmap.PAGESIZE)
        tell()
        """,
        tmp_path,
    )
    assert {Path(mapping.path).name for mapping in facts.shared_mappings} == {"a.npy", "zero"}
    assert len(facts.shared_mappings) == 2
    assert isinstance(judge_fork(facts), Unsafe)


_TQDM = """
import multiprocessing, threading

class TqdmDefaultWriteLock:
    th_lock = threading.RLock()

    def __init__(self):
        cls = type(self)
        cls.mp_lock = multiprocessing.RLock()
        self.locks = [cls.mp_lock, cls.th_lock]

    def __enter__(self):
        for lock in self.locks:
            lock.acquire()

    def __exit__(self, *exc):
        for lock in self.locks[::-1]:
            lock.release()

class tqdm:
    monitor = None
    _lock = TqdmDefaultWriteLock()
"""
"""The parts of tqdm's own `std.py` that a fork touches, as they stand in it; tqdm is not among what we install."""


def test_tqdms_lock_is_known_as_its_own_and_renewed_in_a_child(tmp_path: Path) -> None:
    package = tmp_path / "tqdm"
    package.mkdir()
    (package / "__init__.py").write_text("from tqdm.std import tqdm")
    (package / "std.py").write_text(_TQDM)
    told = _run(
        """
        import tqdm, threading
        tell()
        held, stop = threading.Event(), threading.Event()
        def hold():
            with tqdm.tqdm._lock:
                held.set()
                stop.wait()
        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        state = random.getstate()
        child = os.fork()
        if child == 0:
            signal.alarm(200)
            settle_child(state)
            with tqdm.tqdm._lock:
                tell()
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        stop.set()
        holder.join()
        os.write(_say, json.dumps({"status": status}).encode())
        """,
        tmp_path,
    )
    parent, child = (msgspec.convert(each["facts"], type=HazardFacts) for each in told[:2])
    assert told[2] == {"status": 0}
    for facts in (parent, child):
        assert [mapping.owner for mapping in facts.shared_mappings] == ["tqdm"]
        assert judge_fork(facts) == Safe()
    assert parent.shared_mappings != child.shared_mappings


# ── the event loop ──


def test_what_waits_in_the_event_loop_is_counted(tmp_path: Path) -> None:
    facts = _survey(
        """
        import socket
        async def start():
            waiting = [_loop.create_task(asyncio.Event().wait()), _loop.create_task(asyncio.sleep(1000))]
            done = _loop.create_task(asyncio.sleep(0))
            await done
            return waiting
        waiting = _loop.run_until_complete(start())
        _loop.call_later(1000, print).cancel()
        left, right = socket.socketpair()
        _loop.add_reader(left, print)
        tell()
        """,
        tmp_path,
    )
    assert (facts.tasks, facts.timers, facts.readers) == (2, 1, 1)
    assert judge_fork(facts) == Unsafe(
        reasons=("2 unfinished asyncio tasks", "asyncio watches 1 descriptor for the notebook")
    )


def test_what_cannot_be_looked_at_is_unsafe(tmp_path: Path) -> None:
    facts = _survey(
        """
        import resource
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, most))
        tell()
        """,
        tmp_path,
    )
    assert facts.unseen == ["memory", "threads", "descriptors", "children"]
    assert isinstance(judge_fork(facts), Unsafe)


# ── the fork itself ──


_FORKED = {
    "numpy": """
        import numpy
        def work():
            matrix = numpy.arange(250_000.0).reshape(500, 500) / 1e5
            return [float((matrix @ matrix).sum()), float(numpy.linalg.svd(matrix)[1][0])]
    """,
    "pandas": """
        import io, pandas
        def work():
            text = "a,b\\n" + "".join(f"{number % 7},{number}\\n" for number in range(50_000))
            frame = pandas.read_csv(io.StringIO(text), engine="pyarrow")
            return frame.merge(frame.groupby("a").mean(), on="a").sort_values("b_x").sum().tolist()
    """,
    "pyarrow": """
        import pyarrow, pyarrow.compute, pyarrow.parquet
        pyarrow.set_cpu_count(2)
        def work():
            table = pyarrow.table({"a": list(range(100_000)), "b": [str(number % 9) for number in range(100_000)]})
            pyarrow.parquet.write_table(table, f"{os.getpid()}.parquet")
            read = pyarrow.parquet.read_table(f"{os.getpid()}.parquet")
            return sorted(read.group_by("b").aggregate([("a", "sum")])["a_sum"].to_pylist())
    """,
    "HistGradientBoosting": _BOOSTING,
    "KMeans": _CLUSTERS,
    "RandomForest": """
        import numpy
        from sklearn.ensemble import RandomForestClassifier
        def work():
            rows = numpy.random.default_rng(0).random((500, 4))
            model = RandomForestClassifier(10, n_jobs=2, random_state=0)
            return model.fit(rows, numpy.arange(500) % 2).predict(rows).tolist()
    """,
    "duckdb in memory": """
        import duckdb
        connection = duckdb.connect(config={"threads": 3})
        connection.execute("create table t as select i, i % 1000 as k from range(500000) r(i)")
        def work():
            joined = "select k, sum(a.i) from t a join (select distinct k from t) b using (k) group by k order by k"
            windowed = "select max(n) from (select row_number() over (partition by k order by i) as n from t)"
            return [connection.sql(joined).fetchall(), connection.sql(windowed).fetchall()]
    """,
    "polars, imported only": """
        import polars
        def work():
            if os.getpid() == parent:
                return [sum(range(0, 100_000, 7))]
            frame = polars.LazyFrame({"a": list(range(100_000))})
            return [frame.filter(polars.col("a") % 7 == 0).select(polars.col("a").sum()).collect().item()]
    """,
}

_FORK = """
parent = os.getpid()
{work}
expected = work()
facts = survey(_loop, own={{_say}})
quiesce()
state = random.getstate()
read, write = os.pipe()
child = os.fork()
if child == 0:
    signal.alarm(200)
    settle_child(state)
    os.write(write, b"equal" if work() == expected else b"different")
    os._exit(0)
os.close(write)
said = os.read(read, 100).decode()
status = os.waitpid(child, 0)[1]
told = {{"facts": facts, "child": said, "status": status, "is_same_in_parent": work() == expected}}
os.write(_say, msgspec.json.encode(told))
"""


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", some(sorted(_FORKED, key=lambda name: name not in ("pandas", "pyarrow")), 2))
def test_what_is_called_safe_works_in_a_fork_and_leaves_the_parent_working(name: str, tmp_path: Path) -> None:
    [told] = _run(_FORK.format(work=dedent(_FORKED[name])), tmp_path)
    facts = told.pop("facts")
    assert told == {"child": "equal", "status": 0, "is_same_in_parent": True}
    assert isinstance(judge_fork(msgspec.convert(facts, type=HazardFacts)), Safe | SafeAfter)


def test_a_child_draws_the_random_numbers_that_the_parent_would_have_drawn(tmp_path: Path) -> None:
    told = _run(
        """
        import numpy.random
        def draw():
            drawn = [random.random(), float(numpy.random.random())]
            os.write(_say, json.dumps({"drawn": drawn}).encode() + b"\\n")
        state = random.getstate()
        child = os.fork()
        if child == 0:
            settle_child(state)
            draw()
            os._exit(0)
        os.waitpid(child, 0)
        draw()
        """,
        tmp_path,
    )
    assert len(told) == 2
    assert told[0] == told[1]
