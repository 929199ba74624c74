"""`cellwright rules check|show`: whether rule files are sound, and which rules hold here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cellwright.cli.journal_options import JsonOption
from cellwright.cli.render import approval_tables, console
from cellwright.cli.render.remedies import hint_text
from cellwright.errors import UserError
from cellwright.policy import Rules, read_rules
from cellwright.settings import Settings
from cellwright.tools import standing_rules
from cellwright.tools.approval.rule_files import read_rule_file, rule_files

app = typer.Typer(help="What agents may do here.", no_args_is_help=True)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Rule files (TOML).")],
    as_json: JsonOption = False,
) -> None:
    """Check rule files: exit 2 if one has a mistake, with its line and column."""
    found = [_check(file) for file in files]
    if as_json:
        console.as_json({"files": found})
    else:
        approval_tables.rule_checks(found)
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
    rules = standing_rules(state=state, project=folder, home=Path.home(), team=team)
    layers = [
        {"layer": layer, "file": str(path), "is_there": path.exists()}
        for layer, path in rule_files(state=state, project=folder, team=team)
    ]
    view = {"project": str(folder), "layers": layers, **_rules_view(rules)}
    if as_json:
        console.as_json(view)
    else:
        approval_tables.rules(view)


def _check(file: Path) -> dict[str, Any]:
    try:
        # In every layer a file is read the same way; layers differ in what their rules can do.
        rules = read_rules([read_rule_file("user", file)], home=str(Path.home()))
    except UserError as error:
        return {"file": str(file), "ok": False, "error": error.message, "hint": hint_text(error.advice)}
    return {"file": str(file), "ok": True, "rules": len(rules.rules), "limits": len(rules.limits)}


def _rules_view(rules: Rules) -> dict[str, Any]:
    told = [
        {
            "layer": rule.layer,
            "says": rule.says,
            "actions": sorted(rule.kinds),
            "where": rule.where,
            "reason": rule.reason,
        }
        for rule in rules.rules
    ]
    return {
        "rules": told,
        "limits": [{"limit": limit.describe(), "where": limit.where} for limit in rules.limits],
    }
