"""Everything on one machine without any network: `alone_with_a_model.py HOME PYTHON`.

Goes where there is nothing but loopback, starts a model there (with the PYTHON that has one) and a gateway, asks, and
tells as JSON what came of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import anyio
from pydantic_ai.messages import ModelRequest, UserPromptPart

from cellwright.errors import CellwrightError
from cellwright.models.calls import Choice, ModelAnswer, ModelCall, OutputSchema, Piece, Request
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.models.config.names import CallId, ModelName
from cellwright.policy.money import Money
from cellwright.sandbox.linux import syscalls

SIOCSIFFLAGS: Final = 0x8914
UP_AND_RUNNING: Final = 0x41
SECONDS: Final = 300

CONFIGURATION: Final = """
[tiers]
smart = ["openai:gpt-5", "local:smollm2"]
[endpoints.local]
kind = "openai-chat"
base_url = "{address}/v1"
key = "none"
models = ["smollm2"]
"""

CITY: Final = OutputSchema(
    name="city",
    schema={
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 20},
            "country": {"enum": ["France", "Spain"]},
            "people": {"type": "integer", "minimum": 1, "maximum": 99},
        },
        "required": ["name", "country", "people"],
        "additionalProperties": False,
    },
)


def leave_the_network() -> None:
    """For good, with everything this process starts."""
    uid, gid = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.CLONE_NEWNET | (0 if uid == 0 else syscalls.CLONE_NEWUSER))
    if uid != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", UP_AND_RUNNING))


def is_reachable(host: str) -> bool:
    with socket.socket() as probe:
        try:
            probe.connect((host, 443))
        except OSError:
            return False
    return True


def a_call(
    id: str, text: str, *, models: tuple[str, ...] = ("local:smollm2",), private: bool = True, **more: Any
) -> ModelCall:
    output = more.pop("output", None)
    settings = {"temperature": 0.0, "max_tokens": 60}
    request = Request(messages=[ModelRequest(parts=[UserPromptPart(text)])], output=output, settings=settings)
    choice = Choice(models=tuple(map(ModelName.parse, models)), private=private)
    return ModelCall(id=CallId(id), request=request, choice=choice, deadline_seconds=SECONDS, **more)


async def ask_everything(home: Path) -> dict[str, Any]:
    """A stream, an answer of a given shape, the tier's chain without and with what is elsewhere, and the account."""
    async with Models.open(home, launch=GatewayLaunch(home=home, keys={"openai": "sk-not-to-be-used"})) as models:
        pieces, last = 0, None
        async with models.stream(a_call("stream", "Say hello to Ada.", stream=True)) as told:
            async for item in told:
                pieces += isinstance(item, Piece)
                last = item
        shaped = await models.ask(a_call("shape", "Which city is the capital of France?", output=CITY))
        by_tier = await models.ask(a_call("tier", "Say hello.", models=()))
        try:
            refused = repr(await models.ask(a_call("elsewhere", "Say hello.", models=("openai:gpt-5",))))
        except CellwrightError as error:
            refused = f"{type(error).__name__}: {error.message}"
        usage = await models.usage()
        await models.stop_gateway()
    return {
        "interfaces": [name for _, name in socket.if_nameindex()],
        "is_elsewhere_reachable": is_reachable("192.0.2.1"),
        "pieces": pieces,
        "stream": shown(last),
        "shape": shown(shaped),
        "tier": shown(by_tier),
        "refused": refused,
        "usage": [[row.what, row.calls, row.input_tokens, row.output_tokens, row.unpriced_calls] for row in usage.rows],
    }


def shown(outcome: object) -> dict[str, Any]:
    assert isinstance(outcome, ModelAnswer), outcome
    return {
        "text": outcome.response.text,
        "model": outcome.model,
        "usage": [outcome.usage.input_tokens, outcome.usage.output_tokens],
        "price": str(outcome.price.amount) if isinstance(outcome.price, Money) else None,
    }


def main(home: Path, python: str) -> None:
    leave_the_network()
    home.mkdir(mode=0o700)
    server = Path(__file__).with_name("local_model_server.py")
    with subprocess.Popen([python, server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as model:
        assert model.stdin is not None
        assert model.stdout is not None
        try:
            (home / "models.toml").write_text(CONFIGURATION.format(address=model.stdout.readline().strip()))
            sys.stdout.write(json.dumps(anyio.run(ask_everything, home)))
        finally:
            model.stdin.close()
            model.kill()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
