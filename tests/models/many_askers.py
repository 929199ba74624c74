"""A caller of many streams at once, in a process of its own: `many_askers.py HOME NAME COUNT`.

Says `streaming` when every stream has told something, and in the end, as JSON, what each of them told.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

from cellwright.models.calls import ModelAnswer, Piece, Restarted
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch
from tests.models.testbed import a_call


async def main(home: Path, name: str, count: int) -> None:
    """Ask, listen, tell."""
    heard: list[dict[str, Any]] = []
    begun: list[str] = []

    async def listen(models: Models, id: str) -> None:
        text, restarts, answer = "", 0, None
        async with models.stream(a_call(id, id=id, stream=True)) as told:
            async for item in told:
                text += _words(item) if isinstance(item, Piece) else ""
                restarts += isinstance(item, Restarted)
                if isinstance(item, Piece) and id not in begun:
                    begun.append(id)
                    if len(begun) == count:
                        _say("streaming")
                answer = item
        assert isinstance(answer, ModelAnswer)
        heard.append(
            {"pieces": text, "answer": answer.response.text, "tokens": answer.usage.tokens, "restarts": restarts}
        )

    launch = GatewayLaunch(home=home, command=("/bin/false",))
    async with Models.open(home, launch=launch) as models, anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(listen, models, f"{name}/{number}")
    _say(json.dumps(heard))


def _words(piece: Piece) -> str:
    match piece.event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case _:
            return ""


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
