"""A task of the protocol's extension is a run: driven by the SDK's hooks for clients, over stdio and at `/mcp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientSession
from pydantic import ConfigDict

from tests.server.a_daemon import ASK
from tests.server.daemon_testbed import SECONDS, DaemonTestbed, eventually
from tests.server.mcp.test_mcp_over_http import Answering, McpTestbed, room
from tests.server.mcp.test_mcp_over_stdio import PROGRAM, start_daemon

__all__ = ["room"]
YES: dict[str, Any] = {"action": "accept", "content": {"answer": "yes"}}


class Begun(types.Result):
    """What `start_run` returns to whoever knows tasks."""

    result_type: Literal["task"] = "task"
    task_id: str


class Stands(types.Result):
    """What the other requests about tasks return."""

    model_config = ConfigDict(extra="allow")


class RunTasks(ClientExtension):
    """A client that waits for tasks: only notes which one was begun."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.begun = list[str]()

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Begun, resolve=self._note)]

    async def _note(self, begun: Begun, context: ClaimContext) -> types.CallToolResult:
        self.begun.append(begun.task_id)
        return types.CallToolResult(content=[])


async def ask(session: ClientSession, what: str, task: str, **more: Any) -> dict[str, Any]:
    request = types.Request[dict[str, Any], str](method=f"tasks/{what}", params={"taskId": task, **more})
    return (await session.send_request(request, Stands)).model_dump(by_alias=True)


async def until(session: ClientSession, task: str, *statuses: str) -> dict[str, Any]:
    with anyio.fail_after(SECONDS):
        while (told := await ask(session, "get", task))["status"] not in statuses:
            await anyio.lowlevel.checkpoint()
    return told


def a_client(up: DaemonTestbed, tasks: RunTasks) -> Client:
    folder = up.folder / "project"
    folder.mkdir(exist_ok=True)
    server = StdioServerParameters(command=PROGRAM, args=["mcp"], cwd=folder, env={"CELLWRIGHT_HOME": str(up.home)})
    # What the client can show is a form; whoever asks for a task's status brings the answer by themselves.
    shows = Answering(action="cancel")
    return Client(
        server, mode="2026-07-28", extensions=[tasks], elicitation_callback=shows, read_timeout_seconds=SECONDS
    )


@pytest.fixture
def up(testbed: DaemonTestbed) -> DaemonTestbed:
    start_daemon(testbed)
    return testbed


async def begun(client: Client, tasks: RunTasks, goal: str) -> str:
    await client.call_tool("start_run", {"goal": goal, "models": ["near:one"]})
    return tasks.begun[-1]


@pytest.mark.slow
async def test_a_tasks_question_is_answered_by_its_person_and_its_result_is_the_report(up: DaemonTestbed) -> None:
    tasks = RunTasks()
    async with a_client(up, tasks) as client:
        task = await begun(client, tasks, ASK)
        asked = await until(client.session, task, "input_required")
        [(key, question)] = asked["inputRequests"].items()
        assert question["params"]["message"] == "Go on?"
        assert await ask(client.session, "update", task, inputResponses={key: YES})
        told = await until(client.session, task, "completed")
    assert f"The run {task} is over" in told["result"]["content"][0]["text"]
    assert told["result"]["_meta"]["cellwright/observation"]["is_over"] is True


async def test_a_task_ends_under_its_id_though_the_daemon_is_killed_in_its_midst(up: DaemonTestbed) -> None:
    up.hold()
    tasks = RunTasks()
    with pytest.raises(BaseExceptionGroup):
        async with a_client(up, tasks) as client:
            task = await begun(client, tasks, "why?")
            await anyio.to_thread.run_sync(eventually, lambda: up.is_begun(task, "second"))
            assert (await ask(client.session, "get", task))["status"] == "working"
            await anyio.to_thread.run_sync(up.kill)
            await ask(client.session, "get", task)
    up.let_go()
    await anyio.to_thread.run_sync(start_daemon, up)
    async with a_client(up, tasks) as client:
        told = await until(client.session, tasks.begun[-1], "completed")
    assert told["taskId"] == tasks.begun[-1]
    assert up.worked(told["taskId"])[-1] == "third"


@pytest.mark.slow
async def test_a_task_that_is_cancelled_ends_in_order(up: DaemonTestbed) -> None:
    up.hold()
    tasks = RunTasks()
    async with a_client(up, tasks) as client:
        task = await begun(client, tasks, "why?")
        await ask(client.session, "cancel", task)
        up.let_go()
        told = await until(client.session, task, "completed", "cancelled")
    assert told["taskId"] == task


@pytest.mark.slow
async def test_a_program_that_may_not_approve_cannot_answer_a_task(room: McpTestbed) -> None:
    run = await room.asking("approval")
    async with room.client("2026-07-28", "steer") as client:
        question = (await room.served.get(f"/runs/{run}/questions"))["questions"][0]
        assert (await ask(client.session, "get", run))["status"] == "working"
        for key in (f"{question['fingerprint']} {question['id']}", question["id"], f" {question['id']}"):
            for said in (YES, {"action": "accept", "content": {"answer": "once"}}):
                await ask(client.session, "update", run, inputResponses={key: said}, approve=True, scope="approve")
    assert len((await room.served.get(f"/runs/{run}/questions"))["questions"]) == 1
