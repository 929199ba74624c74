"""Attacks on what a machine has: processes, memory, disk, time, output. Each is bounded in itself, and gives all back.

`targets["limits"]` says what was allowed. A filler stops at its own `attempt`, well above that, and succeeds when
it got more than a quarter over the limit.
"""

import ctypes
import itertools
import mmap
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .prelude import LIBC, Targets, refuse, say, syscall

MB = 1 << 20
HOLD_SECONDS = 0.2


def over(limit: float, reached: float, what: str) -> str:
    """Success when more was taken than allowed."""
    if reached <= limit * 1.25:
        raise refuse(f"stopped at {reached:.0f} {what}, {limit:.0f} allowed")
    return f"took {reached:.0f} {what}, {limit:.0f} allowed"


# ── processes and threads ──


def fork_bomb(targets: Targets) -> str:
    children: list[int] = []
    try:
        while len(children) < targets["attempt"]:
            child = os.fork()
            if child == 0:
                os.close(1)
                signal.alarm(10)
                signal.pause()
                os._exit(0)
            children.append(child)
    except OSError:
        pass
    time.sleep(HOLD_SECONDS)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return over(targets["limits"]["processes"], len(children), "processes")


def thread_bomb(targets: Targets) -> str:
    gate = threading.Event()
    threads: list[threading.Thread] = []
    # The smallest a thread may have here: 128 KiB and more on aarch64, where 64 KiB is refused.
    threading.stack_size(max(64 << 10, os.sysconf("SC_THREAD_STACK_MIN")))
    try:
        while len(threads) < targets["attempt"]:
            thread = threading.Thread(target=gate.wait, args=(10,))
            thread.start()
            threads.append(thread)
    except (RuntimeError, OSError, MemoryError):
        pass
    finally:
        threading.stack_size(0)
        time.sleep(HOLD_SECONDS)
        gate.set()
    for thread in threads:
        thread.join()
    return over(targets["limits"]["processes"], len(threads), "threads")


# ── memory ──


def hog_memory(targets: Targets) -> str:
    held: list[mmap.mmap] = []
    try:
        while len(held) * 16 < targets["attempt"]:
            held.append(touched(16 * MB))
    except (OSError, MemoryError):
        pass
    time.sleep(HOLD_SECONDS)
    reached = len(held) * 16
    for area in held:
        area.close()
    return over(targets["limits"]["memory_mb"], reached, "MB")


