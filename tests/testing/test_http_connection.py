"""The server's HTTP, spoken to byte by byte."""

from __future__ import annotations

import json
import subprocess
import sys

import anyio

from cellwright.testing import ProviderServer, Say

BODY = json.dumps({"model": "any", "messages": [{"role": "user", "content": "Grüße"}]}).encode()


async def exchange(server: ProviderServer, *sent: bytes) -> bytes:
    """Everything the server says until it, or we, have no more to say."""
    host, _, port = server.address.removeprefix("http://").partition(":")
    async with await anyio.connect_tcp(host, int(port)) as stream:
        for data in sent:
            await stream.send(data)
        await stream.send_eof()
        received = b""
        with anyio.fail_after(120):
            try:
                while True:
                    received += await stream.receive()
            except anyio.EndOfStream:
                return received


def request(body: bytes, *headers: str, path: str = "/openai/v1/chat/completions") -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: x", *headers, "", ""]).encode() + body


async def test_a_body_in_chunks_is_read(server: ProviderServer) -> None:
    half = len(BODY) // 2
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (BODY[:half], BODY[half:])) + b"0\r\n\r\n"
    await exchange(server, request(chunks, "Transfer-Encoding: chunked"))
    assert [received.prompt for received in server.requests] == ["Grüße"]


async def test_requests_on_one_connection_are_answered_in_turn(server: ProviderServer) -> None:
    server.script(Say("one"), Say("two"))
    length = f"Content-Length: {len(BODY)}"
    answered = await exchange(server, request(BODY, length) + request(BODY, length))
    assert answered.count(b"HTTP/1.1 200 OK") == 2
    assert answered.index(b'"one"') < answered.index(b'"two"')


async def test_a_client_that_waits_to_send_is_told_to_go_on(server: ProviderServer) -> None:
    answered = await exchange(server, request(BODY, f"Content-Length: {len(BODY)}", "Expect: 100-continue"))
    assert answered.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


async def test_a_client_that_talks_nonsense_is_left_and_the_others_are_served(server: ProviderServer) -> None:
    assert await exchange(server, b"nonsense\r\n\r\n") == b""
    assert await exchange(server, b"POST /x HTTP/1.1\r\nContent-Length: many\r\n\r\n") == b""
    assert await exchange(server, b"x" * 70_000) == b""
    assert b"200 OK" in await exchange(server, request(BODY, f"Content-Length: {len(BODY)}"))


def test_the_room_is_cheap_to_enter() -> None:
    code = "import sys, cellwright.testing; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    heavy = {
        "pydantic",
        "pydantic_ai",
        "openai",
        "anthropic",
        "google",
        "groq",
        "mistralai",
        "httpx",
        "httpx2",
        "pytest",
    }
    assert heavy & set(ended.stdout.split()) == set()


def test_the_fixture_is_a_fresh_server(provider_server: ProviderServer) -> None:
    assert (provider_server.requests, provider_server.charged, provider_server.unasked) == ((), (), 0)
    assert provider_server.base_url("anthropic") == f"{provider_server.address}/anthropic"
