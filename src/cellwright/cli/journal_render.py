"""How the journal's records look: tables for people, lines for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_data = Console(highlight=False)
_COLOURS = {"done": "green", "failed": "red", "dead": "red", "cancelled": "yellow", "waiting": "yellow"}


def raw(text: str) -> None:
    """The text as it is, on stdout."""
    sys.stdout.write(text)


def json_lines(values: Sequence[Mapping[str, Any]]) -> str:
    """One JSON object a line."""
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def runs(found: Sequence[Mapping[str, Any]]) -> None:
    """One line per run."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("run", "workflow", "standing", "version", "changed"):
        table.add_column(title, overflow="fold")
    for run in found:
        standing = str(run["standing"])
        colour = _COLOURS.get(standing, "blue")
        table.add_row(
            escape(run["run"]),
            escape(run["name"]),
            f"[{colour}]{standing}[/]",
            escape(run["version"]),
            _time(run["changed_ms"]),
        )
    _data.print(table)


def verdict(found: Mapping[str, Any]) -> None:
    """Whether the chain fits, and where it does not."""
    if not found["damage"]:
        _data.print(f"[green]✓[/] {found['events']} events in {found['streams']} streams are as they were written.")
    for damage in found["damage"]:
        event = f"event {damage['sequence']} of " if damage["sequence"] else ""
        _data.print(f"[red]✗[/] {event}{escape(damage['stream'])}: {damage['fault']}")


def problems(found: Sequence[str]) -> None:
    """What is wrong with the file."""
    if not found:
        _data.print("[green]✓[/] The file is sound.")
    for problem in found:
        _data.print(f"[red]✗[/] {escape(problem)}")


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
