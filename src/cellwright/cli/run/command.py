"""`cellwright run`: a goal becomes a notebook, watched and steered from this terminal.

Every mistake in what was typed is said before anything starts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import anyio
import anyio.to_thread
import typer

from cellwright.background import current_person
from cellwright.cli.journal_options import JsonOption, journal_location, open_records, terminal_masker
from cellwright.cli.notebook_options import PythonOption, python_choice
from cellwright.cli.render import console, run_output
from cellwright.cli.run.extra_arguments import GoalCommand
from cellwright.cli.run.outcome import finish
from cellwright.cli.run.watch import WatchOutcome, open_run_client, open_watch
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import connections_at
from cellwright.data.messages import Asker
from cellwright.data.remote_check import check_remote_paths
from cellwright.data.remote_paths import RemotePath, read_remote_path
from cellwright.errors import Unavailable, UserError
from cellwright.journal.names import new_run_id
from cellwright.journal.tables import is_journal
from cellwright.runs.goal.goal import ANALYST, Goal
from cellwright.runs.goal.request import (
    APPROVE_WORDS,
    EXAMPLE,
    LONGEST,
    OVERVIEW,
    GoalRequest,
    no_text,
    read_budget,
    read_goal,
    read_words,
)
from cellwright.runs.views.run_view import active_notebooks
from cellwright.settings import Settings
from cellwright.tools.mcp.servers import servers_at

_IMPORT_SECONDS: Final = 600


def words_here(typed: str | None, *, has_data: bool = False, what: str = "goal", example: str = EXAMPLE) -> str:
    """The goal in words; `-`, or nothing while something is piped in, reads standard input. Raises `UserError`.

    Data without a word is asked for an overview.
    """
    is_typed = typed is not None
    try:
        if typed == "-" or (typed is None and not sys.stdin.isatty()):
            typed = sys.stdin.read(LONGEST + 1)
    except UnicodeError as error:
        raise no_text() from error
    if has_data and not is_typed and not (typed or "").strip():
        return OVERVIEW
    return read_words(typed or "", what=what, example=example)


def check_amount(option: str, typed: str | None) -> None:
    """Raises `UserError`, which names the option."""
    if typed is not None:
        read_budget(typed, option)


def _has_data(project: Path) -> bool:
    # Only whoever asks for the analyst waits for what knows about data.
    from cellwright.profiles.data_search import project_files

    return bool(project_files(project)[0])


app = typer.Typer(help="State a goal, get a notebook you can trust.")


@app.command(cls=GoalCommand)
def run(
    goal: Annotated[
        str | None, typer.Argument(metavar="[GOAL]", help="What you want to know, in words; `-` reads stdin.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="PATH",
            help="A file or folder it may read, here or behind a connection (NAME:path). Repeatable.",
        ),
    ] = None,
    connection: Annotated[
        list[str] | None,
        typer.Option(
            "--connection",
            metavar="NAME",
            help="A database, store or API it may read: see `cellwright data`. Repeatable.",
        ),
    ] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(
            "--tools", metavar="NAME", help="A tool server its agents may call: see `cellwright tools`. Repeatable."
        ),
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option("--context", metavar="SERVER:ADDRESS", help="What a tool server lets one read. Repeatable."),
    ] = None,
    notebook: Annotated[
        Path | None,
        typer.Option(
            "--notebook",
            metavar="FILE",
            help="Extend this notebook (an .ipynb is imported first), or make it; default: a new one here.",
        ),
    ] = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            "--kernel", metavar="NAME", help="A kernel of Jupyter its agents may use (R, Julia …). Repeatable."
        ),
    ] = None,
    attach: Annotated[
        str | None,
        typer.Option("--attach", metavar="URL", help="Work in a notebook that is open in somebody's own marimo there."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Which notebook there; alone, finds its server.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="P", help="That server's token: kept while it is needed.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="PROVIDER:MODEL", help="Use this model; more are fallbacks; `analyst`: none."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="AMOUNT", help="Ask before it costs more US dollars than this.")
    ] = None,
    approve: Annotated[
        str, typer.Option("--approve", metavar="ask|envelope|never", help="What may be asked while it works.")
    ] = "ask",
    private: Annotated[bool, typer.Option("--private", help="Nothing leaves this machine: local models only.")] = False,
    priority: Annotated[int, typer.Option("--priority", metavar="N", help="Higher comes first.")] = 0,
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="The folder it may see; default: the repository.")
    ] = None,
    python: PythonOption = "header",
    limit: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="NAME=VALUE", help="What its notebook may use: memory=2g, kept_files=200000 …"),
    ] = None,
    depth: Annotated[
        str,
        typer.Option("--depth", metavar="answer|full", help="Without a model: the answer, or every column and test."),
    ] = "answer",
    effort: Annotated[
        str,
        typer.Option(
            "--effort",
            metavar="quick|normal|thorough",
            help="Who looks it over: code alone; a reviewer too where there is reason to (at most a quarter more "
            "tokens); tests written first by another agent, and up to two reviews.",
        ),
    ] = "normal",
    detach: Annotated[
        bool, typer.Option("--detach", help="Do not wait for it; `cellwright runs watch` shows it.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Turn a goal into a notebook: planned, built, checked from scratch, delivered."""
    if approve not in APPROVE_WORDS:
        raise UserError(f"Unknown --approve {approve!r}.", hint=f"{', '.join(APPROVE_WORDS)}.")
    check_amount("--budget", budget)
    server = _attached(attach, file, token_file)
    if notebook is not None and notebook.suffix == ".ipynb":
        notebook = _imported(notebook, project)
    typed = GoalRequest(
        words=words_here(goal, has_data=bool(data)),
        data=data or (),
        connections=connection or (),
        tools=tools or (),
        context=context or (),
        notebook=notebook,
        kernels=_known_kernels(kernel or ()),
        attach=server,
        attach_file=str(file.resolve()) if file is not None else "",
        models=model or (),
        budget=budget,
        approve=approve,
        is_private=private,
        priority=priority,
        python=python_choice(python),
        project=project,
        limits=limit or (),
        depth=depth,
        effort=effort,
    )
    if detach:
        detach_goal(typed, as_json)
        return
    ended, name, is_daemon = anyio.run(run_goal, typed, as_json)
    finish(ended, name, as_json=as_json, is_daemon=is_daemon)


