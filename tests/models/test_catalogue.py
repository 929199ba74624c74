"""What is believed about models, and by whom."""

from __future__ import annotations

import pytest

from cellwright.errors import UserError
from cellwright.models.config.catalogue import ProbeResult, Traits, is_worth_probing, traits_of
from cellwright.models.config.configuration import Configuration, read_configuration
from cellwright.models.config.names import ModelName

LOCAL = '[endpoints.local]\nkind = "openai-chat"\nbase_url = "http://127.0.0.1:1/v1"\n'
QWEN = ModelName("local", "qwen3")


def traits(name: str, text: str = LOCAL, probed: ProbeResult | None = None) -> Traits:
    model = ModelName.parse(name)
    return traits_of(model, read_configuration(text, "models.toml"), {model: probed} if probed else {})


def test_an_unknown_local_model_is_trusted_with_schemas_and_not_with_tools() -> None:
    found = traits("local:qwen3")

    assert (found.tools, found.schema, found.images, found.local) == (False, True, False, True)


@pytest.mark.parametrize(
    ("name", "schema", "reasoning", "caching"),
    [
        ("openai:gpt-5-mini", True, True, False),
        ("openai:gpt-6-luna", True, True, True),
        ("anthropic:claude-sonnet-5-5", True, True, True),
        ("google:gemini-2.5-flash", True, True, False),
        ("groq:llama-3.3-70b-versatile", False, False, False),
        ("mistral:mistral-large-latest", False, False, False),
    ],
)
def test_known_models_have_their_known_abilities(name: str, schema: bool, reasoning: bool, caching: bool) -> None:
    found = traits(name)

    assert (found.tools, found.schema, found.reasoning, found.caching) == (True, schema, reasoning, caching)
    assert not found.local


def test_a_probe_counts_more_than_caution() -> None:
    probed = ProbeResult(tools=True, schema=False, at="2026-11-15T00:00:00+00:00")

    found = traits("local:qwen3", probed=probed)

    assert (found.tools, found.schema) == (True, False)


def test_what_the_person_says_counts_most() -> None:
    text = f'{LOCAL}[models."local:qwen3"]\ntools = false\nimages = true\nreasoning = true\ncontext = 4096\n'
    probed = ProbeResult(tools=True, schema=True, at="2026-11-15T00:00:00+00:00")

    found = traits("local:qwen3", text, probed)

    assert (found.tools, found.schema, found.images, found.reasoning) == (False, True, True, True)
    assert found.context_tokens == 4096


def test_context_sizes_come_from_the_price_lists() -> None:
    assert traits("openai:gpt-5").context_tokens == 400_000
    assert traits("local:qwen3").context_tokens is None
    assert traits("openai:gpt-never-made").context_tokens is None


@pytest.mark.parametrize("name", ["ollama:gpt-oss:120b-cloud", "ollama:kimi-k2:cloud", "local:gpt-5", "local:claude-x"])
def test_a_model_that_is_only_passed_on_from_here_is_not_local(name: str) -> None:
    assert not traits(name).local


def test_a_forwarded_ollama_model_is_not_trusted_to_keep_to_schemas() -> None:
    found = traits("ollama:gpt-oss:120b-cloud")

    assert (found.tools, found.schema) == (True, False)


def test_only_gemini_three_and_later_take_a_schema_and_tools_together() -> None:
    assert not traits("google:gemini-2.5-flash").schema_with_tools
    assert traits("google:gemini-3.8-flash").schema_with_tools


def test_only_local_models_nobody_knows_are_worth_probing() -> None:
    configuration = read_configuration(LOCAL, "models.toml")
    said = read_configuration(f'{LOCAL}[models."local:qwen3"]\ntools = true\nschema = true\n', "models.toml")

    assert is_worth_probing(QWEN, configuration, {})
    assert not is_worth_probing(QWEN, configuration, {QWEN: ProbeResult(tools=True, schema=True, at="")})
    assert not is_worth_probing(QWEN, said, {})
    assert not is_worth_probing(ModelName("openai", "gpt-5"), configuration, {})


def test_a_model_of_no_known_endpoint_has_no_traits() -> None:
    with pytest.raises(UserError):
        traits_of(ModelName("nowhere", "x"), Configuration(), {})
