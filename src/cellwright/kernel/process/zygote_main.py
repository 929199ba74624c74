"""The base zygote: one warm, single-threaded process that kernels are forked from.

Started as `python -I -S zygote_main.py FD CACHE PATHS…` with an empty environment, so it never held a secret. It
imports only our pinned packages, builds marimo's kernel object once, and then does three things until its starter
goes away: start a cage, reap what ended, say so. It listens before it is warm: a notebook with an environment of its
own needs nothing of that.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # -S: nothing of site ran; these are the starter's own package directories, and no .pth file is read.
    sys.path[:0] = sys.argv[3:]

import gc
import importlib
import os
import select
import signal
import socket
from collections.abc import Callable
from typing import Any, NoReturn

from cellwright.framing import FrameUnpacker, pack_json, read_json

_WARM = ("numpy", "pandas")
# Imported when nobody asks for a kernel: slow, and not needed for the first. After the kernel object was built,
# because marimo's formatters hook into these imports as they happen.
_WARM_LATER = ("sqlglot", "matplotlib.pyplot", "matplotlib.backends.backend_agg")
_IDLE_SECONDS = 1.0
"""So long nobody asks before more is imported: a command that runs one notebook is over by then."""
# A process with threads cannot be forked safely; pandas loads pyarrow, whose allocator would start one. And a thread of
# OpenBLAS, one of which each kernel gets when it starts, looks for work for 2^28 cycles before it sleeps, a tenth of a
# second of a processor that nobody else then has; with 2^22 products are no slower.
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OPENBLAS_THREAD_TIMEOUT": "22",
}


def main(descriptor: int) -> NoReturn:
    """Warm up, say so, then serve until the starter closes its end."""
    starter = socket.socket(fileno=descriptor)
    starter.set_inheritable(False)
    os.environ.update(_ENVIRONMENT, MPLCONFIGDIR=sys.argv[2])
    if not os.access(os.path.expanduser("~"), os.W_OK):  # noqa: PTH111  leaves it as it is where nobody knows
        # A container's user has no home it could write to: marimo and fontconfig would complain to the person.
        os.environ.update(XDG_CONFIG_HOME=sys.argv[2], XDG_CACHE_HOME=sys.argv[2])
    importlib.import_module("cellwright.sandbox.cage.launcher")
    wakeup, child_signal = socket.socketpair()
    for end in (wakeup, child_signal):
        end.setblocking(False)
    # Nothing is done in the handler: the wakeup descriptor has been written by then.
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.set_wakeup_fd(child_signal.fileno(), warn_on_full_buffer=False)
    zygote = ZygoteServer(starter)
    zygote.say({"op": "listening", "pid": os.getpid()})
    later: list[str] = list(_WARM_LATER)
    while True:
        idle_seconds = _IDLE_SECONDS if later and zygote.driver is not None else None
        readable, _, _ = select.select([starter, wakeup], [], [], idle_seconds)
        if not readable:
            _warm_one_more(later, zygote)
        if wakeup in readable:
            wakeup.recv(4096)
            zygote.reap()
        if starter in readable and not zygote.listen():
            zygote.close()
            os._exit(0)


def _warm() -> tuple[Any, list[dict[str, str]]]:
    for name in _WARM:
        importlib.import_module(name)
    from cellwright_guest import driver, zygote_setup
    from cellwright_guest.patches.warm import warm

    warm(with_pandas=True)
    kernel = driver.Driver()
    zygote_setup.find_blas()
    return kernel, [{"name": result.name, "state": type(result).__name__} for result in kernel.patches]


def _warm_one_more(later: list[str], zygote: ZygoteServer) -> None:
    importlib.import_module(later.pop(0))
    if not later:
        from cellwright.sandbox.linux import huge_pages

        _settle()
        huge_pages.gather()
        zygote.say({"op": "warm"})


def _settle() -> None:
    """What stays as it is from here on lies still: a kernel that need not touch it need not copy it."""
    from cellwright_guest import tool

    tool.note_host()
    gc.collect()
    gc.freeze()


def _become(command: list[str]) -> NoReturn:
    from cellwright.sandbox.linux import syscalls

    os.set_inheritable(3, True)
    try:
        # For its branches, which enter their places by it.
        syscalls.keep_over_exec(syscalls.CAP_SYS_CHROOT)
    except OSError:
        # Tiers C and D have none to keep, and no places.
        pass
    os.execve(command[0], command, dict(os.environ))


class ZygoteServer:
    """Starts cages on request and reports how each ended."""

    def __init__(self, starter: socket.socket) -> None:
        self._starter = starter
        self.driver: Any = None
        """What kernels are forked with, once it is warm."""
        self._frames = FrameUnpacker()
        self._descriptors: list[int] = []
        self._caged: dict[int, tuple[int, Any]] = {}

    def say(self, message: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        """One JSON message to the starter, with descriptors."""
        try:
            socket.send_fds(self._starter, [pack_json(message)], descriptors)
        except BrokenPipeError:
            # The starter is gone; the loop reads its end of file next and closes everything.
            return

    def listen(self) -> bool:
        """Take what the starter sent; False when it is gone."""
        data, descriptors, _, _ = socket.recv_fds(self._starter, 1 << 18, 16)
        if not data:
            return False
        self._descriptors += descriptors
        for payload in self._frames.feed(data):
            message = read_json(payload)
            if message.get("op") == "warm":
                self.warm()
            else:
                self._start(message)
        return True

    def warm(self) -> Any:
        """Import what kernels need and build marimo's kernel object, the first time; say so."""
        if self.driver is None:
            self.driver, patched = _warm()
            _settle()
            threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208
            self.say({"op": "ready", "pid": os.getpid(), "threads": threads, "patches": patched})
        return self.driver

    def reap(self) -> None:
        """Report every cage that ended."""
        from cellwright.sandbox.cage import launcher

        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            known = self._caged.pop(pid, None)
            if known is not None:
                number, caged = known
                launcher.finish(caged)
                self.say({"op": "ended", "id": number})

    def close(self) -> None:
        """End every cage and leave nothing of them behind."""
        from cellwright.sandbox.cage import launcher

        for pid in self._caged:
            os.kill(pid, signal.SIGKILL)
        for pid, (_number, caged) in self._caged.items():
            os.waitpid(pid, 0)
            launcher.finish(caged)

    def _start(self, message: dict[str, Any]) -> None:
        from cellwright.errors import UserError
        from cellwright.remedies import remedy_json
        from cellwright.sandbox.cage import launcher
        from cellwright.sandbox.spec import CageSpec

        kernel, control = self._descriptors[:2]
        del self._descriptors[:2]
        number = message["id"]
        try:
            spec = CageSpec.of(message["spec"])
            command = message.get("exec")
            # A kernel of another environment has nothing of ours to rehearse.
            rehearse = self.warm().rehearse if command is None else lambda: None
            caged = launcher.start(spec, self._body(command), kernel_fd=kernel, control_fd=control, rehearse=rehearse)
        except OSError as error:
            said: dict[str, Any] = {"op": "refused", "id": number, "reason": str(error)}
            refusal = error.__cause__
            if isinstance(refusal, UserError) and refusal.remedy is not None:
                said |= {"reason": refusal.message.removesuffix("."), "remedy": remedy_json(refusal.remedy)}
            self.say(said)
        else:
            self._caged[caged.pid] = (number, caged)
            self.say({"op": "started", "id": number, "pid": caged.pid}, (caged.pidfd,))
        finally:
            os.close(kernel)
            os.close(control)

    def _body(self, command: list[str] | None) -> Callable[[], None]:
        """What the kernel process does once it is confined."""
        if command is not None:
            return lambda: _become(command)
        return lambda: self.driver.serve(socket.socket(fileno=3))


if __name__ == "__main__":
    main(int(sys.argv[1]))
