"""The providers' own SDKs, asked directly: what pydantic-ai leaves out, and what else providers offer.

Each is imported by its test alone: together they take four seconds and 60 MB, in every worker that reads this file.
"""

from __future__ import annotations

import json

import openai
import pytest

from cellwright.testing import Fault, ProviderServer, Say, SayJson
from tests.testing.clients import CITY, KEY


def ask_openai(server: ProviderServer, max_retries: int = 0) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.base_url("openai-chat"), api_key=KEY, max_retries=max_retries)


def test_an_ordinary_program_asks_openai_and_is_answered(server: ProviderServer) -> None:
    server.script(Say("Guten Tag."))
    with ask_openai(server) as client:
        answer = client.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hallo"}])
    assert answer.choices[0].message.content == "Guten Tag."
    assert answer.usage is not None
    assert answer.usage.total_tokens == 15


def test_openai_retries_by_itself_when_told_to_come_back(server: ProviderServer) -> None:
    server.script(
        Fault("rate-limited", retry_after_seconds=0.01),
        Fault("server-error", retry_after_seconds=0.01),
        Say("At last."),
    )
    with ask_openai(server, max_retries=2) as client:
        answer = client.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hallo"}])
    assert answer.choices[0].message.content == "At last."
    assert (len(server.requests), len(server.charged)) == (3, 1)


def test_a_stream_of_openai_without_usage_tells_none(server: ProviderServer) -> None:
    with ask_openai(server) as client:
        asked = client.chat.completions.create(model="any", messages=[{"role": "user", "content": "a b"}], stream=True)
        chunks = list(asked)
    assert [chunk.choices[0].delta.content for chunk in chunks] == ["", "a ", "b", None]
    assert all(chunk.usage is None for chunk in chunks)


def test_openai_parses_what_its_schema_asked_for(server: ProviderServer) -> None:
    server.script(SayJson({"city": "Köln", "people": 1}))
    with ask_openai(server) as client:
        answer = client.responses.create(
            model="any",
            input="Which city?",
            text={"format": {"type": "json_schema", "name": "city", "schema": CITY, "strict": True}},
        )
    assert json.loads(answer.output_text) == {"city": "Köln", "people": 1}


def test_embeddings_are_the_same_each_time_and_of_the_length_asked_for(server: ProviderServer) -> None:
    with ask_openai(server) as client:
        first = client.embeddings.create(model="any", input=["one", "two"], dimensions=4)
        again = client.embeddings.create(model="any", input="one", dimensions=4)
    assert [len(each.embedding) for each in first.data] == [4, 4]
    assert first.data[0].embedding == again.data[0].embedding != first.data[1].embedding


def test_models_are_listed(server: ProviderServer) -> None:
    import anthropic
    import groq

    with ask_openai(server) as client:
        assert [model.id for model in client.models.list()] == ["small", "large"]
    with anthropic.Anthropic(base_url=server.base_url("anthropic"), api_key=KEY) as client:
        assert [model.id for model in client.models.list()] == ["small", "large"]
    with groq.Groq(base_url=server.base_url("groq"), api_key=KEY) as client:
        assert [model.id for model in client.models.list().data] == ["small", "large"]


def test_an_unknown_request_is_not_found(server: ProviderServer) -> None:
    with ask_openai(server) as client, pytest.raises(openai.NotFoundError, match="/openai/v1/files"):
        client.files.list()


def test_mistral_gets_json_of_its_schema(server: ProviderServer) -> None:
    from mistralai.client import Mistral

    with Mistral(api_key=KEY, server_url=server.base_url("mistral")) as client:
        answer = client.chat.complete(
            model="any",
            messages=[{"role": "user", "content": "Which city?"}],
            response_format={"type": "json_schema", "json_schema": {"name": "city", "schema_definition": CITY}},
        )
        vectors = client.embeddings.create(model="any", inputs=["one"])
    assert answer.choices[0].message is not None
    assert json.loads(str(answer.choices[0].message.content)) == {"city": "x", "people": 0}
    assert vectors.data[0].embedding is not None
    assert len(vectors.data[0].embedding) == 8


def test_google_embeds(server: ProviderServer) -> None:
    from google import genai

    options = genai.types.HttpOptions(base_url=server.base_url("google"))
    with genai.Client(api_key=KEY, http_options=options) as client:
        vectors = client.models.embed_content(model="any", contents="one")
    assert vectors.embeddings is not None
    assert vectors.embeddings[0].values is not None
    assert len(vectors.embeddings[0].values) == 8


def test_anthropic_reads_a_whole_answer_and_its_helper_a_stream(server: ProviderServer) -> None:
    import anthropic

    server.script(Say("Eins zwei."), Say("Drei vier."))
    with anthropic.Anthropic(base_url=server.base_url("anthropic"), api_key=KEY, max_retries=0) as client:
        whole = client.messages.create(model="any", max_tokens=9, messages=[{"role": "user", "content": "x"}])
        with client.messages.stream(model="any", max_tokens=9, messages=[{"role": "user", "content": "x"}]) as stream:
            final = stream.get_final_message()
    assert [block.text for block in whole.content if block.type == "text"] == ["Eins zwei."]
    assert [block.text for block in final.content if block.type == "text"] == ["Drei vier."]
    assert (final.usage.input_tokens, final.usage.output_tokens, final.stop_reason) == (10, 5, "end_turn")
