"""Before a fork: what this process holds that a branch would break or share. After it: what the child must mend.

`survey` only looks, and calls nothing of the notebook's; `quiesce` is for the parent right before the fork,
`settle_child` for the child right after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import multiprocessing
import os
import random
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from cellwright_guest.forks import own_process
from cellwright_guest.forks.process_fork import loop_descriptors
from cellwright_guest.report_wire import (
    MOST_LISTED,
    ChildProcess,
    HazardFacts,
    NativeThreads,
    OpenMpRuntime,
    PythonThread,
    SharedMapping,
)

_OF_NOTE = (
    "cupy", "duckdb", "grpc", "jax", "lightgbm", "mpi4py", "numba", "polars", "pyarrow", "pyspark", "ray", "sklearn",
    "tensorflow", "torch", "tqdm", "xgboost", "zmq",
)  # fmt: skip
_OPENMP = re.compile(r"lib(gomp|i?omp5?)[.-]")
_PAUSE_HARD = 2
_THREAD_END_TIMEOUT_SECONDS = 0.5

_Seen = TypeVar("_Seen")

RandomState = tuple[Any, ...]
"""What `random.getstate` gave."""


def survey(loop: asyncio.AbstractEventLoop, *, own: Collection[int], children: Collection[int] = ()) -> HazardFacts:
    """Everything a judge needs to know before this process is forked; a few milliseconds.

    `own` are descriptors of the guest itself and `children` processes of ours (earlier branches): neither is reported.
    The standard streams and the descriptors of `loop` are found here.
    """
    unseen: list[str] = []
    mappings = _look(unseen, "memory", own_process.memory_map, [])
    threads = _look(unseen, "threads", _threads, [])
    ours = {0, 1, 2, *own, *loop_descriptors(loop)}
    seen = _look(unseen, "descriptors", lambda: own_process.look_at_descriptors(own=ours), own_process.Descriptors())
    return HazardFacts(
        python_threads=_python_threads(),
        native_threads=_native_threads(threads, mappings),
        children=_look(unseen, "children", lambda: _children(threads, set(children)), []),
        shared_mappings=_shared(mappings),
        sockets=seen.sockets,
        pipes=seen.pipes,
        unread_pipes=seen.unread_pipes,
        databases=seen.databases,
        anonymous=dict(seen.anonymous.most_common(MOST_LISTED)),
        devices=seen.devices,
        tasks=sum(not task.done() for task in asyncio.all_tasks(loop) - {asyncio.current_task(loop)}),
        timers=sum(not timer.cancelled() for timer in _attribute(loop, "_scheduled") or ()),
        readers=len(_watched(loop) - ours),
        libraries=[name for name in _OF_NOTE if isinstance(sys.modules.get(name), ModuleType)],
        is_cuda_initialised=_attribute(sys.modules.get("torch.cuda"), "_initialized") is True,
        pools=_pools(),
        openmp=[
            OpenMpRuntime(library=own_process.library_name(path), is_pausable=_pause_of(path) is not None)
            for path in _openmp_paths(mappings)
        ],
        unseen=unseen,
    )


def quiesce() -> list[str]:
    """In the parent, right before the fork: end the threads of every OpenMP runtime; they come back when needed.

    Says what was done. A fork with such threads leaves a child that waits for them for ever.
    """
    done: list[str] = []
    mappings = own_process.memory_map()
    paths = _openmp_paths(mappings)
    if not paths:
        return done
    native = {thread for thread in _threads() if thread not in _python_ids()}
    theirs = [
        thread for thread, owner in own_process.thread_owners(native, mappings).items() if _OPENMP.match(f"{owner}.")
    ]
    for path in paths:
        pause = _pause_of(path)
        if pause is not None and pause(_PAUSE_HARD) == 0:
            done.append(f"paused OpenMP ({own_process.library_name(path)})")
    # They end by themselves, a moment after the call has returned.
    until = time.monotonic() + _THREAD_END_TIMEOUT_SECONDS
    while any(map(own_process.is_thread_alive, theirs)) and time.monotonic() < until:
        time.sleep(0.001)
    return done


def settle_child(random_state: RandomState) -> None:
    """In the child, right after the fork: draw the parent's next random numbers, and own what was shared.

    CPython seeds `random` anew in a child, so a branch would give another result than the cell does in the parent.
    """
    random.setstate(random_state)
    _renew_tqdm()


# ── threads ──


def _threads() -> list[int]:
    """Every thread but the main one, which is the one that asks."""
    main = os.getpid()
    return [thread for name in os.listdir("/proc/self/task") if (thread := int(name)) != main]  # noqa: PTH208


def _others() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread is not threading.current_thread()]


def _python_ids() -> set[int | None]:
    return {thread.native_id for thread in _others()}


def _python_threads() -> list[PythonThread]:
    return [
        PythonThread(
            name=own_process.bounded_text(thread.name),
            kind=own_process.bounded_text(f"{type(thread).__module__}.{type(thread).__qualname__}"),
        )
        for thread in _others()[:MOST_LISTED]
    ]


def _native_threads(threads: Sequence[int], mappings: Sequence[own_process.MemoryMapping]) -> list[NativeThreads]:
    known = _python_ids()
    owned = own_process.thread_owners([thread for thread in threads if thread not in known], mappings)
    counted = Counter((owner, own_process.thread_name(thread)) for thread, owner in owned.items())
    return [
        NativeThreads(owner=own_process.bounded_text(owner), name=own_process.bounded_text(name), count=count)
        for (owner, name), count in counted.most_common(MOST_LISTED)
    ]


# ── processes ──


def _children(threads: Sequence[int], ours: Collection[int]) -> list[ChildProcess]:
    pids = _children_of(os.getpid())
    for thread in threads:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            pids |= _children_of(thread)
    found = (_child(pid) for pid in sorted(pids - set(ours)))
    return [child for child in islice(found, MOST_LISTED) if child is not None]


def _children_of(thread: int) -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{thread}/children").read_text().split()}


def _child(pid: int) -> ChildProcess | None:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return ChildProcess(pid=pid, name=own_process.bounded_text(status.partition("(")[2].rpartition(")")[0]))


def _pools() -> list[str]:
    """Pools of processes that stand, whether or not a worker lives at the moment."""
    standing = {
        "multiprocessing": _module_attribute("multiprocessing.process", "_children"),
        "loky": _module_attribute("joblib.externals.loky.reusable_executor", "_executor")
        or _module_attribute("loky.reusable_executor", "_executor"),
        "concurrent.futures": list(_module_attribute("concurrent.futures.process", "_threads_wakeups") or ()),
    }
    return [name for name, held in standing.items() if held is not None and held not in ([], set())]


# ── memory ──


def _shared(mappings: Sequence[own_process.MemoryMapping]) -> list[SharedMapping]:
    lock = _attribute(_attribute(_tqdm_lock_class(), "mp_lock"), "_semlock")
    handle: object = _attribute(lock, "handle")
    return [
        SharedMapping(
            path=own_process.bounded_text(mapping.path),
            is_deleted=mapping.is_deleted,
            owner="tqdm" if isinstance(handle, int) and mapping.start <= handle < mapping.end else "",
        )
        for mapping in islice((each for each in mappings if each.permissions[1::2] == "ws"), MOST_LISTED)
    ]


def _openmp_paths(mappings: Iterable[own_process.MemoryMapping]) -> list[str]:
    return sorted({each.path for each in mappings if _OPENMP.match(each.path.rpartition("/")[2])})[:MOST_LISTED]


def _pause_of(path: str) -> Callable[[int], int] | None:
    """The runtime's own way to let its threads go; None if it has none."""
    try:
        return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW).omp_pause_resource_all
    except (OSError, AttributeError):
        return None


