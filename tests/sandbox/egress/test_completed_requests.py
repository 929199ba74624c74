"""Requests that somebody else completes: TLS opened for their hosts only, each request judged, nothing smuggled."""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio.streams.tls import TLSAttribute, TLSStream
from cryptography import x509
from cryptography.x509.oid import ExtensionOID

from cellwright.sandbox.egress import CageAuthority, Completed, CompletedAnswer, Denied, EgressCaps
from cellwright.sandbox.egress.destinations import Target
from tests.sandbox.egress.completer import API, Completer, completer
from tests.sandbox.egress.test_proxy import CLOSE, ProxyClient, read_all, serving
from tests.sandbox.egress.world import CSV, HOST, OTHER, World, world

BIRDS = b"\r\n\r\nbirds"
GET = f"GET /v1/birds?a=1 HTTP/1.1\r\nHost: {API}\r\nAuthorization: Bearer cellwright-secret:crm\r\n"
SIGNED = "Authorization: AWS4-HMAC-SHA256 Credential=lake/20261118/eu/s3/aws4_request, SignedHeaders=host, Signature=0"


@pytest.fixture
def internet(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


@pytest.fixture
def other() -> Iterator[Completer]:
    with completer() as made:
        yield made


@asynccontextmanager
async def completing(internet: World, other: Completer, **options: Any) -> AsyncGenerator[ProxyClient]:
    options.setdefault("authority", CageAuthority([API, HOST, "192.0.2.7"]))
    async with serving(internet, completed=other.find, objects=other.open, **options) as client:
        yield client


def trust(client: ProxyClient) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=client.egress.certificates)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


