"""A home with our server in it, warm: what somebody has who used it before."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from cellwright.testing import ProviderServer
from tests.clients.real_clients import Machine
from tests.conftest import notebook_source
from tests.server.conftest import template, testbed, warm
from tests.server.mcp.test_mcp_over_stdio import a_client

__all__ = ["template", "testbed", "warm"]


@pytest.fixture
async def model() -> AsyncGenerator[ProviderServer]:
    async with ProviderServer.open() as server:
        yield server


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncGenerator[Machine]:
    made = Machine(home=tmp_path / "home", state=tmp_path / "state", project=tmp_path / "project")
    for folder in (made.home, made.project):
        folder.mkdir()
    (made.project / "lab.py").write_text(notebook_source("x = 6"))
    try:
        # The daemon and a kernel are there already, as for everybody but the first.
        async with a_client(made.state, made.project, "legacy") as first:
            await first.call_tool("run_cells", {"notebook": "lab.py", "cells": "all"})
        yield made
    finally:
        ended = await made.run("cellwright", "serve", "stop", "--json")
        assert ended.code == 0, ended
