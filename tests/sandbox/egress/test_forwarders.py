"""A company's proxy between the egress and the world: approved hosts are reached through it, and only those."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

import anyio
import pytest
from anyio.streams.tls import TLSStream

from cellwright.network import NetworkSettings
from cellwright.policy.hosts import Address
from cellwright.sandbox.egress import AllowedHost
from tests.sandbox.egress.test_proxy import read_all, serving
from tests.sandbox.egress.world import CSV, HOST, World, world
from tests.walled_network import PASSWORD, ForwardProxy, forward_proxy

PUBLIC = "93.184.216.34"


@pytest.fixture
def internet(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


@pytest.fixture
def proxy() -> Iterator[ForwardProxy]:
    with forward_proxy() as made:
        yield made


def by(proxy: ForwardProxy, password: str = PASSWORD) -> NetworkSettings:
    return NetworkSettings.of({"HTTP_PROXY": proxy.url(password), "HTTPS_PROXY": proxy.url(password)})


def host(internet: World, *, is_private: bool) -> list[AllowedHost]:
    ports = (internet.http_port, internet.https_port)
    return [AllowedHost(name=HOST, ports=ports, has_private_addresses=is_private)]


def plain(internet: World) -> bytes:
    return f"GET {internet.url('/birds.csv')} HTTP/1.1\r\nHost: {HOST}:{internet.http_port}\r\n\r\n".encode()


async def names_only_the_proxy_knows(name: str) -> list[Address]:
    if name == "127.0.0.1":
        return [IPv4Address(name)]
    raise OSError(-2, "Name or service not known")


async def public_names(name: str) -> list[Address]:
    return [IPv4Address(name if name == "127.0.0.1" else PUBLIC)]


async def test_a_plain_request_goes_through_the_proxy_under_its_own_name(internet: World, proxy: ForwardProxy) -> None:
    allowed = host(internet, is_private=False)
    async with serving(internet, allowed=allowed, resolve=public_names, connection=by(proxy)) as client:
        assert CSV.encode() in await client.ask(plain(internet).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        visit = await client.visit()
    assert (visit.verdict, visit.address) == ("allowed", f"the proxy 127.0.0.1:{proxy.port}")
    [head] = proxy.heads
    assert head.startswith(f"GET {internet.url('/birds.csv')} HTTP/1.1")


async def test_an_encrypted_connection_is_tunnelled_through_the_proxy_unopened(
    internet: World, proxy: ForwardProxy
) -> None:
    allowed = host(internet, is_private=False)
    trust = ssl.create_default_context(cafile=internet.authority)
    async with (
        serving(internet, allowed=allowed, resolve=public_names, connection=by(proxy)) as client,
        await client.connect() as stream,
    ):
        await stream.send(f"CONNECT {HOST}:{internet.https_port} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        with anyio.fail_after(60):
            assert (await stream.receive()).startswith(b"HTTP/1.1 200")
            secure = await TLSStream.wrap(stream, hostname=HOST, ssl_context=trust, standard_compatible=False)
            await secure.send(f"GET /birds.csv HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
            assert CSV.encode() in await read_all(secure)
    assert [head.partition(" HTTP")[0] for head in proxy.heads] == [f"CONNECT {HOST}:{internet.https_port}"]


async def test_a_name_that_only_the_proxy_knows_needs_a_yes_to_the_private_network(
    internet: World, proxy: ForwardProxy
) -> None:
    for is_private, answer in ((False, b"CELLWRIGHT_PRIVATE_HOSTS"), (True, CSV.encode())):
        allowed = host(internet, is_private=is_private)
        resolve = names_only_the_proxy_knows
        async with serving(internet, allowed=allowed, resolve=resolve, connection=by(proxy)) as client:
            assert answer in await client.ask(plain(internet).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert len(proxy.heads) == 1, "what was refused never reached the proxy"


async def test_a_proxy_opens_no_way_to_private_addresses_or_unapproved_hosts(
    internet: World, proxy: ForwardProxy
) -> None:
    allowed = host(internet, is_private=False)
    async with serving(internet, allowed=allowed, connection=by(proxy)) as client:
        assert b"leads to 127.0.0.1" in await client.ask(plain(internet))
        assert b"403" in await client.ask(b"CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n")
    assert proxy.heads == []


async def test_a_proxy_that_refuses_is_told_without_its_password(internet: World, proxy: ForwardProxy) -> None:
    allowed = host(internet, is_private=False)
    connection = by(proxy, "not-the-password")
    async with serving(internet, allowed=allowed, resolve=public_names, connection=connection) as client:
        answer = await client.ask(f"CONNECT {HOST}:{internet.https_port} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        visit = await client.visit()
    assert b"wants another user or password" in answer
    assert "not-the-password" not in answer.decode() + visit.why


async def test_a_host_that_is_excepted_goes_straight(internet: World, proxy: ForwardProxy) -> None:
    variables = {"HTTP_PROXY": proxy.url(), "NO_PROXY": HOST}
    async with serving(internet, connection=NetworkSettings.of(variables)) as client:
        assert CSV.encode() in await client.ask(plain(internet).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert proxy.heads == []