def _known_kernels(names: Sequence[str]) -> tuple[str, ...]:
    """Raises `UserError` for one that is not installed."""
    if names:
        # Late: only who names one waits for what looks for them.
        from cellwright.app.jupyter_kernels import chosen_kernelspecs

        chosen_kernelspecs(names, Settings.read())
    return tuple(names)


def _imported(file: Path, project: Path | None) -> Path:
    """A notebook of Jupyter as one of ours beside it, each cell compared; what is not proven is said."""
    # Late: only who has one waits for what reads it.
    from cellwright.cli.notebook_conversions import import_here
    from cellwright.cli.notebook_jupyter import missing_words
    from cellwright.cli.notebook_options import NotebookChoice
    from cellwright.kernel.process.zygote_process import beginning_zygote

    out = file.with_suffix(".py")
    if out.exists():
        hint = f"Go on with it: --notebook {out}; or move it away to import {file.name} anew."
        raise UserError(f"{str(out)!r}, which {file.name} would become, exists.", hint=hint)
    choice = NotebookChoice(files="drop", project=project).read()
    with beginning_zygote(Settings.read().cache / "zygote", is_warm=True) as begun:
        view = import_here(file, out, choice, begun, may_replace=False, seconds=_IMPORT_SECONDS)
    code = [cell for cell in view["cells"] if cell["verdict"] != "text"]
    proven = sum(cell["verdict"] == "proven" for cell in code)
    console.note(f"{file.name} became {out}: {proven} of {len(code)} cells proven to do what they did in Jupyter.")
    for cell in code:
        if cell["verdict"] != "proven":
            reasons = "; ".join(cell["reasons"])[:300]
            console.note(f"  cell {', '.join(map(str, cell['sources']))} {cell['verdict']}: {reasons}")
    if view["missing"]:
        console.note(missing_words(view))
    console.note(f"Back to Jupyter, with outputs: cellwright notebook export {out} --ipynb")
    return out


