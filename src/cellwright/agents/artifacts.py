"""Artifacts: named documents the agents of a run write and read: a plan, a report, findings.

The text is kept once; the run's stream tells which text a name stands for now. Every version stays readable.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Callable
from typing import Final

from cellwright.agents.events import ArtifactWritten
from cellwright.journal.events import Recorded
from cellwright.journal.names import stream_of
from cellwright.tools.text_store import TextStore
from cellwright.tools.tool import CallContext, Done, Tool, ToolError, ToolResult, tool

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}", flags=re.ASCII)
_LONGEST: Final = 400_000


async def read_artifacts(read: Callable[[str], AsyncIterable[Recorded]], run: str) -> dict[str, ArtifactWritten]:
    """The documents of a run by name, as they are now; `read` is a log's or, inside a step, a flow's."""
    events = [recorded.event async for recorded in read(stream_of(run))]
    return {event.name: event for event in events if isinstance(event, ArtifactWritten)}


def artifact_tools(kept: TextStore) -> list[Tool]:
    """The tools that write and read documents of the run."""

    @tool(own_steps=True)
    async def write_artifact(name: str, text: str, calling: CallContext) -> ToolResult:
        """Keep a document for the person and other agents. A second text under its name replaces the first."""
        if _NAME.fullmatch(name) is None:
            return ToolError(
                kind="bad-arguments", message=f"{name[:80]!r} is no name.", hint="Small letters, digits, . _ and -."
            )
        if len(text) > _LONGEST:
            return ToolError(kind="too-big", message=f"A document has at most {_LONGEST:,} characters.")
        flow = calling.flow
        place = await flow.step(f"keep {name}", lambda: kept.store(calling.key, text))
        await flow.tell(ArtifactWritten(name=name, text=place, by=flow.id))
        return Done(text=f"Kept as {name!r} ({len(text):,} characters).", value={"artifact": name})

    @tool()
    async def read_artifact(name: str, calling: CallContext) -> ToolResult:
        """Read a document that was kept in this run."""
        found = await read_artifacts(calling.flow.read, calling.flow.id)
        if name not in found:
            known = ", ".join(found) or "none yet"
            return ToolError(kind="not-found", message=f"No document {name[:80]!r}.", hint=f"There is: {known}.")
        text = await kept.read(found[name].text)
        if text is None:
            return ToolError(kind="unavailable", message=f"The text of {name!r} is gone.")
        return Done(text=text, value=text, is_untrusted=True)

    return [write_artifact, read_artifact]
