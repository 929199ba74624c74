"""How runs look: plain lines, JSON lines or a live screen while one goes on; a table of many; a page about one."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.text import Text
from rich.tree import Tree

from cellwright.agents.drafts import DraftView
from cellwright.cli.render import console
from cellwright.cli.render.console import line, people, results
from cellwright.cli.render.remedies import reworded
from cellwright.journal.events import Recorded
from cellwright.policy.display_text import shown, shown_block
from cellwright.runs.deliver.report.text import duration
from cellwright.runs.events import STAGE_WORDS, FilesNotKept
from cellwright.runs.goal.goal import WRITTEN
from cellwright.runs.plan.plan import Plan, Task, parse_plan
from cellwright.runs.views.progress import MARKS, progress_line
from cellwright.runs.views.run_view import RunView

_COLOURS = {"planned": "dim", "running": "bold cyan", "done": "green", "failed": "red", "dropped": "dim strike"}
_FRAMES_PER_SECOND = 4
_DRAFT_LINES = 12
"""Lines of answers that are being made, all agents together: a screen must not be longer than the terminal."""


class Display:
    """Shows a run to whoever watches: lines that stay where they are written."""

    def __init__(self, write: Callable[[Recorded, RunView, RunView], None]) -> None:
        self._write = write

    def show(self, recorded: Recorded, before: RunView, after: RunView) -> None:
        """One more event, and what it changed."""
        self._write(recorded, before, after)

    def show_drafts(self, views: Sequence[DraftView]) -> None:
        """What agents are being answered, as far as it has come; only a screen shows what does not stay."""

    def hide(self) -> None:
        """Make room: somebody is asked something, or it is over."""

    def appear(self) -> None:
        """Be there again."""


def _plain_line(recorded: Recorded, before: RunView, after: RunView) -> None:
    """On stderr, each thing a person would notice."""
    if noticed := progress_line(before, recorded.event):
        people.print(Text(reworded(noticed, WRITTEN)), soft_wrap=True)
    if after.plan is not None and _ids(before.plan) != _ids(after.plan):
        for task in after.plan.tasks:
            people.print(Text(f"  {_task_line(task)}"), soft_wrap=True)


class LiveScreen(Display):
    """The plan, the current cell, cost and time, drawn again in the same place, at most four times a second."""

    def __init__(self, run: str) -> None:
        super().__init__(self._take)
        self._view = RunView(run=run)
        self._drafts: Sequence[DraftView] = ()
        self._live: Live | None = None

    def show_drafts(self, views: Sequence[DraftView]) -> None:
        """From now on these are drawn."""
        self._drafts = views

    def _take(self, recorded: Recorded, before: RunView, after: RunView) -> None:
        """One more event; it is drawn when it is time."""
        self._view = after
        if isinstance(recorded.event, FilesNotKept):
            # Nothing else will say it: the run is over when its notebook's files are settled.
            people.print(Text(progress_line(before, recorded.event)), soft_wrap=True)

    def appear(self) -> None:
        """Draw from now on."""
        if self._live is None:
            # Not kept on the terminal: what is printed at the end says it all again, and better.
            self._live = Live(
                console=people,
                get_renderable=lambda: drawn(self._view, time.time(), self._drafts),
                refresh_per_second=_FRAMES_PER_SECOND,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()

    def hide(self) -> None:
        """Leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def display_for(run: str, *, as_json: bool) -> Display:
    """JSON for programs, a screen for a terminal, else lines."""
    if as_json:
        return Display(lambda recorded, before, after: json_line(recorded.json()))
    return LiveScreen(run) if people.is_terminal else Display(_plain_line)


def drawn(seen: RunView, now_seconds: float, drafts: Sequence[DraftView] = ()) -> RenderableType:
    """The whole screen."""
    title = shown(seen.goal.words.splitlines()[0]) if seen.goal is not None else f"run {seen.run}"
    since = duration(now_seconds - seen.began_ms / 1000) if seen.began_ms else "0 s"
    lines: list[RenderableType] = [
        _cut(title, style="bold"),
        _cut(f"{STAGE_WORDS[seen.stage]} · {since} · {seen.cost} · run {seen.run}", style="dim"),
    ]
    if seen.plan is not None:
        lines.append(plan_tree(seen.plan))
    if seen.cell:
        lines.append(_cut(f"cell {shown(seen.cell)}"))
    if said := seen.waits or seen.now:
        lines.append(_cut(f"… {shown(said)}", style="dim"))
    return Group(*lines, *_draft_lines(drafts))


