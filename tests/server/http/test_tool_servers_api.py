"""Tool servers over HTTP: named, looked at, allowed by what was shown, removed; only who may change settings does."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.server.http.a_served_folder import Served, no_keyring, serve, tiny_runs
from tests.tools.mcp.odd_servers import definition, odd_server, put_odd_server

SECRET = "hush-for-the-server-77"


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory, template: Path) -> AsyncGenerator[Served]:
    folder = tmp_path_factory.mktemp("tool-servers")
    async with (
        tiny_runs(folder, template) as (settings, runs),
        serve(folder / "folder", settings, runs) as opened,
    ):
        put_odd_server(opened.folder, [definition("echo", description="Says it.\u202e")])
        with no_keyring():
            yield opened


@pytest.mark.slow
async def test_a_server_is_named_looked_at_allowed_as_shown_and_removed(served: Served) -> None:
    body: dict[str, Any] = {
        "command": [sys.executable, "-S", "/project/odd_server.py"],
        "software": list(odd_server().software),
        "files": "read",
        "secrets": {"API_KEY": SECRET},
    }
    added = await served.ask("PUT", "/tool-servers/odd", json=body)
    assert (added["problem"], added["protocol"], added["missing_secrets"]) == (None, "2025-06-18", [])
    [echo] = added["tools"]
    assert (echo["name"], echo["standing"], echo["says"]) == ("echo", "new", "ask")
    assert "Says it.\\u202e" in echo["diff"]
    other = await served.client.post("/api/v1/tool-servers/odd/allow", json={"fingerprint": "0"})
    assert other.status_code == 403
    shown = {"fingerprint": added["fingerprint"]}
    assert await served.ask("POST", "/tool-servers/odd/allow", json=shown) == {"allowed": ["echo"]}
    listed = await served.client.get("/api/v1/tool-servers")
    [odd] = listed.json()["servers"]
    assert [(tool["name"], tool["standing"]) for tool in odd["tools"]] == [("echo", "allowed")]
    assert SECRET not in listed.text
    looked = await served.ask("POST", "/tool-servers/odd/look")
    assert (looked["fingerprint"], looked["resources"]) == ("", [{"uri": "odd://guide", "name": "guide"}])
    await served.ask("DELETE", "/tool-servers/odd")
    assert (await served.ask("GET", "/tool-servers"))["servers"] == []
    missing = await served.client.post("/api/v1/tool-servers/odd/look")
    assert "No tool server is called 'odd'" in missing.text
