"""Everything a person can type stands in the documentation."""

from __future__ import annotations

from typing import Annotated

import typer

from tests.house.commands import Command, commands, undocumented
from tests.house.places import pages


def sample() -> typer.Typer:
    app = typer.Typer()
    notebook = typer.Typer()
    app.add_typer(notebook, name="notebook")

    @notebook.command()
    def run(file: str, as_json: Annotated[bool, typer.Option("--json")] = False, limit: str = "") -> None: ...

    @app.command()
    def doctor(deep: bool = False) -> None: ...

    assert run and doctor
    return app


def test_every_command_and_option_is_documented() -> None:
    from cellwright.cli.main import app

    tree = commands(app, "cellwright")
    assert tree
    assert undocumented(tree, [page.read_text(encoding="utf-8") for page in pages()]) == []


def test_the_tree_of_commands_is_walked_to_its_leaves() -> None:
    assert commands(sample(), "cw") == [
        Command(words="cw doctor", options=("--deep", "--no-deep")),
        Command(words="cw notebook run", options=("--json", "--limit")),
    ]


def test_what_no_page_names_is_found() -> None:
    read = ["`cw notebook run FILE --json --limits`", "`cw doctor`, `--no-deep`", "elsewhere: --limit --deep"]
    assert undocumented(commands(sample(), "cw"), read) == ["cw doctor --deep", "cw notebook run --limit"]
    assert undocumented(commands(sample(), "cw"), []) == ["cw doctor", "cw notebook run"]
