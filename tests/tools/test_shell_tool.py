"""The shell tool: programs in the notebook's own cage, in time and within bounds."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest

from cellwright.app import Files
from cellwright.journal.effects import EffectNotFound, EffectUnknown
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.tools.environment_tools import shell_tools
from cellwright.tools.tool import Done, Refusal, Tool, ToolError, ToolResult
from tests.tools.call_driver import open_driver

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
NOBODY: Any = None
RULES = '[[rule]]\naction = "run-shell"\nthen = "allow"\ncommands = ["*"]\n'


async def run(tool: Tool, **arguments: Any) -> ToolResult:
    """The tool itself, without anybody to ask."""
    return await tool.run(tool.validate(arguments), NOBODY)


def tool_of(notebook: OpenNotebook) -> Tool:
    [tool] = shell_tools(notebook, str(notebook.path.parent))
    return tool


async def test_a_program_sees_the_files_the_cells_see(opened: Opener) -> None:
    async with opened("open('made.txt', 'w').write('by a cell')") as notebook:
        await notebook.run("all")
        shell = tool_of(notebook)
        assert await run(shell, command=["cat", "made.txt"]) == Done(
            text="exit code 0\nby a cell", value={"exit_code": 0, "output": "by a cell"}, is_untrusted=True
        )
        await run(shell, command=["bash", "-c", "mkdir sub; echo from a program > sub/a.txt"])
        listed = await run(shell, command=["cat", "a.txt"], folder="sub")
        assert isinstance(listed, Done)
        assert listed.text == "exit code 0\nfrom a program\n"
        assert not (notebook.path.parent / "sub").exists()


async def test_both_outputs_and_the_exit_code_are_told(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        shell = tool_of(notebook)
        told = await run(shell, command=["bash", "-c", "echo out; echo err >&2; exit 3"])
        assert isinstance(told, Done)
        assert told.value == {"exit_code": 3, "output": "out\nerr\n"}
        assert await run(shell, command=["true"]) == Done(
            text="exit code 0, no output", value={"exit_code": 0, "output": ""}, is_untrusted=True
        )
        missing = await run(shell, command=["no-such-program"])
        assert isinstance(missing, ToolError)
        assert "cannot be run" in missing.message


async def test_arguments_are_not_read_by_a_shell(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        told = await run(tool_of(notebook), command=["echo", "$HOME; rm -rf *", "a  b"])
        assert isinstance(told, Done)
        assert told.text == "exit code 0\n$HOME; rm -rf * a  b\n"


@pytest.mark.slow
async def test_a_program_that_takes_too_long_ends_with_all_it_started(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        shell = tool_of(notebook)
        late = await run(shell, command=["bash", "-c", "echo begun; sleep 600 & sleep 600"], seconds=0.5)
        assert isinstance(late, ToolError)
        assert late.kind == "timed-out"
        assert "begun" in late.message
        left = await run(shell, command=["bash", "-c", "cat /proc/[0-9]*/comm | grep -c sleep"])
        assert isinstance(left, Done)
        assert left.text == "exit code 1\n0\n"
        assert (await notebook.run("all")).is_ok


async def test_a_background_process_does_not_hold_the_call_up(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        with anyio.fail_after(120):
            told = await run(tool_of(notebook), command=["bash", "-c", "sleep 600 & echo done"])
        assert isinstance(told, Done)
        assert told.text == "exit code 0\ndone\n"


async def test_endless_output_is_cut_and_the_kernel_lives(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        told = await run(tool_of(notebook), command=["bash", "-c", "yes | head -c 50000000; echo last"])
        assert isinstance(told, Done)
        assert len(told.text) < 250_000
        assert "bytes left out" in told.text
        assert told.text.endswith("last\n")
        assert (await notebook.run("all")).is_ok


async def test_there_is_no_network_and_no_way_to_the_host(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("not yours")
    async with opened("x = 1") as notebook:
        shell = tool_of(notebook)
        with socket.create_server(("127.0.0.1", 0)) as server:
            told = await run(shell, command=["bash", "-c", f"echo > /dev/tcp/127.0.0.1/{server.getsockname()[1]}"])
        assert isinstance(told, Done)
        assert "exit code 1" in told.text
        outside = await run(shell, command=["cat", str(tmp_path / "outside.txt")])
        assert isinstance(outside, Done)
        assert "not yours" not in outside.text
        secrets = await run(shell, command=["bash", "-c", "env"])
        assert isinstance(secrets, Done)
        assert "CELLWRIGHT_HOME" not in secrets.text


@pytest.mark.slow
async def test_nobody_who_is_gone_leaves_a_program_behind(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        shell = tool_of(notebook)
        with anyio.move_on_after(1) as scope:
            await run(shell, command=["sleep", "600"], seconds=600)
        assert scope.cancelled_caught
        with anyio.fail_after(120):
            assert (await notebook.run("all")).is_ok
        left = await run(shell, command=["bash", "-c", "cat /proc/[0-9]*/comm | grep -c sleep"])
        assert isinstance(left, Done)
        assert left.text == "exit code 1\n0\n"


async def test_a_folder_outside_is_refused(opened: Opener, where: Path) -> None:
    async with opened("x = 1") as notebook, open_driver(where, shell_tools(notebook, "/p"), rules=RULES) as driver:
        for number, folder in enumerate(["..", "/etc", "a/../../b", "sub/.."]):
            refused = await driver.call("shell", {"command": ["ls"], "folder": folder}, run=f"r{number}")
            assert isinstance(refused, ToolError), (folder, refused)
            assert "not a folder of the project" in refused.message, folder


async def test_a_command_is_asked_about_word_for_word(opened: Opener, where: Path) -> None:
    rules = '[[rule]]\naction = "run-shell"\nthen = "deny"\nreason = "Not here."\n'
    async with opened("x = 1") as notebook, open_driver(where, shell_tools(notebook, "/p"), rules=rules) as driver:
        refused = await driver.call("shell", {"command": ["rm", "-rf", "data"]})
        assert isinstance(refused, Refusal)


async def test_after_a_crash_a_command_is_run_again_unless_its_files_are_changed_directly(opened: Opener) -> None:
    for files, finding in ((Files(mode="keep"), EffectNotFound()), (Files(mode="direct"), EffectUnknown())):
        async with opened("x = 1", files=files) as notebook:
            assert await tool_of(notebook).find(None, NOBODY) == finding