def _draft_lines(drafts: Sequence[DraftView]) -> list[RenderableType]:
    """The end of each answer that is being made: what is recorded of it comes once it is whole."""
    going = [draft for draft in drafts if not draft.is_done]
    lines: list[RenderableType] = []
    for draft in going:
        written: list[Text] = []
        for section in draft.sections:
            if section.title:
                written.append(_cut(f"  {shown(section.title)}", style="cyan"))
            style = "" if section.kind == "code" else "italic"
            written += [_cut(f"  │ {line}", style=style) for line in shown_block(section.text).splitlines()]
        lines += written[-(_DRAFT_LINES // len(going) or 1) :]
    return lines


def _cut(text: str, *, style: str = "") -> Text:
    """One line of the screen, however narrow that is."""
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def plan_tree(plan: Plan) -> Tree:
    """The tasks of a plan, each with how it stands and what it waits for."""
    tree = Tree(Text(shown(plan.title)), guide_style="dim")
    for task in plan.tasks:
        tree.add(_cut(_task_line(task), style=_COLOURS[task.status]))
    return tree


def _task_line(task: Task) -> str:
    after = f" (after {', '.join(task.after)})" if task.after and task.status == "planned" else ""
    note = f": {shown(reworded(task.note, WRITTEN))}" if task.note else ""
    who = f" [{shown(task.taken_by)}]" if task.taken_by else "" if task.role == "coder" else f" [{shown(task.role)}]"
    return f"{MARKS[task.status]} {task.id}  {shown(task.title)}{who}{after}{note}"


def _ids(plan: Plan | None) -> tuple[str, ...]:
    return () if plan is None else tuple(task.id for task in plan.tasks)


# ── lines ──


def json_line(value: Mapping[str, Any]) -> None:
    """One JSON object on one line of stdout, at once."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def data(text: str) -> None:
    """What the person came for, on stdout. Agents wrote it: hidden characters are escaped."""
    sys.stdout.write(shown_block(text.rstrip("\n")) + "\n")
    sys.stdout.flush()


def lines(texts: Sequence[str]) -> None:
    """Each on a line of its own, on stdout."""
    for text in texts:
        sys.stdout.write(f"{shown(text)}\n")


def say(text: str, *, style: str = "") -> None:
    """A line for the person who waits; what agents wrote is printed as it is, hidden characters escaped."""
    people.print(Text(shown_block(text), style=style), soft_wrap=True)


def prompt(text: str) -> None:
    """Words in front of what the person types."""
    people.print(f"[bold]{escape(shown(text))}[/] ", end="", soft_wrap=True)


def command(words: str) -> None:
    """Something to type."""
    people.print(Text(f"  {words}", style="cyan"), soft_wrap=True)


_STANDING_COLOURS = {"done": "green", "partial": "yellow", "failed": "red", "refused": "red", "stopped": "yellow"}
_LEAST_WIDTH = 8
_MARKED = {"waiting": "bold yellow", "paused": "yellow"}


def runs_table(found: Sequence[Mapping[str, Any]]) -> None:
    """One line per run, the newest first."""
    if not found:
        console.note('No runs. Start one: cellwright run "…".')
        return
    # What a person types or looks for is never cut; goal and file share what is left of the line.
    table = console.table("run", "status", "goal", "notebook", "time", whole=("run", "status", "time"))
    table.columns[2].min_width = table.columns[3].min_width = _LEAST_WIDTH
    for run in found:
        status = str(run["status"])
        table.add_row(
            Text(run["run"]),
            Text(status, style=_STANDING_COLOURS.get(status, _MARKED.get(status, "blue"))),
            _cut(shown(run["goal"])),
            _cut(shown(str(run["notebook"]).rpartition("/")[2])),
            Text(duration(run["seconds"])),
        )
    results.print(table)


def run_page(found: Mapping[str, Any]) -> None:
    """How one run stands. What came of an ended one is printed by whoever hands it over."""
    line(shown(str((found["goal"] or {}).get("words", found["run"]))), style="bold")
    line(f"run {found['run']} · {found['status']} · {found['cost']} · {duration(found['seconds'])}", style="dim")
    if found["plan"] is not None:
        show_plan(parse_plan(found["plan"]))
    for name in ("cell", "waits", "files"):
        if found[name]:
            line(f"{name} {shown(found[name])}")


def show_plan(plan: Plan) -> None:
    """The tasks and how each stands, on stdout."""
    results.print(plan_tree(plan))
