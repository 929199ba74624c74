"""Monty's processes: each runs one program at a time, and is fresh for the next one."""

from __future__ import annotations

import os
import select
import struct
import subprocess
import time
from typing import IO, Literal

from . import events, requests
from .events import Event
from .protobuf import BadMessage

_LENGTH = struct.Struct("<I")
_MOST_MESSAGE_BYTES = 256 << 20
_RECEIVE_BYTES = 1 << 16
_READY_SECONDS = 30.0
"""To start, to forget a program, to be told what the next one may use."""
_MOST_IDLE = 2
_OUT_OF_MEMORY = 65
"""Monty's exit code when its allocator refuses, which no program can catch."""


class InterpreterLost(Exception):
    """It ended or had to be ended; `str()` says how."""

    def __init__(self, message: str, limit: Literal["seconds", "memory"] | None = None) -> None:
        super().__init__(message)
        self.limit = limit
        """What it had too little of, if that is why."""


class Interpreter:
    """One process. Requests go in; what it says to them comes out, or it is lost."""

    def __init__(self, monty: str) -> None:
        self._process = subprocess.Popen(
            [monty, "subprocess"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._input = _descriptor(self._process.stdin)
        self._output = _descriptor(self._process.stdout)
        self._readable = select.poll()
        self._readable.register(self._output, select.POLLIN)
        self._buffer = bytearray()
        self._owed = 0
        self.configured = b""
        """With what it was told to begin the next program, if it was."""

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def ask(self, request: bytes) -> None:
        """Send a request; what it says to it is read with `event`."""
        rest = memoryview(request)
        try:
            while rest:
                rest = rest[os.write(self._input, rest) :]
        except OSError as error:
            raise self._lost() from error

    def event(self, *, seconds: float) -> Event:
        """The next thing it says."""
        message = self._message(time.monotonic() + seconds)
        event = events.read(message)
        if isinstance(event, events.Fatal):
            raise InterpreterLost(event.message)
        return event

    def begin(self, configuration: bytes) -> None:
        """Forget whatever program it had and get ready for one with these limits; `settle` waits until it is."""
        self.ask(requests.RESET + configuration)
        self.configured = configuration
        self._owed = 2

    def settle(self) -> None:
        """Until it has done what `begin` told it to."""
        while self._owed:
            event = self.event(seconds=_READY_SECONDS)
            if not isinstance(event, events.Done):
                raise InterpreterLost(f"the interpreter did not get ready: {event}"[:500])
            self._owed -= 1

    def end(self) -> None:
        """End the process; nothing of it is left."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _message(self, deadline: float) -> bytes:
        head, buffer = _LENGTH.size, self._buffer
        while True:
            if len(buffer) >= head:
                (size,) = _LENGTH.unpack_from(buffer)
                if size > _MOST_MESSAGE_BYTES:
                    raise BadMessage(f"a message of {size:,} bytes")
                if len(buffer) >= head + size:
                    message = bytes(buffer[head : head + size])
                    del buffer[: head + size]
                    return message
            left = deadline - time.monotonic()
            if left <= 0 or not self._readable.poll(left * 1000):
                raise InterpreterLost("the interpreter did not stop in time", "seconds")
            chunk = os.read(self._output, _RECEIVE_BYTES)
            if not chunk:
                raise self._lost()
            buffer += chunk

    def _lost(self) -> InterpreterLost:
        self._process.kill()
        code = self._process.wait()
        if code == _OUT_OF_MEMORY:
            return InterpreterLost("the interpreter reached its memory limit", "memory")
        return InterpreterLost(f"the interpreter ended by signal {-code}" if code < 0 else "the interpreter ended")


class Interpreters:
    """Those that are free, and new ones as they are needed."""

    def __init__(self, monty: str) -> None:
        self._monty = monty
        self._idle: list[Interpreter] = []

    def take(self, configuration: bytes) -> Interpreter:
        """One that is ready for a program with these limits; at best it was made so before anybody asked."""
        while self._idle:
            interpreter = self._idle.pop()
            try:
                if interpreter.is_alive:
                    return _readied(interpreter, configuration)
            except (InterpreterLost, BadMessage):
                pass
            interpreter.end()
        return _readied(Interpreter(self._monty), configuration)

    def give_back(self, interpreter: Interpreter, configuration: bytes) -> None:
        """Have it forget its program and get ready for one like it. Nobody waits for that."""
        if len(self._idle) >= _MOST_IDLE:
            interpreter.end()
            return
        try:
            interpreter.begin(configuration)
        except InterpreterLost:
            interpreter.end()
        else:
            self._idle.append(interpreter)


def _readied(interpreter: Interpreter, configuration: bytes) -> Interpreter:
    if interpreter.configured != configuration:
        interpreter.settle()
        interpreter.begin(configuration)
    interpreter.settle()
    return interpreter


def _descriptor(pipe: IO[bytes] | None) -> int:
    assert pipe is not None
    return pipe.fileno()
