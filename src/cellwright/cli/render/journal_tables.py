"""How the journal's records look: tables for people, lines for programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.markup import escape

from cellwright.cli.render.console import line, results, table
from cellwright.policy.display_text import shown

_COLOURS = {"done": "green", "failed": "red", "dead": "red", "cancelled": "yellow", "waiting": "yellow"}


def raw(text: str) -> None:
    """The text as it is, on stdout."""
    sys.stdout.write(text)


def runs(found: Sequence[Mapping[str, Any]]) -> None:
    """One line per run."""
    runs_table = table("run", "workflow", "standing", "version", "changed", whole=("run", "changed"))
    for run in found:
        standing = str(run["standing"])
        colour = _COLOURS.get(standing, "blue")
        runs_table.add_row(
            escape(run["run"]),
            escape(run["name"]),
            f"[{colour}]{standing}[/]{' (stranded: fork it)' if run['is_stranded'] else ''}",
            escape(run["version"]),
            _time(run["changed_ms"]),
        )
    results.print(runs_table)


def run(found: Mapping[str, Any]) -> None:
    """How a run stands, what it has done so far, and its story. Hidden characters in what agents wrote are escaped."""
    now, spent = found["progress"], found["cost"]
    line(f"{found['run']}: {found['standing']}, {now['steps_done']} steps done", style="bold")
    for question in found.get("questions", ()):
        line(f"waits for an answer to {question['id']}: {shown(question['question']['text'])}", style="yellow")
    for task in now["tasks"]:
        note = f": {shown(task['note'])}" if task["note"] else ""
        line(f"task {shown(task['title'])}: {task['state']}{note}")
    tokens = f"{spent['input_tokens']} + {spent['output_tokens']} tokens"
    line(f"cost ${spent['microdollars'] / 1e6:.4f}, {tokens}, {spent['seconds']:.1f} s")
    for entry in found["audit"]:
        line(f"audit {shown(entry['what'].splitlines()[0])} [{entry['verdict']}] {entry['result']}")
    for moment in found["timeline"]:
        workflow = f" {shown(moment['workflow'])}" if moment["workflow"] not in ("", found["run"]) else ""
        line(f"{_time(moment['at_ms'])}{workflow}  {shown(moment['text'])}", style="dim")


def verdict(found: Mapping[str, Any]) -> None:
    """Whether the chain fits, and where it does not."""
    if not found["damage"]:
        results.print(f"[green]✓[/] {found['events']} events in {found['streams']} streams are as they were written.")
    for damage in found["damage"]:
        event = f"event {damage['sequence']} of " if damage["sequence"] else ""
        results.print(f"[red]✗[/] {event}{escape(damage['stream'])}: {damage['fault']}")


def problems(found: Sequence[str]) -> None:
    """What is wrong with the file."""
    if not found:
        results.print("[green]✓[/] The file is sound.")
    for problem in found:
        results.print(f"[red]✗[/] {escape(problem)}")


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
