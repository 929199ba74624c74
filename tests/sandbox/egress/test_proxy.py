"""The proxy over real sockets: what passes, what is cut off, what is counted."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
import pytest
from anyio.streams.tls import TLSStream

from cellwright.errors import UserError
from cellwright.sandbox.egress import Allowed, AllowedHost, Denied, Egress, EgressCaps, EgressRecord, Verdict
from tests.sandbox.egress.world import CSV, HOST, LONG, OTHER, World, world

PATIENCE_SECONDS = 240


@pytest.fixture
def internet(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


@dataclass
class ProxyClient:
    """A served egress, and the port where its notebook would connect."""

    egress: Egress
    port: int
    records: list[EgressRecord]
    has_recorded: anyio.Event

    async def connect(self) -> anyio.abc.SocketStream:
        return await anyio.connect_tcp("127.0.0.1", self.port)

    async def ask(self, *parts: bytes) -> bytes:
        """Send the parts and read until the proxy hangs up."""
        async with await self.connect() as stream:
            for part in parts:
                await stream.send(part)
            return await read_all(stream)

    async def visit(self) -> EgressRecord:
        """The visit that was records last, as soon as it is."""
        await self.has_recorded.wait()
        return self.records[-1]


async def read_all(stream: anyio.abc.ByteReceiveStream) -> bytes:
    data = b""
    with anyio.fail_after(PATIENCE_SECONDS):
        try:
            async for piece in stream:
                data += piece
        except anyio.BrokenResourceError:
            pass
    return data


@asynccontextmanager
async def serving(internet: World, **options: Any) -> AsyncGenerator[ProxyClient]:
    ports = (internet.http_port, internet.https_port)
    options.setdefault("allowed", [AllowedHost(name=HOST, ports=ports, has_private_addresses=True)])
    options.setdefault("resolve", internet.resolve)
    records: list[EgressRecord] = []
    has_recorded = anyio.Event()

    def on_visit(visit: EgressRecord) -> None:
        records.append(visit)
        has_recorded.set()

    egress = Egress(on_visit=on_visit, **options)
    listener = socket.create_server(("127.0.0.1", 0))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(egress.serve, listener)
        with anyio.fail_after(PATIENCE_SECONDS):
            yield ProxyClient(egress, listener.getsockname()[1], records, has_recorded)
        tasks.cancel_scope.cancel()
    assert listener.fileno() == -1


def request(
    internet: World,
    path: str,
    *headers: str,
    method: str = "GET",
    version: str = "1.1",
    host: str = HOST,
    body: bytes = b"",
) -> bytes:
    authority = f"{host}:{internet.http_port}"
    lines = [f"{method} http://{authority}{path} HTTP/{version}", f"Host: {authority}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


CLOSE = "Connection: close"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/birds.csv", CSV.encode()),
        ("/chunks", b"3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"),
        ("/until-close", b"d\r\nuntil the end\r\n0\r\n\r\n"),
        ("/long", LONG.encode()),
    ],
)
async def test_an_answer_arrives_whole_however_it_ends(internet: World, path: str, body: bytes) -> None:
    async with serving(internet) as client:
        answer = await client.ask(request(internet, path, CLOSE))
        head, _, rest = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert rest == body
        assert (await client.visit()).bytes_in > len(body) / 2


async def test_an_old_client_gets_no_chunks(internet: World) -> None:
    async with serving(internet) as client:
        answer = await client.ask(request(internet, "/chunks", version="1.0"))
        assert answer.endswith(b"\r\n\r\nabcdefg")


async def test_the_answer_to_head_has_a_length_and_no_body(internet: World) -> None:
    async with serving(internet) as client:
        answer = await client.ask(request(internet, "/birds.csv", CLOSE, method="HEAD"))
        assert f"Content-Length: {len(CSV)}".encode() in answer
        assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (["Content-Length: 5"], b"12345"),
        (["Content-Length: 5", "Expect: 100-continue"], b"12345"),
        (["Transfer-Encoding: chunked"], b"2;a=b\r\n12\r\n3\r\n345\r\n0\r\nA: b\r\n\r\n"),
    ],
)
async def test_an_upload_arrives_whole(internet: World, headers: list[str], body: bytes) -> None:
    async with serving(internet) as client:
        answer = await client.ask(request(internet, "/", CLOSE, *headers, method="POST"), body)
        assert answer.endswith(b"took 5 bytes")
        assert answer.count(b"100 Continue") == ("Expect: 100-continue" in headers)


async def test_requests_on_one_connection_are_judged_one_by_one(internet: World) -> None:
    async with serving(internet) as client:
        allowed = request(internet, "/birds.csv")
        answer = await client.ask(allowed + allowed + request(internet, "/secret", host=OTHER) + allowed)
        assert answer.count(b"200 OK") == 2
        assert answer.endswith(f"host '{OTHER}' is not approved for this notebook\n".encode())
        assert [visit.verdict for visit in client.records] == ["allowed", "allowed", "denied"]


async def test_a_request_is_read_from_where_the_body_of_the_one_before_ends(internet: World) -> None:
    counted = request(internet, "/", "Content-Length: 5", method="POST", body=b"12345")
    chunked = request(internet, "/", "Transfer-Encoding: chunked", method="POST", body=b"5\r\n12345\r\n0\r\n\r\n")
    async with serving(internet) as client:
        answer = await client.ask(counted + chunked + counted + request(internet, "/birds.csv", CLOSE))
    assert answer.count(b"took 5 bytes") == 3
    assert answer.endswith(CSV.encode())


async def test_what_a_proxy_is_told_does_not_reach_the_server(internet: World) -> None:
    async with serving(internet) as client:
        await client.ask(request(internet, "/birds.csv", CLOSE, "Proxy-Authorization: Basic c2VjcmV0", "X-Mine: yes"))
    heard = internet.http.headers[0]
    assert heard["x-mine"] == "yes"
    assert heard["connection"] == "close"
    assert "proxy-authorization" not in heard


@pytest.mark.parametrize("path", ["/nonsense"])
async def test_an_answer_that_can_be_read_in_two_ways_is_not_passed_on(internet: World, path: str) -> None:
    async with serving(internet) as client:
        answer = await client.ask(request(internet, path, CLOSE))
        assert answer.startswith(b"HTTP/1.1 502 host 'data.example' gave no proper answer")
        assert (await client.visit()).verdict == "failed"


async def test_a_malformed_request_is_told_so_and_recorded(internet: World) -> None:
    async with serving(internet) as client:
        assert (await client.ask(b"GET / HTTP/1.1\r\nHost: data.example\r\n\r\n")).startswith(
            b"HTTP/1.1 400 the request is malformed: only http:// addresses and CONNECT are understood here\r\n"
        )
        visit = await client.visit()
        assert (visit.host, visit.verdict, visit.address) == ("", "denied", None)


async def test_a_chunked_upload_that_lies_about_its_chunks_is_cut_off(internet: World) -> None:
    async with serving(internet) as client:
        upload = request(internet, "/", "Transfer-Encoding: chunked", CLOSE, method="POST")
        answer = await client.ask(upload + b"2\r\n12345\r\n0\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 400 the request is malformed: malformed chunk footer")


# ── names and addresses ──


async def test_a_name_is_resolved_once_and_the_address_that_was_looked_at_is_used(internet: World) -> None:
    """A name that changes between looking and connecting changes nothing: there is no second look."""

    async def rebinding(host: str) -> Any:
        addresses = await internet.resolve(host)
        internet.names[host] = ["127.0.0.2"]
        return addresses

    async with serving(internet, resolve=rebinding) as client:
        assert b"wren" in await client.ask(request(internet, "/birds.csv", CLOSE))
        assert (await client.visit()).address == "127.0.0.1"
    assert internet.asked == [HOST]


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"], ["64:ff9b::a00:1"]],
)
async def test_an_approved_name_that_leads_to_a_special_address_is_refused(
    internet: World, addresses: list[str]
) -> None:
    internet.names[HOST] = addresses
    async with serving(internet, allowed=[AllowedHost(name=HOST, ports=(internet.http_port,))]) as client:
        answer = await client.ask(request(internet, "/birds.csv", CLOSE))
        assert b"403 host 'data.example' leads to" in answer
        assert b"which was not approved" in answer
    assert internet.http.requests == []


@pytest.mark.parametrize(
    ("addresses", "why"),
    [([], b"was not found"), (["127.0.0.1"], b"cannot be reached at port 1: Connection refused")],
)
async def test_an_approved_host_that_is_not_there_is_told_so(internet: World, addresses: list[str], why: bytes) -> None:
    internet.names[HOST] = addresses
    allowed = [AllowedHost(name=HOST, ports=(1,), has_private_addresses=True)]
    async with serving(internet, allowed=allowed) as client:
        answer = await client.ask(b"GET http://data.example:1/ HTTP/1.1\r\nHost: data.example:1\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 502 host 'data.example' " + why)


async def test_the_second_address_is_tried_when_the_first_does_not_answer(internet: World) -> None:
    internet.names[HOST] = ["::1", "127.0.0.1"]
    async with serving(internet) as client:
        assert b"wren" in await client.ask(request(internet, "/birds.csv", CLOSE))


async def test_an_approved_address_can_be_reached(internet: World) -> None:
    allowed = [AllowedHost(name="127.0.0.1", ports=(internet.http_port,), has_private_addresses=True)]
    async with serving(internet, allowed=allowed) as client:
        assert b"wren" in await client.ask(request(internet, "/birds.csv", CLOSE, host="2130706433"))
    assert internet.asked == []


async def test_names_are_approved_however_they_are_spelled(internet: World) -> None:
    internet.names["xn--bcher-kva.example"] = ["127.0.0.1"]
    egress_options = [AllowedHost(name="BÜCHER.example.", ports=(internet.http_port,), has_private_addresses=True)]
    async with serving(internet, allowed=egress_options) as client:
        assert b"wren" in await client.ask(request(internet, "/birds.csv", CLOSE, host="XN--Bcher-KVA.example"))


def test_what_is_no_host_cannot_be_approved() -> None:
    with pytest.raises(UserError, match="cannot be approved"):
        Egress(allowed=[AllowedHost(name="*.example")])


async def test_nobody_is_asked_for_the_address_of_a_host_that_is_not_approved(internet: World) -> None:
    def decide(host: str, port: int) -> Verdict:
        return Allowed() if host == HOST else Denied()

    async with serving(internet, allowed=(), decide=decide) as client:
        await client.ask(request(internet, "/", CLOSE, host="secret-in-a-name.example"))
        assert internet.asked == []
        await client.ask(request(internet, "/", CLOSE))
        assert internet.asked == [HOST]


# ── encrypted ──


async def tunnelled(client: ProxyClient, internet: World, *, name: str | None = HOST) -> TLSStream:
    stream = await client.connect()
    try:
        await stream.send(f"CONNECT {HOST}:{internet.https_port} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")
        context = ssl.create_default_context(cafile=str(internet.authority))
        context.check_hostname = name is not None
        return await TLSStream.wrap(
            stream, hostname=name, server_side=False, ssl_context=context, standard_compatible=False
        )
    except BaseException:
        await stream.aclose()
        raise


GET = b"GET /birds.csv HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("name", [HOST, None])
async def test_an_encrypted_connection_passes_through_unopened(internet: World, name: str | None) -> None:
    async with serving(internet) as client:
        async with await tunnelled(client, internet, name=name) as stream:
            await stream.send(GET)
            assert CSV.encode() in await read_all(stream)
        visit = await client.visit()
        assert (visit.host, visit.verdict, visit.why) == (HOST, "allowed", "")


async def test_a_greeting_for_another_host_is_answered_with_an_alert(internet: World) -> None:
    async with serving(internet) as client:
        with pytest.raises(ssl.SSLError, match="ACCESS_DENIED"):
            await tunnelled(client, internet, name=OTHER)
        visit = await client.visit()
        assert (visit.verdict, visit.bytes_out) == ("denied", 0)
        assert visit.why == "the TLS greeting names 'other.example', but host 'data.example' was asked for"


async def test_revoking_cuts_off_what_is_under_way(internet: World) -> None:
    async with serving(internet) as client, await tunnelled(client, internet) as stream:
        client.egress.revoke(HOST)
        assert await read_all(stream) == b""
        visit = await client.visit()
        assert (visit.verdict, visit.why) == ("cut", f"host '{HOST}' is not approved for this notebook any more")


# ── caps ──


async def test_uploads_in_unknown_length_are_cut_off_at_the_cap(internet: World) -> None:
    async with serving(internet, caps=EgressCaps(bytes_out_per_host=10_000)) as client:
        upload = request(internet, "/", "Transfer-Encoding: chunked", CLOSE, method="POST")
        answer = await client.ask(upload, *[b"400\r\n" + bytes(1024) + b"\r\n"] * 12)
        assert answer.startswith(b"HTTP/1.1 403 host 'data.example' was sent as many bytes as this notebook may send")
        visit = await client.visit()
        assert (visit.verdict, visit.bytes_out <= 10_000) == ("cut", True)
    assert internet.http.body_bytes == 0


async def test_encrypted_uploads_are_cut_off_at_the_cap(internet: World) -> None:
    async with serving(internet, caps=EgressCaps(bytes_out=10_000)) as client:
        async with await tunnelled(client, internet) as stream:
            with pytest.raises((anyio.BrokenResourceError, anyio.EndOfStream, ssl.SSLError)):
                for _ in range(1000):
                    await stream.send(bytes(1024))
        assert (await client.visit()).bytes_out <= 10_000


@pytest.mark.parametrize("caps", [EgressCaps(bytes_in_per_host=100_000), EgressCaps(bytes_in=100_000)])
async def test_downloads_are_cut_off_at_the_cap_for_all_later_requests(internet: World, caps: EgressCaps) -> None:
    async with serving(internet, caps=caps) as client:
        assert len(await client.ask(request(internet, "/long", CLOSE))) < 200_000
        assert "as many bytes as this notebook may receive" in (await client.visit()).why
        assert b"wren" not in await client.ask(request(internet, "/birds.csv", CLOSE))


async def test_long_heads_are_refused(internet: World) -> None:
    async with serving(internet, caps=EgressCaps(header_bytes=2000)) as client:
        answer = await client.ask(request(internet, "/birds.csv", f"X: {'a' * 3000}"))
        assert answer.startswith(b"HTTP/1.1 400 the request is malformed: more than 2,000 bytes of headers")
        assert await client.ask(b"A" * 5000) != b""


async def test_a_head_that_drips_is_ended(internet: World) -> None:
    async def drip(stream: anyio.abc.SocketStream) -> None:
        while True:
            await stream.send(b"G")
            await anyio.sleep(0.02)

    async with (
        serving(internet, caps=EgressCaps(head_seconds=0.2)) as client,
        await client.connect() as stream,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(drip, stream)
        assert (await stream.receive()).startswith(b"HTTP/1.1 400 the request is malformed: its head did not")
        tasks.cancel_scope.cancel()


async def test_connections_that_hold_still_keep_only_their_own_notebook_waiting(internet: World) -> None:
    caps = EgressCaps(connections=2, idle_seconds=0.3)
    async with serving(internet, caps=caps) as client, await client.connect(), await client.connect():
        assert b"wren" in await client.ask(request(internet, "/birds.csv", CLOSE))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("caps", [EgressCaps(idle_seconds=0.3), EgressCaps(total_seconds=1.0)])
async def test_a_server_that_never_answers_is_given_up(internet: World, caps: EgressCaps) -> None:
    async with serving(internet, caps=caps) as client:
        answer = await client.ask(request(internet, "/silent"))
        why = (await client.visit()).why
        assert (answer.startswith(b"HTTP/1.1 502"), why) in [
            (True, f"host '{HOST}': nothing moved for 0.3 s"),
            (False, "the connection was ended before it was over"),
        ]


async def test_a_tunnel_without_a_greeting_is_ended(internet: World) -> None:
    async with serving(internet, caps=EgressCaps(head_seconds=0.2)) as client:
        answer = await client.ask(f"CONNECT {HOST}:{internet.https_port} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert (await client.visit()).why == "there was no TLS greeting in time"


async def test_a_slow_resolver_is_given_up(internet: World) -> None:
    async def slow(host: str) -> Any:
        await anyio.sleep_forever()

    async with serving(internet, resolve=slow, caps=EgressCaps(connect_seconds=0.2)) as client:
        answer = await client.ask(request(internet, "/birds.csv", CLOSE))
        assert answer.startswith(b"HTTP/1.1 502 host 'data.example' did not answer in time")


@pytest.mark.slow
async def test_a_client_that_never_stops_sending_keeps_nobody_else_waiting(internet: World) -> None:
    def flood(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as stream, suppress(OSError):
            stream.sendall(request(internet, "/secret", host=OTHER))
            while True:
                stream.sendall(bytes(1 << 20))

    async with serving(internet) as client, anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(anyio.to_thread.run_sync, flood, client.port)
        for _ in range(20):
            assert b"wren" in await client.ask(request(internet, "/birds.csv", CLOSE))


async def test_several_kernels_share_the_connections_and_none_is_left_out(internet: World) -> None:
    """Each of them waits for clients; waiting takes no connection."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
    async with serving(internet, caps=EgressCaps(connections=2)) as client, anyio.create_task_group() as tasks:
        for listener in listeners:
            tasks.start_soon(client.egress.serve, listener)
        for listener in listeners:
            other = ProxyClient(client.egress, listener.getsockname()[1], client.records, client.has_recorded)
            assert b"wren" in await other.ask(request(internet, "/birds.csv", CLOSE))
        tasks.cancel_scope.cancel()


