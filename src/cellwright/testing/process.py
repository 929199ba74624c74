"""The provider server as a process of its own, for tests that kill: its books survive whoever asked it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode

from cellwright.errors import UserError
from cellwright.testing.accounting import Charge, Received
from cellwright.testing.answers import Answer, Tokens
from cellwright.testing.scripts import ScriptFile, write_script
from cellwright.testing.wire.formats import BASE_PATHS, WireKind

_STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderProcess:
    """A provider server in another process. It ends with the block, or with whoever started it."""

    address: str
    pid: int

    @classmethod
    @contextmanager
    def running(cls, *, honours_idempotency_keys: bool = False) -> Generator[Self]:
        """Start one, and stop it when the block is left."""
        command = [sys.executable, "-m", "cellwright.testing.provider_server", "--until-stdin-closes"]
        if honours_idempotency_keys:
            command.append("--honour-idempotency-keys")
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                started = json.loads(process.stdout.readline())
                yield cls(address=started["address"], pid=started["pid"])
            finally:
                process.stdin.close()
                try:
                    process.wait(timeout=_STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()

    def base_url(self, kind: WireKind) -> str:
        """What to give a provider's SDK as its base URL."""
        return self.address + BASE_PATHS[kind]

    def script(self, *answers: Answer) -> None:
        """Answer the next requests so, one each in this order."""
        self._ask("POST", "/_script", write_script(ScriptFile(line=answers)).encode())

    def always(self, *answers: Answer) -> None:
        """Answer so whatever finds nothing scripted in line, round and round."""
        self._ask("POST", "/_script", write_script(ScriptFile(always=answers)).encode())

    def release(self) -> None:
        """Let every answer that is silent now go on."""
        self._ask("POST", "/_release", b"")

    @property
    def charged(self) -> tuple[Charge, ...]:
        """What was charged, in the order it was begun."""
        charges = self._ask("GET", "/_charges")["charges"]
        return tuple(Charge(**(each | {"tokens": Tokens(**each["tokens"])})) for each in charges)

    @property
    def requests(self) -> tuple[Received, ...]:
        """Every request for an answer, in the order they came."""
        received = self._ask("GET", "/_requests")["requests"]
        return tuple(Received(**(each | {"tools": tuple(each["tools"])})) for each in received)

    def wait_until(
        self, *, requests: int = 0, charges: int = 0, finished: int = 0, timeout_seconds: float = 60
    ) -> None:
        """Block until so many requests came, charges were begun, and charges were finished. Raises `TimeoutError`."""
        counts = {"requests": requests, "charges": charges, "finished": finished, "seconds": timeout_seconds}
        self._ask("GET", f"/_wait?{urlencode(counts)}", timeout_seconds=timeout_seconds + 5)

    def _ask(self, method: str, path: str, body: bytes | None = None, *, timeout_seconds: float = 60) -> dict[str, Any]:
        # Here, because it is slow to import and most tests serve themselves.
        from urllib.error import HTTPError
        from urllib.request import ProxyHandler, Request, build_opener

        # A proxy of the person's environment has no business with loopback.
        opener = build_opener(ProxyHandler({}))
        request = Request(self.address + path, data=body, method=method)
        try:
            with opener.open(request, timeout=timeout_seconds) as response:
                return json.loads(response.read())
        except HTTPError as error:
            problem = json.loads(error.read())["error"]
            raise TimeoutError(problem) if error.code == 408 else UserError(problem) from None
