"""The event log: append, read, follow. No gap in a stream, and nothing lost or doubled across reconnects."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from cellwright.journal.append import append_events
from cellwright.journal.background import beside
from cellwright.journal.chain import Chain
from cellwright.journal.database import Cursor, Database, Row
from cellwright.journal.events import Event, Recorded, decode, with_text
from cellwright.journal.growth import Growth
from cellwright.journal.leases import Lease, require_lease
from cellwright.journal.masking import Mask
from cellwright.journal.names import plain
from cellwright.journal.tables import create_tables

_PAGE: Final = 500
_COLUMNS: Final = "stream, sequence, at_ms, kind, body, link, key"


class EventLog:
    """Everything that was told, in streams."""

    def __init__(self, database: Database, *, chain: Chain, mask: Mask | None = None) -> None:
        self.database: Final = database
        self.chain: Final = chain
        self.growth: Final = Growth(database)
        self.mask: Final = mask
        """Takes secrets out of what is told; what else is kept for people to read passes through it too."""

    @classmethod
    @asynccontextmanager
    async def open(cls, database: Database, *, chain: Chain, mask: Mask | None = None) -> AsyncGenerator[EventLog]:
        """The log of a database, whose tables are made if need be."""
        await database.write(create_tables)
        log = cls(database, chain=chain, mask=mask)
        try:
            async with beside(log.growth.watch):
                yield log
        finally:
            database.close()

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
        return [recorded(row) for row in rows]

    async def read_all(self, stream: str, after: int = 0) -> AsyncGenerator[Recorded]:
        """Every event there is now, page by page."""
        while page := await self.read(stream, after):
            for event in page:
                yield event
            after = page[-1].sequence

    async def follow(self, stream: str, after: int = 0) -> AsyncGenerator[Recorded]:
        """Every event with a number above `after`, then each new one as it comes, for ever.

        After a disconnect go on with the last number you saw: nothing is lost and nothing comes twice.
        """
        while True:
            news = self.growth.next()
            is_quiet = True
            async for event in self.read_all(stream, after):
                is_quiet = False
                after = event.sequence
                yield event
            if is_quiet:
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
        return [recorded(row) for row in rows]


def recorded(row: Row) -> Recorded:
    """An event of its row: stream, number, time, kind, body, link, key."""
    stream, sequence, at_ms, kind, body, link, key = row
    return Recorded(
        stream=stream, sequence=sequence, at_ms=at_ms, event=decode(kind, body), link=bytes(link).hex(), key=key
    )
