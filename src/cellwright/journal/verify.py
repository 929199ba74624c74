"""Checking the hash chain: what was changed, removed, moved or cut off since it was written.

Needs the chain's key. A stream put back as a whole to an earlier state still fits; compare with an anchor for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from cellwright.errors import UserError
from cellwright.journal.chain import START, Chain, place_of
from cellwright.journal.database import Cursor, Row
from cellwright.journal.log import EventLog

_PAGE: Final = 1_000
Fault = Literal[
    "altered", "missing", "extra", "cut off", "pruned without a tombstone", "false tombstone", "rolled back"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Something that is not as it was written."""

    stream: str
    sequence: int
    """The first event that does not fit; 0 for the stream as a whole."""
    fault: Fault

    def __str__(self) -> str:
        where = f"event {self.sequence} of {self.stream!r}" if self.sequence else f"stream {self.stream!r}"
        return f"{where}: {self.fault}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """What a stream's head was at some time. Kept elsewhere, it proves that nothing before it was taken back."""

    stream: str
    sequence: int
    link: str

    @classmethod
    def of(cls, value: Mapping[str, object]) -> Anchor:
        """From plain JSON values. Raises `UserError`."""
        match value:
            case {"stream": str(stream), "sequence": int(sequence), "link": str(link)}:
                return cls(stream=stream, sequence=sequence, link=link)
            case _:
                raise UserError("No anchor: stream, sequence and link are needed.", hint="Use what verify has written.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """What a check found."""

    streams: int
    events: int
    damage: tuple[Damage, ...]
    anchors: tuple[Anchor, ...]
    """The heads as they are now, to be kept elsewhere."""


async def verify(log: EventLog, *, stream: str | None = None, anchors: Sequence[Anchor] = ()) -> ChainReport:
    """Walk the chains of all streams, or of one, on one consistent view."""

    def work(cursor: Cursor) -> ChainReport:
        if cursor.dialect == "postgres":
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        heads = [head for head in _heads(cursor) if stream in (None, head[0])]
        damage: list[Damage] = []
        events = 0
        for head in heads:
            count, found = _walk(cursor, log.chain, head)
            events += count
            damage += found
        known = {head[0] for head in _heads(cursor)}
        rows = cursor.execute("SELECT stream, min(sequence) FROM cellwright_event GROUP BY stream").all()
        damage += [Damage(stream=row[0], sequence=row[1], fault="extra") for row in rows if row[0] not in known]
        damage += [found for anchor in anchors if stream in (None, anchor.stream) and (found := _held(cursor, anchor))]
        now = tuple(Anchor(stream=head[0], sequence=head[1], link=bytes(head[2]).hex()) for head in heads)
        return ChainReport(streams=len(heads), events=events, damage=tuple(damage), anchors=now)

    return await log.database.read(work)


def tombstone_text(stream: str, first: int, last: int, before: bytes, link: bytes, pruned_ms: int) -> str:
    """What a tombstone's seal covers."""
    return f"{stream}\x1f{first}\x1f{last}\x1f{before.hex()}\x1f{link.hex()}\x1f{pruned_ms}"


def _heads(cursor: Cursor) -> list[Row]:
    return cursor.execute("SELECT stream, sequence, link, first, before FROM cellwright_head ORDER BY stream").all()


def _walk(cursor: Cursor, chain: Chain, head: Row) -> tuple[int, list[Damage]]:
    stream, last, last_link, first, before = head[0], head[1], bytes(head[2]), head[3], bytes(head[4])
    if (found := _tombstones(cursor, chain, stream, first, before)) is not None:
        return 0, [Damage(stream=stream, sequence=0, fault=found)]
    expected, previous, count = first, before, 0
    while page := _page(cursor, stream, expected - 1 if count else 0):
        for sequence, at_ms, kind, key, body, link in page:
            if sequence != expected:
                return count, [
                    Damage(stream=stream, sequence=expected, fault="missing" if sequence > expected else "extra")
                ]
            if sequence > last:
                return count, [Damage(stream=stream, sequence=sequence, fault="extra")]
            if chain.link(previous, place_of(stream, at_ms, key), sequence, kind, body.encode()) != bytes(link):
                return count, [Damage(stream=stream, sequence=sequence, fault="altered")]
            expected, previous, count = expected + 1, bytes(link), count + 1
    if expected != last + 1:
        return count, [Damage(stream=stream, sequence=expected, fault="cut off")]
    return count, [] if previous == last_link else [Damage(stream=stream, sequence=last, fault="altered")]


def _page(cursor: Cursor, stream: str, after: int) -> list[Row]:
    select = (
        "SELECT sequence, at_ms, kind, key, body, link FROM cellwright_event "
        "WHERE stream = ? AND sequence > ? ORDER BY sequence LIMIT ?"
    )
    return cursor.execute(select, (stream, after, _PAGE)).all()


def _tombstones(cursor: Cursor, chain: Chain, stream: str, first: int, before: bytes) -> Fault | None:
    """Whether what was pruned is accounted for, from the first event on."""
    select = (
        "SELECT first, last, before, link, pruned_ms, seal FROM cellwright_tombstone WHERE stream = ? ORDER BY first"
    )
    next_first, next_before = 1, START
    for start, last, *kept, pruned_ms, seal in cursor.execute(select, (stream,)).all():
        old_before, link = map(bytes, kept)
        is_sealed = chain.seal(tombstone_text(stream, start, last, old_before, link, pruned_ms)) == bytes(seal)
        if not is_sealed or (start, old_before) != (next_first, next_before):
            return "false tombstone"
        next_first, next_before = last + 1, link
    return None if (next_first, next_before) == (first, before) else "pruned without a tombstone"


def _held(cursor: Cursor, anchor: Anchor) -> Damage | None:
    """Whether what an anchor saw is still there, or was pruned in order."""
    head = cursor.execute("SELECT sequence, first FROM cellwright_head WHERE stream = ?", (anchor.stream,)).one()
    if head is None or head[0] < anchor.sequence:
        return Damage(stream=anchor.stream, sequence=anchor.sequence, fault="rolled back")
    if anchor.sequence < head[1]:
        return None
    select = "SELECT link FROM cellwright_event WHERE stream = ? AND sequence = ?"
    row = cursor.execute(select, (anchor.stream, anchor.sequence)).one()
    is_held = row is not None and bytes(row[0]).hex() == anchor.link
    return None if is_held else Damage(stream=anchor.stream, sequence=anchor.sequence, fault="rolled back")
