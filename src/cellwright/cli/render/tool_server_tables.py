"""How tool servers and what they say look in a terminal. Their words stand between marks and are escaped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.markup import escape

from cellwright.cli.render import console
from cellwright.profiles.profile import one_line

_SAYS: Final = {"allow": "runs", "ask": "asks you", "deny": "refused"}
_SEES: Final = {"none": "–", "read": "project", "write": "project, writes"}
_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


def servers(view: Mapping[str, Any]) -> None:
    """All of them, and what the project proposes."""
    if not view["servers"]:
        console.note("No tool servers. `cellwright tools add NAME --package PACKAGE -- COMMAND` adds one.")
    else:
        table = console.table("name", "is", "tools", "a call", "sees", "reaches", whole=("name",))
        for each in view["servers"]:
            says = sorted({_call(tool) for tool in each["tools"]})
            cells = (
                each["name"], one_line(each["place"], 50), str(len(each["tools"])) if each["tools"] else "none allowed",
                ", ".join(says) or "–", _SEES[each.get("files", "none")],
                ", ".join(each.get("hosts", ())) or ("its address" if each.get("url") else "–"),
            )  # fmt: skip
            table.add_row(*(escape(cell) for cell in cells))
        console.results.print(table)
    for each in view["proposed"]:
        console.note(
            f"This project proposes {each['name']}: {one_line(each['place'], 200)}. "
            f"`cellwright tools add {each['name']} --proposed` shows it and asks you."
        )


def _call(tool: Mapping[str, Any]) -> str:
    """What a call would be answered."""
    return f"{_SAYS[tool['says']]}{', each time' if tool['says'] == 'ask' and tool['may_change'] else ''}"


def server(view: Mapping[str, Any]) -> None:
    """One of them, with its tools."""
    problem(view)
    table = console.table("tool", "stands", "a call", whole=("tool",))
    for tool in view["tools"]:
        table.add_row(escape(one_line(tool["name"], 80)), tool["standing"], _call(tool))
    if view["tools"]:
        console.results.print(table)
    for resource in view["resources"][:40]:
        console.results.print(f"context: {escape(one_line(resource['uri'], 200))}", soft_wrap=True)
    if view["fingerprint"]:
        waiting(view)
        console.note(f"`cellwright tools allow {view['name']}` allows it; --fingerprint {view['fingerprint']}")


def added(view: Mapping[str, Any]) -> None:
    """One that was just named, and what trying it showed."""
    spoken = f", speaks MCP {view['protocol']}" if view["protocol"] else ""
    console.note(f"{view['name']} is {one_line(view['place'], 200)}{spoken}.")
    for variable in view["missing_secrets"]:
        console.note(f"It is given {variable}, and no value is kept: `cellwright tools add {view['name']} "
                     f"--secret {variable}` asks for it.")  # fmt: skip
    problem(view)
    if view["problem"] is None:
        names = [tool["name"] for tool in view["tools"] if tool["standing"] != "allowed"]
        if names:
            console.note(
                f"{len(names)} of its tools wait until you have looked at them: {one_line(', '.join(names), 300)}. "
                f"`cellwright tools allow {view['name']}` shows them."
            )


def waiting(view: Mapping[str, Any]) -> None:
    """What is new, changed or gone of its tools."""
    console.people.print(
        f"What follows is said by the server {escape(view['name'])}, not by Cellwright. Agents would read it:"
    )
    for tool in view["tools"]:
        if tool["standing"] == "allowed":
            continue
        console.people.print(f"\n[bold]{tool['standing']}[/] {escape(one_line(tool['name'], 80))}")
        for line in tool["diff"].split("\n"):
            style = _STYLES.get(line[:1], "")
            console.people.print(f"  [{style}]{escape(line)}[/]" if style else f"  {escape(line)}", soft_wrap=True)


def proposal(view: Mapping[str, Any]) -> None:
    """What would run if a project's proposal were taken."""
    console.people.print(f"The project {escape(view['project'])} proposes the tool server {escape(view['name'])}:")
    for key, value in view.items():
        if key not in {"name", "project"}:
            console.people.print(f"  {key}: {escape(one_line(str(value), 2_000))}", soft_wrap=True)


def problem(view: Mapping[str, Any]) -> None:
    """Why it could not be asked."""
    if (found := view["problem"]) is not None:
        console.people.print(f"[red]It cannot be used:[/] {escape(found['message'])}", soft_wrap=True)
        if found["hint"]:
            console.people.print(f"[cyan]hint:[/] {escape(found['hint'])}", soft_wrap=True)
