"""OpenAI's own SDK, as anybody would use it: one client, kept connections, no retries, usage asked for.

`cpu_ms` is the whole process's; the server that answers is another one.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from bench.peers.conversation import Answer, converse


class OpenaiSdk:
    """One client of one server."""

    def __init__(self) -> None:
        self._client: Any = None

    async def connect(self, base_url: str, key: str) -> Answer:
        """Make the client."""
        from openai import AsyncOpenAI

        self._client = AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0)
        return {}

    async def call(self, text: str) -> Answer:
        """One whole answer."""
        began, cpu = time.perf_counter(), time.process_time()
        answer = await self._client.chat.completions.create(model="one", messages=[{"role": "user", "content": text}])
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
        chunks = await self._client.chat.completions.create(
            model="one",
            messages=[{"role": "user", "content": text}],
            stream=True,
            stream_options={"include_usage": True},
        )
        async for chunk in chunks:
            if chunk.choices and chunk.choices[0].delta.content:
                pieces += 1
            if chunk.usage is not None:
                used = chunk.usage.total_tokens
        return pieces, used


def _took(began: float, cpu: float, *, pieces: int, tokens: int) -> Answer:
    cpu_ms = (time.process_time() - cpu) * 1e3
    return {"ms": (time.perf_counter() - began) * 1e3, "cpu_ms": cpu_ms, "pieces": pieces, "tokens": tokens}


async def main() -> None:
    """Answer the bench."""
    sdk = OpenaiSdk()
    await converse({"connect": sdk.connect, "call": sdk.call, "stream": sdk.stream, "streams": sdk.streams})


if __name__ == "__main__":
    asyncio.run(main())
