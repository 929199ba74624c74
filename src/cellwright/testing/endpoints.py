"""What the server answers besides completions: lists of models, embeddings, and its own requests under `/_`."""

from __future__ import annotations

import base64
import hashlib
import struct
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qs

import anyio.to_thread

from cellwright.errors import UserError
from cellwright.testing.accounting import Counter
from cellwright.testing.http_connection import HttpRequest
from cellwright.testing.playback import SilenceBarrier
from cellwright.testing.scripts import Script, read_script
from cellwright.testing.wire.openai_chat import error_body
from cellwright.testing.wire.reply import Json

MODELS = ("small", "large")
"""What every list of models names."""


def answer_side_request(request: HttpRequest) -> tuple[int, Json]:
    """Status and body for a request that asks for no answer of a model."""
    body = request.json() or {}
    match request.method, request.path:
        case "GET", ("/openai/v1/models" | "/ollama/v1/models" | "/groq/openai/v1/models" | "/mistral/v1/models"):
            alike = {"object": "model", "created": 1_700_000_000, "owned_by": "cellwright"}
            return 200, {"object": "list", "data": [{"id": name} | alike for name in MODELS]}
        case "GET", "/anthropic/v1/models":
            alike = {"type": "model", "created_at": "2025-01-01T00:00:00Z"}
            models = [alike | {"id": name, "display_name": name} for name in MODELS]
            return 200, {"data": models, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}
        case "GET", "/google/v1beta/models":
            return 200, {"models": [{"name": f"models/{name}", "displayName": name} for name in MODELS]}
        case "POST", ("/openai/v1/embeddings" | "/ollama/v1/embeddings" | "/mistral/v1/embeddings"):
            return 200, _embeddings(body)
        case "POST", path if path.endswith(":batchEmbedContents"):
            texts = ["".join(part["text"] for part in each["content"]["parts"]) for each in body["requests"]]
            return 200, {"embeddings": [{"values": vector(text, 8)} for text in texts]}
        case method, path:
            return 404, error_body(f"Unknown request: {method} {path}", code="unknown_url")


def vector(text: str, dimensions: int) -> list[float]:
    """The embedding of a text: always the same, between -1 and 1."""
    digests = [hashlib.sha256(f"{index}:{text}".encode()).digest() for index in range(dimensions)]
    numbers = [int.from_bytes(digest[:4], "big") / 2**31 - 1 for digest in digests]
    length = sum(number * number for number in numbers) ** 0.5
    return [number / length for number in numbers]


def _embeddings(body: Json) -> Json:
    given: Any = body.get("input")
    texts = given if isinstance(given, list) else [given]
    vectors = [vector(str(text), int(body.get("dimensions") or 8)) for text in texts]
    if body.get("encoding_format") == "base64":
        vectors = [base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode() for numbers in vectors]
    used = sum(len(str(text)) // 4 + 1 for text in texts)
    return {
        "id": "embd-cellwright",
        "object": "list",
        "model": body.get("model"),
        "data": [
            {"object": "embedding", "index": index, "embedding": numbers} for index, numbers in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": used, "total_tokens": used, "completion_tokens": 0},
    }


_LONGEST_WAIT_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Answers requests about the server itself."""

    script: Script
    barrier: SilenceBarrier
    counter: Counter

    def owns(self, path: str) -> bool:
        """Whether a path is about the server itself."""
        return path.startswith("/_")

    async def answer(self, request: HttpRequest) -> tuple[int, dict[str, Any]]:
        """Status and body."""
        match request.method, request.path:
            case "GET", "/_charges":
                return 200, {"charges": [asdict(charge) for charge in self.counter.charged]}
            case "GET", "/_requests":
                return 200, {"requests": [asdict(received) for received in self.counter.requests]}
            case "GET", "/_wait":
                return await self._wait(parse_qs(request.query))
            case "POST", "/_script":
                try:
                    self.script.add_file(read_script(request.body))
                except UserError as error:
                    return 400, {"error": str(error)}
                return 200, {}
            case "POST", "/_release":
                self.barrier.open()
                return 200, {}
            case method, path:
                return 404, {"error": f"Unknown request: {method} {path}"}

    async def _wait(self, query: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        """Until so many requests came in, charges were begun, and charges were finished."""
        requests, charges, finished = (int(query.get(name, ["0"])[0]) for name in ("requests", "charges", "finished"))
        seconds = min(float(query.get("seconds", ["10"])[0]), _LONGEST_WAIT_SECONDS)

        def holds() -> bool:
            charged = self.counter.charged
            return (
                len(self.counter.requests) >= requests
                and len(charged) >= charges
                and sum(charge.is_finished for charge in charged) >= finished
            )

        wait = partial(self.counter.wait_until, holds, timeout_seconds=seconds)
        try:
            await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)
        except TimeoutError as error:
            return 408, {"error": str(error)}
        return 200, {}
