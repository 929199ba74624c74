"""MCP by the address of somebody's own marimo: looked at without executing, changed by a run that asks."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.kernel.stock_marimo import StockMarimo, stock_marimo, write_notebook
from tests.server.mcp.test_mcp_over_http import McpTestbed, room, text_of

__all__ = ["room"]


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Generator[StockMarimo]:
    folder = tmp_path_factory.mktemp("stock")
    with stock_marimo(write_notebook(folder / "sums.py", "x = 1", "y = x + 1\ny")) as server:
        yield server


@pytest.mark.slow
async def test_a_stock_notebook_is_looked_at_by_its_address_and_changed_only_by_a_run(
    room: McpTestbed, stock: StockMarimo
) -> None:
    text = stock.notebook.read_bytes()
    async with room.client("2026-07-28", "steer") as client:
        seen = await client.call_tool("look", {"notebook": stock.url, "file": str(stock.notebook)})
        assert not seen.is_error and "y = x + 1" in text_of(seen) and "outside any cage" in text_of(seen)
        edits = [{"op": "create", "code": "z = 1"}]
        for tool, more in (("apply", {"edits": edits}), ("run_cells", {}), ("undo", {})):
            refused = await client.call_tool(tool, {"notebook": stock.url, **more})
            assert refused.is_error and "start_run with attach" in text_of(refused)
        elsewhere = await client.call_tool("look", {"notebook": "http://192.0.2.7:2718"})
        assert elsewhere.is_error and "on another machine, and nobody has named it here" in text_of(elsewhere)
        goal = {"goal": "triple it", "attach": stock.url, "models": ["near:one"], "notebook": "copy.py"}
        begun = await client.call_tool("start_run", goal)
        assert not begun.is_error, text_of(begun)
    copy = room.served.folder / "copy.py"
    assert "y = x + 1" in copy.read_text()
    assert stock.notebook.read_bytes() == text
