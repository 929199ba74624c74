"""`models.toml`: what it says, and how a mistake in it is told."""

from __future__ import annotations

import traceback
from decimal import Decimal

import pytest
from inline_snapshot import snapshot

from cellwright.errors import UserError
from cellwright.models.config.configuration import (
    BUILT_IN_CHAINS,
    BUILT_IN_ENDPOINTS,
    Configuration,
    Endpoint,
    ModelOverrides,
    read_configuration,
)
from cellwright.models.config.names import TIERS, ModelName
from cellwright.policy.money import Money

WHOLE = """
[tiers]
smart = ["anthropic:claude-sonnet-5-5", "office:gpt-5"]
fast = ["local:qwen3"]

[endpoints.local]
kind = "openai-chat"
base_url = "http://127.0.0.1:1234/v1"
models = ["qwen3", "phi4"]

[endpoints.office]
kind = "openai-responses"
base_url = "https://models.office.example/v1"
headers = { "X-Team" = "data", "X-Pass" = "sesame-open-now" }
ca_file = "/etc/office/ca.pem"
proxy = "http://me:hunter22@proxy.office.example:3128"
background = true

[endpoints.anthropic]
models = ["claude-opus-5-5"]

[models."local:qwen3"]
tools = false
schema = true
images = false
context = 8192
input_price_per_million = "0.10 USD"
output_price_per_million = "0.30 USD"

[cache]
enabled = true
"""


def read(text: str) -> Configuration:
    return read_configuration(text, "models.toml")


def mistake(text: str) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        read(text)
    return caught.value.message, caught.value.hint


def test_everything_a_file_can_say_is_read() -> None:
    configuration = read(WHOLE)

    assert configuration.tiers == {
        "smart": (ModelName("anthropic", "claude-sonnet-5-5"), ModelName("office", "gpt-5")),
        "fast": (ModelName("local", "qwen3"),),
    }
    assert configuration.endpoints["local"] == Endpoint(
        name="local",
        kind="openai-chat",
        base_url="http://127.0.0.1:1234/v1",
        local=True,
        key="none",
        models=("qwen3", "phi4"),
    )
    assert configuration.endpoints["office"] == Endpoint(
        name="office",
        kind="openai-responses",
        base_url="https://models.office.example/v1",
        headers={"X-Team": "data", "X-Pass": "sesame-open-now"},
        ca_file="/etc/office/ca.pem",
        proxy="http://me:hunter22@proxy.office.example:3128",
        background=True,
    )
    assert configuration.models == {
        ModelName("local", "qwen3"): ModelOverrides(
            tools=False,
            schema=True,
            images=False,
            context_tokens=8192,
            input_price_per_million=Money(amount=Decimal("0.10")),
            output_price_per_million=Money(amount=Decimal("0.30")),
        )
    }
    assert configuration.cache


def test_a_known_provider_keeps_what_is_not_said_about_it() -> None:
    endpoints = read(WHOLE).endpoints

    assert endpoints["anthropic"] == Endpoint(name="anthropic", kind="anthropic", models=("claude-opus-5-5",))
    assert {name: endpoint for name, endpoint in endpoints.items() if name not in ("local", "office", "anthropic")} == {
        name: endpoint for name, endpoint in BUILT_IN_ENDPOINTS.items() if name != "anthropic"
    }


def test_an_empty_file_is_what_we_know_ourselves() -> None:
    assert read("") == Configuration()


def test_headers_and_proxy_are_in_no_text_of_an_endpoint() -> None:
    shown = repr(read(WHOLE))

    assert "sesame" not in shown
    assert "hunter22" not in shown


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tiers\n", "1:7 this is not TOML: Expected ']' at the end of a table declaration."),
        ("[tier]\n", "1:1 unknown key 'tier'."),
        ('[tiers]\nclever = ["openai:x"]\n', "2:1 unknown key 'clever'."),
        ('[tiers]\nfast = ["gpt-5"]\n', "2:9 'gpt-5' does not name a model."),
        ('[tiers]\nfast = ["nowhere:x"]\n', "2:9 'nowhere:x' names no known endpoint."),
        ("[tiers]\nfast = []\n", "2:8 'fast' is empty."),
        ('[endpoints.x]\nkind = "soap"\n', "2:8 unknown kind 'soap'."),
        ('[endpoints.x]\nbase_url = "http://h/v1"\n', "1:1 the endpoint 'x' has no kind."),
        ('[endpoints.x]\nkind = "openai-chat"\n', "1:1 the endpoint 'x' has no base_url."),
        ('[endpoints.X]\nkind = "openai-chat"\n', "1:1 'X' cannot name an endpoint."),
        ('[endpoints.openai]\nbase_url = "ftp://h"\n', "2:12 'base_url' is not a URL of http or https."),
        ('[endpoints.openai]\nbase_url = "https://u:p@h/v1"\n',
         "2:12 a base_url has no user, password, query or fragment."),
        ('[endpoints.openai]\nbase_ulr = "https://h"\n', "2:1 unknown key 'base_ulr'."),
        ('[endpoints.openai]\nca_file = "ca.pem"\n', "2:11 ca_file must be a whole path."),
        ("[endpoints.openai]\nlocal = true\n", "2:9 this endpoint is on another machine."),
        ("[endpoints.groq]\nbackground = true\n", "2:14 'groq' has no background answers."),
        ('[endpoints.ollama]\nproxy = "http://p:1"\n', "2:9 a local endpoint needs no proxy."),
        ('[endpoints.openai]\nheaders = { Host = "x" }\n', "2:11 'Host' is not a header to set here."),
        ('[endpoints.openai]\nheaders = { X = "a\\nb" }\n', "2:11 the header 'X' must be a text of ASCII characters."),
        ('[endpoints.openai]\nmodels = "gpt-5"\n', "2:10 'models' must be a list."),
        ('[models."openai:x"]\ncontext = "many"\n', "2:11 'context': Input should be a valid integer."),
        ('[models."openai:x"]\ninput_price_per_million = "cheap"\n', "2:27 'cheap' is no price."),
        ('[models."openai:x"]\ninput_price_per_million = "1 USD"\n', "1:1 both prices are needed, in one currency."),
        ('[models."openai:x"]\ntools = "yes"\n', "2:9 'tools' must be true or false."),
        ("[cache]\nenabled = 1\n", "2:11 'enabled' must be true or false."),
        ("[limits]\nmoney = 5\n", "1:1 unknown key 'limits'."),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place_and_what_to_do(text: str, told: str) -> None:
    message, hint = mistake(text)

    place, _, what = told.partition(" ")
    line, column = place.split(":")
    assert message == f"models.toml, line {line}, column {column}: {what}"
    assert hint


