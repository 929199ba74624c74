"""`cellwright report`: what a run found, as markdown, as its page, or for a program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from cellwright.cli.journal_options import JournalOptions
from cellwright.cli.option_groups import GroupedCommands
from cellwright.cli.render import console, journal_tables, run_output
from cellwright.cli.run.outcome import worded
from cellwright.cli.runs.lookup import complete_run, find_run
from cellwright.errors import UserError
from cellwright.journal.records import Records
from cellwright.runs.deliver.delivery import Delivery, delivery_json
from cellwright.runs.deliver.report.report import read_report
from cellwright.runs.views.progress import delivery_of
from cellwright.runs.views.research_view import delivered_text
from cellwright.runs.views.run_view import RUN_WORKFLOW, check_is_run, newest_first, read_listed_views, read_view

_STDOUT: Final = "-"
_FILES: Final = frozenset({".py", ".html"})

app = GroupedCommands()


@app.command()
def report(
    journal: JournalOptions,
    what: Annotated[
        str,
        typer.Argument(
            metavar="RUN|FILE",
            help="A run, the beginning of its name or `last`; or a notebook or report that a run delivered.",
            autocompletion=complete_run,
        ),
    ],
    html: Annotated[
        str | None, typer.Option("--html", metavar="PATH|-", help="Write the page there; `-` is stdout.")
    ] = None,
    markdown: Annotated[
        str | None, typer.Option("--markdown", metavar="PATH|-", help="Write markdown there; `-` is stdout.")
    ] = None,
) -> None:
    """Show what a run found: headline, findings, how it was read, caveats, checks, proof. Markdown by default."""
    to_stdout = [name for name, path in (("--html", html), ("--markdown", markdown)) if path == _STDOUT]
    to_stdout += ["--json"] if journal.as_json else []
    if len(to_stdout) > 1:
        raise UserError(f"{' and '.join(to_stdout)} cannot both go to stdout.", hint="Name a file for one of them.")
    file = os.path.realpath(what) if Path(what).suffix in _FILES or "/" in what else ""
    run, delivery, text = journal.read(lambda records: _find(records, what, file))
    if html is not None:
        _write(html, _page(run, delivery))
    if markdown is not None or (html is None and not journal.as_json):
        # Loads what reads markdown.
        from cellwright.runs.deliver.report.markdown import report_markdown

        text = report_markdown(delivery, text)
        if markdown in {None, _STDOUT}:
            run_output.data(text)
        else:
            _write(str(markdown), text.encode())
    if journal.as_json:
        console.as_json({"run": run, **delivery_json(delivery)})


def _page(run: str, delivery: Delivery) -> bytes:
    page = read_report(Path(delivery.report)) if delivery.report else None
    if page is None:
        where = f" at {delivery.report!r}" if delivery.report else ""
        raise UserError(
            f"The run {run!r} has no report{where}.",
            hint=f"`cellwright report {run} --markdown -` prints what it says; another run makes another page.",
        )
    return page


def _write(path: str, content: bytes) -> None:
    if path == _STDOUT:
        journal_tables.raw(content.decode())
        return
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise UserError(f"Cannot write {path!r}: {error.strerror}.", hint="Name a file you may write.") from error
    console.note(f"Written: {path}")


async def _find(records: Records, what: str, file: str) -> tuple[str, Delivery, str]:
    """The run that is meant, by its name or by a file of its own, what it delivered, and its text if it wrote one."""
    run = await _run_of_file(records, what, file) if file else await find_run(records, what)
    status = await records.status(run)
    check_is_run(run, status.name)
    delivery = delivery_of(status.standing, await read_view(records.log.read_all, run))
    if delivery is None:
        raise UserError(f"The run {run!r} is still at work.", hint=f"`cellwright runs watch {run}` waits for its end.")
    delivery = worded(delivery)
    return run, delivery, await delivered_text(records.log.read_all, run, delivery)


async def _run_of_file(records: Records, what: str, file: str) -> str:
    """The newest run that handed over this notebook or report."""
    runs = await newest_first(records, [each for each in await records.runs() if each.name == RUN_WORKFLOW])
    views = await read_listed_views(records, [each.run for each in runs])
    for each in runs:
        delivery = delivery_of(each.standing, views[each.run])
        if delivery is not None and file in _files_of(delivery):
            return each.run
    raise UserError(
        f"No run has delivered {what!r}.", hint="`cellwright runs list` shows the runs; `last` is the newest."
    )


def _files_of(delivery: Delivery) -> set[str]:
    return {os.path.realpath(path) for path in (delivery.notebook, delivery.report) if path}
