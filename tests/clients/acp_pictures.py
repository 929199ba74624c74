"""Draw what each page about an ACP client shows: `python -m tests.clients.acp_pictures`. Needs nothing that is fetched.

A real session of the built-in analyst, as an editor is told it over ACP, beside what starts the agent there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import anyio
from acp import schema

from tests.cli.in_process import run_here
from tests.clients.pictures import draw
from tests.server.acp.an_editor import an_editor
from tests.server.acp.test_client_pages import PAGES, started_by

GOAL: Final = "which month has the highest revenue?"
_MOST_LINES: Final = 14


def main() -> None:
    """One session, drawn for each page."""
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder, "home"), Path(folder, "lab")
        project.mkdir()
        (project / "sales.csv").write_text("month,revenue\n1,10\n2,20\n3,5\n")
        try:
            told = anyio.run(a_session, home, project)
        finally:
            run_here(home, "serve", "stop", code=None)
    for page in PAGES:
        draw(f"acp-{page}", [(" ".join(started_by(page)), ""), (f"@sales.csv {GOAL}", told)])


async def a_session(home: Path, project: Path) -> str:
    """What an editor is told of it."""
    async with an_editor(home, project, "--model", "analyst") as editor:
        uri = f"file://{project}/sales.csv"
        link = schema.ResourceContentBlock(type="resource_link", name="sales.csv", uri=uri)
        await editor.say(await editor.new(project), GOAL, link)
        return transcript(editor.told).replace(str(project), "~/lab")


def transcript(told: Sequence[Any]) -> str:
    """What an editor shows of it, in words."""
    lines = list[str]()
    for each in told:
        match each:
            case schema.AgentPlanUpdate(entries=entries):
                lines += [f"plan: {entry.content} ({entry.status})" for entry in entries]
            case schema.ToolCallStart(title=title, kind=kind):
                lines.append(f"{kind}: {title}")
            case schema.ToolCallProgress(content=content) if content:
                diffs = [block for block in content if block.type == "diff"]
                lines += [f"  + {line}" for diff in diffs for line in diff.new_text.splitlines()[:2]]
            case schema.AgentMessageChunk(content=content):
                lines += ["", *content.text.strip().splitlines()[:_MOST_LINES]]
            case _:
                pass
    return "\n".join(dict.fromkeys(lines))


if __name__ == "__main__":
    main()