def test_a_slip_of_the_pen_is_told_with_what_was_meant() -> None:
    assert mistake('[endpoints.openai]\nbase_ulr = "https://h"\n')[1] == "Did you mean 'base_url'?"
    assert mistake("[endpionts.openai]\n")[1] == "Did you mean 'endpoints'?"
    assert mistake('[endpoints.x]\nkind = "openai-caht"\n')[1] == "Did you mean 'openai-chat'?"


def test_a_key_in_the_file_is_refused_and_not_repeated() -> None:
    message, hint = mistake('[endpoints.openai]\nkey = "sk-live-0123456789abcdef"\n')

    assert message == snapshot('models.toml, line 2, column 7: key must be "required" or "none".')
    assert hint == snapshot("A key is never in this file: give a key for openai, or start with OPENAI_API_KEY set.")


@pytest.mark.parametrize(
    "line",
    [
        "key = {a = 'sesame-open-now'}", "proxy = ['sesame-open-now']", "headers = ['sesame-open-now']",
        "headers = {X = ['sesame-open-now']}", "base_url = ['sesame-open-now']", "ca_file = {x = 'sesame-open-now'}",
        "token = 'sesame-open-now'", "proxy = 'sesame-open-now'", "models = {x = 'sesame-open-now'}",
    ],
)  # fmt: skip
def test_a_mistake_tells_no_value_that_may_be_a_secret(line: str) -> None:
    with pytest.raises(UserError) as caught:
        read(f"[endpoints.openai]\n{line}\n")
    assert "line 2" in caught.value.message
    assert "sesame" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("address", "is_local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.1:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://127.0.0.2/v1", True),
        ("http://10.0.0.4/v1", False),
        ("http://localhost.example/v1", False),
        ("http://127.0.0.1.example/v1", False),
    ],
)
def test_an_endpoint_is_local_only_on_loopback(address: str, is_local: bool) -> None:
    endpoint = read(f'[endpoints.x]\nkind = "openai-chat"\nbase_url = "{address}"\n').endpoints["x"]

    assert endpoint.local is is_local
    assert endpoint.key == ("none" if is_local else "required")


def test_a_loopback_address_that_leads_elsewhere_can_be_called_so() -> None:
    text = '[endpoints.x]\nkind = "openai-chat"\nbase_url = "http://127.0.0.1:1/v1"\nlocal = false\nkey = "required"\n'

    assert (read(text).endpoints["x"].local, read(text).endpoints["x"].key) == (False, "required")


def test_our_own_chain_holds_what_has_a_key_or_needs_none() -> None:
    chain = Configuration().chain("smart", frozenset({"openai"}))

    assert [name.provider for name in chain] == ["openai", "ollama"]


def test_a_chain_without_anything_ready_says_all_that_could_be() -> None:
    configuration = Configuration(endpoints={"openai": BUILT_IN_ENDPOINTS["openai"]})

    assert [name.provider for name in configuration.chain("smart", frozenset())] == ["openai"]


def test_a_chain_written_down_comes_whole_whatever_is_ready() -> None:
    configuration = read('[tiers]\nsmart = ["openai:gpt-5", "groq:x", "openai:gpt-5"]\n')

    assert configuration.chain("smart", frozenset()) == (ModelName("openai", "gpt-5"), ModelName("groq", "x"))


@pytest.mark.parametrize("tier", TIERS)
def test_every_tier_has_a_chain_of_endpoints_we_know(tier: str) -> None:
    chain = next(chain for name, chain in BUILT_IN_CHAINS.items() if name == tier)

    assert {name.provider for name in chain} <= set(BUILT_IN_ENDPOINTS)


def test_every_model_named_anywhere_is_offered_once() -> None:
    offered = [str(name) for name in read(WHOLE).offered()]

    assert {"local:phi4", "local:qwen3", "anthropic:claude-opus-5-5", "office:gpt-5"} <= set(offered)
    assert offered == sorted(set(offered))


def test_an_unknown_endpoint_is_named_with_those_there_are() -> None:
    with pytest.raises(UserError, match=r"No endpoint is called 'nowhere'\.") as caught:
        Configuration().endpoint(ModelName("nowhere", "x"))
    assert "anthropic, google" in caught.value.hint
