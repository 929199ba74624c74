"""The extension for tasks (SEP-2663), for clients that name it: a task is a run, and its id the run's name.

Such a client waits for `start_run` itself, whatever becomes of this process: with `tasks/get`, `update` and `cancel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field

from cellwright.server.http.api_calls import ApiCalls
from cellwright.server.mcp.following import ended_reply
from cellwright.server.mcp.person_questions import PersonAtClient
from cellwright.server.mcp.tools import ToolReply, run_named

TASKS: Final = "io.modelcontextprotocol/tasks"
_POLL_INTERVAL_MS: Final = 1_000
_CANCELLED: Final = frozenset({"cancelled"})
TaskStatus = Literal["working", "input_required", "completed", "cancelled"]


class TaskParams(types.RequestParams):
    """Which task."""

    task_id: str = Field(max_length=200)


class TaskAnswers(TaskParams):
    """What a person said to what a task asks, by the names of the questions."""

    input_responses: types.InputResponses = Field(default_factory=dict[str, types.InputResponse])


def takes_tasks(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client of this request knows what a task is."""
    able = context.session.client_capabilities
    is_named = able is not None and able.extensions is not None and TASKS in able.extensions
    return is_named and context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def begun_task(api: ApiCalls, reply: ToolReply) -> dict[str, Any]:
    """What `start_run` returns in place of a result."""
    return _shape(await api.get(f"/runs/{reply.data['run']}"), "working") | {"resultType": "task"}


async def task_as_it_stands(api: ApiCalls, params: TaskParams, person: PersonAtClient) -> dict[str, Any]:
    """Its status, with what it asks or what came of it. Raises what the API raises."""
    run = run_named({"run": params.task_id})
    shown, news = await api.get(f"/runs/{run}"), await api.get(f"/runs/{run}/news", after=0, wait_seconds=0)
    if news["is_over"] and shown["standing"] in _CANCELLED:
        return _shape(shown, "cancelled")
    if news["is_over"]:
        return _shape(shown, "completed") | {"result": _result(await ended_reply(api, news))}
    if (question := person.next_question(news["questions"])) is not None:
        asked = person.request(question).input_requests or {}
        requests = {key: each.model_dump(mode="json", by_alias=True, exclude_none=True) for key, each in asked.items()}
        return _shape(shown, "input_required") | {"inputRequests": requests}
    # What only somebody elsewhere can answer: it waits, and nobody at this client can help it.
    return _shape(shown, "working")


async def answer_task(api: ApiCalls, params: TaskAnswers, person: PersonAtClient) -> None:
    """Take what its person said; what does not count changes nothing."""
    run = run_named({"run": params.task_id})
    news = await api.get(f"/runs/{run}/news", after=0, wait_seconds=0)
    await person.take_responses(params.input_responses, news["questions"])


async def cancel_task(api: ApiCalls, params: TaskParams) -> None:
    """It ends before its next step and hands over what there is, as with `stop_run`."""
    await api.post(f"/runs/{run_named({'run': params.task_id})}/stop", {"reason": "the client cancelled its task"})


def _shape(run: Mapping[str, Any], status: TaskStatus) -> dict[str, Any]:
    began = datetime.fromtimestamp(run["began_ms"] / 1000, UTC)
    return {
        "taskId": run["run"],
        "status": status,
        "statusMessage": run["status"],
        "createdAt": began.isoformat(),
        "lastUpdatedAt": datetime.now(UTC).isoformat(),
        # A run is kept until a person prunes it.
        "ttlMs": None,
        "pollIntervalMs": _POLL_INTERVAL_MS,
    }


def _result(reply: ToolReply) -> dict[str, Any]:
    result = types.CallToolResult(
        content=[types.TextContent(text=reply.text)], _meta={"cellwright/observation": reply.data}
    )
    return result.model_dump(mode="json", by_alias=True, exclude_none=True) | {"resultType": "complete"}
