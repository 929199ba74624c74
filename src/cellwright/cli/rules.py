"""`cellwright rules check|show`: whether rule files are sound, and which rules hold here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cellwright.cli.journal_options import JsonOption
from cellwright.cli.render import approval_tables, console
from cellwright.cli.render.remedies import hint_text
from cellwright.errors import UserError
from cellwright.policy.rule_file import read_rules
from cellwright.settings import Settings
from cellwright.tools.approval.rule_files import read_rule_file, rules_view

app = typer.Typer(help="What agents may do here.", no_args_is_help=True)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Rule files (TOML).")],
    as_json: JsonOption = False,
) -> None:
    """Check rule files: exit 2 if one has a mistake, with its line and column."""
    found = [_check(file) for file in files]
    console.result({"files": found}, as_json, lambda _: approval_tables.rule_checks(found))
    raise typer.Exit(0 if all(check["ok"] for check in found) else 2)


@app.command()
def show(
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="The project; default: this folder.")
    ] = None,
    team: Annotated[
        Path | None, typer.Option("--team", metavar="FILE", help="The team's rules; default: $CELLWRIGHT_TEAM_RULES.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show every rule and limit that holds, layer by layer."""
    settings, folder = Settings.read(), (project or Path.cwd()).resolve()
    state, team = settings.home, team or settings.team_rules
    view = rules_view(state=state, project=folder, home=Path.home(), team=team)
    console.result(view, as_json, approval_tables.rules)


def _check(file: Path) -> dict[str, Any]:
    try:
        # In every layer a file is read the same way; layers differ in what their rules can do.
        rules = read_rules([read_rule_file("user", file)], home=str(Path.home()))
    except UserError as error:
        return {"file": str(file), "ok": False, "error": error.message, "hint": hint_text(error.advice)}
    return {"file": str(file), "ok": True, "rules": len(rules.rules), "limits": len(rules.limits)}
