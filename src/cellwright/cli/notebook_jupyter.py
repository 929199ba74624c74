"""`cellwright notebook import|export`. Light: the rest is loaded while a zygote warms up."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cellwright.cli import notebook_options as given
from cellwright.cli.notebook_options import NotebookChoice
from cellwright.cli.render import console
from cellwright.errors import UserError
from cellwright.kernel.process.zygote_process import beginning_zygote
from cellwright.settings import Settings

_MARKS = {"proven": ("✓", "green"), "text": ("·", "dim"), "refused": ("✗", "red"), "failed": ("✗", "red")}


def import_jupyter(
    file: Annotated[Path, typer.Argument(metavar="FILE.ipynb", help="A notebook of Jupyter.")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE.py", help="Where to; default: beside it.", dir_okay=False),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over the file that is there.")] = False,
    packages: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="PACKAGE",
            help="Run both with this package of the index, as for pip: it goes into the header. Repeatable.",
        ),
    ] = None,
    as_json: given.JsonOption = False,
    data: given.DataOption = None,
    limit: given.LimitOption = None,
    project: given.ProjectOption = None,
    reveal: given.RevealOption = None,
    tier: given.TierOption = None,
    allow_uncontained: given.UncontainedOption = False,
    timeout: given.TimeoutOption = 600,
    python: given.PythonOption = "header",
) -> None:
    """Convert a notebook of Jupyter, run both, and tell of every cell whether it does the same."""
    choice = NotebookChoice(data=data, files="drop", limit=limit, project=project, reveal=reveal, tier=tier,
                            allow_uncontained=allow_uncontained, python=python)  # fmt: skip
    if out is not None and out.suffix != ".py":
        raise UserError(f"{str(out)!r} is no `.py` file.", hint="A marimo notebook is a `.py` file.")
    with beginning_zygote(Settings.read().cache / "zygote", is_warm=True) as begun:
        from cellwright.cli import notebook_conversions

        view = notebook_conversions.import_here(
            file, out, choice.read(), begun, may_replace=replace, seconds=timeout, packages=packages or ()
        )
    console.result(view, as_json, _show_import)
    raise typer.Exit(0 if view["proven"] else 1)


def _show_import(view: Mapping[str, Any]) -> None:
    table = console.table("cell", "", "in the new notebook", whole=("cell",))
    for cell in view["cells"]:
        mark, style = _MARKS.get(cell["verdict"], ("!", "yellow"))
        numbers = ", ".join(map(str, cell["sources"]))
        lines = [*cell["reasons"], *(f"mended: {note}" for note in cell["mended"])]
        if cell["only_there"]:
            lines.append(f"only that it is there was compared: {', '.join(cell['only_there'])}")
        told = console.Text("\n".join([cell["verdict"], *lines]))
        table.add_row(numbers, console.Text(mark, style=style), told)
    console.results.print(table)
    for note in view["notes"]:
        console.note(note)
    if view["requirements"]:
        console.note(f"Its header asks for {', '.join(view['requirements'])}.")
    if view["missing"]:
        console.note(missing_words(view))
    code = [cell for cell in view["cells"] if cell["verdict"] != "text"]
    proven = sum(cell["verdict"] == "proven" for cell in code)
    console.note(f"{view['notebook']}: {proven} of {len(code)} cells proven to do what they did in Jupyter.")


def missing_words(view: Mapping[str, Any]) -> str:
    """What its cells import and is not there, and the command that runs it with that."""
    named = " ".join(f"--with {shlex.quote(name)}" for name in [*view["requirements"], *view["missing"]])
    where = f"{shlex.quote(view['source'])} -o {shlex.quote(view['notebook'])} --replace"
    return (
        f"Not installed here: {', '.join(view['missing'])}. To run both with it, if packages of these names are meant: "
        f"cellwright notebook import {where} {named}"
    )


def export_notebook(
    file: given.FileArgument,
    ipynb: Annotated[bool, typer.Option("--ipynb", help="As a notebook of Jupyter, with outputs.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where to; default: beside it.", dir_okay=False)
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over the file that is there.")] = False,
    as_json: given.JsonOption = False,
    data: given.DataOption = None,
    limit: given.LimitOption = None,
    project: given.ProjectOption = None,
    reveal: given.RevealOption = None,
    tier: given.TierOption = None,
    allow_uncontained: given.UncontainedOption = False,
    python: given.PythonOption = "header",
) -> None:
    """Run a notebook in the cage and write it with its outputs in another format."""
    if not ipynb:
        raise UserError("Export to what?", hint="Say --ipynb: it is the only format so far.")
    choice = NotebookChoice(data=data, files="drop", limit=limit, project=project, reveal=reveal, tier=tier,
                            allow_uncontained=allow_uncontained, python=python)  # fmt: skip
    with beginning_zygote(Settings.read().cache / "zygote", is_warm=True) as begun:
        from cellwright.cli import notebook_conversions

        view = notebook_conversions.export_here(file, out, choice.read(), begun, may_replace=replace)
    console.result(view, as_json, f"{view['notebook']}: {view['cells']} cells, {view['failed']} failed.")
    raise typer.Exit(0 if view["ok"] else 1)
