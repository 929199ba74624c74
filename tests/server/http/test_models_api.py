"""Models over HTTP: which there are, and keys that go in and never come out."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from typing import Any

import pytest

from cellwright.settings import Settings
from tests.models.testbed import ModelTestbed, Warm
from tests.server.a_daemon import tiny_opener
from tests.server.http.a_served_folder import API, Served, no_keyring, serve

NEW_KEY = "sk-brand-new-9Jq2Lx7Vd5Tz3Wn8"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, warm_gateway: Warm) -> Generator[ModelTestbed]:
    with ModelTestbed.open(tmp_path_factory.mktemp("gateway") / "testbed", warm_gateway) as opened:
        yield opened


@pytest.fixture(scope="module")
async def served(gateway: ModelTestbed, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Served]:
    folder = tmp_path_factory.mktemp("served")
    settings = Settings(home=gateway.home, cache=folder / "cache")
    async with (
        tiny_opener(folder)(settings) as runs,
        serve(folder / "folder", settings, runs, launch=gateway.launch()) as opened,
    ):
        with no_keyring():
            yield opened


async def provider(served: Served, name: str) -> dict[str, Any]:
    providers = (await served.get("/models"))["providers"]
    return next(each for each in providers if each["name"] == name)


@pytest.mark.slow
async def test_models_are_listed_with_chains_prices_and_readiness(served: Served) -> None:
    listed = await served.get("/models")
    assert listed["tiers"]["smart"] == ["near:one"]
    model = next(each for each in listed["models"] if each["name"] == "near:one")
    assert (model["is_ready"], model["input_price_per_million"], model["currency"]) == (True, "1", "USD")
    asked = next(each for each in listed["providers"] if each["name"] == "anthropic")
    assert (asked["is_ready"], asked["key_from"]) == (False, "")
    assert asked["needs"] == "a key, or to start with ANTHROPIC_API_KEY set"


@pytest.mark.slow
async def test_a_key_goes_in_is_used_at_once_and_never_comes_out(served: Served, gateway: ModelTestbed) -> None:
    kept = await served.ask("PUT", "/models/keys/anthropic", json={"key": NEW_KEY})
    assert kept == {"provider": "anthropic", "kept_in": "file"}
    after = await provider(served, "anthropic")
    assert (after["is_ready"], after["key_from"]) == (True, "file")
    everything = [
        await served.get(path)
        for path in ("/models", "/settings", "/doctor", "/usage", "/files", "/notebooks", "/rules", "/roles")
    ]
    assert NEW_KEY not in json.dumps(everything)
    keys = gateway.home / "keys.json"
    assert keys.stat().st_mode & 0o077 == 0

    removed = await served.ask("DELETE", "/models/keys/anthropic")

    assert removed == {"provider": "anthropic", "removed_from": ["file"]}
    assert not (await provider(served, "anthropic"))["is_ready"]
    assert NEW_KEY not in keys.read_text()


@pytest.mark.parametrize(
    "body",
    [
        {"key": f"{NEW_KEY}\nX-Header: 1"},
        {"key": NEW_KEY * 1_000},
        {"key": ""},
        {"key": [NEW_KEY]},
        {"key": NEW_KEY, "also": NEW_KEY},
        {"kee": NEW_KEY},
        [NEW_KEY],
    ],
)
async def test_what_is_no_key_is_refused_without_repeating_it(served: Served, body: object) -> None:
    answer = await served.client.put(f"{API}/models/keys/anthropic", json=body)
    assert answer.status_code in {400, 422}
    assert NEW_KEY not in answer.text


async def test_only_an_administrator_touches_keys_and_only_of_known_providers(
    served: Served, gateway: ModelTestbed
) -> None:
    for scope in ("read", "steer", "approve"):
        bearing = {"headers": served.bearing(scope)}
        await served.ask("PUT", "/models/keys/anthropic", json={"key": NEW_KEY}, status=403, **bearing)
        await served.ask("DELETE", "/models/keys/anthropic", status=403, **bearing)
    unknown = await served.ask("PUT", "/models/keys/nobody", json={"key": NEW_KEY}, status=404)
    assert "anthropic" in unknown["error"]["hint"]
    kept = gateway.home / "keys.json"
    assert not kept.exists() or NEW_KEY not in kept.read_text()
