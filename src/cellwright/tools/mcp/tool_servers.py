"""The servers of one workspace: each is started when it is first needed, and ended with the workspace.

Before each call the server's tools are read again: one that is not what a person has seen and allowed is not called.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.abc
import anyio.to_thread

from cellwright.errors import CellwrightError, RefusedByPolicy, Unavailable, UserError
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.policy.display_text import shown, shown_block
from cellwright.remedies import remedy
from cellwright.sandbox.host.file_changes import KeepReport
from cellwright.tools.mcp.opening import ServerHost, open_server
from cellwright.tools.mcp.pins import AllowedTool, ToolApprovals, review
from cellwright.tools.mcp.servers import NamedServer, find_server

if TYPE_CHECKING:
    from cellwright.tools.mcp.connection import PersonSaid, ServerAnswer, ServerAsks, ServerConnection

logger = logging.getLogger(__name__)
_MOST_RESOURCE_TEXT: Final = 200_000
_TOLD_FILES: Final = 20


class CallUnanswered(Unavailable):
    """A call was made, and nobody knows what came of it."""


@dataclass(slots=True)
class _OpenServer:
    connection: ServerConnection
    is_used: bool = False
    """Whether it was called since it was started."""
    ending: anyio.Event = field(default_factory=anyio.Event)
    is_over: anyio.Event = field(default_factory=anyio.Event)


class ToolServers:
    """The servers that were named for some work."""

    def __init__(
        self,
        tasks: anyio.abc.TaskGroup,
        host: ServerHost,
        servers: Mapping[str, NamedServer],
        allowed: Mapping[str, Mapping[str, AllowedTool]],
        asks: bool,
    ) -> None:
        self._tasks = tasks
        self._host = host
        self._open = dict[str, _OpenServer]()
        self._starting = anyio.Lock()
        self._turns = defaultdict[str, anyio.Lock](anyio.Lock)
        """One call of a server at a time: what it asks meanwhile belongs to it, and so do the files it changes."""
        self.servers: Final = servers
        self.allowed: Final = allowed
        """What was allowed of each when the work began: what agents are told of."""
        self.asks: Final = asks
        """Whether what a server asks is put to the person."""
        self.states = dict[str, str | None]()
        """What a server that asks something is to be given back, by call; lost with the process."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls, host: ServerHost, names: Sequence[str], *, callable_names: Collection[str], asks: bool
    ) -> AsyncGenerator[ToolServers]:
        """Those of these names; none of them is started yet. Raises `UserError` for one there is not.

        Tools are called of those in `callable_names` alone; of the others something is read.
        """
        servers, known = await anyio.to_thread.run_sync(_named, host, names)
        allowed = {name: tools for name, tools in known.items() if name in callable_names}
        with unwrap_single_error():
            async with anyio.create_task_group() as tasks:
                found = cls(tasks, host, servers, allowed, asks)
                try:
                    yield found
                finally:
                    for each in found._open.values():
                        each.ending.set()

    async def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        answered: Sequence[tuple[ServerAsks, PersonSaid]] = (),
        state: str | None = None,
    ) -> ServerAnswer:
        """What it answers. Raises `CallUnanswered` if it was called and did not answer, else why it was not called."""
        async with self._turns[server]:
            is_kept = self._keeps_files(server, tool)
            if is_kept and (before := self._open.get(server)) is not None and before.is_used:
                # What it did before is not this call's.
                await _end(before)
            there = await self._ready(server)
            await self._check_pin(there, server, tool)
            there.is_used, seconds = True, self.servers[server].call_seconds
            try:
                answer = await there.connection.call(tool, arguments, answered=answered, state=state, seconds=seconds)
            except Exception as error:
                why = await self._lost(server, there, error)
                raise CallUnanswered(f"The tool server {server!r}: {why}.") from error
            if not is_kept or answer.asks or answer.is_error:
                return answer
            there.connection.files.are_kept = True
            await _end(there)
            return replace(answer, files=_files_text(there.connection.files.report))

    def _keeps_files(self, server: str, tool: str) -> bool:
        allowed = self.allowed.get(server, {}).get(tool)
        named = self.servers.get(server)
        return named is not None and named.files == "write" and allowed is not None and allowed.tool.may_change

    async def read(self, server: str, uri: str) -> str:
        """The text of a resource, its beginning if it is long."""
        async with self._turns[server]:
            there = await self._ready(server)
            try:
                return (await there.connection.read(uri))[:_MOST_RESOURCE_TEXT]
            except Exception as error:
                why = await self._lost(server, there, error)
                raise Unavailable(f"The tool server {server!r} gives no {uri[:200]!r}: {why}.") from error

    async def _check_pin(self, there: _OpenServer, server: str, tool: str) -> None:
        try:
            now = await there.connection.tools()
        except Exception as error:
            why = await self._lost(server, there, error)
            raise Unavailable(f"The tool server {server!r} was not called: {why}.") from error
        allowed = await anyio.to_thread.run_sync(ToolApprovals(self._host.home).of, server)
        found = next((each for each in review(now, allowed) if each.name == tool), None)
        standing = "gone" if found is None else found.standing
        if standing != "allowed":
            why = {"gone": "is there no more", "new": "was not allowed by anybody"}.get(standing, "was changed since")
            raise RefusedByPolicy(
                f"The tool {tool!r} of {server!r} {why}, so it is not called.",
                hint=remedy("allow_server_tools", name=server),
            )

    async def _ready(self, name: str) -> _OpenServer:
        async with self._starting:
            found = self._open.get(name)
            if found is None:
                if name not in self.servers:
                    raise UserError(f"The tool server {name[:80]!r} was not named for this work.")
                found = self._open[name] = await self._tasks.start(self._keep, self.servers[name])
            return found

    async def _keep(self, server: NamedServer, *, task_status: anyio.abc.TaskStatus[_OpenServer]) -> None:
        """Hold one open until it is to end. What breaks after it was open ends it, and nothing else."""
        there: _OpenServer | None = None
        try:
            async with open_server(server, self._host) as connection:
                there = _OpenServer(connection)
                task_status.started(there)
                await there.ending.wait()
        except Exception as error:
            if there is None:
                raise
            if not isinstance(error, CellwrightError):
                logger.info("the line to the tool server %s broke: %s", server.name, type(error).__name__)
        finally:
            if there is not None:
                if self._open.get(server.name) is there:
                    del self._open[server.name]
                there.is_over.set()

    async def _lost(self, name: str, there: _OpenServer, error: Exception) -> str:
        """Why; unless the server itself said that, it is ended, and started anew by the next call."""
        from cellwright.tools.mcp.connection import is_servers_word, why_failed

        if is_servers_word(error) and not there.connection.line.why:
            return why_failed(error)
        there.ending.set()
        if self._open.get(name) is there:
            del self._open[name]
        return there.connection.line.why or why_failed(error)


