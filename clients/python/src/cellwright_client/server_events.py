"""Server-sent events out of lines."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEvent:
    """One event."""

    id: str
    """Its place in the stream. Empty: it has none, and is not told again."""
    kind: str
    data: str

    def json(self) -> Any:
        """What it tells; of a run's events the record, with `kind`, `at_ms` and `event`."""
        return json.loads(self.data)


@dataclass(slots=True, kw_only=True)
class EventLines:
    """Lines as they come, until they are an event."""

    last: str = ""
    """The id of the last whole event that had one."""
    _said: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def take(self, line: str) -> ServerEvent | None:
        """The event that ends with this line, if one does."""
        if line:
            name, _, value = line.partition(":")
            self._said.setdefault(name, []).append(value.removeprefix(" "))
            return None
        said, self._said = self._said, {}
        if "data" not in said:
            return None
        id, kind = said.get("id", [""])[-1], said.get("event", ["message"])[-1]
        self.last = id or self.last
        return ServerEvent(id=id, kind=kind, data="\n".join(said["data"]))
