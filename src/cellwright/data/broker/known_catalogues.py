"""Catalogues that were read lately: once for all who ask at one time, anew when settings changed or time went by."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import anyio

from cellwright.data.catalogue import Catalogue
from cellwright.data.connections import DataConnection
from cellwright.data.masked_columns import mark_masked

_AGE_SECONDS: Final = 600.0
ReadCatalogue = Callable[[DataConnection], Awaitable[Catalogue]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownCatalogue:
    """A catalogue, the settings it was read with, and when."""

    catalogue: Catalogue
    key: str
    at: float


class KnownCatalogues:
    """What connections show, as far as it is known."""

    def __init__(self, read: ReadCatalogue) -> None:
        self._read = read
        self._known = dict[str, _KnownCatalogue]()
        self._reading = dict[str, anyio.Lock]()

    async def find(self, connection: DataConnection, *, is_fresh: bool = False) -> Catalogue:
        """What the connection shows, with its masks."""
        key = hashlib.sha256(repr((connection.kind, sorted(connection.options.items()))).encode()).hexdigest()
        async with self._reading.setdefault(connection.name, anyio.Lock()):
            known = self._known.get(connection.name)
            is_old = known is None or known.key != key or time.monotonic() - known.at > _AGE_SECONDS
            if known is None or is_old or is_fresh:
                known = _KnownCatalogue(catalogue=await self._read(connection), key=key, at=time.monotonic())
                self._known[connection.name] = known
        return mark_masked(known.catalogue, connection.masked) if connection.masked else known.catalogue

    def known(self, connection: DataConnection) -> Catalogue | None:
        """The same without asking anybody."""
        found = self._known.get(connection.name)
        return found.catalogue if found is not None else None

    def forget(self, name: str) -> None:
        """Read it anew when it is needed."""
        self._known.pop(name, None)
