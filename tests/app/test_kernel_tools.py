"""Agents that run code in a kernel of Jupyter beside their notebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cellwright.kernel.pool import KernelPool
from cellwright.testing import CallTool
from tests.agents.driver import DONE
from tests.app.agents_at_work import open_agents_at_work
from tests.models.testbed import ModelTestbed


def use(name: str, **arguments: str) -> CallTool:
    return CallTool("use", {"name": name, "arguments": arguments})


@pytest.mark.slow
async def test_an_agent_works_in_a_kernel_of_jupyter_whose_variables_stay_from_call_to_call(
    testbed: ModelTestbed, where: Path, project: Callable[..., Path], pool: KernelPool
) -> None:
    testbed.provider.script(
        use("run_in_kernel", kernel="python3", code="a = 40"),
        use("run_in_kernel", kernel="python3", code="a + 2"),
        use("restart_kernel", kernel="python3"),
        use("run_in_kernel", kernel="python3", code="a"),
        use("run_in_kernel", kernel="ir", code="1"),
        DONE,
    )
    async with open_agents_at_work(testbed, where, project("x = 1"), pool=pool, kernels=("python3",)) as driver:
        assert (await driver.work()).outcome == "finished"
        assert "python3: " in driver.sent_text(1) or "run_in_kernel" in driver.sent_text(1)
        assert "a: int = 40" in driver.sent_text(2)
        assert "42" in driver.sent_text(3)
        assert "NameError" in driver.sent_text(5)
        assert "no kernel 'ir' here" in driver.sent_text(6)
        assert ("run-code", "allow", "done") in await driver.judged()
