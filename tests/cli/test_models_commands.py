"""Models, keys and usage through their real door: a person's commands, a real gateway, a provider on loopback."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from dirty_equals import IsInt, IsPartialDict
from inline_snapshot import snapshot
from pydantic_ai.messages import ModelRequest, UserPromptPart

from cellwright.models import CallId, ModelName
from cellwright.models.calls import Choice, ModelCall, Payer, Request
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import running_pid
from cellwright.models.config.configuration import read_configuration
from cellwright.models.config.keys import key_variables
from cellwright.models.gateway.openai_access import read_address
from cellwright.testing import CallTool, ProviderServer, Say, Tokens
from tests.cli.in_process import Said, run_here

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
SECONDS = 240
KEY = "sk-commands-0123456789abcdef"
NEEDS = "a key: `cellwright models set-key near`, or start with CELLWRIGHT_KEY_NEAR set"

CONFIGURATION = """
[tiers]
smart = ["near:priced", "near:mystery"]
embed = ["near:vectors"]

[endpoints.near]
kind = "openai-chat"
base_url = "{base_url}"
key = "required"
local = false

[models."near:priced"]
tools = true
schema = true
input_price_per_million = "1.50 USD"
output_price_per_million = "6 USD"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody at a terminal, with a state directory of their own."""

    home: Path
    provider: ProviderServer

    @property
    def environment(self) -> dict[str, str]:
        held = key_variables(os.environ)
        kept = {name: value for name, value in os.environ.items() if name not in held}
        return kept | {"CELLWRIGHT_HOME": str(self.home), "NO_COLOR": "1"}

    def run(self, *words: str, code: int = 0, typed: str = "") -> Said:
        return run_here(self.home, *words, code=code, typed=typed)

    def run_program(self, *words: str) -> str:
        """The installed program, in a wide terminal's width."""
        environment = self.environment | {"COLUMNS": "200"}
        return subprocess.run(
            [CELLWRIGHT, *words], env=environment, capture_output=True, text=True, timeout=SECONDS, check=True
        ).stdout

    def json(self, *words: str, code: int = 0, typed: str = "") -> Any:
        return json.loads(self.run(*words, "--json", code=code, typed=typed).stdout)

    def ask(self, model: str, payer: Payer) -> None:
        """One call, as an agent makes it."""
        request = Request(messages=[ModelRequest(parts=[UserPromptPart("Hello.")])])
        call = ModelCall(
            id=CallId(f"{payer.run}/{payer.step}/{model}"),
            request=request,
            choice=Choice(models=(ModelName.parse(model),)),
            payer=payer,
        )

        async def ask() -> None:
            async with Models.open(self.home) as models:
                await models.ask(call)

        anyio.run(ask)


@contextmanager
def someone(home: Path) -> Generator[Person]:
    home.mkdir(mode=0o700)
    with ProviderServer.running() as provider:
        (home / "models.toml").write_text(CONFIGURATION.format(base_url=provider.base_url("openai-chat")))
        try:
            yield Person(home=home, provider=provider)
        finally:
            if (pid := running_pid(home)) is not None:
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Generator[Person]:
    with someone(tmp_path_factory.mktemp("person") / "state") as found:
        yield found


@pytest.mark.slow
def test_a_model_is_ready_once_its_key_is_set_and_until_it_is_removed(person: Person) -> None:
    listed = person.json("models", "list")
    assert listed["tiers"]["smart"] == ["near:priced", "near:mystery"]
    assert [model for model in listed["models"] if "smart" in model["tiers"]] == snapshot(
        [
            {
                "name": "near:mystery",
                "tiers": ["smart"],
                "is_ready": False,
                "needs": NEEDS,
                "is_local": False,
                "abilities": ["tools", "schema", "images", "streaming"],
                "context_tokens": None,
                "input_price_per_million": None,
                "output_price_per_million": None,
                "currency": "USD",
                "health": "closed",
            },
            {
                "name": "near:priced",
                "tiers": ["smart"],
                "is_ready": False,
                "needs": NEEDS,
                "is_local": False,
                "abilities": ["tools", "schema", "images", "streaming"],
                "context_tokens": None,
                "input_price_per_million": "1.50",
                "output_price_per_million": "6",
                "currency": "USD",
                "health": "closed",
            },
        ]
    )
    assert person.json("models", "set-key", "near", "--stdin", "--file", typed=f"{KEY}\n") == {
        "provider": "near",
        "kept_in": "file",
    }
    near = [provider for provider in person.json("models", "list")["providers"] if provider["name"] == "near"]
    assert near == [IsPartialDict(is_ready=True, key_from="file", needs="")]
    assert person.json("models", "remove-key", "near") == {"provider": "near", "removed_from": ["file"]}
    assert person.json("models", "remove-key", "near") == {"provider": "near", "removed_from": []}
    for model in person.json("models", "list")["models"]:
        assert model["is_ready"] is model["is_local"]


