"""`cellwright notebook run|apply|show|verify|proof|import|export|publish`. Light: the rest is loaded later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cellwright.cli import notebook_options as given
from cellwright.cli.notebook_jupyter import export_notebook, import_jupyter
from cellwright.cli.notebook_options import NotebookChoice
from cellwright.cli.notebook_publish import publish
from cellwright.cli.option_groups import GroupedCommands
from cellwright.cli.render import console
from cellwright.cli.render.remedies import hint_text
from cellwright.cli.render.verification import show_verification
from cellwright.errors import UserError
from cellwright.kernel.process.zygote_process import beginning_zygote
from cellwright.settings import Settings

app = GroupedCommands(help="Open a marimo notebook without a browser.", no_args_is_help=True)


@app.command()
def run(file: given.FileArgument, chosen: NotebookChoice) -> None:
    """Run a notebook from top to bottom in the cage and tell the outcome of every cell."""
    _finish(_run(file, chosen), chosen.as_json)


@app.command()
def apply(
    file: given.FileArgument,
    edits: Annotated[Path, typer.Argument(metavar="EDITS.json", help="A JSON list of edits; `-` reads stdin.")],
    chosen: NotebookChoice,
) -> None:
    """Apply edits, run what they affect, save the notebook."""
    _finish(_run(file, chosen, _read_json(edits)), chosen.as_json)


@app.command()
def show(file: given.FileArgument, as_json: given.JsonOption = False) -> None:
    """Show a notebook's cells and their graph, without running anything."""
    from cellwright.cli import notebook_runs

    notebook_runs.show_here(file, as_json=as_json)


@app.command()
def verify(
    file: given.FileArgument,
    as_json: given.JsonOption = False,
    data: given.DataOption = None,
    limit: given.LimitOption = None,
    project: given.ProjectOption = None,
    reveal: given.RevealOption = None,
    tier: given.TierOption = None,
    allow_uncontained: given.UncontainedOption = False,
    timeout: given.TimeoutOption = 600,
    strict: given.StrictOption = False,
    python: given.PythonOption = "header",
    out: given.OutOption = None,
) -> None:
    """Run a notebook twice from scratch, compare, check, and store a signed proof if all is well."""
    choice = NotebookChoice(
        data=data,
        limit=limit,
        project=project,
        reveal=reveal,
        tier=tier,
        allow_uncontained=allow_uncontained,
        python=python,
    )
    if out is not None and out.resolve() == file.resolve():
        raise UserError("--out names the notebook itself.", hint="A proof never goes into the notebook.")
    view = _verify(file, choice, seconds=timeout, is_strict=strict)
    if out is not None and view["proof"] is not None:
        from cellwright.cli import notebook_proofs

        notebook_proofs.write_proof(out, view["proof"])
    console.result(view, as_json, show_verification)
    raise typer.Exit(0 if view["verified"] else 1)


@app.command()
def proof(
    file: given.FileArgument,
    as_json: given.JsonOption = False,
    proof: given.ProofOption = None,
    data: given.DataOption = None,
    project: given.ProjectOption = None,
) -> None:
    """Check a notebook's proof: who signed it, and exactly what has changed since. Nothing is run."""
    from cellwright.cli import notebook_proofs

    options = NotebookChoice(data=data, files="drop", project=project).read()
    raise typer.Exit(0 if notebook_proofs.check_now(file, proof, options["files"], as_json=as_json) else 1)


app.command("import")(import_jupyter)
app.command("export")(export_notebook)
app.command()(publish)


def _run(file: Path, chosen: NotebookChoice, *edits: object) -> dict[str, Any]:
    """What came of it; in words where somebody can act on it."""
    settings = Settings.read()
    result = None
    if not edits and _may_have_daemon(settings):
        from cellwright.cli import notebook_daemon

        result = notebook_daemon.run_in_daemon(file, chosen, settings)
    if result is None:
        with beginning_zygote(settings.cache / "zygote", is_warm=True) as begun:
            from cellwright.cli import notebook_runs

            result = notebook_runs.run_here(file, chosen.read(), begun, *edits, is_for_people=not chosen.as_json)
    if held_back := result["held_back"]:
        held_back["hint"] = hint_text(held_back["hint"])
    return result


def _verify(file: Path, chosen: NotebookChoice, *, seconds: float, is_strict: bool) -> dict[str, Any]:
    settings = Settings.read()
    view = None
    if _may_have_daemon(settings):
        from cellwright.cli import notebook_daemon

        view = notebook_daemon.verify_in_daemon(file, chosen, settings, seconds=seconds, is_strict=is_strict)
    if view is None:
        # A notebook with a header gets interpreters of its own, which need nothing of what a zygote imports.
        with beginning_zygote(settings.cache / "zygote", is_warm=not _has_header(file)) as begun:
            from cellwright.cli import notebook_proofs

            view = notebook_proofs.verify_here(file, chosen.read(), begun, seconds=seconds, is_strict=is_strict)
    for reason in view["reasons"]:
        reason["hint"] = hint_text(reason["hint"])
    return view


def _may_have_daemon(settings: Settings) -> bool:
    return (settings.home / "daemon.sock").exists()


def _has_header(file: Path) -> bool:
    try:
        return b"# /// script" in file.read_bytes()
    except OSError:
        return False


def _finish(result: dict[str, Any], as_json: bool) -> None:
    console.result(result, as_json, console.run_result)
    if not result.get("refused"):
        raise typer.Exit(0 if result["ok"] else 1)
    if not as_json:
        console.refusal(result["refused"])
    raise typer.Exit(3)


def _read_json(path: Path) -> object:
    try:
        text = typer.get_text_stream("stdin").read() if str(path) == "-" else path.read_text("utf-8")
        return json.loads(text)
    except OSError as error:
        raise UserError(
            f"Cannot read {str(path)!r}: {error.strerror}.", hint="Give a JSON file, or - for stdin."
        ) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"{str(path)!r} is not JSON: {error}.", hint="A list of edits, see docs/notebooks.md."
        ) from error
