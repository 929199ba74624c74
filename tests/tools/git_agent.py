"""An agent with git's tools, for tests: calls them as the loop would, without policy in between."""

from __future__ import annotations

from typing import Any

from cellwright.tools.callers import PlainCaller
from cellwright.tools.git.client import GitClient
from cellwright.tools.git.commit_import import Author
from cellwright.tools.git.git_tools import git_tools
from cellwright.tools.tool import Done, ToolCall, ToolError, ToolResult, Toolset

ADA = Author(name="Ada Lovelace", email="ada@example.org")
NOBODY: Any = None
"""None of these tools looks at it."""


class GitAgent:
    """One agent at one client."""

    def __init__(self, client: GitClient) -> None:
        self.client = client
        self.tools = Toolset(git_tools(client))

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        """Whatever comes of a call."""
        return await PlainCaller(self.tools).call(NOBODY, ToolCall(id="1", name=name, arguments=arguments))

    async def done(self, name: str, **arguments: Any) -> Any:
        """The value of a call that must go well."""
        result = await self.call(name, **arguments)
        assert isinstance(result, Done), result
        return result.value

    async def error(self, name: str, **arguments: Any) -> ToolError:
        """The error of a call that must not."""
        result = await self.call(name, **arguments)
        assert isinstance(result, ToolError), result
        return result

    async def status(self) -> dict[str, str]:
        """What differs, by path."""
        value = await self.done("git_status")
        return {change["path"]: change["kind"] for change in value["changes"]}

    async def state(self, *paths: str) -> str:
        """The state git_diff names."""
        return (await self.done("git_diff", paths=list(paths)))["state"]

    async def commit(self, *paths: str, branch: str = "work", message: str = "Change it") -> str:
        """Look and commit; the commit's name."""
        state = await self.state(*paths)
        value = await self.done("git_commit", branch=branch, message=message, state=state, paths=list(paths))
        return value["commit"]
