"""One database, SQLite or Postgres, with the same few calls: transactions that write, and reads.

Blocking calls run in threads. Every connection here is ours; the workflow engine has its own, and lends us its
open transaction where a fact and its event belong together.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import anyio
import anyio.to_thread

from cellwright.errors import Unavailable, UserError

if TYPE_CHECKING:
    import psycopg

Dialect = Literal["sqlite", "postgres"]
Synchronous = Literal["normal", "full"]
"""What a commit to SQLite survives. normal: kill -9, but perhaps not a power failure. full: that too."""
BUSY_TIMEOUT_MS: Final = 30_000
IDLE_TRANSACTION_TIMEOUT_SECONDS: Final = 2
SQLITE_VERSION: Final = sqlite3.sqlite_version
"""Python's own, not the system's: doctor tells it."""
_HAS_SUBSECONDS: Final = (3, 42)
T = TypeVar("T")
Row = tuple[Any, ...]


class Cursor:
    """A driver's cursor inside an open transaction; statements use `?`."""

    __slots__ = ("_raw", "dialect", "is_used")

    def __init__(self, raw: Any, dialect: Dialect) -> None:
        self._raw = raw
        self.dialect: Final = dialect
        self.is_used = False
        """Whether a statement has reached the database."""

    def execute(self, statement: str, values: Sequence[object] = ()) -> Cursor:
        """Run one statement."""
        self._raw.execute(self._dialected(statement), values)
        self.is_used = True
        return self

    def executemany(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row."""
        self._raw.executemany(self._dialected(statement), rows)

    def one(self) -> Row | None:
        """The next row."""
        return self._raw.fetchone()

    def all(self) -> list[Row]:
        """The remaining rows."""
        return self._raw.fetchall()

    @property
    def changed(self) -> int:
        """How many rows the last statement changed."""
        return self._raw.rowcount

    def now_ms(self) -> int:
        """The database's clock: the one clock several machines share."""
        if self.dialect == "sqlite":
            return time.time_ns() // 1_000_000
        row = self.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").one()
        return int(row[0]) if row else 0

    def lock_for_writing(self) -> None:
        """From here on no other transaction writes (SQLite); Postgres locks rows instead."""
        if self.dialect == "sqlite" and not self._raw.connection.in_transaction:
            self._raw.execute("BEGIN IMMEDIATE")

    def _dialected(self, statement: str) -> str:
        return statement if self.dialect == "sqlite" else statement.replace("?", "%s")


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalLocation:
    """Where a journal is kept."""

    url: str
    dialect: Dialect
    path: Path | None = None
    """The SQLite file."""

    @classmethod
    def of(cls, where: str | Path) -> JournalLocation:
        """A file, `sqlite:///path` or `postgresql://…`. Raises `UserError`."""
        text = str(where)
        if text.startswith(("postgresql://", "postgres://")):
            return cls(url="postgresql://" + text.partition("://")[2], dialect="postgres")
        if "://" in text and not text.startswith("sqlite:///"):
            raise UserError(
                f"No journal can be kept at {text.partition('://')[0]!r}.",
                hint="Give a file, sqlite:///path or postgresql://…",
            )
        path = Path(text.removeprefix("sqlite:///")).absolute()
        return cls(url=f"sqlite:///{path}", dialect="sqlite", path=path)


def tune_sqlite(connection: sqlite3.Connection, synchronous: Synchronous) -> None:
    """WAL, an explicit promise per commit, and patience with other writers."""
    connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={synchronous.upper()}")
    connection.execute("PRAGMA foreign_keys=ON")
    if sqlite3.sqlite_version_info < _HAS_SUBSECONDS:
        # DBOS asks for `unixepoch('subsec')` by Python's version, 3.12, not by SQLite's: an older one answers NULL.
        connection.create_function("unixepoch", 1, _unixepoch)


def _unixepoch(when: str) -> float | int:
    """`unixepoch(when)` as newer versions of SQLite have it, in whole milliseconds too; for the present only."""
    match when:
        case "subsec" | "subsecond":
            return time.time_ns() // 1_000_000 / 1000
        case "now":
            return int(time.time())
        case _:
            raise ValueError(when)


def open_sqlite(path: Path, synchronous: Synchronous) -> sqlite3.Connection:
    """A connection to the file, which begins no transaction by itself."""
    try:
        # Before SQLite makes it: its -wal and -shm files take over who may read it.
        path.touch(mode=0o600)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        tune_sqlite(connection, synchronous)
    except (sqlite3.Error, OSError) as error:
        raise Unavailable(f"Cannot open the journal {str(path)!r}: {error}.", hint="Is it a journal?") from error
    return connection


def _open_postgres(url: str) -> psycopg.Connection:
    import psycopg  # 0.3 s that a journal in a file need not pay

    try:
        connection = psycopg.connect(url, connect_timeout=10)
        # A frozen worker must not hold a stream's head, or its own runs, against those who take over.
        patience = (str(IDLE_TRANSACTION_TIMEOUT_SECONDS * 1000),)
        with closed_if_it_fails(connection):
            connection.execute("SELECT set_config('idle_in_transaction_session_timeout', %s, false)", patience)
            connection.commit()
    except psycopg.ProgrammingError:
        # Without the driver's words: they may quote a part of the address, and that may be its password.
        raise UserError(
            "That is no address of a Postgres database.", hint="Write postgresql://user@host:5432/name."
        ) from None
    except psycopg.Error as error:
        raise Unavailable(f"Cannot reach the journal's Postgres: {error}.", hint="Check the URL.") from error
    return connection


@contextmanager
def closed_if_it_fails(connection: psycopg.Connection) -> Generator[None]:
    """What is not handed on in the end is not left open either."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


class BrokenUnused(Unavailable):
    """A connection was found broken, and nothing can have been changed over it."""


class SharedConnection:
    """One connection and its queue of users; opened again after it broke."""

    def __init__(self, place: JournalLocation, synchronous: Synchronous) -> None:
        self._place = place
        self._synchronous: Synchronous = synchronous
        self._connection: Any = None
        """A driver's; both drivers' are used alike."""
        self._is_closed = False
        self._threads = threading.Lock()
        self._line = anyio.CapacityLimiter(1)
        """Not among the threads all share: those may be taken by work of many runs that lasts seconds."""

    @contextmanager
    def transaction(self, *, is_writing: bool) -> Generator[Cursor]:
        """Commit what is done inside, or nothing of it."""
        with self._threads:
            kept, self._connection = self._connection, None
            connection = kept or self._connect()
            cursor: Cursor | None = None
            try:
                cursor = Cursor(connection.cursor(), self._place.dialect)
                if self._place.dialect == "sqlite":
                    # A writing one waits for its turn now, so that it cannot fail later.
                    connection.execute("BEGIN IMMEDIATE" if is_writing else "BEGIN")
                yield cursor
                connection.commit()
            except BaseException as error:
                is_stale = kept is not None and (cursor is None or not cursor.is_used)
                self._give_back(connection, error, is_unused=is_stale or not is_writing)
                raise
            self._keep(connection)

    async def run(self, work: Callable[[Cursor], T], *, is_writing: bool) -> T:
        """The same for a task: it waits in line before it takes a thread."""
        return await anyio.to_thread.run_sync(self.run_now, work, is_writing, limiter=self._line)

    def run_now(self, work: Callable[[Cursor], T], is_writing: bool) -> T:
        """The same for a thread. A connection that broke while nobody used it, or only to read, is replaced once."""
        try:
            with self.transaction(is_writing=is_writing) as cursor:
                return work(cursor)
        except BrokenUnused:
            with self.transaction(is_writing=is_writing) as cursor:
                return work(cursor)

    def close(self) -> None:
        """Let go of the connection; a thread whose task was stopped may still come, and leaves none behind."""
        with self._threads:
            self._is_closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connect(self) -> Any:
        path = self._place.path
        return _open_postgres(self._place.url) if path is None else open_sqlite(path, self._synchronous)

    def _give_back(self, connection: Any, error: BaseException, *, is_unused: bool) -> None:
        """Keep the connection if it is still good."""
        if not _broken_by(error):
            # SQLite knows no closed ones, and a server may have hung up.
            if not getattr(connection, "closed", False):
                connection.rollback()
            self._keep(connection)
            return
        connection.close()
        kind = BrokenUnused if is_unused else Unavailable
        raise kind(f"The journal's database failed: {error}.", hint="Try again.") from error

    def _keep(self, connection: Any) -> None:
        """For whoever comes next, if anybody should."""
        if self._is_closed:
            connection.close()
        else:
            self._connection = connection


def _broken_by(error: BaseException) -> bool:
    """Whether a connection cannot be used any more; both drivers name such errors the same."""
    return any(kind.__name__ in {"OperationalError", "InterfaceError"} for kind in type(error).__mro__)


class Database:
    """A journal's database: one connection that writes, one that reads."""

    def __init__(self, place: JournalLocation, *, synchronous: Synchronous = "normal") -> None:
        self.place: Final = place
        self.dialect: Final[Dialect] = place.dialect
        self.synchronous: Final[Synchronous] = synchronous
        self._writing = self.new_connection()
        self._reading = self.new_connection()

    def new_connection(self) -> SharedConnection:
        """One more, closed by whoever asked for it."""
        return SharedConnection(self.place, self.synchronous)

    def lasting(self) -> Database:
        """The same database with commits that survive a power failure."""
        return Database(self.place, synchronous="full")

    async def write(self, work: Callable[[Cursor], T]) -> T:
        """Do the work in one transaction that writes."""
        return await self._writing.run(work, is_writing=True)

    async def read(self, work: Callable[[Cursor], T]) -> T:
        """Do the work on one consistent view."""
        return await self._reading.run(work, is_writing=False)

    def write_now(self, work: Callable[[Cursor], T]) -> T:
        """The same, for code that is already in a thread."""
        return self._writing.run_now(work, True)

    def read_now(self, work: Callable[[Cursor], T]) -> T:
        """The same, for code that is already in a thread."""
        return self._reading.run_now(work, False)

    def close(self) -> None:
        """Let go of the connections."""
        self._writing.close()
        self._reading.close()
