"""TLS greetings, real and forged."""

from __future__ import annotations

import ssl
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.sandbox.egress.client_hello import MOST_BYTES, ClientHello, parse_client_hello
from cellwright.sandbox.egress.destinations import BadInput


def greeting(name: str | None) -> bytes:
    """What Python's own TLS sends first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def forged(*extensions: tuple[int, bytes]) -> bytes:
    listed = b"".join(struct.pack(">HH", kind, len(body)) + body for kind, body in extensions)
    body = b"\x03\x03" + bytes(32) + b"\0" + b"\0\2\x13\x01" + b"\1\0" + struct.pack(">H", len(listed)) + listed
    message = b"\1" + len(body).to_bytes(3) + body
    return records(message, 16384)


def records(message: bytes, size: int) -> bytes:
    pieces = [message[start : start + size] for start in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + struct.pack(">H", len(piece)) + piece for piece in pieces)


def named(*names: bytes) -> bytes:
    listed = b"".join(b"\0" + struct.pack(">H", len(name)) + name for name in names)
    return struct.pack(">H", len(listed)) + listed


def test_a_real_greeting_says_whom_it_is_for() -> None:
    assert parse_client_hello(greeting("data.example")) == ClientHello(server_name="data.example")
    assert parse_client_hello(greeting(None)) == ClientHello(server_name=None)


def test_a_greeting_is_read_however_it_arrives() -> None:
    whole = greeting("data.example")
    assert {parse_client_hello(whole[:length]) for length in range(len(whole))} == {None}
    assert parse_client_hello(whole + b"more") == ClientHello(server_name="data.example")
    assert parse_client_hello(records(whole[5:], 200)) == ClientHello(server_name="data.example")
    assert parse_client_hello(records(whole[5:], 1)) == BadInput(why="the TLS greeting is in too many pieces")


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"\x16\x02\x00\x00\x05hello",
        b"\x17\x03\x03\x00\x05hello",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\xff\xff",
        records(b"\1\0\0\4abcd", 100),
        forged((0, named(b"data.example", b"other.example"))),
        forged((0, named(b"data.example")), (0, named(b"other.example"))),
        forged((0, named("dätä.example".encode()))),
        forged((0, b"\0\xff\0\0\4name")),
        forged((0, named(b"data.example")), (0xFE0D, b"hidden")),
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    assert isinstance(parse_client_hello(data), BadInput)


def test_a_greeting_without_end_is_refused() -> None:
    endless = b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + bytes(0x4000 - 4)
    assert parse_client_hello(endless) is None
    assert isinstance(parse_client_hello((endless + records(bytes(0x4000), 0x4000))[:MOST_BYTES]), BadInput)


@given(st.binary(max_size=300))
def test_no_bytes_break_the_parser(data: bytes) -> None:
    for sent in (data, b"\x16\x03\x01" + struct.pack(">H", len(data)) + data, forged((0, data))):
        assert isinstance(parse_client_hello(sent), ClientHello | BadInput | None)
