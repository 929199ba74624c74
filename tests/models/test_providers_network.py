"""A company's way to models: own headers, own certificates, a proxy. And what must never leave this machine."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from cellwright.errors import Unavailable
from cellwright.models.config.configuration import KINDS, Configuration, Endpoint, Kind
from cellwright.models.config.names import ModelName
from cellwright.models.providers.failures import failure_of
from cellwright.models.providers.providers import Providers
from cellwright.models.providers.sdk_clients import connecting_by
from cellwright.testing import ProviderServer, Say
from cellwright.testing.wire.formats import BASE_PATHS
from tests.models.asked import KEY, MODELS, hear, saying
from tests.models.middlemen import make_certificate, proxy, redirecting, tls_front
from tests.sampling import every

OFFICE_HEADERS = MappingProxyType({"X-Team": "data", "X-Pass": "sesame-open-now"})
every_kind = pytest.mark.parametrize("kind", every(KINDS, 3))


@pytest.fixture
async def server() -> AsyncGenerator[ProviderServer]:
    async with ProviderServer.open() as opened:
        opened.always(Say("From the office."))
        yield opened


@asynccontextmanager
async def office(kind: Kind, base_url: str, **fields: Any) -> AsyncGenerator[Providers]:
    endpoint = Endpoint(name="office", kind=kind, base_url=base_url, **fields)
    providers = Providers(Configuration(endpoints={"office": endpoint}))
    try:
        yield providers
    finally:
        await providers.aclose()


def at_office(kind: Kind) -> ModelName:
    return ModelName("office", MODELS[kind])


@every_kind
async def test_the_endpoints_own_headers_go_with_every_request(server: ProviderServer, kind: Kind) -> None:
    async with office(kind, server.base_url(kind), headers=OFFICE_HEADERS) as providers:
        for stream in (False, True):
            await hear(providers, at_office(kind), saying(), stream=stream)

    for request in server.requests:
        assert (request.headers["x-team"], request.headers["x-pass"]) == ("data", "sesame-open-now")
        assert request.credential == KEY


async def test_the_endpoints_own_authorization_takes_the_place_of_a_key(server: ProviderServer) -> None:
    headers = {"Authorization": "Bearer office-token"}
    async with office("openai-chat", server.base_url("openai-chat"), headers=headers, key="none") as providers:
        await hear(providers, at_office("openai-chat"), saying(), key=None)

    assert server.requests[0].credential == "office-token"


@pytest.mark.slow
@every_kind
async def test_a_ca_file_makes_a_private_certificate_trusted(
    server: ProviderServer, tmp_path: Path, kind: Kind
) -> None:
    certificate, key = make_certificate(tmp_path)
    async with (
        tls_front(certificate, key, server.address) as front,
        office(kind, f"https://127.0.0.1:{front.port}{BASE_PATHS[kind]}", ca_file=str(certificate)) as providers,
    ):
        _, response = await hear(providers, at_office(kind), saying(), stream=True)

    assert response.text == "From the office."


@every_kind
async def test_without_it_nothing_is_sent(server: ProviderServer, tmp_path: Path, kind: Kind) -> None:
    certificate, key = make_certificate(tmp_path)
    async with (
        tls_front(certificate, key, server.address) as front,
        office(kind, f"https://127.0.0.1:{front.port}{BASE_PATHS[kind]}") as providers,
    ):
        with pytest.raises(Exception) as caught:
            await hear(providers, at_office(kind), saying())

    assert failure_of(caught.value)[0] == "connection"
    assert "certificate" in failure_of(caught.value)[1].lower()
    assert server.requests == ()


async def test_where_nothing_is_encrypted_no_certificates_are_read(server: ProviderServer, tmp_path: Path) -> None:
    async with office("openai-chat", server.base_url("openai-chat"), ca_file=str(tmp_path / "gone.pem")) as providers:
        _, answer = await hear(providers, at_office("openai-chat"), saying())
    assert answer.text == "From the office."


async def test_a_ca_file_that_cannot_be_read_is_told(server: ProviderServer, tmp_path: Path) -> None:
    async with office("openai-chat", "https://127.0.0.1:9/v1", ca_file=str(tmp_path / "gone.pem")) as providers:
        with pytest.raises(Unavailable, match="certificates of 'office' cannot be read") as caught:
            await hear(providers, at_office("openai-chat"), saying())

    assert failure_of(caught.value)[0] == "not-ready"


@every_kind
async def test_everything_goes_through_the_proxy(server: ProviderServer, kind: Kind) -> None:
    async with (
        proxy() as middleman,
        office(kind, server.base_url(kind), proxy=f"http://me:hunter22@127.0.0.1:{middleman.port}") as providers,
    ):
        _, response = await hear(providers, at_office(kind), saying(), stream=True)

    assert response.text == "From the office."
    assert len(middleman.heads) == 1
    assert middleman.heads[0].startswith(f"POST {server.address}")
    assert "proxy-authorization: basic" in middleman.heads[0].lower()


async def test_tls_goes_through_the_proxy_unread(server: ProviderServer, tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    async with tls_front(certificate, key, server.address) as front, proxy() as middleman:
        base_url = f"https://127.0.0.1:{front.port}{BASE_PATHS['anthropic']}"
        address = f"http://127.0.0.1:{middleman.port}"
        async with office("anthropic", base_url, ca_file=str(certificate), proxy=address) as providers:
            _, response = await hear(providers, at_office("anthropic"), saying())

    assert response.text == "From the office."
    assert [head.split("\r\n")[0] for head in middleman.heads] == [f"CONNECT 127.0.0.1:{front.port} HTTP/1.1"]
    assert KEY not in middleman.heads[0]


@every_kind
async def test_a_proxy_of_the_environment_never_sees_what_stays_here(
    server: ProviderServer, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxy() as middleman:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{middleman.port}")
        async with office(kind, server.base_url(kind), local=True, key="none") as providers:
            await hear(providers, at_office(kind), saying(), key=None)

    assert middleman.heads == []


@every_kind
async def test_a_redirect_is_not_followed(server: ProviderServer, kind: Kind) -> None:
    async with (
        redirecting(f"{server.base_url(kind)}/elsewhere") as elsewhere,
        office(kind, f"http://127.0.0.1:{elsewhere.port}/v1") as providers,
    ):
        with pytest.raises(Exception) as caught:
            await hear(providers, at_office(kind), saying())

    assert failure_of(caught.value)[0] in ("rejected", "server-error", "broken-answer")
    assert len(elsewhere.heads) == 1
    assert server.requests == ()


@pytest.mark.slow
async def test_addresses_in_the_environment_do_not_lead_a_key_elsewhere(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GROQ_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, server.address)
    providers = Providers(Configuration())

    addresses = {
        name: (await providers.load(ModelName(name, "m"), KEY)).base_url
        for name in ("openai", "anthropic", "groq", "google", "mistral")
    }

    assert {name: str(address).split("/")[2] for name, address in addresses.items()} == {
        "openai": "api.openai.com",
        "anthropic": "api.anthropic.com",
        "groq": "api.groq.com",
        "google": "generativelanguage.googleapis.com",
        "mistral": "api.mistral.ai",
    }
    await providers.aclose()


# groq's SDK has another HTTP library than all others.
@pytest.mark.parametrize("kind", ["openai-chat", "groq"])
async def test_what_a_run_asks_goes_through_the_runs_own_proxy_and_certificates_whoever_started_the_gateway(
    server: ProviderServer, tmp_path: Path, kind: Kind
) -> None:
    certificate, key = make_certificate(tmp_path)
    async with proxy() as middleman, tls_front(certificate, key, server.address) as front:
        base_url = f"https://127.0.0.1:{front.port}{BASE_PATHS[kind]}"
        variables = {"HTTPS_PROXY": f"http://127.0.0.1:{middleman.port}", "SSL_CERT_FILE": str(certificate)}
        async with office(kind, base_url, local=False) as providers:
            with connecting_by(variables):
                await hear(providers, at_office(kind), saying())
            assert middleman.heads[0].startswith(f"CONNECT 127.0.0.1:{front.port}")
            asked = len(middleman.heads)
            with connecting_by({**variables, "NO_PROXY": "127.0.0.1"}):
                await hear(providers, at_office(kind), saying())
            assert len(middleman.heads) == asked, "another run's settings are its own"
            # Without the company's authority the same endpoint is not trusted.
            with connecting_by({}), pytest.raises(Exception) as failed:
                await hear(providers, at_office(kind), saying())
            assert failure_of(failed.value)[0] == "connection"
