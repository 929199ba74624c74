"""State directories with a provider on loopback and gateways that are real processes, warm ones to save time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic_ai.messages import ModelRequest, UserPromptPart

from cellwright.models.calls import Choice, ModelCall, Payer, Request
from cellwright.models.client.gateway_process import GatewayLaunch, running_pid
from cellwright.models.config.names import CallId, ModelName
from cellwright.models.gateway.in_flight import GatewayCrash
from cellwright.testing import ProviderServer

ROOT = Path(__file__).parents[2]
KEY = "sk-houses-q7Xm2f9Kd4Lw8Rz1"
T = TypeVar("T")

CONFIGURATION = """
[tiers]
smart = ["near:one"]
[endpoints.near]
kind = "openai-chat"
base_url = "{chat}"
key = "required"
local = false
[endpoints.later]
kind = "openai-responses"
base_url = "{responses}"
key = "required"
local = false
background = true
[models."near:one"]
input_price_per_million = "1 USD"
output_price_per_million = "2 USD"
"""


def a_call(text: str, *, id: str, model: str = "near:one", **more: Any) -> ModelCall:
    request = Request(messages=[ModelRequest(parts=[UserPromptPart(text)])])
    choice = Choice(models=(ModelName.parse(model),))
    return ModelCall(id=CallId(id), request=request, choice=choice, payer=Payer(run="run", person="ada"), **more)


def eventually(look: Callable[[], T], *, seconds: float = 120) -> T:
    """The first true answer; fails after a while."""
    deadline = time.monotonic() + seconds
    while not (answer := look()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Warm:
    """Starts `gateway` and `asker` in forks of a process that has imported everything."""

    socket: str

    def command(self, *words: str) -> tuple[str, ...]:
        return (sys.executable, "-I", "-S", str(ROOT / "tests/models/warm_start.py"), self.socket, *words)


@contextmanager
def warm_process(folder: Path) -> Generator[Warm]:
    path = str(folder / "warm.sock")
    command = [sys.executable, "-W", "error", "-m", "tests.models.warm", path]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield Warm(socket=path)
        process.kill()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTestbed:
    """A state directory, its provider, and how its gateway is started."""

    home: Path
    provider: ProviderServer
    warm: Warm

    @classmethod
    @contextmanager
    def open(cls, home: Path, warm: Warm) -> Generator[Self]:
        home.mkdir(mode=0o700)
        with ProviderServer.running() as provider:
            chat, responses = provider.base_url("openai-chat"), provider.base_url("openai-responses")
            (home / "models.toml").write_text(CONFIGURATION.format(chat=chat, responses=responses))
            testbed = cls(home=home, provider=provider, warm=warm)
            try:
                yield testbed
            finally:
                testbed.kill_gateway()

    def launch(self, dies: GatewayCrash | None = None, **more: Any) -> GatewayLaunch:
        command = self.warm.command("gateway", *([dies] if dies else []))
        return GatewayLaunch(home=self.home, keys={"near": KEY, "later": KEY}, command=command, **more)

    def kill_gateway(self) -> None:
        """With -9, and gone when this returns."""
        if (pid := running_pid(self.home)) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            eventually(lambda: running_pid(self.home) is None)

    def kill_asker(self, id: str, text: str, until: str) -> None:
        """Let a caller come so far, then kill it with -9."""
        command = self.warm.command("asker", str(self.home), id, text, until)
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            where, pid = process.stdout.readline().split()
            assert where == until.encode()
            os.kill(int(pid), signal.SIGKILL)
            process.wait(20)
            process.stdout.close()