async def test_after_too_many_requests_there_is_one_word_and_then_silence(internet: World) -> None:
    async with serving(internet, caps=EgressCaps(requests=2)) as client:
        for _ in range(6):
            await client.ask(request(internet, "/birds.csv", CLOSE))
        assert [visit.verdict for visit in client.records] == ["allowed", "allowed", "denied"]


async def test_a_decision_that_fails_ends_only_its_own_connection(
    internet: World, caplog: pytest.LogCaptureFixture
) -> None:
    def decide(host: str, port: int) -> Verdict:
        raise RuntimeError("no decision")

    async with serving(internet, decide=decide) as client:
        assert await client.ask(request(internet, "/secret", CLOSE, host=OTHER)) == b""
        assert b"wren" in await client.ask(request(internet, "/birds.csv", CLOSE))
    assert "no decision" in caplog.text


@pytest.mark.slow
async def test_nothing_is_left_open_when_serving_ends(internet: World) -> None:
    async with serving(internet) as client:
        stream = await client.connect()
        await stream.send(request(internet, "/silent"))
        await anyio.to_thread.run_sync(internet.http.arrived.acquire, True, PATIENCE_SECONDS)
        tunnel = await tunnelled(client, internet)
        assert internet.open_ends(client.port) == 5
    assert sorted(visit.why for visit in client.records) == ["the connection was ended before it was over"] * 2
    await stream.aclose()
    await anyio.aclose_forcefully(tunnel)
    assert internet.open_ends(client.port) == 0


# ── certificates ──


def test_own_certificates_come_on_top_of_the_usual_ones(internet: World) -> None:
    egress = Egress(certificates=internet.authority)
    usual = ssl.create_default_context().get_ca_certs(binary_form=True)
    assert egress.certificates.count("BEGIN CERTIFICATE") == len(usual) + 1
    assert egress.environment()["SSL_CERT_FILE"] == egress.environment()["REQUESTS_CA_BUNDLE"]
    assert "SSL_CERT_FILE" not in Egress().environment()


@pytest.mark.parametrize("content", [None, "", "no certificate", "-----BEGIN CERTIFICATE-----\nx\n"])
def test_a_file_without_certificates_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "own.pem").write_text(content)
    with pytest.raises(UserError, match="No certificates can be read"):
        Egress(certificates=tmp_path / "own.pem")