# ── the event loop ──


def _watched(loop: Any) -> set[int]:
    return {key.fd for key in (loop._selector.get_map() or {}).values()}


# ── what libraries hold ──


def _renew_tqdm() -> None:
    """tqdm's lock is memory shared with the parent, and its watching thread, gone now, may have held it."""
    bars, kind = _module_attribute("tqdm.std", "tqdm"), _tqdm_lock_class()
    if not isinstance(bars, type) or not isinstance(kind, type):
        return
    made = _attribute(bars, "_lock")
    locks: dict[str, Any] = {"th_lock": threading.RLock()}
    if _attribute(kind, "mp_lock") is not None:
        # Without a place for semaphores there is no other process to keep out either.
        with contextlib.suppress(OSError):
            locks = {"mp_lock": multiprocessing.RLock(), **locks}
    for name, lock in locks.items():
        setattr(kind, name, lock)
    if isinstance(made, kind):
        setattr(made, "locks", list(locks.values()))  # noqa: B010
    setattr(bars, "monitor", None)  # noqa: B010


def _tqdm_lock_class() -> Any:
    return _module_attribute("tqdm.std", "TqdmDefaultWriteLock")


def _module_attribute(module: str, name: str) -> Any:
    return _attribute(sys.modules.get(module), name)


def _attribute(holder: Any, name: str) -> Any:
    return getattr(holder, name, None)


def _look(unseen: list[str], what: str, look: Callable[[], _Seen], nothing: _Seen) -> _Seen:
    """Looks may be forbidden, or `/proc` be empty: what they would have seen is then named as unseen."""
    try:
        return look()
    except OSError:
        unseen.append(what)
        return nothing
