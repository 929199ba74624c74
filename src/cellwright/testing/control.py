"""The server's own requests, under `/_`: how another process scripts it and reads its books."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final
from urllib.parse import parse_qs

import anyio.to_thread

from cellwright.errors import UserError
from cellwright.testing.connection import HttpRequest
from cellwright.testing.counter import Counter
from cellwright.testing.gate import Gate
from cellwright.testing.requests import Received
from cellwright.testing.script_file import read_script
from cellwright.testing.scripts import Script

_LONGEST_WAIT_SECONDS: Final = 60.0


class Control:
    """Answers requests about the server itself."""

    def __init__(self, *, script: Script, gate: Gate, counter: Counter) -> None:
        self._script = script
        self._gate = gate
        self._counter = counter

    def owns(self, path: str) -> bool:
        """Whether a path is about the server itself."""
        return path.startswith("/_")

    async def answer(self, request: HttpRequest) -> tuple[int, dict[str, Any]]:
        """Status and body."""
        match request.method, request.path:
            case "GET", "/_charges":
                return 200, {"charges": [asdict(charge) for charge in self._counter.charged]}
            case "GET", "/_requests":
                return 200, {"requests": [_shown(received) for received in self._counter.requests]}
            case "GET", "/_wait":
                return await self._wait(parse_qs(request.query))
            case "POST", "/_script":
                return self._add(request.body)
            case "POST", "/_release":
                self._gate.open()
                return 200, {}
            case method, path:
                return 404, {"error": f"Unknown request: {method} {path}"}

    def _add(self, body: bytes) -> tuple[int, dict[str, Any]]:
        try:
            script = read_script(body)
        except UserError as error:
            return 400, {"error": str(error)}
        self._script.add_file(script)
        return 200, {}

    async def _wait(self, query: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        """Until so many requests came in, charges were begun, and charges were finished."""
        requests, charges, finished = (int(query.get(name, ["0"])[0]) for name in ("requests", "charges", "finished"))
        seconds = min(float(query.get("seconds", ["10"])[0]), _LONGEST_WAIT_SECONDS)

        def holds() -> bool:
            charged = self._counter.charged
            return (
                len(self._counter.requests) >= requests
                and len(charged) >= charges
                and sum(charge.is_finished for charge in charged) >= finished
            )

        def wait() -> bool:
            try:
                self._counter.wait_until(holds, timeout_seconds=seconds)
            except TimeoutError:
                return False
            return True

        has_come = await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)
        return (200, {}) if has_come else (408, {"error": f"The server did not come to that in {seconds:g} s."})


def _shown(received: Received) -> dict[str, Any]:
    return asdict(received)
