"""A process with everything imported that forks a child per request, so that a test need not pay the imports each time.

Reads JSON lines `{"module", "arguments"}` from stdin; answers `{"pid"}`, and `{"pid", "code"}` when a child has ended.
Without arguments the module is only imported, for children to come.
One thread only: forking is safe.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
import traceback


def tell(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def child(module: str, arguments: list[str]) -> None:
    code = 1
    try:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(2, 1)
        gc.enable()
        importlib.import_module(module).start(arguments)
        code = 0
    except BaseException:  # noqa: BLE001 - nothing may return into the parent's loop
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    # Two seconds that the children have for nothing. What is imported stays: nobody need look through it.
    gc.disable()
    importlib.import_module("cellwright.journal.engine")
    # A fork that leaves all this alone need not copy it.
    gc.freeze()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    os.set_blocking(reader, False)
    signal.set_wakeup_fd(writer)
    signal.signal(signal.SIGCHLD, noticed)
    pending = b""
    while True:
        ready, _, _ = select.select([0, reader], [], [])
        if reader in ready:
            os.read(reader, 1_000)
            reap()
        if 0 in ready:
            some = os.read(0, 65_536)
            if not some:
                return
            *requests, pending = (pending + some).split(b"\n")
            for request in requests:
                wanted = json.loads(request)
                if "arguments" not in wanted:
                    importlib.import_module(wanted["module"])
                    gc.freeze()
                    continue
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    child(wanted["module"], wanted["arguments"])
                tell(pid=pid)


def noticed(_: int, __: object) -> None:
    """The pipe wakes the loop."""


def reap() -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        tell(pid=pid, code=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
