"""Leases with fencing tokens: one holder at a time, and a late one cannot write.

A token grows with every new holder. Work done under a lease is committed with its token checked in the same
transaction, so a holder that slept through its expiry changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellwright.errors import Unavailable
from cellwright.journal.database import Cursor, Database


class LeaseLost(Unavailable):
    """Somebody else holds it now, or it ran out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to act for `name` until it runs out or is given back."""

    name: str
    holder: str
    token: int
    """Greater than every token given out before for this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseConflict:
    """Not now: somebody else holds it."""

    name: str
    holder: str
    seconds_left: float


class Leases:
    """Who may act for what, e.g. which host runs a notebook's kernel."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def acquire(self, name: str, holder: str, seconds: float) -> Lease | LeaseConflict:
        """Take it if it is free or has run out. Taking what you hold gives a new token: the old one is void."""

        def work(cursor: Cursor) -> Lease | LeaseConflict:
            now = cursor.now_ms()
            expires = now + int(seconds * 1000)
            cursor.execute(
                "INSERT INTO cellwright_lease (name, holder, token, expires_ms) VALUES (?, '', 0, 0) "
                "ON CONFLICT (name) DO NOTHING",
                (name,),
            )
            current, token, until = _row(cursor, name)
            if until > now and current != holder:
                return LeaseConflict(name=name, holder=current, seconds_left=(until - now) / 1000)
            cursor.execute(
                "UPDATE cellwright_lease SET holder = ?, token = ?, expires_ms = ? WHERE name = ?",
                (holder, token + 1, expires, name),
            )
            return Lease(name=name, holder=holder, token=token + 1)

        return await self._database.write(work)

    async def renew(self, lease: Lease, seconds: float) -> None:
        """Hold it longer. Raises `LeaseLost` if it ran out or is somebody else's."""

        def work(cursor: Cursor) -> None:
            require_lease(cursor, lease)
            cursor.execute(
                "UPDATE cellwright_lease SET expires_ms = ? WHERE name = ?",
                (cursor.now_ms() + int(seconds * 1000), lease.name),
            )

        await self._database.write(work)

    async def release(self, lease: Lease) -> None:
        """Give it back; nothing happens if it is not held any more."""

        def work(cursor: Cursor) -> None:
            cursor.execute(
                "UPDATE cellwright_lease SET expires_ms = 0 WHERE name = ? AND token = ?", (lease.name, lease.token)
            )

        await self._database.write(work)


def require_lease(cursor: Cursor, lease: Lease) -> None:
    """Keep the lease as it is until this transaction ends, or raise `LeaseLost`."""
    cursor.lock_for_writing()
    _, token, until = _row(cursor, lease.name)
    if token != lease.token or until <= cursor.now_ms():
        raise LeaseLost(
            f"The lease on {lease.name!r} is not {lease.holder!r}'s any more.",
            hint="Acquire it again, then start over.",
        )


def _row(cursor: Cursor, name: str) -> tuple[str, int, int]:
    lock = "" if cursor.dialect == "sqlite" else " FOR UPDATE"
    row = cursor.execute(f"SELECT holder, token, expires_ms FROM cellwright_lease WHERE name = ?{lock}", (name,)).one()
    return ("", 0, 0) if row is None else (row[0], row[1], row[2])
