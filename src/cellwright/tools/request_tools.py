"""The tool that changes something through an API or an object store: one request, which a person agrees to.

Cells only read: they run again and again, and a proof changes nothing. What is sent here is recorded, and sent once.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import Field

from cellwright.data.api_calls import SentOutcome
from cellwright.policy.actions import Action, QueryConnection
from cellwright.tools.api_tools import told_answer
from cellwright.tools.tool import Done, Tool, ToolResult, tool

_LONGEST_BODY: Final = 1_000_000
_LONGEST_PATH: Final = 4_000
ChangingMethod = Literal["POST", "PUT", "PATCH", "DELETE"]


class RequestAccess(Protocol):
    """What this tool asks. Methods raise the errors of `cellwright.errors`."""

    @property
    def changeable(self) -> Collection[str]:
        """Connections of the work that take requests which change something."""
        ...

    async def check_request(self, connection: str, method: str, target: str) -> None:
        """Raises `UserError` where the connection does not take it, with what a person can do about that."""
        ...

    async def send(self, connection: str, method: str, target: str, body: str, content_type: str) -> SentOutcome:
        """Send one that was agreed to."""
        ...


def request_tools(access: RequestAccess) -> list[Tool]:
    """None where no connection takes such requests."""
    return [_send_tool(access)] if access.changeable else []


def _send_tool(access: RequestAccess) -> Tool:
    async def action(arguments: Any) -> Action:
        await access.check_request(arguments.connection, arguments.method, arguments.path)
        line, size = f"{arguments.method} {arguments.path}", len(arguments.body.encode())
        return QueryConnection(
            connection=arguments.connection,
            access="write",
            statement=f"{line}\n\n{arguments.body}" if arguments.body else line,
            touches=f"Sent once, with {size:,} bytes. It cannot be tried first.",
        )

    # Also where nobody can be asked: a refusal says why, and a tool that is not there would not.
    @tool(action=action, changes=True, seconds=None)
    async def send(
        connection: Annotated[str, Field(description="The connection's name.", max_length=40)],
        method: ChangingMethod,
        path: Annotated[
            str, Field(description="With its query; of a bucket /bucket/key.", pattern="^/", max_length=_LONGEST_PATH)
        ],
        body: Annotated[str, Field(max_length=_LONGEST_BODY)] = "",
        content_type: Annotated[str, Field(pattern=r"^[\w.+/-]+(; ?charset=[\w-]+)?$")] = "application/json",
    ) -> ToolResult:
        """Change something through an API or object store: one request, which a person sees and is asked about."""
        sent = await access.send(connection, method, path, body, content_type)
        if sent.outcome == "unknown":
            text = f"It was sent, and nobody knows whether it was done: look. It is not sent again. {sent.answer.text}"
            return Done(text=text, value={"outcome": "unknown"}, is_untrusted=True)
        told = told_answer(sent.answer)
        value = {"outcome": "done", "status": sent.status, "answer": told.value}
        return Done(text=f"Done: it answered {sent.status}.\n{told.text}", value=value, is_untrusted=True)

    return send
