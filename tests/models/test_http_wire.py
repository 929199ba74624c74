"""HTTP/1.1 taken apart: the same however it comes in pieces, and refused where it is unclear."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.models.http_wire import NotHttp, read_head, written

_PIECES = st.lists(st.binary(min_size=1, max_size=40), max_size=6)


def _counted(pieces: list[bytes]) -> bytes:
    body = b"".join(pieces)
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


def _chunked(pieces: list[bytes]) -> bytes:
    chunks = b"".join(b"%X;note=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n" + chunks + b"0\r\nchecksum: 1\r\n\r\n"


def _unbounded(pieces: list[bytes]) -> bytes:
    return b"HTTP/1.0 200\r\n\r\n" + b"".join(pieces)


@pytest.mark.parametrize("write", [_counted, _chunked, _unbounded])
@given(pieces=_PIECES, step=st.integers(1, 50))
def test_an_answer_is_the_same_however_it_comes(
    write: Callable[[list[bytes]], bytes], pieces: list[bytes], step: int
) -> None:
    whole = write(pieces)
    buffer, head, body = bytearray(), None, b""
    for at in range(0, len(whole), step):
        buffer += whole[at : at + step]
        head = head or read_head(buffer, "POST")
        body += head.body.take(buffer) if head is not None else b""

    assert head is not None
    assert (head.status, body, bytes(buffer)) == (200, b"".join(pieces), b"")
    assert head.body.is_over or head.body.may_end
    assert head.may_stay is (write is not _unbounded)


def test_what_follows_an_answer_stays_in_the_buffer() -> None:
    buffer = bytearray(_counted([b"one"]) + b"HTTP")
    head = read_head(buffer, "POST")
    assert head is not None
    assert (head.body.take(buffer), head.body.is_over, bytes(buffer)) == (b"one", True, b"HTTP")


def test_answers_that_only_announce_the_real_one_are_passed_over() -> None:
    buffer = bytearray(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + _counted([b"one"]))
    head = read_head(buffer, "POST")
    assert head is not None
    assert (head.status, head.reason, head.lines) == (200, b"OK", [(b"content-length", b"3")])


@pytest.mark.parametrize(
    ("lines", "may_stay"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0", True),
        (b"HTTP/1.1 200 OK\ncontent-length: 0", True),
        (b"HTTP/1.1 204 No Content\r\ncontent-length: 7", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: Close", False),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 0", False),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked", False),
    ],
)
def test_a_connection_is_used_again_only_where_that_is_safe(lines: bytes, may_stay: bool) -> None:
    head = read_head(bytearray(lines + b"\r\n\r\n"), "POST")
    assert head is not None
    assert head.may_stay is may_stay


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length : 3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\na: b\r\n folded: c\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: \xc2\xb3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 40_000,
    ],
)
def test_an_unclear_head_is_refused(answer: bytes) -> None:
    with pytest.raises(NotHttp):
        read_head(bytearray(answer), "POST")


@pytest.mark.parametrize("chunks", [b"3\r\nabcd\r\n", b"\r\n", b"-1\r\n", b"0x3\r\nabc\r\n", b"3 4\r\n", b"1" * 5000])
def test_unclear_chunks_are_refused(chunks: bytes) -> None:
    buffer = bytearray(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunks)
    head = read_head(buffer, "POST")
    assert head is not None
    with pytest.raises(NotHttp):
        head.body.take(buffer)


def test_a_request_is_written_as_it_is_given() -> None:
    whole = written("POST", b"/v1/chat?x=1", [(b"Host", b"here"), (b"content-length", b"4")], b"a\r\nb")
    assert whole == b"POST /v1/chat?x=1 HTTP/1.1\r\nHost: here\r\ncontent-length: 4\r\n\r\na\r\nb"


@pytest.mark.parametrize("value", [b"a\r\nx-more: b", b"a\nb", b"a\rb", b"a\0b"])
def test_no_line_of_a_request_can_smuggle_in_another(value: bytes) -> None:
    with pytest.raises(NotHttp):
        written("POST", b"/", [(b"idempotency-key", value)], b"")
