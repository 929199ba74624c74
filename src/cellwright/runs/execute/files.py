"""The files of a run: its notebook at the beginning, what code alone can tidy, and what is handed over at the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.errors import KernelLost
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.atomic_write import write_atomically
from cellwright.remedies import Hint, Remedy, remedy, sentence_of
from cellwright.runs.deliver.cleanup import tidy
from cellwright.runs.deliver.data_copies import copy_data
from cellwright.runs.deliver.delivery import Delivery
from cellwright.runs.deliver.first_screen import with_trust
from cellwright.runs.deliver.header import local_modules, with_header
from cellwright.runs.deliver.report.pictures import charts_of_tables, with_pictures
from cellwright.runs.deliver.report.report import draw_charts, read_report, report_html
from cellwright.runs.execute.workspace import Workspace
from cellwright.runs.goal.goal import Goal
from cellwright.runs.goal.new_notebook import create_if_missing, goal_data, new_notebook_text
from cellwright.runs.plan.plan import Plan
from cellwright.runs.views.research_view import read_research
from cellwright.runs.views.run_view import ReadStream, read_view
from cellwright.tools.notebook.editor import NotebookEditor

_NAMED: Final = 5
"""So many files that were not kept are named."""


# ── at the beginning ──


async def make_notebook(goal: Goal) -> bool:
    """A notebook where the goal wants one, unless it is there; whether it was made."""
    return await anyio.to_thread.run_sync(lambda: create_if_missing(Path(goal.notebook), _first_text(goal)))


def mounts_of(goal: Goal) -> tuple[str, ...]:
    """The goal's data that is not in the project, as a notebook's files take it. Blocking."""
    return tuple(file.words for file in goal_data(goal) if file.is_outside)


def _first_text(goal: Goal) -> str:
    return new_notebook_text("", goal_data(goal))


# ── before the check ──


async def tidy_up(workspace: Workspace, plan: Plan, key: str, *, is_new: bool, readings: Sequence[str] = ()) -> None:
    """Names, a title, how the goal was read and a header, as far as code can give them, once for this key.

    In a notebook that was there before, nothing but a header that is there already is completed.
    """
    editor = workspace.editor
    await editor.sync()
    if is_new and editor.done(key) is None:
        edits = tidy(editor.notebook.document, title=plan.title, plan=plan, readings=readings)
        if edits:
            await editor.apply(edits, key=key, run="none")
    if not is_new and editor.notebook.document.script_metadata is None:
        return
    await complete_header(editor)


async def complete_header(editor: NotebookEditor) -> None:
    """A header with what its cells import."""
    installed = await editor.notebook.live.distributions()
    document, path = editor.notebook.document, editor.notebook.path
    wanted = await anyio.to_thread.run_sync(
        lambda: with_header(document, installed=installed, local=local_modules(path))
    )
    if wanted is not document:
        await editor.set_header(wanted.header)


async def name_cells(workspace: Workspace, key: str) -> None:
    """Names for cells that nobody named, once for this key."""
    editor = workspace.editor
    await editor.sync()
    if editor.done(key) is None and (edits := tidy(editor.notebook.document, title=None)):
        await editor.apply(edits, key=key, run="none")


async def fill_answer(workspace: Workspace, template: str) -> str:
    """The answer with the notebook's values as they are now; empty where they cannot be had."""
    try:
        filled = await workspace.editor.notebook.side_calls.fill(template)
    except KernelLost:
        return ""
    return workspace.context.masker.mask(filled.text).text


# ── at the end ──


async def deliver(
    workspace: Workspace, goal: Goal, delivery: Delivery, run: str, read: ReadStream, *, is_new: bool
) -> Delivery:
    """The data beside the notebook, the report, the time it took. Where nothing was done, nothing is left behind."""
    editor = workspace.editor
    await editor.sync()
    await editor.notebook.settle()
    more = (*workspace.caveats, *not_kept(editor.notebook))
    delivery = replace(
        delivery,
        caveats=(*map(sentence_of, more), *delivery.caveats),
        remedies=(*delivery.remedies, *(each for each in more if isinstance(each, Remedy))),
    )
    seen = await read_view(read, run)
    delivery = replace(
        delivery, seconds=round(time.time() - seen.began_ms / 1_000, 1), is_price_known=seen.is_price_known
    )
    if goal.wants not in {"answer", "research"}:
        return delivery
    if delivery.status == "partial" and not editor.timeline.standing and not delivery.answer:
        delivery = replace(delivery, status="failed", proof="")
    if delivery.status in {"refused", "failed", "stopped"} and not editor.timeline.standing:
        is_gone = is_new and await anyio.to_thread.run_sync(_take_away, goal)
        return replace(delivery, notebook="" if is_gone else goal.notebook)
    caveats = await anyio.to_thread.run_sync(copy_data, goal_data(goal), Path(goal.notebook))
    report = _report_path(Path(goal.notebook))
    whole = with_trust(replace(delivery, caveats=(*delivery.caveats, *caveats), report=str(report)))
    masker, outcomes = workspace.context.masker, editor.notebook.outcomes
    document = editor.notebook.document
    tables = charts_of_tables(whole, document, outcomes)
    charts = await draw_charts(outcomes, workspace.draw, more=tables)
    whole = with_pictures(whole, document, outcomes, charts)
    parts = (await read_research(read, run)).parts(whole) if whole.text else ()

    def masked(text: str) -> str:
        return masker.mask(text).text

    page = report_html(whole, document, outcomes, charts=charts, masked=masked, article=parts)
    await anyio.to_thread.run_sync(write_atomically, report, page.encode())
    return whole


def not_kept(notebook: OpenNotebook) -> tuple[Hint, ...]:
    """What did not become part of the project of the files its kernels changed, each in a sentence with a way out."""
    said: list[Hint] = []
    for number, report in enumerate(notebook.kept, 1):
        held_back = report.held_back
        # Of a kernel that died, and was replaced, nobody knows what it had changed.
        if held_back is not None and (held_back.files or number == len(notebook.kept)):
            lead = f"No file that the notebook changed was kept: {held_back.reason.rstrip('.')}."
            said.append(remedy("rerun_notebook", lead=lead, notebook=str(notebook.path), limit=held_back.option))
        said += [f"{path} was not kept: {reason}." for path, reason in report.refused[:_NAMED]]
        if (more := len(report.refused) - _NAMED) > 0:
            said.append(f"{more:,} more files were not kept for such reasons.")
    return tuple(dict.fromkeys(said))


def _take_away(goal: Goal) -> bool:
    path = Path(goal.notebook)
    if path.read_text() != _first_text(goal):
        return False
    path.unlink()
    return True


def _report_path(notebook: Path) -> Path:
    """Beside the notebook, and never in the place of a file that is not ours."""
    number = 1
    while True:
        path = notebook.with_name(f"{notebook.stem}.report{'' if number == 1 else f'-{number}'}.html")
        if not path.exists() or read_report(path) is not None:
            return path
        number += 1