async def inside(client: ProxyClient, *, name: str | None = API, host: str = API, port: int = 443) -> TLSStream:
    """A TLS connection to the host, as the cage sees it."""
    stream = await client.connect()
    try:
        await stream.send(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")
        context = trust(client)
        context.check_hostname = name is not None
        return await TLSStream.wrap(
            stream, hostname=name, server_side=False, ssl_context=context, standard_compatible=False
        )
    except BaseException:
        await stream.aclose()
        raise


def shown_by(stream: TLSStream) -> x509.Certificate:
    return x509.load_der_x509_certificate(stream.extra(TLSAttribute.peer_certificate_binary) or b"")


async def ask_inside(client: ProxyClient, *parts: bytes, **options: Any) -> bytes:
    async with await inside(client, **options) as stream:
        for part in parts:
            await stream.send(part)
        return await read_all(stream)


async def test_a_request_inside_tls_is_completed_with_its_own_headers(internet: World, other: Completer) -> None:
    async with completing(internet, other) as client:
        answer = await ask_inside(client, f"{GET}X-Mine: yes\r\nTE: trailers\r\n{CLOSE}\r\n\r\n".encode())
        assert answer.endswith(BIRDS)
        [visit] = client.records
        assert (visit.host, visit.port, visit.verdict, visit.address) == (API, 443, "allowed", "the connection 'crm'")
    [head] = other.heads
    assert head.splitlines()[0] == b"GET /v1/birds?a=1 HTTP/1.1"
    assert b"Authorization: Bearer cellwright-secret:crm\r\nX-Mine: yes\r\nConnection: close\r\n" in head
    assert b"TE:" not in head
    assert [wanted.method for wanted in other.wanted] == ["GET"]
    assert other.answers == [CompletedAnswer(status=200, bytes=5, sha256=hashlib.sha256(b"birds").hexdigest())]
    # Whoever completes it, nobody else was asked, and no name was looked up.
    assert (internet.asked, internet.https.requests) == ([], [])


async def test_requests_on_one_connection_are_judged_one_by_one(internet: World, other: Completer) -> None:
    keep = f"{GET}\r\n".encode()
    async with completing(internet, other) as client, await inside(client) as stream:
        for _ in range(2):
            await stream.send(keep)
            answer = b""
            while not answer.endswith(BIRDS):
                answer += await stream.receive()
        other.hosts.clear()
        await stream.send(keep)
        assert f"host '{API}' is not approved for this notebook any more".encode() in await read_all(stream)
        assert [visit.verdict for visit in client.records] == ["allowed", "allowed", "denied"]
    assert len(other.heads) == 2


async def test_two_requests_sent_at_once_are_two_exchanges(internet: World, other: Completer) -> None:
    async with completing(internet, other) as client:
        upload = f"POST /v1/notes HTTP/1.1\r\nHost: {API}\r\nContent-Length: 3\r\n\r\nwen{GET}{CLOSE}\r\n\r\n"
        answer = await ask_inside(client, upload.encode())
        assert answer.count(b"200 OK") == 2
    assert (other.bodies, len(other.heads)) == ([b"wen", b""], 2)


async def test_a_plain_request_to_such_a_host_is_completed_too(internet: World, other: Completer) -> None:
    async with completing(internet, other) as client:
        answer = await client.ask(f"GET http://{API}/v1/birds HTTP/1.1\r\nHost: {API}\r\n{CLOSE}\r\n\r\n".encode())
        assert answer.endswith(BIRDS)
    assert other.heads[0].startswith(b"GET /v1/birds HTTP/1.1\r\nHost: api.example\r\n")


async def test_a_refusal_is_told_with_its_reason(internet: World, other: Completer) -> None:
    other.refusal = "The connection 'crm' is not approved for this notebook."
    async with completing(internet, other) as client:
        answer = await ask_inside(client, f"{GET}\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 403 The connection 'crm' is not approved for this notebook.\r\n")
        assert (await client.visit()).verdict == "denied"
    assert other.heads == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "GET /v1/birds HTTP/1.1\r\nHost: other.example\r\n\r\n",
        "GET /v1/birds HTTP/1.1\r\nHost: api.example:444\r\n\r\n",
        "GET /v1/birds HTTP/1.1\r\n\r\n",
        "GET https://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n",
        "GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n",
        "CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: api.example\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: api.example\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "GET / HTTP/1.1\r\nHost: api.example\r\nX: a\nY: b\r\n\r\n",
        "GET /a#b HTTP/1.1\r\nHost: api.example\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: api.example\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
async def test_what_names_another_host_or_could_be_read_in_two_ways_is_not_passed_on(
    internet: World, other: Completer, text: str
) -> None:
    async with completing(internet, other) as client:
        assert (await ask_inside(client, text.encode())).startswith(b"HTTP/1.1 400 the request is malformed")
        assert (await client.visit()).verdict == "denied"
    assert other.wanted == []


@pytest.mark.parametrize("name", [OTHER, None])
async def test_a_greeting_that_names_another_host_or_none_is_refused(
    internet: World, other: Completer, name: str | None
) -> None:
    async with completing(internet, other) as client:
        with pytest.raises(ssl.SSLError, match="ACCESS_DENIED"):
            await inside(client, name=name)
        assert (await client.visit()).verdict == "denied"


async def test_other_hosts_are_passed_through_unopened(internet: World, other: Completer) -> None:
    """The authority that the cage trusts has signed nothing for them."""
    async with completing(internet, other, certificates=internet.authority) as client:
        async with await inside(client, name=HOST, host=HOST, port=internet.https_port) as stream:
            seen = shown_by(stream)
            assert "Test Authority" in seen.issuer.rfc4514_string()
            await stream.send(b"GET /birds.csv HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert CSV.encode() in await read_all(stream)
        # Nor is a host that only lies below one of them.
        answer = await client.ask(f"CONNECT www.{API}:443 HTTP/1.1\r\nHost: www.{API}:443\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 403 ")


async def test_a_host_whose_connection_may_not_be_used_is_like_any_other(internet: World) -> None:
    """Approved, it is passed through unopened, without any secret; else the refusal names the connection."""

    async def denied(target: Target) -> Completed | Denied | None:
        return Denied(why="the connection 'crm' is not approved for this notebook")

    async with serving(internet, completed=denied, certificates=internet.authority) as client:
        async with await inside(client, name=HOST, host=HOST, port=internet.https_port) as stream:
            await stream.send(b"GET /birds.csv HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert CSV.encode() in await read_all(stream)
        answer = await client.ask(f"CONNECT {API}:443 HTTP/1.1\r\nHost: {API}:443\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 403 the connection 'crm' is not approved for this notebook")


@pytest.mark.parametrize("is_plain", [False, True])
async def test_a_client_that_leaves_ends_the_exchange(internet: World, other: Completer, is_plain: bool) -> None:
    other.is_silent = True
    async with completing(internet, other) as client:
        async with await (client.connect() if is_plain else inside(client)) as stream:
            text = GET.replace("GET /", f"GET http://{API}/") if is_plain else GET
            await stream.send(f"{text}\r\n".encode())
            await anyio.to_thread.run_sync(other.arrived.acquire, True, 60)
        visit = await client.visit()
        assert (visit.verdict, visit.why) == ("cut", "the notebook hung up")
    other.pool.shutdown()
    assert other.left == 1


# ── objects ──


@pytest.mark.parametrize(
    ("line", "host"),
    [("GET /bucket/a.parquet", "127.0.0.1:3128"), ("GET http://127.0.0.1:3128/bucket/a.parquet", "127.0.0.1:3128")],
)
async def test_a_signed_request_to_the_proxy_itself_goes_to_the_connection_of_its_key(
    internet: World, other: Completer, line: str, host: str
) -> None:
    async with completing(internet, other) as client:
        answer = await client.ask(f"{line} HTTP/1.1\r\nHost: {host}\r\n{SIGNED}\r\n{CLOSE}\r\n\r\n".encode())
        assert answer.endswith(BIRDS)
        visit = await client.visit()
        assert (visit.host, visit.address) == ("127.0.0.1", "the connection 'crm'")
    assert [(wanted.key_id, wanted.path) for wanted in other.wanted] == [("lake", "/bucket/a.parquet")]


async def test_a_presigned_address_names_its_connection_too(internet: World, other: Completer) -> None:
    query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=lake%2F20261118%2Feu%2Fs3%2Faws4_request"
    async with completing(internet, other) as client:
        await client.ask(f"GET /b/a?{query} HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n{CLOSE}\r\n\r\n".encode())
    assert other.wanted[0].key_id == "lake"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "GET /bucket/a HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\n",
        f"GET /bucket/a HTTP/1.1\r\nHost: other.example\r\n{SIGNED}\r\n\r\n",
        f"GET /bucket/a HTTP/1.1\r\n{SIGNED}\r\n\r\n",
        "GET /bucket/a HTTP/1.1\r\nHost: 127.0.0.1:3128\r\nAuthorization: Bearer Credential=lake/\r\n\r\n",
    ],
)
async def test_what_is_not_signed_is_no_request_for_an_object(internet: World, other: Completer, text: str) -> None:
    async with completing(internet, other) as client:
        assert (await client.ask(text.encode())).startswith(b"HTTP/1.1 400 the request is malformed")
    assert other.wanted == []


async def test_without_object_stores_the_proxy_has_none(internet: World) -> None:
    async with serving(internet) as client:
        text = f"GET http://127.0.0.1:3128/bucket/a HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n{SIGNED}\r\n\r\n"
        assert (await client.ask(text.encode())).startswith(b"HTTP/1.1 403 host '127.0.0.1' is not approved")
        text = f"GET /bucket/a HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n{SIGNED}\r\n\r\n"
        assert b"is not approved" in await client.ask(text.encode())


# ── bounds ──


async def test_a_greeting_that_never_ends_is_cut_off(internet: World, other: Completer) -> None:
    async with completing(internet, other, caps=EgressCaps(head_seconds=0.2)) as client:
        stream = await client.connect()
        async with stream:
            await stream.send(f"CONNECT {API}:443 HTTP/1.1\r\nHost: {API}:443\r\n\r\n".encode())
            await stream.receive()
            assert await read_all(stream) == b""
        assert (await client.visit()).verdict == "denied"


async def test_answers_inside_tls_are_counted_and_cut_off_at_the_cap(internet: World, other: Completer) -> None:
    other.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + bytes(300_000)
    async with completing(internet, other, caps=EgressCaps(bytes_in=100_000)) as client:
        assert len(await ask_inside(client, f"{GET}{CLOSE}\r\n\r\n".encode())) < 200_000
        assert (await client.visit()).verdict == "cut"
    assert other.answers == []


async def test_requests_inside_tls_count_like_others(internet: World, other: Completer) -> None:
    async with completing(internet, other, caps=EgressCaps(requests=3)) as client:
        answer = await ask_inside(client, f"{GET}\r\n".encode() * 5)
        assert answer.count(b"200 OK") == 2
        assert b"this notebook has made as many requests as it may" in answer


async def test_a_long_answer_and_a_long_upload_pass_whole(internet: World, other: Completer) -> None:
    body = bytes(range(256)) * 4096
    other.answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    async with completing(internet, other) as client:
        head = f"PUT /v1/x HTTP/1.1\r\nHost: {API}\r\nContent-Length: {len(body)}\r\n{CLOSE}\r\n\r\n".encode()
        answer = await ask_inside(client, head, body)
        assert answer.partition(b"\r\n\r\n")[2] == body
    assert other.bodies == [body]


@pytest.mark.slow
async def test_connections_that_are_only_kept_make_room_for_those_that_ask(internet: World, other: Completer) -> None:
    async with completing(internet, other, caps=EgressCaps(connections=2)) as client:
        kept = [await inside(client) for _ in range(2)]
        for _ in range(3):
            assert (await ask_inside(client, f"{GET}{CLOSE}\r\n\r\n".encode())).endswith(BIRDS)
        for stream in kept:
            await stream.aclose()


# ── the authority ──


async def test_the_authority_signs_for_one_host_at_a_time_and_cannot_sign_authorities(
    internet: World, other: Completer
) -> None:
    authority = CageAuthority([API])
    own = x509.load_pem_x509_certificate(authority.certificate.encode())
    constraint = own.extensions.get_extension_for_oid(ExtensionOID.BASIC_CONSTRAINTS)
    assert (constraint.critical, constraint.value) == (True, x509.BasicConstraints(ca=True, path_length=0))
    async with completing(internet, other, authority=authority) as client, await inside(client) as stream:
        leaf = shown_by(stream)
        assert stream.extra(TLSAttribute.alpn_protocol) == "http/1.1"
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [API]
    assert authority.context_for(API) is authority.context_for(API)


@pytest.mark.parametrize(
    ("permitted", "host", "is_accepted"),
    [
        ("api.example", "api.example", True),
        ("api.example", "other.example", False),
        ("api.example", "192.0.2.7", False),
        ("192.0.2.7", "192.0.2.7", True),
        ("192.0.2.7", "192.0.2.8", False),
        ("192.0.2.7", "2001:db8::7", False),
        ("192.0.2.7", "api.example", False),
        ("2001:db8::7", "2001:db8::7", True),
        ("localhost", "localhost", True),
    ],
)
def test_the_authority_counts_for_the_hosts_of_connections_only(permitted: str, host: str, is_accepted: bool) -> None:
    authority = CageAuthority([permitted])
    context = ssl.create_default_context(cadata=authority.certificate)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(to_client, to_server, server_hostname=host)
    server = authority.context_for(host).wrap_bio(to_server, to_client, server_side=True)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    with pytest.raises(ssl.SSLWantReadError):
        server.do_handshake()
    if is_accepted:
        client.do_handshake()
        return
    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree violation"):
        client.do_handshake()


async def test_what_another_cage_trusts_is_not_trusted_here(internet: World, other: Completer) -> None:
    async with completing(internet, other) as client, completing(internet, other) as another:
        stream = await another.connect()
        async with stream:
            await stream.send(f"CONNECT {API}:443 HTTP/1.1\r\nHost: {API}:443\r\n\r\n".encode())
            await stream.receive()
            with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
                await TLSStream.wrap(stream, hostname=API, server_side=False, ssl_context=trust(client))


async def test_without_an_authority_no_tls_is_opened(internet: World, other: Completer) -> None:
    async with completing(internet, other, authority=None) as client:
        answer = await client.ask(f"CONNECT {API}:443 HTTP/1.1\r\nHost: {API}:443\r\n\r\n".encode())
        assert answer.startswith(
            b"HTTP/1.1 403 TLS of host 'api.example' cannot be opened until the notebook is opened anew"
        )
