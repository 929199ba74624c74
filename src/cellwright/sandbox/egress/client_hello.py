"""The first message of a TLS connection, as far as it says whom the client wants to speak with."""

from __future__ import annotations

from dataclasses import dataclass

from cellwright.sandbox.egress.destinations import BadInput

MOST_BYTES = 32 << 10
"""Limit of the size of a ClientHello."""

DENIED_ALERT = bytes.fromhex("15030300020231")
"""A fatal alert, access denied: the client's library says so to its user."""

_HANDSHAKE, _CLIENT_HELLO, _SERVER_NAME, _ENCRYPTED_HELLO = 22, 1, 0, 0xFE0D
_MOST_RECORD = 16384
_MOST_RECORDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHello:
    """A greeting that can be passed on."""

    server_name: str | None
    """The host it names (SNI); None if it names none."""


class _NeedsMoreBytes(Exception):
    """More bytes are needed, or a length points beyond its end."""


class _HelloReader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise _NeedsMoreBytes
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def vector(self, size: int) -> _HelloReader:
        return _HelloReader(self.take(self.number(size)))

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    @property
    def is_over(self) -> bool:
        return self._at >= len(self._data)


def parse_client_hello(data: bytes) -> ClientHello | BadInput | None:
    """What the bytes so far are; None while more of them are needed."""
    records = _HelloReader(data)
    message = b""
    try:
        for _ in range(_MOST_RECORDS):
            if records.number(1) != _HANDSHAKE or records.number(1) != 3:
                return BadInput(why="this is no TLS")
            records.take(1)
            length = records.number(2)
            if not 0 < length <= _MOST_RECORD:
                return BadInput(why="this is no TLS")
            message += records.take(length)
            if message[0] != _CLIENT_HELLO:
                return BadInput(why="this is no TLS greeting")
            if len(message) >= 4 and len(message) >= (end := 4 + int.from_bytes(message[1:4])):
                return _read(message[4:end])
        return BadInput(why="the TLS greeting is in too many pieces")
    except _NeedsMoreBytes:
        return None if len(data) < MOST_BYTES else BadInput(why="the TLS greeting is too long")


def _read(body: bytes) -> ClientHello | BadInput:
    try:
        hello = _HelloReader(body)
        hello.take(2 + 32)
        hello.vector(1)
        hello.vector(2)
        hello.vector(1)
        extensions = _HelloReader(b"") if hello.is_over else hello.vector(2)
        if not hello.is_over:
            return BadInput(why="the TLS greeting is malformed")
        return _read_extensions(extensions)
    except (_NeedsMoreBytes, UnicodeDecodeError):
        return BadInput(why="the TLS greeting is malformed")


def _read_extensions(extensions: _HelloReader) -> ClientHello | BadInput:
    names: list[str] = []
    while not extensions.is_over:
        kind = extensions.number(2)
        content = extensions.vector(2)
        if kind == _ENCRYPTED_HELLO:
            return BadInput(why="the TLS greeting hides whom it is for")
        if kind == _SERVER_NAME:
            entries = content.vector(2)
            while not entries.is_over:
                entries.take(1)
                names.append(entries.vector(2).rest().decode("ascii"))
    if len(names) > 1:
        return BadInput(why="the TLS greeting names several hosts")
    return ClientHello(server_name=names[0] if names else None)
