"""May this kernel be forked? A pure judgement on what the guest found in its own process.

The table behind it is `tests/guest/test_hazard_survey.py`: what is called harmless here was forked there and worked.
What nobody has tried is unsafe. The facts come from the notebook's process, so every text and count is bounded and
cleaned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cellwright_guest.report_wire import MOST_LISTED, UNKNOWN, HazardFacts, NativeThreads, SharedMapping

_MOST_REASONS: Final = 12
_MOST_NAMED: Final = 3
_NAME_CHARS: Final = 60
_PATH_CHARS: Final = 120
_MOST_COUNTED: Final = 1_000_000

_ENGINES: Final = {"sqlite": "SQLite", "duckdb": "DuckDB", "lmdb": "LMDB"}
_NEVER_FORKED: Final = ("cupy", "jax", "mpi4py", "pyspark", "ray", "tensorflow")
_TQDM_WATCH: Final = "tqdm._monitor.TMonitor"
_OPENMP: Final = ("libgomp", "libomp", "libiomp5", "libiomp")
_DUCKDB: Final = ("_duckdb", "duckdb")
_JEMALLOC: Final = "jemalloc_bg_thd"
_ANONYMOUS: Final = {
    "eventpoll": "another event loop's epoll",
    "eventfd": "an event counter (eventfd)",
    "inotify": "a watch on files (inotify)",
    "memfd": "a file in memory (memfd)",
    "timerfd": "a timer (timerfd)",
    "signalfd": "a queue of signals (signalfd)",
    "io_uring": "an io_uring",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Safe:
    """A fork works as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeAfter:
    """A fork works once the guest has done this; it does so by itself before each fork."""

    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsafe:
    """A fork could hang, give wrong answers or change the parent."""

    reasons: tuple[str, ...]
    """Sentences for a person, at least one."""


Verdict = Safe | SafeAfter | Unsafe


def judge_fork(facts: HazardFacts) -> Verdict:
    """Whether to fork, with what preparation, or why not."""
    reasons = [*_from_threads(facts), *_from_processes(facts), *_from_descriptors(facts), *_from_libraries(facts)]
    if len(reasons) > _MOST_REASONS:
        reasons[_MOST_REASONS - 1 :] = [f"and {_number(len(reasons) - _MOST_REASONS + 1)} more reasons"]
    if reasons:
        return Unsafe(reasons=tuple(reasons))
    pausable = dict.fromkeys(_name(runtime.library) for runtime in facts.openmp if runtime.is_pausable)
    if pausable:
        return SafeAfter(steps=(f"pause OpenMP: {_listed(list(pausable))}",))
    return Safe()


def can_stay(facts: HazardFacts) -> bool:
    """Whether a fork may take the kernel's place, and not only be tried in and left.

    Not with connections, which are dead in it, nor with DuckDB's threads: when closed it waits for them, and dies.
    """
    return not facts.sockets and not facts.pipes and not any(each.owner in _DUCKDB for each in facts.native_threads)


def _from_threads(facts: HazardFacts) -> Iterator[str]:
    if facts.unseen:
        yield f"the kernel could not look at its own {_listed([_name(what) for what in facts.unseen])}"
    names = [_name(thread.name) for thread in facts.python_threads if thread.kind != _TQDM_WATCH]
    if names:
        yield f"{_several(len(names), 'Python thread')}: {_listed(names)}"
    counts: dict[str, int] = {}
    for threads in facts.native_threads:
        if not _survives_a_fork(threads, facts):
            counts[threads.owner] = counts.get(threads.owner, 0) + max(threads.count, 1)
    for owner, count in counts.items():
        if owner == UNKNOWN:
            yield f"{_several(count, 'thread')} of a library that could not be told"
        elif "polars" in owner:
            yield "polars has a thread pool running"
        elif owner in _OPENMP:
            yield f"OpenMP ({_name(owner)}) has {_several(count, 'thread')} that cannot be paused"
        else:
            yield f"{_name(owner)} has {_several(count, 'thread')} running"


