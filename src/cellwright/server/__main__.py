"""`python -m cellwright.server`: reads from standard input what to be, says `ready`, and is the daemon.

Started by interfaces only; `cellwright serve` becomes this process in the foreground.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Final, NoReturn, TextIO

import anyio

from cellwright.background import BackgroundProcess, find, open_log, say_ready, sole
from cellwright.errors import CellwrightError, UserError
from cellwright.journal.log import beside
from cellwright.server.daemon.application import daemon_application
from cellwright.server.daemon.daemon import Daemon, OnReady, Shutdown, fork_stranded_runs
from cellwright.server.daemon.launch import FOREGROUND, DaemonStart, daemon_at, package_version, read_start
from cellwright.server.daemon.messages import WebAddress
from cellwright.server.executor import ExecutorOpener, open_executor
from cellwright.settings import Settings
from cellwright.telemetry import masked_logs

logger = logging.getLogger("cellwright.server")

_LOOK_SECONDS: Final = 0.2
_CLOSE_TIMEOUT_SECONDS: Final = 90
"""How long everything may take to close; the journal's own limits are far below."""
_WAIT_SECONDS: Final = 100
"""How long the daemon before this one may take to end."""


def main(opener: ExecutorOpener = open_executor, version: str | None = None) -> None:
    """Be the daemon; unless told to stay in the foreground, leave the process that started us first."""
    is_foreground = FOREGROUND in sys.argv[1:]
    if not is_foreground and os.fork():
        os._exit(0)
    with masked_logs():
        start = read_start(json.load(sys.stdin), Settings.read())
        start.settings.ready_home()
        process = daemon_at(start.settings.home)
        # In the background stderr is the log; in the foreground it is the person's, who wants the address.
        _log_to(open_log(process) if is_foreground else sys.stderr)

        def be_it() -> None:
            _be_daemon(start, opener, version or package_version(), is_foreground)

        if _when_alone(process, be_it):
            return
    if is_foreground or not _is_listening(process):
        sys.exit("Another daemon has this state directory.")
    # Somebody was faster: whoever started us is looking for a daemon, not for this one.
    say_ready()


def _log_to(stream: TextIO) -> None:
    logging.basicConfig(
        level=logging.INFO, stream=stream, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
    # Their informational lines are about themselves.
    for name in ("dbos", "uvicorn"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _when_alone(process: BackgroundProcess, be_it: Callable[[], None]) -> bool:
    """Be it once the one before has ended; False if that one listens, or does not end."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        with sole(process, wait_seconds=_LOOK_SECONDS) as is_sole:
            if is_sole:
                be_it()
                return True
        if _is_listening(process) or time.monotonic() > deadline:
            return False


def _is_listening(process: BackgroundProcess) -> bool:
    # Not to speak, only to see whether somebody is there.
    if (other := find(process, lambda _: None)) is not None:
        other.close()
    return other is not None


def _be_daemon(start: DaemonStart, opener: ExecutorOpener, version: str, is_foreground: bool) -> None:
    def on_ready(web: WebAddress | None) -> None:
        if is_foreground:
            _announce(start, web, version)
        else:
            say_ready()

    try:
        anyio.run(lambda: run_daemon(start, opener=opener, version=version, on_ready=on_ready))
    except CellwrightError as problem:
        # The last line of the log is what an interface shows.
        logger.error("%s %s", problem.message, problem.hint)
        if is_foreground:
            os.write(2, f"error: {problem.message}\nhint: {problem.hint}\n".encode())
        sys.exit(2 if isinstance(problem, UserError) else 1)
    except KeyboardInterrupt:
        # Ctrl-C before it listened: nothing was promised to anybody yet.
        sys.exit(130)
    except Exception as problem:
        logger.exception("the daemon failed: %s", type(problem).__name__)
        if is_foreground:
            log = daemon_at(start.settings.home).file("log")
            os.write(2, f"error: The daemon failed: {type(problem).__name__}.\nhint: See {log}.\n".encode())
        sys.exit(1)


async def run_daemon(start: DaemonStart, *, opener: ExecutorOpener, version: str, on_ready: OnReady) -> None:
    """Be the daemon of this state directory. Runs that were cut off go on at once.

    Raises `UserError` if its web server cannot be opened as asked.
    """
    process, ending = daemon_at(start.settings.home), Shutdown()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(beside(partial(_receive_signals, ending, process)))
        await stack.enter_async_context(beside(partial(_enforce_close_timeout, ending, process)))
        executor = await stack.enter_async_context(opener(start.settings))
        await fork_stranded_runs(executor)
        daemon = Daemon(executor, ending, start, version=version)
        app = daemon_application(daemon, executor, start.settings)
        logger.info("version %s listens", version)
        await daemon.serve(app, process, on_ready)
        ending.request("now", ending.why or "nobody needs it")
        logger.info("ends: %s", ending.why)
    logger.info("has ended")


async def _receive_signals(ending: Shutdown, process: BackgroundProcess) -> None:
    """The first ends it in order, the second at once."""
    has_heard = False
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for number in signals:
            if has_heard:
                _end_at_once(process, "told so twice")
            has_heard = True
            ending.request("now", signal.Signals(number).name)


async def _enforce_close_timeout(ending: Shutdown, process: BackgroundProcess) -> None:
    await ending.now.wait()
    await anyio.sleep(_CLOSE_TIMEOUT_SECONDS)
    _end_at_once(process, f"not closed after {_CLOSE_TIMEOUT_SECONDS} s")


def _end_at_once(process: BackgroundProcess, why: str) -> NoReturn:
    """What is in flight goes on at the next start, as after any crash; kernels end with their starter."""
    logger.error("ends at once: %s", why)
    process.file("sock").unlink(missing_ok=True)
    os._exit(1)


def _announce(start: DaemonStart, web: WebAddress | None, version: str) -> None:
    """Say where it listens: to a program all of it, to a person the one address they need."""
    socket = str(daemon_at(start.settings.home).file("sock").absolute())
    if start.is_json:
        found = {"url": web.url, "origin": web.origin, "folder": web.folder} if web is not None else {}
        os.write(1, (json.dumps({"pid": os.getpid(), "socket": socket, "version": version} | found) + "\n").encode())
    elif web is not None:
        os.write(1, f"{web.url}\n".encode())
        os.write(2, b"The control room is at this address, which works once; Ctrl-C ends it.\n")
    else:
        os.write(2, f"The daemon listens at {socket}; Ctrl-C ends it.\n".encode())
    if start.url_to is not None:
        with os.fdopen(start.url_to, "w") as waiting, suppress(BrokenPipeError):
            waiting.write(web.url if web is not None else "")


if __name__ == "__main__":
    main()
