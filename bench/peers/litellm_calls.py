"""litellm: `acompletion` to an OpenAI-compatible server, without retries, callbacks or its remote price list."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from bench.peers.conversation import Answer, converse


class LitellmCalls:
    """It keeps its client, and the connections in it, by itself."""

    def __init__(self) -> None:
        self._ask: Any = None
        self._to: dict[str, Any] = {}

    async def connect(self, base_url: str, key: str) -> Answer:
        """Import it, and remember whom to ask; the process, so that its memory can be looked at."""
        # Its price list is in the package too; without this it is fetched from the network.
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        import litellm

        litellm.telemetry = False
        self._ask = litellm.acompletion
        self._to = {"model": "openai/one", "api_base": base_url, "api_key": key, "max_retries": 0}
        return {"pid": os.getpid()}

    async def call(self, text: str) -> Answer:
        """One whole answer."""
        began, cpu = time.perf_counter(), time.process_time()
        answer = await self._ask(messages=[{"role": "user", "content": text}], **self._to)
        said, used = answer.choices[0].message.content, answer.usage.total_tokens
        return _took(began, cpu, pieces=len(said.split()), tokens=used)

    async def stream(self, text: str) -> Answer:
        """One answer in pieces; how many there were."""
        began, cpu = time.perf_counter(), time.process_time()
        pieces, used = await self._pieces(text)
        return _took(began, cpu, pieces=pieces, tokens=used)

    async def streams(self, text: str, count: int) -> Answer:
        """So many at once."""
        began, cpu = time.perf_counter(), time.process_time()
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(self._pieces(f"{text} {number}")) for number in range(count)]
        told = [one.result() for one in asked]
        return _took(began, cpu, pieces=sum(pieces for pieces, _ in told), tokens=sum(used for _, used in told))

    async def _pieces(self, text: str) -> tuple[int, int]:
        pieces, used = 0, 0
        chunks = await self._ask(
            messages=[{"role": "user", "content": text}],
            stream=True,
            stream_options={"include_usage": True},
            **self._to,
        )
        async for chunk in chunks:
            if chunk.choices and chunk.choices[0].delta.content:
                pieces += 1
            if getattr(chunk, "usage", None) is not None:
                used = chunk.usage.total_tokens
        return pieces, used


def _took(began: float, cpu: float, *, pieces: int, tokens: int) -> Answer:
    cpu_ms = (time.process_time() - cpu) * 1e3
    return {"ms": (time.perf_counter() - began) * 1e3, "cpu_ms": cpu_ms, "pieces": pieces, "tokens": tokens}


async def main() -> None:
    """Answer the bench."""
    calls = LitellmCalls()
    await converse({"connect": calls.connect, "call": calls.call, "stream": calls.stream, "streams": calls.streams})


if __name__ == "__main__":
    asyncio.run(main())