def _survives_a_fork(threads: NativeThreads, facts: HazardFacts) -> bool:
    """Known by experiment: the library notices the fork, or its work goes on without these threads."""
    owner = threads.owner
    if owner in _OPENMP:
        return all(runtime.is_pausable for runtime in facts.openmp if runtime.library == owner) and bool(facts.openmp)
    if threads.name == _JEMALLOC:
        # It starts them anew in a fork, whichever library brought it; its stack may show whoever imported that.
        return True
    if "polars" in owner:
        # It comes with the import; the pool comes with the first query.
        return threads.name == "polars-ooc-clea"
    return "openblas" in owner or owner.startswith(("libarrow", "libparquet")) or owner in _DUCKDB


def _from_processes(facts: HazardFacts) -> Iterator[str]:
    names = [_name(child.name) for child in facts.children]
    if len(names) == 1:
        yield f"a child process: {names[0]}"
    elif names:
        yield f"{_several(len(names), 'child process', 'child processes')}: {_listed(names)}"
    if facts.pools:
        yield f"a pool of processes stands: {_listed([_name(pool) for pool in facts.pools])}"
    for database in facts.databases[:_MOST_NAMED]:
        engine = _ENGINES.get(database.engine) or _name(database.engine)
        unfinished = " (a journal lies beside it)" if database.has_journal else ""
        yield f"an open {engine} database file: {_path(database.path)}{unfinished}"
    rest = len(facts.databases) - _MOST_NAMED
    if rest > 0:
        yield f"{_several(rest, 'more open database file')}"
    paths = [_path(mapping.path) for mapping in facts.shared_mappings if not _is_tqdms_own(mapping, facts)]
    if paths:
        yield f"memory shared with other processes: {_listed(list(dict.fromkeys(paths)))}"


def _is_tqdms_own(mapping: SharedMapping, facts: HazardFacts) -> bool:
    # The child makes itself a new one.
    is_semaphore = mapping.is_deleted and mapping.path.startswith("/dev/shm/sem.")
    return is_semaphore and mapping.owner == "tqdm" and "tqdm" in facts.libraries


def _from_descriptors(facts: HazardFacts) -> Iterator[str]:
    for kind, count in list(facts.anonymous.items())[:MOST_LISTED]:
        if count > 0:
            yield _ANONYMOUS.get(kind) or f"a special descriptor: {_name(kind)}"
    if facts.unread_pipes > 0:
        yield f"{_several(facts.unread_pipes, 'pipe')} with bytes that nobody has read"
    if facts.devices:
        yield f"an open device: {_listed([_path(device) for device in facts.devices])}"
    if facts.tasks > 0:
        yield f"{_several(facts.tasks, 'unfinished asyncio task')}"
    elif facts.timers > 0:
        yield f"{_several(facts.timers, 'asyncio timer')} waiting"
    if facts.readers > 0:
        yield f"asyncio watches {_several(facts.readers, 'descriptor')} for the notebook"


def _from_libraries(facts: HazardFacts) -> Iterator[str]:
    for name in _NEVER_FORKED:
        if name in facts.libraries:
            yield f"{name} is loaded, which does not work in a fork"
    if facts.is_cuda_initialised:
        yield "torch uses a graphics card (CUDA)"


# ── words ──


def _several(count: int, one: str, many: str = "") -> str:
    return f"{_number(count)} {one if count == 1 else many or f'{one}s'}"


def _number(count: int) -> str:
    if count == MOST_LISTED:
        return f"{MOST_LISTED} or more"
    return f"{count:,}" if count <= _MOST_COUNTED else f"over {_MOST_COUNTED:,}"


def _listed(texts: list[str]) -> str:
    rest = len(texts) - _MOST_NAMED
    shown = ", ".join(texts[:_MOST_NAMED])
    return f"{shown} and {_number(rest)} more" if rest > 0 else shown


def _name(text: str) -> str:
    return _plain(text, _NAME_CHARS)


def _path(text: str) -> str:
    return _plain(text, _PATH_CHARS)


def _plain(text: str, most: int) -> str:
    shown = "".join(character if character.isprintable() else "�" for character in text[:most])
    return f"{shown}…" if len(text) > most else shown or "(no name)"
