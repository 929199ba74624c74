"""Functions that do more than compute, by the server's own word, remembered for a while."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final

from cellwright.data.connections import DataConnection
from cellwright.data.source_kinds import FILE_KINDS

AskServer = Callable[[DataConnection, list[str]], Awaitable[Collection[str]]]
"""Which of these functions the server does not vouch for."""
_AGE_SECONDS: Final = 600.0


class FunctionVerdicts:
    """What servers said of functions. A word is for one server, and not for ever: functions come and change."""

    def __init__(self, ask: AskServer) -> None:
        self._ask = ask
        self._known = dict[str, tuple[str, float, dict[str, bool]]]()
        """By connection: where it led, when the first word was heard, and the words."""

    async def doing_more(self, functions: Sequence[str], connection: DataConnection) -> list[str]:
        """Those of these functions that the server does not vouch for, nor the person."""
        names = [name for name in functions if name not in connection.functions]
        if not names or connection.kind in FILE_KINDS:
            return []
        words = self._words(connection)
        if unknown := [name for name in names if name not in words]:
            found = await self._ask(connection, unknown)
            words.update({name: name in found for name in unknown})
        return [name for name in names if words[name]]

    def forget(self, connection: str) -> None:
        """Something was changed there: a function, perhaps."""
        self._known.pop(connection, None)

    def _words(self, connection: DataConnection) -> dict[str, bool]:
        place = repr((connection.kind, sorted(connection.options.items())))
        known = self._known.get(connection.name)
        if known is None or known[0] != place or time.monotonic() - known[1] > _AGE_SECONDS:
            self._known[connection.name] = known = (place, time.monotonic(), {})
        return known[2]
