"""What each provider's errors mean, through their real SDKs."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from pydantic_ai.exceptions import ModelHTTPError

from cellwright.models.config.configuration import KINDS, Kind
from cellwright.models.providers.failures import failure_of
from cellwright.models.providers.providers import Providers
from cellwright.testing import Fault, ProviderServer
from tests.models.asked import KEY, configured, hear, model_of, saying


@pytest.fixture(scope="module")
async def one_server() -> AsyncGenerator[ProviderServer]:
    async with ProviderServer.open() as opened:
        yield opened


@pytest.fixture(scope="module")
async def providers(one_server: ProviderServer) -> AsyncGenerator[Providers]:
    opened = Providers(configured(one_server))
    yield opened
    await opened.aclose()


@pytest.fixture
def server(one_server: ProviderServer) -> ProviderServer:
    one_server.forget()
    return one_server


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "failing"),
    [
        (Fault("bad-request"), "rejected"),
        (Fault("unauthorised"), "unauthorised"),
        (Fault("not-found"), "not-found"),
        (Fault("context-too-long"), "context-too-long"),
        (Fault("rate-limited", retry_after_seconds=3), "rate-limited"),
        (Fault("overloaded"), "overloaded"),
        (Fault("drop"), "connection"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
async def test_every_failure_has_its_word_and_never_the_key(
    server: ProviderServer, providers: Providers, kind: Kind, fault: Fault, failing: str
) -> None:
    server.script(fault)

    with pytest.raises(Exception) as caught:
        await hear(providers, model_of(kind), saying())

    word, detail, retry_after = failure_of(caught.value)
    assert word == failing
    assert KEY not in detail
    assert len(detail) <= 200
    assert "\n" not in detail
    assert retry_after == (3 if failing == "rate-limited" else None)


def test_a_defect_of_ours_is_no_failure_of_a_provider() -> None:
    with pytest.raises(ZeroDivisionError):
        failure_of(ZeroDivisionError("ours"))


def test_a_body_that_quotes_a_key_is_masked() -> None:
    body = {"error": {"message": "Bad request for sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"}}

    assert "abcdefghij" not in failure_of(ModelHTTPError(400, "m", body))[1]
