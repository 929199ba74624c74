"""HTTP heads: one meaning or none."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.sandbox.egress.destinations import BadInput, Target
from cellwright.sandbox.egress.http_messages import (
    ConnectHead,
    RequestHead,
    for_client,
    parse_request,
    read_head,
)

HOST = "Host: data.example"


def head(*lines: str) -> bytes:
    return "\r\n".join(lines).encode("latin-1")


def requested(*lines: str) -> ConnectHead | RequestHead | BadInput:
    return parse_request(h11.Connection(h11.SERVER), head(*lines))


def sent(request: h11.Request) -> bytes | None:
    return h11.Connection(h11.CLIENT).send(request)


def test_a_plain_request_is_understood_and_forwarded_without_what_was_meant_for_us() -> None:
    request = requested(
        "GET http://data.example/a?b=c HTTP/1.1",
        "Host: data.example",
        "Connection: keep-alive, X-Private",
        "Proxy-Authorization: Basic c2VjcmV0",
        "Proxy-Connection: keep-alive",
        "Keep-Alive: timeout=5",
        "TE: trailers",
        "Upgrade: websocket",
        "X-Private: for the proxy",
        "Accept: text/csv",
    )
    assert isinstance(request, RequestHead)
    assert sent(request.forwarded()) == head(
        "GET /a?b=c HTTP/1.1", "Host: data.example", "Accept: text/csv", "Connection: close", "", ""
    )


def test_a_tunnel_is_understood() -> None:
    expected = ConnectHead(target=Target(host="data.example", port=443))
    assert requested("CONNECT data.example:443 HTTP/1.0") == expected
    assert requested("CONNECT DATA.example.:443 HTTP/1.1", "Host: data.example") == expected
    assert requested("CONNECT data.example:443 HTTP/1.1", "Host: data.example:443") == expected


@pytest.mark.parametrize(
    ("path", "forwarded"), [("", "/"), ("/", "/"), ("?a=b", "/?a=b"), ("/a//b/../c", "/a//b/../c"), ("/@:", "/@:")]
)
def test_the_path_is_passed_on_as_it_is(path: str, forwarded: str) -> None:
    request = requested(f"GET http://data.example{path} HTTP/1.1", HOST)
    assert isinstance(request, RequestHead)
    assert (request.target.host, request.path) == ("data.example", forwarded)


@pytest.mark.parametrize(
    "lines",
    [
        ["GET / HTTP/1.1", HOST],
        ["GET https://data.example/ HTTP/1.1", HOST],
        ["GET ftp://data.example/ HTTP/1.1", HOST],
        ["OPTIONS * HTTP/1.1", HOST],
        ["GET http://data.example/#part HTTP/1.1", HOST],
        ["GET http://data.example/ HTTP/2.0", HOST],
        ["GET http://data.example/ HTTP/1.2", HOST],
        ["GET  http://data.example/ HTTP/1.1", HOST],
        ["GET http://data.example/ a HTTP/1.1", HOST],
        ["GET http://data.example/\x7f HTTP/1.1", HOST],
        ["GET http://data.ex\xe4mple/ HTTP/1.1", HOST],
        ["G(T http://data.example/ HTTP/1.1", HOST],
        ["", "GET http://data.example/ HTTP/1.1", HOST],
        ["GET http:///a HTTP/1.1", HOST],
        ["GET http://user@data.example/ HTTP/1.1", HOST],
        ["GET http://data.example/ HTTP/1.1"],
        ["GET http://data.example/ HTTP/1.1", "Host: other.example"],
        ["GET http://data.example/ HTTP/1.1", "Host: data.example:8080"],
        ["GET http://data.example/ HTTP/1.0", "Host: other.example"],
        ["GET http://data.example/ HTTP/1.1", HOST, HOST],
        ["GET http://data.example/ HTTP/1.1", HOST, " folded"],
        ["GET http://data.example/ HTTP/1.1", HOST, "No-Colon"],
        ["GET http://data.example/ HTTP/1.1", HOST, "Spaced : 1"],
        ["GET http://data.example/ HTTP/1.1", HOST, ": nameless"],
        ["GET http://data.example/ HTTP/1.1", HOST, "X: a\nY: b"],
        ["GET http://data.example/ HTTP/1.1", HOST, "X: a\rY: b"],
        ["GET http://data.example/ HTTP/1.1", HOST, "X: a\0b"],
        ["GET http://data.example/ HTTP/1.1", HOST, *["X: a"] * 100],
        ["POST http://data.example/ HTTP/1.1", HOST, "Content-Length: 1", "Transfer-Encoding: chunked"],
        ["POST http://data.example/ HTTP/1.1", HOST, "Content-Length: 1", "Content-Length: 1"],
        ["POST http://data.example/ HTTP/1.1", HOST, "Content-Length: 1, 1"],
        ["POST http://data.example/ HTTP/1.1", HOST, "Content-Length: +1"],
        ["POST http://data.example/ HTTP/1.1", HOST, "Content-Length: 0x1"],
        ["POST http://data.example/ HTTP/1.1", HOST, "Content-Length: "],
        ["POST http://data.example/ HTTP/1.1", HOST, "Transfer-Encoding: gzip, chunked"],
        ["POST http://data.example/ HTTP/1.1", HOST, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        ["POST http://data.example/ HTTP/1.1", HOST, "Transfer-Encoding: \x0bchunked"],
        ["POST http://data.example/ HTTP/1.0", "Transfer-Encoding: chunked"],
        ["CONNECT data.example:443 HTTP/1.1"],
        ["CONNECT data.example HTTP/1.1", HOST],
        ["CONNECT http://data.example:443 HTTP/1.1", HOST],
        ["CONNECT data.example:443/ HTTP/1.1", HOST],
        ["CONNECT data.example:443 HTTP/1.1", "Host: other.example:443"],
        ["CONNECT data.example:443 HTTP/1.1", "Host: data.example:80"],
        ["CONNECT data.example:443 HTTP/1.1", HOST, "Content-Length: 5"],
        ["CONNECT data.example:443 HTTP/1.1", HOST, "Transfer-Encoding: chunked"],
    ],
)
def test_what_could_be_understood_in_two_ways_is_refused(lines: list[str]) -> None:
    assert isinstance(requested(*lines), BadInput)


@given(st.binary(max_size=200).filter(lambda data: b"\r\n\r\n" not in data))
def test_no_bytes_break_the_parser(data: bytes) -> None:
    assert isinstance(parse_request(h11.Connection(h11.SERVER), data), ConnectHead | RequestHead | BadInput)
    assert isinstance(read_head(h11.Connection(h11.CLIENT), data), h11.Response | h11.InformationalResponse | BadInput)


def test_a_refusal_does_not_repeat_what_may_be_a_secret() -> None:
    refused = requested("GET http://data.example/ HTTP/1.1", HOST, "Authorization : Bearer not-for-the-journal")
    assert refused == BadInput(why="illegal header line")


def test_an_answer_is_forwarded_without_what_was_meant_for_us() -> None:
    lines = head("HTTP/1.1 200 OK", "Connection: close, X-Hop", "X-Hop: 1", "Server: s", "Content-Length: 5")
    answer = read_head(h11.Connection(h11.CLIENT), lines)
    assert isinstance(answer, h11.Response)
    assert for_client(answer).headers.raw_items() == [(b"Server", b"s"), (b"Content-Length", b"5")]


@pytest.mark.parametrize(
    "lines",
    [
        ["HTTP/2 200 OK"],
        ["HTTP/2.0 200 OK"],
        ["HTTP/1.1 20 OK"],
        ["HTTP/1.1 099 OK"],
        ["ICY 200 OK"],
        ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket"],
        ["HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2"],
        ["HTTP/1.1 200 OK", "Content-Length: 1", "Transfer-Encoding: chunked"],
        ["HTTP/1.1 200 OK", " folded"],
        ["HTTP/1.1 200 OK", "X: a\nContent-Length: 3"],
    ],
)
def test_an_answer_nobody_can_read_surely_is_refused(lines: list[str]) -> None:
    assert isinstance(read_head(h11.Connection(h11.CLIENT), head(*lines)), BadInput)
