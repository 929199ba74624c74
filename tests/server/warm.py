"""A process with everything imported that forks daemons, so that no test pays the imports again.

One thread only: forking is safe. What it forks is real: its own memory, its own streams, its own death. It is asked
through `tests/models/warm_start.py`, which hands it the streams of whoever starts the daemon.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, Popen

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Warm:
    """Starts daemons."""

    socket: str

    def command(self, *words: str) -> tuple[str, ...]:
        """The command line of a daemon with these arguments."""
        return (sys.executable, "-I", "-S", str(ROOT / "tests/models/warm_start.py"), self.socket, *words)


@contextmanager
def warm_process(folder: Path) -> Generator[Warm]:
    path = str(folder / "warm.sock")
    with Popen([sys.executable, "-W", "error", "-m", "tests.server.warm", path], cwd=ROOT, stdout=PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield Warm(socket=path)
        process.kill()


def main(path: str) -> None:
    import dbos  # noqa: F401 - so that no daemon loads it

    import cellwright.server.daemon.web_server  # noqa: F401 - likewise
    from tests.server import a_daemon  # noqa: F401 - likewise

    # A fork that leaves all this alone need not copy it.
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                child(connection)
            connection.close()


def child(connection: socket.socket) -> None:
    from tests.server import a_daemon

    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        request, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
        os.setsid()
        os.chdir("/")
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
            os.close(stream)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        # A daemon forks away from here; its starter must not wait for it.
        connection.sendall(b"0")
        connection.close()
        a_daemon.start(json.loads(request))
        code = 0
    except SystemExit as ended:
        code = 0 if not ended.code else 1
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
    except BaseException:  # noqa: BLE001 - nothing may return into the parent's loop
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1])