@pytest.mark.slow
def test_people_read_chains_prices_and_what_is_missing(person: Person) -> None:
    person.run("models", "remove-key", "near")
    told = person.run_program("models", "list")
    assert "smart  near:priced → near:mystery" in told
    assert "1.50 / 6 USD" in told
    assert "unknown" in told
    assert "✗ near needs a key: `cellwright models set-key near`" in told


@pytest.mark.slow
def test_a_test_is_a_real_call_and_finds_out_what_the_model_can_do(person: Person) -> None:
    person.run("models", "set-key", "near", "--stdin", "--file", typed=KEY)
    person.provider.script(CallTool("note_number", {"number": 42}), Say("forty-two"))
    [tested] = person.json("models", "test", "near:priced")["tests"]
    assert tested == snapshot(
        {
            "model": "near:priced",
            "is_answering": True,
            "detail": "It answers; it calls tools.",
            "milliseconds": IsInt(),
            "tools": True,
            "schema": False,
        }
    )
    assert person.provider.requests[-1].credential == KEY
    [embedded] = person.json("models", "test", "embed")["tests"]
    assert (embedded["model"], embedded["is_answering"]) == ("embed", True)
    assert [test["model"] for test in person.json("models", "test", "smart")["tests"]] == [
        "near:mystery",
        "near:priced",
    ]


@pytest.mark.slow
def test_a_model_that_does_not_answer_fails_its_test_with_the_reason(person: Person) -> None:
    person.run("models", "remove-key", "near")
    before = len(person.provider.requests)
    [tested] = person.json("models", "test", "near:priced", code=1)["tests"]
    assert tested["is_answering"] is False
    assert "key" in tested["detail"]
    assert len(person.provider.requests) == before


@pytest.mark.slow
def test_usage_is_summed_by_what_is_asked_and_unknown_prices_are_never_nought(person: Person) -> None:
    person.run("models", "set-key", "near", "--stdin", "--file", typed=KEY)
    person.provider.script(*[Say("Hi.", tokens=Tokens(input_tokens=1000, output_tokens=100))] * 3)
    person.ask("near:priced", Payer(run="r1", step="1", role="planner"))
    person.ask("near:priced", Payer(run="r1", step="2", role="builder"))
    person.ask("near:mystery", Payer(run="r2", step="1", role="builder"))
    by_run = {row["what"]: row for row in person.json("models", "usage", "--by", "run")["rows"]}
    assert [by_run["r1"], by_run["r2"]] == snapshot(
        [
            {
                "what": "r1",
                "calls": 2,
                "input_tokens": 2000,
                "output_tokens": 200,
                "cache_read_tokens": 0,
                "cache_write_tokens": 0,
                "paid": {"USD": "0.0042"},
                "unpriced_calls": 0,
                "unknown_calls": 0,
            },
            {
                "what": "r2",
                "calls": 1,
                "input_tokens": 1000,
                "output_tokens": 100,
                "cache_read_tokens": 0,
                "cache_write_tokens": 0,
                "paid": {},
                "unpriced_calls": 1,
                "unknown_calls": 0,
            },
        ]
    )
    by_role = {row["what"]: row["calls"] for row in person.json("models", "usage", "--by", "role")["rows"]}
    assert (by_role["planner"], by_role["builder"]) == (1, 2)
    [today] = person.json("models", "usage", "--by", "day", "--since", "2h")["rows"]
    assert today["calls"] >= 3
    assert today["unpriced_calls"] >= 1
    assert "near:mystery" in [row["what"] for row in person.json("models", "usage", "--by", "model")["rows"]]
    assert person.json("models", "usage", "--since", "2099-01-01")["rows"] == []
    assert "unknown for 1 calls" in person.run_program("models", "usage", "--by", "run")


