"""Tools for kernels of Jupyter, of any language: beside the notebook, in a cage of their own.

What they hold lives on from call to call. They see the notebook's files, and what they change there is forgotten.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cellwright.kernel.jupyter_session import JupyterKernels
from cellwright.kernel.observation import Observation
from cellwright.notebook.document import Document
from cellwright.policy.actions import Action, RunCode
from cellwright.tools.notebook.cell_changes import Seconds
from cellwright.tools.notebook.reports import observation_json, observation_text
from cellwright.tools.tool import Done, Tool, ToolResult, ended_with_process, tool


def kernel_tools(kernels: JupyterKernels, notebook: str) -> list[Tool]:
    """The tools of these kernels; `notebook` is beside which they run."""
    if not kernels.specs:
        return []
    known = "; ".join(f"{spec.name}: {spec.title}, {spec.language}" for spec in kernels.specs.values())

    def action(given: Any) -> Action:
        return RunCode(notebook=notebook, code=f"# in the kernel {given.kernel}\n{given.code}")

    @tool(action=action, changes=True, find=ended_with_process, seconds=None)
    async def run_in_kernel(kernel: str, code: str, seconds: Seconds = 120) -> ToolResult:
        """Run code in a kernel of another language. What it defines stays for your next call; its files are forgotten.

        Its results reach the notebook as what you write there.
        """
        session = await kernels.session(kernel)
        return _result(await session.run(code, seconds=seconds))

    @tool(changes=True, find=ended_with_process)
    async def restart_kernel(kernel: str) -> ToolResult:
        """End a kernel of another language; the next call begins with nothing defined."""
        await kernels.restart(kernel)
        return Done(text=f"{kernel} starts anew with the next call.", value=None)

    run_in_kernel = replace(run_in_kernel, description=f"{run_in_kernel.description}\nKernels: {known}.")
    return [replace(each, comes_with="apply") for each in (run_in_kernel, restart_kernel)]


class _NoCells:
    """There is no document: what ran is told by what it did alone."""

    document = Document()


def _result(seen: Observation) -> ToolResult:
    return Done(text=observation_text(seen, _NoCells()), value=observation_json(seen), is_untrusted=True)
