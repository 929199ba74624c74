"""A small real zygote: reads requests from a socket, starts cages, tells how they ended.

Run as `python -I -S zygote_program.py SRC DESCRIPTOR`; a request is JSON with two sockets attached: kernel, control.
"""

from __future__ import annotations

import array
import contextlib
import io
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path


def body_of(program: str) -> Callable[[], None]:
    def body() -> None:
        kernel = socket.socket(fileno=3)
        written, error = io.StringIO(), None
        with contextlib.redirect_stdout(written):
            try:
                exec(program, {"__name__": "__main__", "kernel": kernel})
            except BaseException:  # noqa: BLE001  whatever the program does, its test reads it
                error = traceback.format_exc()
        kernel.sendall(json.dumps({"out": written.getvalue(), "error": error}).encode() + b"\n")
        kernel.recv(1)

    return body


def serve(requests: socket.socket) -> None:
    from cellwright.sandbox.cage import launcher
    from cellwright.sandbox.spec import CageSpec

    cages: dict[int, launcher.RunningCage] = {}
    waking, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    while True:
        ready, _, _ = select.select([requests, waking], [], [])
        if waking in ready:
            os.read(waking, 4096)
        for pid, caged in list(cages.items()):
            reaped, status = os.waitpid(pid, os.WNOHANG)
            if reaped:
                del cages[pid]
                launcher.finish(caged)
                requests.send(json.dumps({"ended": pid, "how": os.waitstatus_to_exitcode(status)}).encode())
        if requests not in ready:
            continue
        message, fds, _, _ = socket.recv_fds(requests, 1 << 20, 2)
        if not message:
            return
        request = json.loads(message)
        try:
            spec = CageSpec.of(request["spec"])
            caged = launcher.start(spec, body_of(request["program"]), kernel_fd=fds[0], control_fd=fds[1])
        except OSError as error:
            requests.send(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
            continue
        finally:
            for fd in fds:
                os.close(fd)
        cages[caged.pid] = caged
        answer = {"started": caged.pid, "descriptors": len(list(Path("/proc/self/fd").iterdir()))}
        pidfds = array.array("i", [caged.pidfd])
        requests.sendmsg([json.dumps(answer).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, pidfds)])


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    serve(socket.socket(fileno=int(sys.argv[2])))
