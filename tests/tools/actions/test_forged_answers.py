"""A worker that was taken over: real cages whose process speaks the protocol wrongly. The host only ever loses it."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cellwright.errors import Unavailable
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.zygote import CagedProcess, Zygote
from cellwright.sandbox.spec import CageSpec, Tier
from cellwright.tools.actions.steps import ProgramLimits, ProgramLost
from cellwright.tools.actions.worker import ActionWorker, ProgramRun
from tests.sampling import every

from .conftest import TOOLS

_HEAD = """
import base64, json, os, socket, struct, sys
host = socket.socket(fileno=3)
def read():
    size, = struct.unpack('>I', host.recv(4, socket.MSG_WAITALL))
    return json.loads(host.recv(size, socket.MSG_WAITALL))
def say(message):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    host.sendall(struct.pack('>I', len(body)) + body)
state = base64.b64encode(b'x').decode()
def call(**changes):
    return {'id': 0, 'name': 'look', 'arguments': {}, **changes}
def paused(*calls, **changes):
    return {'type': 'paused', 'request': request, 'calls': list(calls), 'state': state, **changes}
def finished(**changes):
    return {'type': 'finished', 'request': request, 'value': 1, 'output': '', **changes}
def deep(message, depth):
    return json.dumps(message).replace('"DEEP"', '[' * depth + ']' * depth).encode()
def failed(**changes):
    return {'type': 'failed', 'request': request, 'kind': 'error', 'error': 'E', 'message': 'm', 'line': 1,
            'limit': None, 'output': '', **changes}
def twice(message):
    body = json.dumps(message).encode()
    host.sendall((struct.pack('>I', len(body)) + body) * 2)
say({'type': 'ready', 'request': 0, 'version': '1'})
request = read()['request']
"""

FORGED = {
    "not JSON": "say(b'\\x80\\x04pickle')",
    "not an object": "say([1, 2])",
    "half a frame, then the end": "host.sendall(b'\\x00\\x00\\x00\\x10{')",
    "a length of four gigabytes": "host.sendall(b'\\xff\\xff\\xff\\xff')\nwhile True: host.sendall(b'x' * 65536)",
    "a kind nobody knows": "say({'type': 'owned', 'request': request})",
    "no kind": "say({'request': request})",
    "ready again": "say({'type': 'ready', 'request': request, 'version': '1'})",
    "an answer to another request": "say(finished(request=request + 1))",
    "two answers": "twice(finished())\nhost.recv(1)",
    "a tool that is none": "say(paused(call(name='rm')))",
    "no calls": "say(paused())",
    "the same call twice": "say(paused(call(), call()))",
    "more calls than agreed": "say(paused(*[call(id=n) for n in range(9)]))",
    "a million calls": "say(paused(*[call(id=n) for n in range(300000)]))",
    "arguments that are a list": "say(paused(call(arguments=[1])))",
    "arguments without end": "say(paused(call(arguments={'a': 'x' * 10000000})))",
    "nested arguments": "say(deep(paused(call(arguments={'a': 'DEEP'})), 900))",
    "an id that is text": "say(paused(call(id='0')))",
    "a state that is no text": "say(paused(call(), state=5))",
    "a state too large": "say(paused(call(), state=base64.b64encode(b'x' * 5000000).decode()))",
    "a value too large": "say(finished(value='x' * 10000000))",
    "a nested value": "say(deep(finished(value='DEEP'), 50000))",
    "a number without end": "say(json.dumps(finished(value='N')).replace('\"N\"', '9' * 5000).encode())",
    "output too large": "say(finished(output='x' * 10000000))",
    "a failure of an unknown kind": "say(failed(kind='owned'))",
    "a limit nobody set": "say(failed(kind='limit', limit='patience'))",
    "nothing, and the end": "",
    "a crash": "os.abort()",
    "a kill": "os.kill(os.getpid(), 9)",
    "text in another encoding": 'say(b\'{"type": "\\xff\\xfe"}\')',
}
LIMITS = ProgramLimits(tool_calls=5, argument_bytes=10_000, value_bytes=10_000, state_bytes=1_000_000)


class TakenOver:
    """Starts cages as the zygote does, with another program in them."""

    def __init__(self, zygote: Zygote, script: str) -> None:
        self._zygote = zygote
        self._script = script

    async def start(self, spec: CageSpec, *, command: list[str] | None = None) -> CagedProcess:
        assert command is not None
        return await self._zygote.start(spec, command=[command[0], "-I", "-S", "-c", self._script])


@asynccontextmanager
async def taken_over(pool: KernelPool, tier: Tier, script: str) -> AsyncGenerator[ActionWorker]:
    async def zygote() -> Any:
        return TakenOver(await pool.zygote(), script)

    async with ActionWorker.open(zygote, tier=tier) as worker:
        yield worker


async def start(worker: ActionWorker) -> ProgramRun:
    return await worker.start("await look('a')", tools=TOOLS, limits=LIMITS, is_checked=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", every(FORGED, 3))
async def test_a_wrong_answer_loses_the_worker_and_nothing_else(pool: KernelPool, tier: Tier, name: str) -> None:
    async with taken_over(pool, tier, _HEAD + FORGED[name]) as worker:
        run = await start(worker)
        assert isinstance(run.step, ProgramLost), str(run.step)[:300]
        assert len(run.step.reason) < 500
        assert worker.pid is None


async def test_an_answer_before_any_question_is_a_breach(pool: KernelPool, tier: Tier) -> None:
    early = "say(paused(call()))\nfor n in range(100): say(finished(request=request + n))\nhost.recv(1)"
    async with taken_over(pool, tier, _HEAD + early) as worker:
        run = await start(worker)
        step = run.step if isinstance(run.step, ProgramLost) else await run.resume({0: 1})
        assert isinstance(step, ProgramLost)
        assert "protocol" in step.reason


@pytest.mark.parametrize("script", ["raise SystemExit(3)", _HEAD.replace("'ready'", "'dropped'")])
async def test_a_worker_that_never_is_ready_is_unavailable(pool: KernelPool, tier: Tier, script: str) -> None:
    with pytest.raises(Unavailable, match="action worker did not"):
        async with taken_over(pool, tier, script):
            pass


async def test_a_worker_sees_no_project_no_environment_no_network_and_no_package_but_monty(
    pool: KernelPool, tier: Tier
) -> None:
    look_around = """
seen = {'environment': sorted(os.environ)}
for name, path in (('project', '/project'), ('packages', SITE)):
    try:
        seen[name] = sorted(os.listdir(path))
    except OSError as error:
        seen[name] = type(error).__name__
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
    try:
        socket.socket(family, socket.SOCK_DGRAM)
        seen['network'] = True
    except OSError:
        seen['network'] = False
say(finished(value=seen))
""".replace("SITE", repr(next(path for path in sys.path if path.endswith("site-packages"))))
    async with taken_over(pool, tier, _HEAD + look_around) as worker:
        run = await worker.start("1", tools=[], is_checked=False)
        seen = getattr(run.step, "value", run.step)
    assert isinstance(seen, dict), seen
    assert not set(seen["environment"]) - {"CELLWRIGHT_PROJECT", "LC_CTYPE"}
    assert seen["network"] is False
    assert seen["project"] in ([], "PermissionError")
    if tier in {"A", "B"}:
        assert seen["packages"] == ["pydantic_monty"]
