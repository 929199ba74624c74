"""What people and programs see: data on stdout, everything for people on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cellwright.cli.render.remedies import hint_text
from cellwright.errors import CellwrightError

_SHOWN_LEFT_OUT = 5
_MARKS = {
    "ok": "[green]✓[/]",
    "failed": "[red]✗[/]",
    "lost": "[red]✗[/]",
    "cancelled": "[yellow]–[/]",
    "interrupted": "[yellow]■[/]",
    "stopped": "[blue]◦[/]",
    "disabled": "[dim]◦[/]",
    "stale": "[yellow]…[/]",
}

T = TypeVar("T")

people = Console(stderr=True, highlight=False)
results = Console(highlight=False)
_MOST_FILES = 20
"""Changed files that are named one by one; nobody reads ten thousand lines."""


def is_interactive() -> bool:
    """Whether a person sits at this terminal: sees what is asked, and can type."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def as_json(value: object) -> None:
    """One JSON object on stdout."""
    print(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def result(value: T, is_json: bool, for_people: str | Callable[[T], None]) -> None:
    """What a command came to: JSON for programs; for people a note, or what draws it."""
    if is_json:
        as_json(value)
    elif isinstance(for_people, str):
        note(for_people)
    else:
        for_people(value)


def note(text: str) -> None:
    """A line for the person who waits."""
    people.print(escape(text), style="dim", soft_wrap=True)


def line(text: str, *, style: str = "") -> None:
    """A line on stdout as it is: no markup, however long."""
    results.print(Text(text, style=style), soft_wrap=True)


def table(*titles: str, right: Collection[str] = (), whole: Collection[str] = ()) -> Table:
    """A table without lines; numbers stand `right`, what is `whole` is not folded."""
    made = Table(box=None, pad_edge=False, header_style="dim")
    for title in titles:
        made.add_column(title, justify="right" if title in right else "left", overflow="fold", no_wrap=title in whole)
    return made


def error(problem: CellwrightError) -> None:
    """What went wrong, and what to do next; a path or a command in it stays whole, to be copied or searched for."""
    people.print(f"[red]error:[/] {escape(problem.message)}", soft_wrap=True)
    if hint := hint_text(problem.advice):
        people.print(f"[cyan]hint:[/] {escape(hint)}", soft_wrap=True)


def cell_line(cell: Mapping[str, Any]) -> None:
    """One line per finished cell, as it finishes; only for someone who watches a terminal."""
    if not people.is_terminal:
        return
    mark = _MARKS.get(cell["status"], "·")
    people.print(f"{mark} {escape(cell['name'])} [dim]{cell['ms']:.0f} ms[/]")


def run_result(result: Mapping[str, Any]) -> None:
    """The outcome of a run: per cell its status, what it printed and showed, then what it left behind."""
    cells = table("", "cell", "ms", "outcome", right=("ms",))
    for cell in result["cells"]:
        mark = _MARKS.get(cell["status"], "·")
        cells.add_row(mark, escape(cell["name"]), f"{cell['ms']:.1f}", escape(_outcome(cell)))
    results.print(cells)
    _changed_files(result)
    sandbox = result["sandbox"]
    ready_ms = result["kernel_ready_ms"]
    ready = "no kernel was ready" if ready_ms is None else f"kernel ready in {ready_ms:.0f} ms"
    if result.get("kernel_end"):
        people.print(f"[red]the kernel ended:[/] {escape(result['kernel_end']['reason'])}", soft_wrap=True)
    if sandbox["is_copied"] and sandbox["tier"] in {"A", "B"}:
        people.print(
            f"[dim]the notebook worked on a copy of the project, in which {_some(sandbox['volumes'])} is mounted[/]"
        )
    if sandbox["left_out"]:
        people.print(
            f"[dim]not in the copy, as git ignores it: {_some(sandbox['left_out'])} (--reveal PATH brings it in)[/]"
        )
    python = f" · Python {escape(result['python'])}" if result.get("python") else ""
    people.print(f"[dim]tier {sandbox['tier']}{python} · {ready}[/]")


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_LEFT_OUT
    return escape(", ".join(names[:_SHOWN_LEFT_OUT])) + (f" and {more} more" if more > 0 else "")


def _changed_files(result: Mapping[str, Any]) -> None:
    files = result.get("files", [])
    for change in files[:_MOST_FILES]:
        why = f" [yellow](not kept: {escape(change['reason'])})[/]" if change["reason"] else ""
        results.print(f"[dim]file[/] {change['kind']}: {escape(change['path'])}{why}", soft_wrap=True)
    if len(files) > _MOST_FILES:
        results.print(f"[dim]… and {len(files) - _MOST_FILES:,} more files; --json lists them all[/]")
    held_back = result.get("held_back")
    if held_back:
        people.print(
            f"[yellow]No file was kept:[/] {escape(held_back['reason'])}. The project is as it was.", soft_wrap=True
        )
        people.print(f"[cyan]hint:[/] {escape(held_back['hint'])}", soft_wrap=True)


def _outcome(cell: Mapping[str, Any]) -> str:
    parts: list[str] = []
    if cell["error"]:
        line = f" (line {cell['error']['line']})" if cell["error"]["line"] else ""
        parts.append(f"{cell['error']['type']}{line}: {cell['error']['message']}")
    if cell["console"]:
        parts.append(_shortened(cell["console"].rstrip()))
    if cell["output"]:
        parts.append(_shortened(cell["output"]["text"]))
    return "\n".join(parts) or cell["status"]


def _shortened(text: str, lines: int = 12, characters: int = 1_200) -> str:
    kept = text[:characters].splitlines()[:lines]
    return "\n".join(kept) + ("\n…" if len(text) > characters or len(text.splitlines()) > lines else "")


def notebook_cells(cells: Sequence[Mapping[str, Any]], summary: str) -> None:
    """A notebook without running it."""
    results.print(escape(summary))
    for cell in cells:
        for problem in cell["problems"]:
            people.print(f"[red]✗[/] {escape(cell['name'])}: {escape(problem)}")


def doctor_report(report: Mapping[str, Any]) -> None:
    """What is well and what is missing, with the consequence of each lack."""
    for check in report["checks"]:
        mark = "[green]✓[/]" if check["ok"] else "[yellow]✗[/]"
        results.print(f"{mark} {escape(check['name'])}: {escape(check['detail'])}", soft_wrap=True)
        if check.get("consequence") and not check["ok"]:
            results.print(f"    [yellow]{escape(check['consequence'])}[/]")
    results.print(f"\nsandbox tier [bold]{report['sandbox']['tier']}[/]")


def refusal(refused: Mapping[str, Any]) -> None:
    """Why nothing was changed, with both texts."""
    people.print(f"[red]refused:[/] {escape(refused['message'])}", soft_wrap=True)
    for title in ("current", "wanted"):
        if refused.get(title):
            people.print(f"[dim]── {title} ──[/]\n{escape(_shortened(refused[title]))}")