async def _end(server: _OpenServer) -> None:
    """End it, and wait until it is gone."""
    server.ending.set()
    await server.is_over.wait()


def _files_text(report: KeepReport | None) -> str:
    """What became of the files it changed. Their names are the server's own."""
    if report is None:
        return ""
    if report.held_back is not None:
        return shown_block(f"(None of the files it changed was kept: {report.held_back.reason}.)")
    told = [f"kept {path}" for path in report.kept] + [f"not kept: {path}, {why}" for path, why in report.refused]
    more = f" and {len(told) - _TOLD_FILES} more" if len(told) > _TOLD_FILES else ""
    return f"(Files of the project: {shown('; '.join(told[:_TOLD_FILES]))}{more}.)" if told else ""


def _named(
    host: ServerHost, names: Sequence[str]
) -> tuple[dict[str, NamedServer], dict[str, Mapping[str, AllowedTool]]]:
    servers = {name: find_server(host.home, name) for name in dict.fromkeys(names)}
    for server in servers.values():
        if not server.may_be_used_in(host.project):
            raise UserError(
                f"The tool server {server.name!r} is not for {str(host.project)!r}.",
                hint=remedy("add_tool_server", name=server.name),
            )
    approvals = ToolApprovals(host.home)
    return servers, {name: approvals.of(name) for name in servers}
