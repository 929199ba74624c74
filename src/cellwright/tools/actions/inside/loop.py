"""The loop inside: one request, one answer, until the host is gone. Whatever goes wrong here is an answer too."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import struct
from typing import Any, cast

from pydantic_monty._monty import Monty

from .program import Outcome, Program, failed

_MOST_LIVE = 16
"""Programs that wait here with their interpreter; the host has the state of all others."""
_CHECKOUT_SECONDS = 30.0
_LENGTH = struct.Struct(">I")
"""On the wire: a length, then that many bytes of JSON."""
_RECEIVE_BYTES = 1 << 18
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def serve(descriptor: int, monty: str, version: str) -> None:
    """Answer the host on this descriptor."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = socket.socket(fileno=descriptor)
    connection.setblocking(True)
    line = HostConnection(connection)
    # One more than can wait: an ended program gives its interpreter back only after its answer is sent.
    with Monty(binary_path=monty, max_processes=_MOST_LIVE + 1, checkout_timeout=_CHECKOUT_SECONDS) as interpreters:
        line.write({"type": "ready", "request": 0, "version": version})
        programs = Programs(interpreters, version)
        while (request := line.read()) is not None:
            line.write({**programs.answer(request), "request": request["request"]})
            programs.clear_up()
        # The interpreters are children of this process and end with the cage.
        os._exit(0)


class HostConnection:
    """The connection to the host."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._requests = connection.makefile("rb", _RECEIVE_BYTES)

    def read(self) -> dict[str, Any] | None:
        """The host's next request; None when it is gone."""
        head = self._requests.read(_LENGTH.size)
        size = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else None
        body = self._requests.read(size or 0)
        return cast("dict[str, Any]", json.loads(body)) if len(body) == size else None

    def write(self, message: dict[str, Any]) -> None:
        """One answer, whole."""
        body = _encode(message).encode()
        self._connection.sendall(_LENGTH.pack(len(body)) + body)


class Programs:
    """The programs that are running or paused here."""

    def __init__(self, interpreters: Monty, version: str) -> None:
        self._interpreters = interpreters
        self._version = version
        self._live: dict[int, Program] = {}
        self._ended: list[Program] = []

    def answer(self, request: dict[str, Any]) -> Outcome:
        """What became of it."""
        number: int = request["run"]
        try:
            outcome = self._carry_out(request, number)
        except Exception as error:  # noqa: BLE001 (the guest loop: a defect of ours must not end other programs)
            outcome = failed("crash", "InterpreterLost", f"{type(error).__name__}: {error}")
        if outcome["type"] != "paused" and (program := self._live.pop(number, None)) is not None:
            self._ended.append(program)
        return outcome

    def clear_up(self) -> None:
        """Give back what ended programs held; nobody waits for that any more."""
        while self._ended:
            self._ended.pop().close()

    def _carry_out(self, request: dict[str, Any], number: int) -> Outcome:
        match request["do"]:
            case "start":
                return self._new(request, number).start(request["program"], request["stubs"])
            case "load":
                return self._new(request, number).load(base64.b64decode(request["state"]))
            case "resume" if number in self._live:
                return self._live[number].resume(request["answers"])
            case _:
                return {"type": "dropped"}

    def _new(self, request: dict[str, Any], number: int) -> Program:
        if len(self._live) >= _MOST_LIVE:
            self._live.pop(next(iter(self._live))).close()
        program = Program(self._interpreters, self._version, request["tools"], request["limits"])
        self._live[number] = program
        return program
