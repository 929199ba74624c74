"""Noticing that a database grew: a hint that it is time to look, shared by everyone who waits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Protocol

import anyio
import anyio.to_thread

from cellwright.journal.append import CHANNEL
from cellwright.journal.database import Database, Place, SqliteConnection, closed_if_it_fails

if TYPE_CHECKING:
    import psycopg

_POLL_SECONDS: Final = 0.02
_IDLE_POLL_SECONDS: Final = 0.1
_LOOKS_UNTIL_IDLE: Final = 100
_LISTEN_SECONDS: Final = 0.2
_LISTENS_UNTIL_LOOK: Final = 5


class Watch(Protocol):
    """Somebody who notices what other processes write. Blocking, but never for long."""

    def look(self) -> bool:
        """Wait a moment; whether there may be news."""
        ...

    def close(self) -> None:
        """Stop looking."""
        ...


class Growth:
    """Wakes everyone who waits when there may be news. A wake-up may be late or for nothing: look yourself."""

    def __init__(self, database: Database) -> None:
        self._place = database.place
        self._changed = anyio.Event()
        self._wanted = anyio.Event()

    def hint(self) -> None:
        """Something was written in this process."""
        self._changed.set()
        self._changed = anyio.Event()

    def next(self) -> anyio.Event:
        """Set at the next hint. Take it before you look, wait for it after."""
        self._wanted.set()
        return self._changed

    async def watch(self) -> None:
        """Notice what other processes write, as soon as somebody wants to know."""
        await self._wanted.wait()
        watch: Watch = _SqliteWatch(self._place) if self._place.path is not None else _PostgresWatch(self._place)
        try:
            while True:
                if await anyio.to_thread.run_sync(watch.look):
                    self.hint()
        finally:
            watch.close()


class _SqliteWatch:
    """Asks the file for its version, less often when nothing happens."""

    def __init__(self, place: Place) -> None:
        assert place.path is not None
        self._connection = SqliteConnection(place.path, "normal")
        self._version = -1
        self._quiet_looks = 0

    def look(self) -> bool:
        time.sleep(_IDLE_POLL_SECONDS if self._quiet_looks > _LOOKS_UNTIL_IDLE else _POLL_SECONDS)
        version: int = self._connection.raw.execute("PRAGMA data_version").fetchone()[0]
        is_new = version != self._version
        self._version, self._quiet_looks = version, 0 if is_new else self._quiet_looks + 1
        return is_new

    def close(self) -> None:
        self._connection.close()


class _PostgresWatch:
    """Listens; looks now and then all the same, because a notice can be lost."""

    def __init__(self, place: Place) -> None:
        self._url = place.url
        self._line: psycopg.Connection | None = None
        self._silences = 0

    def look(self) -> bool:
        import psycopg

        try:
            line = self._line = self._line or self._listen()
            is_told = any(True for _ in line.notifies(timeout=_LISTEN_SECONDS, stop_after=1))
        except psycopg.Error:
            self.close()
            time.sleep(_LISTEN_SECONDS)
            return True
        self._silences = 0 if is_told else (self._silences + 1) % _LISTENS_UNTIL_LOOK
        return self._silences == 0

    def _listen(self) -> psycopg.Connection:
        import psycopg

        line = psycopg.connect(self._url, autocommit=True, connect_timeout=10)
        with closed_if_it_fails(line):
            line.execute(f"LISTEN {CHANNEL}")
        return line

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
