"""The server as the protocol has it: tools, resources and prompts of one API, for each caller what they may do."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp

from cellwright.errors import CellwrightError
from cellwright.server.http.api_calls import ApiCalls
from cellwright.server.http.auth.tokens import ApiCaller
from cellwright.server.mcp.following import follow_run
from cellwright.server.mcp.person_questions import PersonAtClient
from cellwright.server.mcp.prompts import PROMPTS, prompt_words
from cellwright.server.mcp.resources import TYPES, read_resource
from cellwright.server.mcp.run_tasks import (
    TASKS,
    TaskAnswers,
    TaskParams,
    answer_task,
    begun_task,
    cancel_task,
    takes_tasks,
    task_as_it_stands,
)
from cellwright.server.mcp.tool_texts import TOOLS, ToolText
from cellwright.server.mcp.tools import CALLS, ToolReply, check_arguments, report_uri, start_run

OBSERVATION: Final = "cellwright/observation"
"""Under this name of `_meta` is what came of a call, for programs."""
_INSTRUCTIONS: Final = (
    "Cellwright turns goals into checked marimo notebooks. start_run begins a run, follow_run tells how it goes; "
    "every tool names its run or its notebook. What a run asks, only a person answers."
)
_SHOWN_RUNS: Final = 20
_Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpHost:
    """What stands behind the protocol."""

    api: ASGIApp
    """`http.application.api_application`."""
    caller_of: Callable[[_Context], ApiCaller]
    """Who sent a request."""
    may_answer: Callable[[ApiCaller], bool]
    """Whether the person at this caller's client may answer what runs ask."""
    control_room: Callable[[], str]
    """Where a person answers else; empty: it is not open."""
    version: str

    def calls(self, context: _Context) -> ApiCalls:
        """The API as whoever sent this has it."""
        return ApiCalls(app=self.api, caller=replace(self.caller_of(context), interface="mcp"))

    def person(self, context: _Context) -> PersonAtClient:
        """Whoever sits at the client."""
        api = self.calls(context)
        answerer = replace(api.caller, scope="approve", interface="mcp-elicitation")
        return PersonAtClient(context=context, api=api.by(answerer) if self.may_answer(api.caller) else None)

    async def list_tools(self, _: _Context, __: object) -> types.ListToolsResult:
        """Every tool, whoever asks: what a caller may not do is told when they try."""
        return types.ListToolsResult(tools=[_tool(each) for each in TOOLS])

    async def call_tool(
        self, context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult | dict[str, Any]:
        """What came of it; what went wrong is a result too, for the model to read."""
        try:
            reply = await self._call(context, params)
        except CellwrightError as problem:
            text = f"{problem.message} {problem.hint}".strip()
            return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
        if not isinstance(reply, ToolReply):
            return reply
        return types.CallToolResult(content=[types.TextContent(text=reply.text)], _meta={OBSERVATION: reply.data})

    async def list_resources(self, context: _Context, _: object) -> types.ListResourcesResult:
        """The reports of runs that are over, the newest first."""
        with _as_protocol_error():
            found = await self.calls(context).get("/runs", limit=_SHOWN_RUNS)
        over = [each for each in found["runs"] if each["standing"] not in {"queued", "running", "waiting"}]
        return types.ListResourcesResult(resources=[_report(each) for each in over])

    async def list_templates(self, _: _Context, __: object) -> types.ListResourceTemplatesResult:
        """Where the files of any run are."""
        return types.ListResourceTemplatesResult(resource_templates=[_template(name) for name in TYPES])

    async def read(self, context: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """One of them."""
        with _as_protocol_error():
            found = await read_resource(self.calls(context), params.uri)
        content = types.TextResourceContents(uri=params.uri, mime_type=found.media_type, text=found.text)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(self, _: _Context, __: object) -> types.ListPromptsResult:
        """What a person can pick."""
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=each.name,
                    title=each.says,
                    description=each.says,
                    arguments=[types.PromptArgument(name=each.takes, description=each.about, required=True)],
                )
                for each in PROMPTS
            ]
        )

    async def get_prompt(self, _: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """The words of one."""
        with _as_protocol_error():
            words = prompt_words(params.name, params.arguments or {})
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=types.TextContent(text=words))])

    async def get_task(self, context: _Context, params: TaskParams) -> dict[str, Any]:
        """How a run stands, for a client that has it as a task."""
        with _as_protocol_error():
            return await task_as_it_stands(self.calls(context), params, self.person(context))

    async def update_task(self, context: _Context, params: TaskAnswers) -> dict[str, Any]:
        """What its person said; where nobody at this client may answer, it changes nothing."""
        with _as_protocol_error():
            await answer_task(self.calls(context), params, self.person(context))
        return {}

    async def cancel_task(self, context: _Context, params: TaskParams) -> dict[str, Any]:
        """End the run in order."""
        with _as_protocol_error():
            await cancel_task(self.calls(context), params)
        return {}

    async def _call(
        self, context: _Context, params: types.CallToolRequestParams
    ) -> ToolReply | types.InputRequiredResult | dict[str, Any]:
        arguments: Mapping[str, Any] = params.arguments or {}
        check_arguments(params.name, arguments)
        api = self.calls(context)
        if params.name != follow_run.__name__:
            reply = await CALLS[params.name](api, arguments)
            is_task = params.name == start_run.__name__ and takes_tasks(context)
            return await begun_task(api, reply) if is_task else reply
        return await follow_run(api, arguments, self.person(context), params.input_responses or {}, self.control_room())


def mcp_server(host: McpHost) -> Server[Any]:
    """One for every connection to this API."""
    server = Server[Any](
        "cellwright",
        version=host.version,
        title="Cellwright",
        instructions=_INSTRUCTIONS,
        get_tool_input_schema={each.name: each.schema for each in TOOLS}.get,
        on_list_tools=host.list_tools,
        on_list_resources=host.list_resources,
        on_list_resource_templates=host.list_templates,
        on_read_resource=host.read,
        on_list_prompts=host.list_prompts,
        on_get_prompt=host.get_prompt,
    )
    # Not as an argument: a task is another result than the SDK knows.
    server.add_request_handler("tools/call", types.CallToolRequestParams, host.call_tool)
    server.extensions[TASKS] = {}
    server.add_request_handler("tasks/get", TaskParams, host.get_task)
    server.add_request_handler("tasks/update", TaskAnswers, host.update_task)
    server.add_request_handler("tasks/cancel", TaskParams, host.cancel_task)
    return server


@contextmanager
def _as_protocol_error() -> Generator[None]:
    """What goes wrong inside the block, for a client that called no tool."""
    try:
        yield
    except CellwrightError as problem:
        raise MCPError(types.INVALID_PARAMS, f"{problem.message} {problem.hint}".strip()) from problem


def _tool(text: ToolText) -> types.Tool:
    return types.Tool(
        name=text.name,
        title=text.title,
        description=text.says,
        input_schema=text.schema,
        annotations=types.ToolAnnotations(
            read_only_hint=not text.changes,
            destructive_hint=False,
            idempotent_hint=text.is_repeatable,
            open_world_hint=False,
        ),
    )


def _report(run: Any) -> types.Resource:
    return types.Resource(
        uri=report_uri(run["run"]), name=f"report of {run['run']}", title=run["goal"][:100], mime_type=TYPES["report"]
    )


def _template(what: str) -> types.ResourceTemplate:
    return types.ResourceTemplate(
        uri_template=f"cellwright://runs/{{run}}/{what}", name=f"a run's {what}", mime_type=TYPES[what]
    )