def _attached(url: str | None, file: Path | None, token_file: Path | None) -> str:
    """The server whose notebook the goal is about; its token is kept, for the daemon goes on with the goal."""
    if not url and file is None:
        return ""
    # Late: only who attaches waits for what speaks to other servers.
    from cellwright.app.attached_goals import keep_token
    from cellwright.cli.attached_server import given_token, meant_server

    settings = Settings.read()
    token = given_token(token_file)
    address = anyio.run(meant_server, url, str(file.resolve()) if file is not None else "", token, settings)
    if token:
        keep_token(address, settings)
        console.note(
            f"The token of {address.url} is kept; `cellwright attach {address.url} --forget-token` forgets it."
        )
    return address.url


def detach_goal(typed: GoalRequest, as_json: bool) -> None:
    """Start it and leave it to the daemon."""
    console.result(anyio.run(_detach, typed), as_json, _show_detached)


def _show_detached(started: dict[str, Any]) -> None:
    run_output.data(started["run"])
    console.note(f"It works on {started['notebook']}. `cellwright runs watch {started['run']}` shows how far it is.")


async def _detach(typed: GoalRequest) -> dict[str, Any]:
    goal = await _read(typed)
    async with open_run_client() as client:
        if not client.is_daemon:
            raise Unavailable(
                "Without the daemon a run goes on only while somebody waits for it.", hint="Leave --detach out."
            )
        name = await client.start(goal, run=new_run_id())
    return {"run": name, "notebook": goal.notebook}


async def run_goal(typed: GoalRequest, as_json: bool) -> tuple[WatchOutcome, str, bool]:
    """Start it and watch it: how that ended, its name, and whether it lives in the daemon."""
    goal, masker = await _read(typed), terminal_masker()
    async with open_run_client() as client:
        name = await client.start(goal, run=new_run_id())
        if not as_json:
            console.note(f"Run {name}, notebook {goal.notebook}.")

        async def cancel() -> None:
            await client.cancel(name, reason=f"stopped by {goal.person} with Ctrl-C")

        async with open_records(None, None, masker) as records:
            watching = open_watch(records, name, masker, as_json=as_json, client=client, cancel=cancel)
            return await watching.until_over(), name, client.is_daemon


async def _read(typed: GoalRequest) -> Goal:
    """The goal, in a notebook that no run at work has in hand."""
    taken = set[str]()
    if typed.notebook is None and is_journal(journal_location(None)):
        async with open_records(None, None) as records:
            taken = await active_notebooks(records)
    settings, remote = Settings.read(), list[RemotePath]()

    def read() -> Goal:
        known = connections_at(settings.home)

        def find(word: str) -> RemotePath | None:
            if (found := read_remote_path(word, known)) is not None:
                remote.append(found)
            return found

        return read_goal(
            typed,
            person=current_person(),
            here=Path.cwd(),
            taken=taken,
            has_data=_has_data,
            known_connections=known,
            find_remote=find,
            apis=[name for name, each in known.items() if each.kind == "api"],
            known_tools=servers_at(settings.home) if typed.tools or typed.context or typed.search else (),
        )

    goal = await anyio.to_thread.run_sync(read)
    await anyio.to_thread.run_sync(_check_providers, goal, settings)
    asker = Asker(person=goal.person, project=goal.project)
    await check_remote_paths(BrokerClient(launch=settings.broker_launch()), remote, asker)
    if goal.attach:
        from cellwright.app.attached_goals import copy_attached

        await copy_attached(goal, settings)
    return goal


def _check_providers(goal: Goal, settings: Settings) -> None:
    """Raises `UserError` for a model nobody could ever ask."""
    named = [name for name in goal.models if name != ANALYST]
    if named:
        # Late: only who names a model waits for what knows where models are.
        from cellwright.models.config.configuration import configuration_at
        from cellwright.models.config.names import ModelName

        configuration = configuration_at(settings.home)
        for name in named:
            configuration.endpoint(ModelName.parse(name))
