"""The event log: append, read, follow. No gap in a stream, and nothing lost or doubled across reconnects.

Events are written inside an open transaction, with gap-free numbers and the next links of the chain; whoever waits is
woken when the database may have grown.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from cellwright.journal.chain import START, Chain, place_of
from cellwright.journal.crash import AtCrashPoint, carry_on
from cellwright.journal.database import Cursor, Database, JournalLocation, Row, closed_if_it_fails, open_sqlite
from cellwright.journal.events import (
    Event,
    EventTypes,
    Fact,
    Recorded,
    RoomEvent,
    encode,
    kind_of,
    kind_of_type,
    texts_of,
)
from cellwright.journal.leases import Lease, require_lease
from cellwright.journal.names import plain
from cellwright.journal.tables import create_tables
from cellwright.journal.values import Mask, adapter, masked_parts

if TYPE_CHECKING:
    import psycopg


@asynccontextmanager
async def beside(task: Callable[[], Coroutine[Any, Any, None]]) -> AsyncGenerator[None]:
    """Run the task until the block ends. An error of the block is raised as it is, not in a group."""
    problem: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(task)
        try:
            yield
        except Exception as error:  # noqa: BLE001 - raised again below, outside the group
            problem = error
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem


CHANNEL: Final = "cellwright_event"
"""Where Postgres says that a stream grew; only a hint, never the news itself."""

_FIRST_HEAD: Final = "INSERT INTO cellwright_head (stream, sequence, link, before) VALUES (?, 0, ?, ?)"
_INSERT: Final = (
    "INSERT INTO cellwright_event (stream, sequence, at_ms, kind, key, body, link) VALUES (?, ?, ?, ?, ?, ?, ?)"
)


def append_events(cursor: Cursor, chain: Chain, stream: str, events: Sequence[Event], key: str = "") -> int:
    """Add the events to the stream; gives the number of the last. With a `key`, the second time does nothing."""
    cursor.lock_for_writing()
    last, last_link = _hold_head(cursor, stream)
    if key:
        known = cursor.execute(
            "SELECT sequence FROM cellwright_event WHERE stream = ? AND key = ?", (stream, key)
        ).one()
        if known is not None:
            return int(known[0])
    at_ms = time.time_ns() // 1_000_000
    place = place_of(stream, at_ms, key)
    rows: list[tuple[object, ...]] = []
    for event in events:
        last += 1
        kind, body = kind_of(event), encode(event)
        last_link = chain.link(last_link, place, last, kind, body)
        rows.append((stream, last, at_ms, kind, key, body.decode(), last_link))
    cursor.executemany(_INSERT, rows)
    cursor.execute("UPDATE cellwright_head SET sequence = ?, link = ? WHERE stream = ?", (last, last_link, stream))
    if cursor.dialect == "postgres":
        cursor.execute("SELECT pg_notify(?, ?)", (CHANNEL, stream))
    return last


def _hold_head(cursor: Cursor, stream: str) -> tuple[int, bytes]:
    lock = "" if cursor.dialect == "sqlite" else " FOR UPDATE"
    select = f"SELECT sequence, link FROM cellwright_head WHERE stream = ?{lock}"
    row = cursor.execute(select, (stream,)).one()
    if row is None:
        cursor.execute(f"{_FIRST_HEAD} ON CONFLICT (stream) DO NOTHING", (stream, START, START))
        row = cursor.execute(select, (stream,)).one()
    assert row is not None
    return row[0], bytes(row[1])


_POLL_INTERVAL_SECONDS: Final = 0.02
_IDLE_POLL_INTERVAL_SECONDS: Final = 0.1
_POLLS_UNTIL_IDLE: Final = 100
_LISTEN_TIMEOUT_SECONDS: Final = 0.2
_LISTENS_UNTIL_POLL: Final = 5


class Growth:
    """Wakes everyone who waits when there may be news. A wake-up may be late or for nothing: look yourself."""

    def __init__(self, database: Database) -> None:
        self._place = database.place
        self._changed: anyio.Event | None = None
        """None while nobody waits: every step hints twice, and an event takes a while to make."""
        self._wanted = anyio.Event()
        self.hints = 0
        """How many there were."""

    def hint(self) -> None:
        """Something was written in this process."""
        self.hints += 1
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    def next(self) -> anyio.Event:
        """Set at the next hint. Take it before you look, wait for it after."""
        self._wanted.set()
        self._changed = self._changed or anyio.Event()
        return self._changed

    async def watch(self) -> None:
        """Notice what other processes write, as soon as somebody wants to know."""
        await self._wanted.wait()
        watch = _SqliteWatch(self._place) if self._place.path is not None else _PostgresWatch(self._place)
        its_own = anyio.CapacityLimiter(1)
        try:
            while True:
                if await anyio.to_thread.run_sync(watch.look, limiter=its_own):
                    self.hint()
        finally:
            watch.close()


class _SqliteWatch:
    """Asks the file for its version, less often when nothing happens. Blocking, but never for long."""

    def __init__(self, place: JournalLocation) -> None:
        assert place.path is not None
        self._connection = open_sqlite(place.path, "normal")
        self._version = -1
        self._quiet_looks = 0

    def look(self) -> bool:
        time.sleep(_IDLE_POLL_INTERVAL_SECONDS if self._quiet_looks > _POLLS_UNTIL_IDLE else _POLL_INTERVAL_SECONDS)
        version: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        is_new = version != self._version
        self._version, self._quiet_looks = version, 0 if is_new else self._quiet_looks + 1
        return is_new

    def close(self) -> None:
        self._connection.close()


class _PostgresWatch:
    """Listens; looks now and then all the same, because a notice can be lost."""

    def __init__(self, place: JournalLocation) -> None:
        self._url = place.url
        self._line: psycopg.Connection | None = None
        self._silences = 0

    def look(self) -> bool:
        import psycopg

        try:
            line = self._line = self._line or self._listen()
            is_told = any(True for _ in line.notifies(timeout=_LISTEN_TIMEOUT_SECONDS, stop_after=1))
        except psycopg.Error:
            self.close()
            time.sleep(_LISTEN_TIMEOUT_SECONDS)
            return True
        self._silences = 0 if is_told else (self._silences + 1) % _LISTENS_UNTIL_POLL
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


class _Heads:
    """How far the followed streams have come: one look for all who follow, where each would look for every event."""

    def __init__(self, database: Database, growth: Growth) -> None:
        self._database = database
        self._growth = growth
        self._followed = Counter[str]()
        self._looking = anyio.Lock()
        self._seen: dict[str, int] = {}
        self._seen_at = -1

    @contextmanager
    def followed(self, stream: str) -> Generator[None]:
        """The stream is looked at until the block ends."""
        self._followed[stream] += 1
        try:
            yield
        finally:
            self._followed -= Counter([stream])

    async def is_beyond(self, stream: str, last: int) -> bool:
        """Whether it has an event after its `last`; what is written from now on is hinted at."""
        hints = self._growth.hints
        async with self._looking:
            if self._seen_at < hints:
                seen_at, streams = self._growth.hints, list(self._followed)
                marks = ", ".join("?" * len(streams))
                select = f"SELECT stream, sequence FROM cellwright_head WHERE stream IN ({marks})"
                rows = await self._database.read(lambda cursor: cursor.execute(select, streams).all())
                self._seen, self._seen_at = {row[0]: row[1] for row in rows}, seen_at
        return self._seen.get(stream, 0) > last


_PAGE: Final = 500
_STREAMS_AT_ONCE: Final = 50
_COLUMNS: Final = "stream, sequence, at_ms, kind, body, link, key"


class EventLog:
    """Everything that was told, in streams."""

    def __init__(
        self,
        database: Database,
        *,
        chain: Chain,
        mask: Mask | None = None,
        types: EventTypes | None = None,
        at_crash_point: AtCrashPoint = carry_on,
    ) -> None:
        self.database: Final = database
        self.chain: Final = chain
        self.growth: Final = Growth(database)
        self.mask: Final = mask
        """Takes secrets out of what is told; what else is kept for people to read passes through it too."""
        self.at: Final = at_crash_point
        """Called by whatever is written through here, at each point where a process may die."""
        self._types = types or EventTypes()
        self._heads = _Heads(database, self.growth)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Its tables are made if need be; what other processes write is noticed until the block ends."""
        await self.database.write(create_tables)
        try:
            async with beside(self.growth.watch):
                yield
        finally:
            self.database.close()

    async def append(self, stream: str, *events: Event, key: str = "", lease: Lease | None = None) -> int:
        """Add events; gives the number of the last. All of them or, if the lease is lost, none.

        With a `key` only the first append of that key to the stream counts; it then takes one event.
        """
        plain(stream, "stream")

        def work(cursor: Cursor) -> int:
            if lease is not None:
                require_lease(cursor, lease)
            return self.append_inside(cursor, stream, events, key)

        last = await self.database.write(work)
        self.growth.hint()
        return last

    def append_inside(self, cursor: Cursor, stream: str, events: Sequence[Event], key: str = "") -> int:
        """Add events in somebody's open transaction. Events are masked here and nowhere else."""
        if key:
            plain(key, "key")
            assert len(events) == 1, "a key names one event"
        if self.mask is not None:
            events = [with_text(event, self.mask) for event in events]
        return append_events(cursor, self.chain, stream, events, key) if events else 0

    async def read(self, stream: str, after: int = 0, limit: int = _PAGE) -> list[Recorded]:
        """The events with a number above `after`, in order, at most `limit`."""
        statement = (
            f"SELECT {_COLUMNS} FROM cellwright_event WHERE stream = ? AND sequence > ? ORDER BY sequence LIMIT ?"
        )
        rows = await self.database.read(lambda cursor: cursor.execute(statement, (stream, after, limit)).all())
        return [self._recorded(row) for row in rows]

    async def read_some(self, streams: Sequence[str], *, without: Sequence[type[Event]]) -> AsyncGenerator[Recorded]:
        """Every event of these streams but those of these types, stream by stream: one look for a few at a time."""
        kinds = [kind_of_type(each) for each in without]
        for start in range(0, len(streams), _STREAMS_AT_ONCE):
            few = streams[start : start + _STREAMS_AT_ONCE]
            statement = (
                f"SELECT {_COLUMNS} FROM cellwright_event WHERE stream IN ({', '.join('?' * len(few))})"
                f"{' AND kind <> ?' * len(kinds)} ORDER BY stream, sequence"
            )
            values = (*few, *kinds)
            for row in await self.database.read(lambda cursor: cursor.execute(statement, values).all()):  # noqa: B023
                yield self._recorded(row)

    async def read_all(self, stream: str, after: int = 0) -> AsyncGenerator[Recorded]:
        """Every event there is now, page by page."""
        while page := await self.read(stream, after):
            for event in page:
                yield event
            if len(page) < _PAGE:
                return
            after = page[-1].sequence

    async def follow(self, stream: str, after: int = 0) -> AsyncGenerator[Recorded]:
        """Every event with a number above `after`, then each new one as it comes, for ever.

        After a disconnect go on with the last number you saw: nothing is lost and nothing comes twice.
        """
        with self._heads.followed(stream):
            is_first = True
            while True:
                news = self.growth.next()
                if is_first or await self._heads.is_beyond(stream, after):
                    is_first = False
                    async for event in self.read_all(stream, after):
                        after = event.sequence
                        yield event
                await news.wait()

    async def streams(self) -> list[tuple[str, int]]:
        """Every stream and the number of its last event."""
        statement = "SELECT stream, sequence FROM cellwright_head ORDER BY stream"
        rows = await self.database.read(lambda cursor: cursor.execute(statement).all())
        return [(row[0], row[1]) for row in rows]

    async def audit(self, since_ms: int = 0) -> list[Recorded]:
        """Every audit entry of every stream, oldest first."""
        statement = (
            f"SELECT {_COLUMNS} FROM cellwright_event WHERE kind = 'audit-recorded' AND at_ms >= ? "
            "ORDER BY at_ms, stream, sequence"
        )
        rows = await self.database.read(lambda cursor: cursor.execute(statement, (since_ms,)).all())
        return [self._recorded(row) for row in rows]

    def _recorded(self, row: Row) -> Recorded:
        """An event of its row."""
        stream, sequence, at_ms, kind, body, link, key = row
        event = self._types.decode(kind, body)
        return Recorded(stream=stream, sequence=sequence, at_ms=at_ms, event=event, link=bytes(link).hex(), key=key)


def with_text(event: Event, change: Callable[[str], str]) -> Event:
    """The event with every text changed, e.g. masked, however deep it stands; ids and names are texts too."""
    if isinstance(event, RoomEvent):
        return _with_nested_text(event, change)
    changed: dict[str, Any] = {name: change(value) for name, value in texts_of(event).items()}
    if isinstance(event, Fact) and event.numbers:
        changed["numbers"] = {change(name): number for name, number in event.numbers.items()}
    return replace(event, **changed)


def _with_nested_text(event: RoomEvent, change: Callable[[str], str]) -> RoomEvent | Fact:
    """Each text, then all of it as one: a secret may be spread over several, or known by the name it stands under."""
    before = adapter(type(event)).dump_python(event, mode="json")
    text = change(json.dumps(masked_parts(before, change), ensure_ascii=False))
    try:
        return adapter(type(event)).validate_json(text)
    except ValueError:
        # What is left of it is no such event any more; it is told all the same.
        return Fact(topic=kind_of(event), subject="", text=text)