@contextmanager
def key_prompt(person: Person) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    """`set-key` at a terminal, asking."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [CELLWRIGHT, "models", "set-key", "near", "--file"],
        env=person.environment,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    try:
        assert "API key of near (not shown)" in _read_until(master, "not shown")
        yield process, master
    finally:
        process.kill()
        process.wait(SECONDS)
        os.close(master)


@pytest.mark.slow
def test_a_key_is_typed_without_being_shown(person: Person) -> None:
    with key_prompt(person) as (process, terminal):
        os.write(terminal, f"{KEY}\n".encode())
        shown = _read_until(terminal, "is kept in the file")
        assert process.wait(SECONDS) == 0
    assert KEY not in shown
    assert json.loads((person.home / "keys.json").read_text()) == {"near": KEY}
    assert (person.home / "keys.json").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_ctrl_c_at_the_prompt_keeps_no_key(person: Person) -> None:
    person.run("models", "remove-key", "near")
    with key_prompt(person) as (process, terminal):
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
        with suppress(OSError):  # nobody holds the other end any more
            assert b"Traceback" not in os.read(terminal, 4096)
    assert person.json("models", "remove-key", "near")["removed_from"] == []


def _read_until(terminal: int, words: str) -> str:
    shown = ""
    while words not in shown:
        assert select.select([terminal], [], [], SECONDS)[0], shown
        shown += os.read(terminal, 4096).decode()
    return shown


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["models", "set-key", "near", KEY], "you will be asked"),
        (["models", "set-key", "near"], "--stdin"),
        (["models", "set-key", "nobody", "--stdin"], "Known: anthropic"),
        (["models", "set-key", "near", "--stdin"], "one line"),
        (["models", "usage", "--by", "phase-of-the-moon"], "run, model, day, role"),
        (["models", "usage", "--since", "yesterday"], "2026-01-31"),
        (["models", "test", "gpt-5"], "provider:model"),
        (["models", "test", "nowhere:gpt-5"], "Known:"),
    ],
)
def test_bad_input_ends_with_a_hint_and_shows_no_key(person: Person, words: list[str], hint: str) -> None:
    refused = person.run(*words, code=2)
    told = " ".join(refused.stderr.split())
    assert "hint:" in told
    assert hint in told
    assert KEY not in refused.stdout + refused.stderr


@pytest.mark.slow
def test_a_broken_configuration_says_where(person: Person) -> None:
    file = person.home / "models.toml"
    sound = file.read_text()
    file.write_text("[tiers]\nsmart = 7\n")
    try:
        for words in (["models", "list"], ["models", "set-key", "near", "--stdin"]):
            assert "line 2" in " ".join(person.run(*words, code=2, typed=KEY).stderr.split())
    finally:
        file.write_text(sound)


@pytest.mark.slow
def test_the_endpoint_tells_its_address_and_its_token_only_when_asked(person: Person) -> None:
    view = person.json("models", "endpoint")
    address = read_address(person.home)
    assert address is not None
    assert view == {"base_url": address.base_url, "token_file": str(person.home / "endpoint.json")}
    assert address.token not in person.run("models", "endpoint").stdout
    assert person.json("models", "endpoint", "--token")["token"] == address.token
    assert f'api_key = "{address.token}"' in person.run("models", "endpoint", "--marimo").stdout


@pytest.mark.slow
def test_doctor_shows_providers_and_starts_no_gateway(tmp_path: Path) -> None:
    with someone(tmp_path / "state") as alone:
        before = {
            check["name"]: check for check in alone.json("doctor")["checks"] if check["name"].startswith("models")
        }
        assert before["models: near"] == {
            "name": "models: near",
            "ok": False,
            "detail": "no key",
            "consequence": "`cellwright models set-key near`, or start with CELLWRIGHT_KEY_NEAR set.",
        }
        assert set(before) >= {"models: openai", "models: anthropic", "models: google", "models: ollama"}
        alone.run("models", "set-key", "near", "--stdin", "--file", typed=KEY)
        after = alone.run("doctor")
        assert "✓ models: near: key from file" in after.stdout
        assert KEY not in after.stdout + after.stderr
        assert running_pid(alone.home) is None


def test_the_configuration_in_the_documentation_is_sound() -> None:
    page = (Path(__file__).parents[2] / "docs/models.md").read_text("utf-8")
    example = page.partition("```toml\n")[2].partition("```")[0]
    assert read_configuration(example, "docs/models.md").tiers["smart"]
