"""A running cell asks the host for something and waits: interrupted like any other code.

Whoever reads the host's frames has the turn. The main thread has it, and lends it while a cell runs: then threads of
libraries may ask, too, one at a time. A fork in a pause or between cells knows nothing of it: the main thread has the
turn then, no call is open, and the next goes over its own socket.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import msgspec
from marimo._utils.signals import SigintHandler

from cellwright_guest import host_wire, wire
from cellwright_guest.streams import TOO_SOON, FrameQueue, HostSocket

_LOOK_SECONDS: Final = 0.05
"""How soon a thread notices that the cell has ended, and the main thread that the turn is free."""


class HostCallFailed(Exception):
    """The host did not do it; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReply:
    """What the host answered."""

    body: bytes
    descriptors: tuple[int, ...] = ()
    """Open files, now the asker's to close."""


class HostCalls:
    """The way of one kernel's cells to its host."""

    def __init__(self, host: HostSocket) -> None:
        self._host = host
        self._inbox: FrameQueue | None = None
        self._number = 0
        self._turn = threading.Lock()
        self._turn.acquire()
        self._is_lent = False

    @contextmanager
    def lent(self) -> Generator[None]:
        """Code of the notebook runs meanwhile: its threads may ask. Only the main thread lends."""
        before, self._is_lent = self._is_lent, True
        if not before:
            self._turn.release()
        try:
            yield
        finally:
            if not before:
                self._take_back()

    @contextmanager
    def taken_back(self) -> Generator[None]:
        """While a cell runs: the main thread reads frames itself, and no thread asks."""
        before = self._is_lent
        if before:
            self._take_back()
        try:
            yield
        finally:
            if before:
                self._is_lent = True
                self._turn.release()

    def _take_back(self) -> None:
        # A thread that waits for an answer gives up within a moment. An interrupt must not leave us without the turn.
        with SigintHandler.defer():
            self._is_lent = False
            self._turn.acquire()

    def open(self, inbox: FrameQueue) -> None:
        """Answers arrive here from now on."""
        self._inbox = inbox
        _calls[:] = [self]

    def ask(self, service: str, body: bytes) -> HostReply:
        """Ask and wait. Raises `HostCallFailed`, or what interrupts a cell."""
        inbox = self._inbox
        if inbox is None or not self._host.is_ours:
            raise HostCallFailed("Another process cannot ask the host: ask in the cell, and hand the result over.")
        if len(body) > host_wire.MAX_CALL_BYTES:
            raise HostCallFailed(f"Too much to ask at once: {len(body):,} bytes of {host_wire.MAX_CALL_BYTES:,}.")
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and not self._is_lent:
            return self._ask(service, body, inbox, is_main=True)
        has_turn = False
        try:
            while not has_turn:
                if not self._is_lent:
                    raise HostCallFailed("No cell runs, so a thread cannot ask the host: wait for it in the cell.")
                with SigintHandler.defer():
                    has_turn = self._turn.acquire(timeout=_LOOK_SECONDS)
            return self._ask(service, body, inbox, is_main=is_main)
        finally:
            if has_turn:
                self._turn.release()

    def _ask(self, service: str, body: bytes, inbox: FrameQueue, *, is_main: bool) -> HostReply:
        self._number += 1
        number, later, taken = self._number, list[tuple[int, bytes]](), list[int]()
        try:
            # An interrupt that comes while this is written is raised once it is out: then it must be taken back, too.
            self._host.send(host_wire.HostCall(call=number, service=service, body=body))
            answer = self._wait(number, inbox, later, taken, is_main=is_main)
        except BaseException:
            # Interrupted, maybe just as the answer came.
            for descriptor in taken:
                os.close(descriptor)
            self._host.send(host_wire.HostCancel(call=number))
            raise
        finally:
            # An editor's, say: they wait for the end of the cell, as they would have without the call.
            inbox.put_back(later)
        if answer.error:
            raise HostCallFailed(answer.error)
        return HostReply(body=answer.body, descriptors=tuple(taken))

    def drop(self, answer: host_wire.HostAnswer) -> None:
        """An answer that nobody waits for any more."""
        if self._inbox is not None:
            _close(self._inbox, answer)

    def _wait(
        self, number: int, inbox: FrameQueue, later: list[tuple[int, bytes]], taken: list[int], *, is_main: bool
    ) -> host_wire.HostAnswer:
        seconds = None if is_main else _LOOK_SECONDS
        while (frame := inbox.frame_or_interrupt(seconds)) is not None:
            if frame is TOO_SOON:
                if not self._is_lent:
                    raise HostCallFailed("The cell ended before the host answered its thread.")
                continue
            channel, body = frame
            message = _decoder.decode(body) if channel == wire.TYPED else None
            match message:
                case host_wire.HostAnswer(call=answered) if answered == number:
                    with SigintHandler.defer():
                        taken += [inbox.descriptors.pop(0) for _ in range(message.descriptors)]
                    return message
                case host_wire.HostAnswer():
                    with SigintHandler.defer():
                        _close(inbox, message)
                case _:
                    later.append(frame)
        os._exit(0)


def has_host() -> bool:
    """Whether this process is a kernel, or was forked from one."""
    return bool(_calls)


def ask_host(service: str, body: bytes) -> HostReply:
    """What the host answers to a running cell. Raises `HostCallFailed`."""
    if not _calls:
        raise HostCallFailed("There is no host to ask.")
    return _calls[0].ask(service, body)


def _close(inbox: FrameQueue, answer: host_wire.HostAnswer) -> None:
    for _ in range(answer.descriptors):
        os.close(inbox.descriptors.pop(0))


_calls: list[HostCalls] = []
"""That of this kernel, once it is bound."""
_decoder = msgspec.msgpack.Decoder(wire.FromHost)
