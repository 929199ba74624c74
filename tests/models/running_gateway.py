"""A state directory with a real gateway in it, and a provider on loopback that it asks."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import anyio
import httpx2
import openai

from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch, running_pid
from cellwright.models.gateway.openai_access import EndpointAddress, read_address
from cellwright.testing import ProviderServer

KEY = "sk-endpoint-test-0123456789"

CONFIGURATION = """
[tiers]
smart = ["near:one", "near:two"]
embed = ["near:vectors"]

[endpoints.near]
kind = "openai-chat"
base_url = "{base_url}"
key = "required"
local = false
models = ["one", "two", "vectors"]

[models."near:one"]
tools = true
schema = true
input_price_per_million = "1 USD"
output_price_per_million = "1 USD"

[models."near:two"]
tools = true
schema = true
input_price_per_million = "1 USD"
output_price_per_million = "1 USD"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningGateway:
    """Everything a test of the endpoint needs."""

    home: Path
    provider: ProviderServer
    address: EndpointAddress

    @classmethod
    @contextmanager
    def open(cls, home: Path, *, configuration: str = CONFIGURATION) -> Generator[Self]:
        """Run a provider and a gateway until the block ends."""
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with ProviderServer.running() as provider:
            (home / "models.toml").write_text(configuration.format(base_url=provider.base_url("openai-chat")))
            try:
                anyio.run(_start, home)
                address = read_address(home)
                assert address is not None
                yield cls(home=home, provider=provider, address=address)
            finally:
                anyio.run(_stop, home)

    def client(self) -> openai.AsyncOpenAI:
        """OpenAI's own client, as anybody would make it."""
        return openai.AsyncOpenAI(base_url=self.address.base_url, api_key=self.address.token)

    def http(self, **headers: str) -> httpx2.AsyncClient:
        """Bare HTTP, with the token."""
        sent = {"authorization": f"Bearer {self.address.token}", **headers}
        return httpx2.AsyncClient(base_url=self.address.base_url, headers=sent)


def launch(home: Path, **more: Any) -> GatewayLaunch:
    """How the gateway of these tests is started."""
    return GatewayLaunch(home=home, environment=os.environ, keys={"near": KEY}, idle_seconds=60, person="ada", **more)


async def _start(home: Path) -> None:
    async with Models.open(home, launch=launch(home)) as models:
        with anyio.fail_after(120):
            while not (await models.status()).endpoint:  # noqa: ASYNC110 (another process opens it)
                await anyio.sleep(0.02)


async def _stop(home: Path) -> None:
    if running_pid(home) is None:
        return
    async with Models.open(home, launch=launch(home)) as models:
        await models.stop_gateway(at_once=True)
    with anyio.fail_after(120):
        while running_pid(home) is not None:  # noqa: ASYNC110 (another process ends)
            await anyio.sleep(0.02)
