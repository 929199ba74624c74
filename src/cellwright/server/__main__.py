"""`python -m cellwright.server`: reads from standard input what to be, says `ready`, and is the daemon.

Started by doors only; `cellwright serve` becomes this process in the foreground.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Final

import anyio

from cellwright.errors import CellwrightError
from cellwright.residents import Resident, find, say_ready, sole
from cellwright.server.daemon import run_daemon
from cellwright.server.door import Opener, open_carrier
from cellwright.server.launching import FOREGROUND, Start, daemon_at, package_version, read_start
from cellwright.settings import Settings
from cellwright.telemetry import masked_logs

logger = logging.getLogger("cellwright.server")

_LOOK_SECONDS: Final = 0.2
_WAIT_SECONDS: Final = 100
"""How long the daemon before this one may take to end."""


def main(opener: Opener = open_carrier, version: str | None = None) -> None:
    """Be the daemon; unless told to stay in the foreground, leave the process that started us first."""
    is_foreground = FOREGROUND in sys.argv[1:]
    if not is_foreground and os.fork():
        os._exit(0)
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
    # Its informational lines are about itself.
    logging.getLogger("dbos").setLevel(logging.WARNING)
    with masked_logs():
        start = read_start(json.load(sys.stdin), Settings.read())
        start.settings.ready_home()
        resident = daemon_at(start.settings.home)

        def be_it() -> None:
            _be_daemon(start, opener, version or package_version(), is_foreground)

        if _when_alone(resident, be_it):
            return
    if is_foreground or not _is_listening(resident):
        sys.exit("Another daemon has this state directory.")
    # Somebody was faster: whoever started us is looking for a daemon, not for this one.
    say_ready()


def _when_alone(resident: Resident, be_it: Callable[[], None]) -> bool:
    """Be it once the one before has ended; False if that one listens, or does not end."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        with sole(resident, wait_seconds=_LOOK_SECONDS) as is_sole:
            if is_sole:
                be_it()
                return True
        if _is_listening(resident) or time.monotonic() > deadline:
            return False


def _is_listening(resident: Resident) -> bool:
    # Not to speak, only to see whether somebody is there.
    if (other := find(resident, lambda _: None)) is not None:
        other.close()
    return other is not None


def _be_daemon(start: Start, opener: Opener, version: str, is_foreground: bool) -> None:
    def on_ready() -> None:
        if is_foreground:
            os.write(2, start.announcement.encode())
            os.write(1, start.announcement_json.encode())
        else:
            say_ready()

    try:
        anyio.run(lambda: run_daemon(start, opener=opener, version=version, on_ready=on_ready))
    except CellwrightError as problem:
        # The last line of the log is what a door shows.
        logger.error("%s %s", problem.message, problem.hint)
        sys.exit(1)
    except Exception as problem:
        logger.exception("the daemon failed: %s", type(problem).__name__)
        sys.exit(1)


if __name__ == "__main__":
    main()
