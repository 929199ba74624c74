"""Provider SDKs are heavy: each loads when it is used, and no other."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.sampling import some

SDKS = ("openai", "anthropic", "google.genai", "groq", "mistralai")

LOADING = """
import sys
import anyio
import cellwright.models, cellwright.models.providers.providers
import cellwright.models.config.catalogue, cellwright.models.gateway.model_probe
from cellwright.models.config.catalogue import traits_of
from cellwright.models.config.configuration import Configuration, Endpoint
from cellwright.models.config.names import ModelName
from cellwright.models.providers.providers import Providers
configuration = Configuration()
for name in configuration.offered():
    traits_of(name, configuration, {})
kind = sys.argv[1]
if kind != "nothing":
    endpoint = Endpoint(name="x", kind=kind, base_url="http://127.0.0.1:9/v1", local=True, key="none")
    anyio.run(Providers(Configuration(endpoints={"x": endpoint})).load, ModelName("x", "m"), None)
print(*[name for name in sys.argv[2:] if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("kind", "loaded"),
    some(
        [
            ("nothing", ""),
            ("openai-chat", "openai"),
            ("openai-responses", "openai"),
            ("ollama", "openai"),
            ("anthropic", "anthropic"),
            ("google", "google.genai"),
            ("groq", "groq"),
            ("mistral", "mistralai"),
        ],
        2,
    ),
)
def test_an_sdk_is_loaded_when_its_first_model_is_built(kind: str, loaded: str) -> None:
    ran = subprocess.run([sys.executable, "-c", LOADING, kind, *SDKS], capture_output=True, text=True, check=True)

    assert ran.stdout.split() == loaded.split()
