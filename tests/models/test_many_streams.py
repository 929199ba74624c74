"""Two hundred streams through one gateway, open at the same moment, and every token of each arrives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import anyio
import pytest

from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch, connect_or_start, running_pid
from cellwright.models.reports import StatusReport, UsageReport
from cellwright.testing import Fault, ProviderProcess, Say, Tokens
from tests.models.testbed import CONFIGURATION, KEY, ROOT

CALLERS, STREAMS_EACH, WORDS = 2, 100, 40
STREAMS = CALLERS * STREAMS_EACH
TEXTS = [" ".join(f"{stream}·{word}" for word in range(WORDS)) for stream in range(STREAMS)]
SECONDS = 240


@pytest.mark.slow
def test_two_hundred_streams_at_once_lose_no_token(tmp_path: Path) -> None:
    used = Tokens(input_tokens=1, output_tokens=WORDS)
    with ProviderProcess.running() as provider, gateway(tmp_path / "home", provider) as home:
        # Each stops after three words until it is let go, so that no stream ends before the last has begun.
        provider.script(*(Fault("stall", answer=Say(text, tokens=used), after_chunks=3) for text in TEXTS))
        with ExitStack() as stack:
            callers = [stack.enter_context(caller(home, name)) for name in range(CALLERS)]
            assert [said(one) for one in callers] == ["streaming"] * CALLERS
            assert anyio.run(asked, home)[0].calls_in_flight == STREAMS
            assert [charge.is_finished for charge in provider.charged] == [False] * STREAMS
            with released(provider):
                heard: list[dict[str, Any]] = [stream for one in callers for stream in json.loads(said(one))]
        usage = anyio.run(asked, home)[1]
    assert sorted(stream["pieces"] for stream in heard) == sorted(TEXTS)
    assert [stream["answer"] for stream in heard] == [stream["pieces"] for stream in heard]
    assert [(stream["tokens"], stream["restarts"]) for stream in heard] == [(WORDS + 1, 0)] * STREAMS
    assert [(row.calls, row.output_tokens) for row in usage.rows] == [(STREAMS, STREAMS * WORDS)]


@contextmanager
def gateway(home: Path, provider: ProviderProcess) -> Generator[Path]:
    """A state directory with a gateway that asks this provider."""
    home.mkdir(mode=0o700)
    chat, responses = provider.base_url("openai-chat"), provider.base_url("openai-responses")
    (home / "models.toml").write_text(CONFIGURATION.format(chat=chat, responses=responses))
    connect_or_start(GatewayLaunch(home=home, keys={"near": KEY})).close()
    try:
        yield home
    finally:
        if (pid := running_pid(home)) is not None:
            os.kill(pid, signal.SIGKILL)


@contextmanager
def caller(home: Path, name: int) -> Generator[subprocess.Popen[str]]:
    """A process with a hundred streams."""
    command = [sys.executable, "-m", "tests.models.many_askers", str(home), f"caller-{name}", str(STREAMS_EACH)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        # A lost token must fail the test, not keep it waiting.
        alarm = threading.Timer(SECONDS, process.kill)
        alarm.start()
        try:
            yield process
        finally:
            alarm.cancel()
            process.kill()


def said(process: subprocess.Popen[str]) -> str:
    """The next line of a caller."""
    output: IO[str] | None = process.stdout
    assert output is not None
    return output.readline().rstrip("\n")


@contextmanager
def released(provider: ProviderProcess) -> Generator[None]:
    """Let go what is silent, again and again: an answer may become silent a moment later than its words arrive."""
    over = threading.Event()

    def release() -> None:
        while not over.wait(0.05):
            provider.release()

    thread = threading.Thread(target=release)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


async def asked(home: Path) -> tuple[StatusReport, UsageReport]:
    """How the gateway is doing, and what it counted."""
    async with Models.open(home, launch=GatewayLaunch(home=home, command=("/bin/false",))) as models:
        return await models.status(), await models.usage()
