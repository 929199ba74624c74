"""The tools: each is an operation of the API, or a few, and what came of it in words for a model."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cellwright.errors import UserError
from cellwright.server.http.api_calls import ApiCalls
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.mcp.tool_texts import TOOLS

_SEGMENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
_WAIT_SECONDS: Final = 25
_CODE: Final = 4_000
_SHOWN: Final = 2_000
_ALL: Final = 40_000
Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReply:
    """What came of a call."""

    text: str
    """For the model."""
    data: Any
    """The same for programs, as the API has it."""


def check_arguments(tool: str, arguments: Arguments) -> None:
    """Raises `UserError` for a tool there is not, or an argument it does not take: nothing else reaches the API."""
    known = next((each for each in TOOLS if each.name == tool), None)
    if known is None:
        raise UserError(f"There is no tool {tool!r}.", hint=f"Known: {', '.join(each.name for each in TOOLS)}.")
    if unknown := sorted(arguments.keys() - known.takes.keys()):
        raise UserError(f"{tool} takes no {unknown[0]!r}.", hint=f"It takes: {', '.join(known.takes) or 'nothing'}.")
    if missing := [name for name in known.needs if name not in arguments]:
        raise UserError(f"{tool} needs {missing[0]!r}.")


def run_named(arguments: Arguments) -> str:
    """Which run is meant. Raises `UserError`."""
    return _segment(arguments["run"], "run")


def clipped(text: str, most: int) -> str:
    """The text, not endless."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"


async def start_run(api: ApiCalls, arguments: Arguments) -> ToolReply:
    """Begin one, or find the one of the same key."""
    begun = await api.post("/runs", dict(arguments))
    run = begun["run"]
    text = f"The run {run} is on its way. Call follow_run with run={run!r}; its report will be at {report_uri(run)}."
    return ToolReply(text=text, data=begun)


async def say_to_run(api: ApiCalls, arguments: Arguments) -> ToolReply:
    """Words for its agents."""
    return _noted(await api.post(f"/runs/{run_named(arguments)}/say", {"text": arguments["text"]}))


async def stop_run(api: ApiCalls, arguments: Arguments) -> ToolReply:
    """Hand over what there is."""
    return _noted(await api.post(f"/runs/{run_named(arguments)}/stop", {"reason": arguments.get("reason", "")}))


async def list_runs(api: ApiCalls, arguments: Arguments) -> ToolReply:
    """The newest of them."""
    found = await api.get("/runs", search=arguments.get("search", ""), limit=30)
    lines = [f"{each['run']}  {each['status']}  {clipped(each['goal'], 200)}" for each in found["runs"]]
    return ToolReply(text="\n".join(lines) or "There are no runs.", data=found)


async def list_notebooks(api: ApiCalls, arguments: Arguments) -> ToolReply:
    """Those that are open, and those in the folder."""
    found = await _notebooks(api)
    lines = [
        f"{each['path']}  {each['cells']} cells{', open' if each['is_live'] else ''}  (id {each['id']})"
        for each in found
    ]
    text = "\n".join(lines) or "There are no notebooks in the folder."
    return ToolReply(text=text, data={"notebooks": found})


async def look(api: ApiCalls, arguments: Arguments) -> ToolReply:
    """Its cells as they stand."""
    if _is_address(arguments["notebook"]):
        asked = {"url": arguments["notebook"], "file": str(arguments.get("file", ""))}
        there = await api.post("/attached/look", asked)
        return ToolReply(text=_attached_text(there), data=there)
    found = await api.get(f"/notebooks/{(await _notebook(api, arguments))['id']}")
    return ToolReply(text=_notebook_text(found), data=found)


async def run_cells(api: ApiCalls, arguments: Arguments) -> ToolReply:
    """Run some, and how they stand then."""
    id = await _open(api, arguments)
    before = await api.get(f"/notebooks/{id}")
    cells = arguments.get("cells", "stale")
    if isinstance(cells, list):
        by_name = {cell["name"]: cell["id"] for cell in before["cells"] if cell["name"] != "_"}
        cells = [by_name.get(str(cell), cell) for cell in cells]
    ran = await api.post(f"/notebooks/{id}/run", {"cells": cells, "wait_seconds": _WAIT_SECONDS})
    words = [] if ran["cells"] or ran["is_running"] else ["Nothing was out of date, so nothing ran."]
    return ToolReply(text=await _ran_text(api, id, words, ran), data=ran)


async def apply(api: ApiCalls, arguments: Arguments) -> ToolReply:
    """Change cells, run what that affects."""
    id = await _open(api, arguments)
    body = {"edits": arguments["edits"], "key": arguments.get("key"), "wait_seconds": _WAIT_SECONDS}
    return await _edited(api, id, await api.post(f"/notebooks/{id}/edits", body))