def hog_memory_in_many_processes(targets: Targets) -> str:
    """Each child stays under the limit; together they do not."""
    share = targets["limits"]["memory_mb"] // 3
    reader, writer = os.pipe()
    children: list[int] = []
    for _ in range(targets["attempt"] // share):
        child = os.fork()
        if child == 0:
            signal.alarm(25)
            try:
                area = touched(share * MB)
                os.write(writer, b"1")
                signal.pause()
                area.close()
            finally:
                os._exit(0)
        children.append(child)
    os.close(writer)
    os.set_blocking(reader, False)
    ready, deadline = b"", time.monotonic() + 20
    while len(ready) < len(children) and time.monotonic() < deadline:
        if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            # One has been stopped, and the others would be waited for in vain.
            break
        try:
            ready += os.read(reader, 64) or bytes(len(children))
        except BlockingIOError:
            time.sleep(0.02)
    alive = sum(os.waitpid(child, os.WNOHANG) == (0, 0) for child in children)
    for child in children:
        try:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        except (ProcessLookupError, ChildProcessError):
            continue
    os.close(reader)
    return over(targets["limits"]["memory_mb"], share * min(alive, ready.count(b"1")), "MB")


def hide_memory_in_shared_mappings(targets: Targets) -> str:
    """A child touches pages that it shares with us and goes: they stay, and no process seems to have them."""
    held: list[mmap.mmap] = []
    while len(held) * 64 < targets["attempt"]:
        try:
            area = mmap.mmap(-1, 64 * MB, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
        except (OSError, MemoryError):
            break
        child = os.fork()
        if child == 0:
            for start in range(0, 64 * MB, MB):
                area[start : start + MB] = b"\1" * MB
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            break
        held.append(area)
    time.sleep(HOLD_SECONDS)
    reached = len(held) * 64
    for area in held:
        area.close()
    return over(targets["limits"]["memory_mb"], reached, "MB")


def fill_memfd(targets: Targets) -> str:
    """Memory that belongs to no address space, in pieces under any limit on one file."""
    pieces: list[int] = []
    reached = 0
    try:
        while reached < targets["attempt"]:
            pieces.append(syscall("memfd_create", b"filler", 0))
            poured = pour(pieces[-1], 16)
            reached += poured
            if poured < 16:
                break
    except OSError:
        if not pieces:
            raise
    finally:
        for piece in pieces:
            os.close(piece)
    return over(targets["limits"]["memory_mb"], reached, "MB")


def fill_shared_memory(targets: Targets) -> str:
    return fill_in_pieces(Path("/dev/shm"), targets, targets["limits"]["memory_mb"])


def fill_system_v_memory(targets: Targets) -> str:
    """Segments outlive whoever made them, until the IPC namespace ends."""
    LIBC.shmat.restype = ctypes.c_void_p
    segments: list[int] = []
    try:
        while len(segments) * 16 < targets["attempt"]:
            segment = LIBC.shmget(0, 16 * MB, 0o1600)
            if segment < 0:
                break
            segments.append(segment)
            place = LIBC.shmat(segment, None, 0)
            if place in (None, ctypes.c_void_p(-1).value):
                segments.pop()
                LIBC.shmctl(segment, 0, None)
                break
            ctypes.memset(place, 1, 16 * MB)
            LIBC.shmdt(ctypes.c_void_p(place))
        return over(targets["limits"]["memory_mb"], len(segments) * 16, "MB")
    finally:
        for segment in segments:
            LIBC.shmctl(segment, 0, None)


def touched(size: int) -> mmap.mmap:
    area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for start in range(0, size, MB):
        area[start : start + MB] = b"\1" * min(MB, size - start)
    return area


# ── disk ──


def fill_project(targets: Targets) -> str:
    return fill_file(Path(targets["project"], "filler"), targets["attempt"], targets["limits"]["disk_mb"])


def fill_project_in_many_files(targets: Targets) -> str:
    """Under any limit on one file."""
    return fill_in_pieces(Path(targets["project"]), targets, targets["limits"]["disk_mb"])


def fill_temporary_directory(targets: Targets) -> str:
    return fill_file(Path(targets["tmp"], "filler"), targets["attempt"], targets["limits"]["disk_mb"])


def fill_inodes(targets: Targets) -> str:
    place = Path(targets["project"], "many")
    place.mkdir()
    made = 0
    try:
        for number in range(targets["attempt"]):
            os.close(os.open(place / str(number), os.O_CREAT | os.O_WRONLY))
            made += 1
    except OSError:
        pass
    for number in range(made):
        (place / str(number)).unlink()
    return over(targets["limits"]["inodes"], made, "files")


def make_sparse_giant(targets: Targets) -> str:
    """Costs nothing here, and a terabyte to whoever copies it."""
    giant = Path(targets["project"], "giant")
    try:
        with giant.open("wb") as file:
            file.truncate(1 << 40)
        return over(targets["limits"]["disk_mb"], giant.stat().st_size / MB, "MB")
    finally:
        giant.unlink(missing_ok=True)


def fill_file(path: Path, attempt_mb: int, limit_mb: int) -> str:
    try:
        return over(limit_mb, pour_into(path, attempt_mb), "MB")
    finally:
        path.unlink(missing_ok=True)


def fill_in_pieces(place: Path, targets: Targets, limit_mb: int) -> str:
    made: list[Path] = []
    reached = 0
    try:
        while reached < targets["attempt"]:
            made.append(place / f"{targets['mark']}-{len(made)}")
            poured = pour_into(made[-1], 8)
            reached += poured
            if poured < 8:
                break
    finally:
        for piece in made:
            piece.unlink(missing_ok=True)
    return over(limit_mb, reached, "MB")


def pour_into(path: Path, attempt_mb: int) -> int:
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        return pour(fd, attempt_mb)
    finally:
        os.close(fd)


def pour(fd: int, attempt_mb: int) -> int:
    """Megabytes written before somebody said no."""
    block = b"x" * MB
    for written in range(attempt_mb):
        try:
            os.write(fd, block)
        except (OSError, MemoryError):
            return written
    return attempt_mb


# ── open files and limits ──


def hoard_descriptors(targets: Targets) -> str:
    held: list[int] = []
    try:
        while len(held) < targets["attempt"]:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    for fd in held:
        os.close(fd)
    return over(targets["limits"]["open_files"], len(held), "descriptors")


def lift_own_limits(targets: Targets) -> str:
    """A limit that is only soft is a suggestion."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    goal = targets["limits"]["open_files"] * 2
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (goal, max(goal, before[1])))
    except ValueError as error:
        raise refuse(str(error)) from error
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    return f"raised the limit on open files to {goal}"


# ── output ──


def flood_console(targets: Targets) -> str:
    for _ in range(targets["attempt"]):
        print("flood " * 175_000)  # noqa: T201 about one megabyte
    return f"printed {targets['attempt']} MB"


def flood_raw_output(targets: Targets) -> str:
    """Past `sys.stdout`, into the descriptor."""
    for _ in range(targets["attempt"]):
        os.write(1, b"flood\n" * 175_000)
    return f"wrote {targets['attempt']} MB to descriptor 1"


# ── time: judged by who had to end it ──


def spin(_: Targets) -> str:
    say({"ready": True})
    while True:
        pass


def spin_in_one_long_call(_: Targets) -> str:
    """Inside one C call, where no interpreter checks for signals."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    said = False
    while True:
        try:
            if not said:
                said = True
                say({"ready": True})
            return str(sum(itertools.repeat(1, 10**12)))
        except KeyboardInterrupt:
            # It came before the call had begun.
            continue


def swallow_every_interrupt(_: Targets) -> str:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    said = False
    while True:
        try:
            if not said:
                say({"ready": True})
                said = True
            while True:
                pass
        except BaseException:  # noqa: BLE001 this is the attack
            continue


def block_every_signal(_: Targets) -> str:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGXCPU):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    say({"ready": True})
    while True:
        time.sleep(0.1)


def replace_interrupt_handler(_: Targets) -> str:
    def laugh(*_: Any) -> None:
        sys.stderr.write("no\n")

    signal.signal(signal.SIGINT, laugh)
    signal.signal(signal.SIGTERM, laugh)
    say({"ready": True})
    while True:
        time.sleep(0.05)


# ── outliving: judged by who is left ──


def daemonise(_: Targets) -> str:
    return leave_behind(lambda: time.sleep(20))


def daemonise_stopped(_: Targets) -> str:
    """A stopped process takes no signal but SIGKILL; one SIGCONT, as orphans get, does not help either."""

    def stop() -> None:
        for _ in range(8):
            os.kill(os.getpid(), signal.SIGSTOP)

    return leave_behind(stop)


def leave_behind(stay: Callable[[], None]) -> str:
    """Double fork and a session of its own, deaf to hang-ups."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            for fd in range(3):
                os.close(fd)
            stay()
        os._exit(0)
    os.waitpid(child, 0)
    return "left a process behind"


def crash_hard(_: Targets) -> str:
    """A kernel that dies by its own hand must leave nothing but its death."""
    leave_behind(lambda: time.sleep(20))
    os.kill(os.getpid(), signal.SIGSEGV)
    raise refuse("still here")
