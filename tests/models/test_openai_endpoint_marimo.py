"""marimo's own AI chat through our gateway: a real marimo editor, configured as our documentation says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from websockets.asyncio.client import connect

from cellwright.cli.render import model_tables
from cellwright.testing import CallTool, Say
from tests.conftest import notebook_source
from tests.models.running_gateway import KEY, RunningGateway

SESSION = {"Marimo-Session-Id": "s_test"}
SECONDS = 240


def settings_for_marimo(gateway: RunningGateway, capsys: pytest.CaptureFixture[str]) -> str:
    """What `cellwright models endpoint --marimo` prints."""
    model_tables.marimo_settings({"base_url": gateway.address.base_url, "token": gateway.address.token})
    return capsys.readouterr().out


@asynccontextmanager
async def editor(folder: Path, settings: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """A headless marimo with one open notebook, and a browser's way to it."""
    notebook = folder / "notebook.py"
    notebook.write_text(notebook_source("x = 1"))
    (folder / "config" / "marimo").mkdir(parents=True)
    (folder / "config" / "marimo" / "marimo.toml").write_text(settings)
    with anyio.fail_after(SECONDS):
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as free:
            port = free.extra(anyio.abc.SocketAttribute.local_port)
        options = ["--headless", "--no-token", "--no-skew-protection", "--skip-update-check", "--port", str(port)]
        process = await anyio.open_process(
            [sys.executable, "-m", "marimo", "-q", "edit", str(notebook), *options],
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            async with httpx2.AsyncClient(
                base_url=f"http://127.0.0.1:{port}", timeout=SECONDS, trust_env=False
            ) as client:
                await _until_healthy(client)
                address = f"ws://127.0.0.1:{port}/ws?session_id=s_test&file={notebook}"
                async with connect(address, proxy=None) as websocket:
                    await websocket.recv()
                    yield client
        finally:
            process.terminate()
            with anyio.CancelScope(shield=True):
                await process.wait()


async def _until_healthy(client: httpx2.AsyncClient) -> None:
    while True:
        try:
            await client.get("/health")
        except httpx2.ConnectError:
            await anyio.sleep(0.05)
        else:
            return


def events(response: httpx2.Response) -> list[dict[str, Any]]:
    """What marimo streams to its own page."""
    assert response.status_code == 200, response.text
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


def message(text: str) -> dict[str, Any]:
    return {"id": "1", "role": "user", "parts": [{"type": "text", "text": text}]}


@pytest.fixture
def gateway(tmp_path: Path) -> Generator[RunningGateway]:
    with RunningGateway.open(tmp_path / "state") as opened:
        yield opened


@pytest.mark.slow
async def test_marimos_chat_and_its_generated_cells_come_from_our_gateway(
    gateway: RunningGateway, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_for_marimo(gateway, capsys)
    assert tomllib.loads(settings)["ai"]["custom_providers"]["cellwright"]["base_url"] == gateway.address.base_url
    async with editor(tmp_path, settings) as marimo:
        gateway.provider.script(Say("Use polars for this."))
        asked = {"includeOtherCode": "", "uiMessages": [message("How?")], "options": {}}
        chatted = events(await marimo.post("/api/ai/chat", headers=SESSION, json=asked))
        assert "".join(event.get("delta", "") for event in chatted) == "Use polars for this."

        gateway.provider.script(CallTool("final_result", {"code": "y = x + 1"}))
        asked = {"prompt": "Add one.", "includeOtherCode": "", "code": "", "language": "python"}
        written = events(await marimo.post("/api/ai/completion", headers=SESSION, json=asked))
        assert [event["data"]["code"] for event in written if "data" in event][-1] == "y = x + 1"

        (gateway.home / "rules.toml").write_text('[[limit]]\nof = "tokens"\nper = "person"\nat_most = 1\n')
        asked = {"includeOtherCode": "", "uiMessages": [message("More?")], "options": {}}
        refused = events(await marimo.post("/api/ai/chat", headers=SESSION, json=asked))
        assert "1 tokens per person" in "".join(event.get("errorText", "") for event in refused)
    assert [request.credential for request in gateway.provider.requests] == [KEY, KEY]
    assert {request.model for request in gateway.provider.requests} == {"one"}