async def undo(api: ApiCalls, arguments: Arguments) -> ToolReply:
    """Take back the last such change."""
    id = await _open(api, arguments)
    return await _edited(api, id, await api.post(f"/notebooks/{id}/undo", {"wait_seconds": _WAIT_SECONDS}))


CALLS: Final[Mapping[str, Callable[[ApiCalls, Arguments], Awaitable[ToolReply]]]] = {
    each.__name__: each
    for each in (start_run, say_to_run, stop_run, list_runs, list_notebooks, look, run_cells, apply, undo)
}
"""All but `follow_run`, which may have to ask a person."""


def report_uri(run: str) -> str:
    """Where a run's report is read."""
    return f"cellwright://runs/{run}/report"


def _noted(said: Any) -> ToolReply:
    return ToolReply(text=f"{said['run']}: {said['note']}", data=said)


def _segment(text: object, what: str) -> str:
    if not isinstance(text, str) or _SEGMENT.fullmatch(text) is None:
        raise UserError(f"{str(text)[:100]!r} is no {what}.", hint=f"list_{what}s shows them.")
    return text


def _is_address(notebook: object) -> bool:
    return str(notebook).startswith(("http://", "https://"))


def _attached_text(notebook: Any) -> str:
    cells = [{**cell, "output": {"text": cell["output"]}} for cell in notebook["cells"]]
    head = "In somebody's own marimo, outside any cage: to change it, start_run with attach; a person is asked."
    return f"{head}\n{_notebook_text({'path': notebook['path'] or notebook['server'], 'cells': cells})}"


async def _notebooks(api: ApiCalls) -> list[Any]:
    """Those of the folder: what somebody has open elsewhere is not this client's."""
    found = (await api.get("/notebooks"))["notebooks"]
    return [each for each in found if not each["path"].startswith("/")]


async def _notebook(api: ApiCalls, arguments: Arguments) -> Any:
    """The one of this path, or else of this id. Raises `ResourceNotFound`."""
    if _is_address(arguments["notebook"]):
        raise UserError(
            "That notebook is outside our cage, where a person allows each change.",
            hint="Call start_run with attach and a goal: what it wants to change there is asked about.",
        )
    said = str(arguments["notebook"])
    found = await _notebooks(api)
    for name in ("path", "id"):
        for each in found:
            if each[name] == said.removeprefix("./"):
                return each
    raise ResourceNotFound(f"No notebook {said[:200]!r}.", hint="list_notebooks shows them.")


async def _open(api: ApiCalls, arguments: Arguments) -> str:
    """The id of the notebook, open from now on."""
    line = await _notebook(api, arguments)
    return line["id"] if line["is_live"] else (await api.post("/notebooks", {"path": line["path"]}))["id"]


async def _edited(api: ApiCalls, id: str, edited: Any) -> ToolReply:
    words = [*edited["changes"], *filter(None, [edited["news"]])]
    return ToolReply(text=await _ran_text(api, id, words, edited["ran"]), data=edited)


async def _ran_text(api: ApiCalls, id: str, words: list[str], ran: Any) -> str:
    """What is to be said, and how the cells stand that ran."""
    after, meant = await api.get(f"/notebooks/{id}"), {outcome["cell"] for outcome in ran["cells"]}
    shown = {**after, "cells": [cell for cell in after["cells"] if cell["id"] in meant]}
    words = [*words, *filter(None, [ran["problem"]])]
    words += ["Cells still run; call look to see how they stand."] if ran["is_running"] else []
    return "\n".join([*words, _notebook_text(shown)])


def _notebook_text(notebook: Any) -> str:
    return clipped("\n\n".join([f"# {notebook['path']}", *map(_cell_text, notebook["cells"])]), _ALL)


def _cell_text(cell: Any) -> str:
    name = "" if cell["name"] == "_" else f" {cell['name']}"
    stale = ", out of date" if cell["is_stale"] else ""
    parts = [f"## cell {cell['id']}{name}, version {cell['version']}: {cell['status']}{stale}"]
    parts.append(clipped(cell["code"], _CODE))
    if cell["output"] is not None and cell["output"]["text"]:
        parts.append(f"-> {clipped(cell['output']['text'], _SHOWN)}")
    if cell["console"]:
        parts.append(f"prints: {clipped(cell['console'], _SHOWN)}")
    if cell["error"]:
        parts.append(f"fails: {cell['error']}\n{clipped(cell['traceback'], _SHOWN)}".rstrip())
    return "\n".join(parts)
