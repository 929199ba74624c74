"""HTTP heads: one meaning or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from cellwright.sandbox.egress.heads import (
    NO_BODY,
    BadHead,
    Body,
    ConnectHead,
    RequestHead,
    ResponseHead,
    parse_request,
    parse_response,
)
from cellwright.sandbox.egress.targets import Target

HOST = "Host: data.example"


def head(*lines: str) -> bytes:
    return "\r\n".join(lines).encode("latin-1")


def test_a_plain_request_is_understood_and_forwarded_without_what_was_meant_for_us() -> None:
    request = parse_request(
        head(
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
    )
    assert isinstance(request, RequestHead)
    assert request.forwarded() == head(
        "GET /a?b=c HTTP/1.1", "Host: data.example", "Accept: text/csv", "Connection: close", "", ""
    )
    assert request.keeps_alive


def test_a_tunnel_is_understood() -> None:
    expected = ConnectHead(target=Target(host="data.example", port=443))
    assert parse_request(head("CONNECT data.example:443 HTTP/1.0")) == expected
    assert parse_request(head("CONNECT DATA.example.:443 HTTP/1.1", "Host: data.example")) == expected
    assert parse_request(head("CONNECT data.example:443 HTTP/1.1", "Host: data.example:443")) == expected


@pytest.mark.parametrize(
    ("framing", "body"),
    [
        ([], NO_BODY),
        (["Content-Length: 0"], Body("length", 0)),
        (["content-length: 12"], Body("length", 12)),
        (["Transfer-Encoding: Chunked"], Body("chunked")),
    ],
)
def test_the_body_ends_as_the_headers_say(framing: list[str], body: Body) -> None:
    request = parse_request(head("POST http://data.example/ HTTP/1.1", HOST, *framing))
    assert isinstance(request, RequestHead)
    assert request.body == body


@pytest.mark.parametrize(
    ("path", "forwarded"), [("", "/"), ("/", "/"), ("?a=b", "/?a=b"), ("/a//b/../c", "/a//b/../c"), ("/@:", "/@:")]
)
def test_the_path_is_passed_on_as_it_is(path: str, forwarded: str) -> None:
    request = parse_request(head(f"GET http://data.example{path} HTTP/1.1", HOST))
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
        ["CONNECT data.example HTTP/1.1"],
        ["CONNECT http://data.example:443 HTTP/1.1"],
        ["CONNECT data.example:443/ HTTP/1.1"],
        ["CONNECT data.example:443 HTTP/1.1", "Host: other.example:443"],
        ["CONNECT data.example:443 HTTP/1.1", "Host: data.example:80"],
        ["CONNECT data.example:443 HTTP/1.1", "Content-Length: 5"],
        ["CONNECT data.example:443 HTTP/1.1", "Transfer-Encoding: chunked"],
    ],
)
def test_what_could_be_understood_in_two_ways_is_refused(lines: list[str]) -> None:
    assert isinstance(parse_request(head(*lines)), BadHead)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_parser(data: bytes) -> None:
    assert isinstance(parse_request(data), ConnectHead | RequestHead | BadHead)
    assert isinstance(parse_response(data, method="GET"), ResponseHead | BadHead)


def test_an_answer_is_forwarded_without_what_was_meant_for_us() -> None:
    answer = parse_response(
        head("HTTP/1.1 200 OK", "Connection: close, X-Hop", "X-Hop: 1", "Server: s", "Content-Length: 5"), method="GET"
    )
    assert isinstance(answer, ResponseHead)
    assert answer.forwarded(body=answer.body, close=False) == snapshot(
        b"HTTP/1.1 200 OK\r\nServer: s\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("status", "method", "headers", "body"),
    [
        ("200", "GET", [], Body("close")),
        ("200", "GET", ["Content-Length: 0"], Body("length", 0)),
        ("200", "GET", ["Transfer-Encoding: chunked"], Body("chunked")),
        ("200", "HEAD", ["Content-Length: 9"], NO_BODY),
        ("204", "GET", [], NO_BODY),
        ("304", "GET", ["Content-Length: 9"], NO_BODY),
        ("100", "GET", [], NO_BODY),
    ],
)
def test_the_body_of_an_answer_ends_as_it_must(status: str, method: str, headers: list[str], body: Body) -> None:
    answer = parse_response(head(f"HTTP/1.1 {status} fine", *headers), method=method)
    assert isinstance(answer, ResponseHead)
    assert answer.body == body


@pytest.mark.parametrize(
    "lines",
    [
        ["HTTP/2 200 OK"],
        ["HTTP/1.1 20 OK"],
        ["ICY 200 OK"],
        ["HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2"],
        ["HTTP/1.1 200 OK", "Content-Length: 1", "Transfer-Encoding: chunked"],
        ["HTTP/1.1 200 OK", " folded"],
    ],
)
def test_an_answer_nobody_can_read_surely_is_refused(lines: list[str]) -> None:
    assert isinstance(parse_response(head(*lines), method="GET"), BadHead)
