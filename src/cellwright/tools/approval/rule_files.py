"""The rule files that hold for a project: the person's own, the team's and the project's, and the built-in rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from cellwright.errors import UserError
from cellwright.policy.built_in import BUILT_IN_RULES
from cellwright.policy.rule_file import RuleText, read_rules
from cellwright.policy.rules import Layer, Rules

RULE_FILE: Final = "rules.toml"
"""Its name in the state directory and in a project's `.cellwright` folder."""


def rule_files(*, state: Path, project: Path, team: Path | None = None) -> list[tuple[Layer, Path]]:
    """Where the rules of each layer stand, if there are any."""
    files: list[tuple[Layer, Path]] = [("user", state / RULE_FILE)]
    if team is not None:
        files.append(("team", team))
    return [*files, ("project", project / ".cellwright" / RULE_FILE)]


def standing_rules(*, state: Path, project: Path, home: Path, team: Path | None = None) -> Rules:
    """The rules of all layers together. Raises `UserError` for a file that cannot be read or has a mistake.

    Your own and the project's file may be missing. A team's file that was named may not: whoever lost it would
    otherwise work without the team's rules and never notice. Blocking.
    """
    files = rule_files(state=state, project=project, team=team)
    texts = [read_rule_file(layer, path) for layer, path in files if layer == "team" or not _is_missing(path)]
    return read_rules([*texts, BUILT_IN_RULES], project=str(project), home=str(home))


def rules_view(*, state: Path, project: Path, home: Path, team: Path | None = None) -> dict[str, Any]:
    """Every rule and limit that holds, and where, as plain JSON values. Raises `UserError`. Blocking."""
    rules = standing_rules(state=state, project=project, home=home, team=team)
    layers = rule_files(state=state, project=project, team=team)
    return {
        "project": str(project),
        "layers": [{"layer": layer, "file": str(path), "is_there": path.exists()} for layer, path in layers],
        "rules": [
            {
                "layer": rule.layer,
                "says": rule.says,
                "actions": sorted(rule.kinds),
                "where": rule.where,
                "reason": rule.reason,
            }
            for rule in rules.rules
        ],
        "limits": [{"limit": limit.describe(), "where": limit.where} for limit in rules.limits],
    }


def read_rule_file(layer: Layer, path: Path) -> RuleText:
    """A rule file's text, not yet checked. Raises `UserError`. Blocking."""
    try:
        return RuleText(layer=layer, origin=str(path), content=path.read_bytes())
    except OSError as error:
        elsewhere = "Put the file back, or change what names the team's rules, such as $CELLWRIGHT_TEAM_RULES."
        hint = elsewhere if layer == "team" else "Name a TOML file you may read."
        raise UserError(f"Cannot read the rules in {str(path)!r}: {error.strerror}.", hint=hint) from error


def _is_missing(path: Path) -> bool:
    """Surely not there: a link to nowhere, or a place nobody may look into, could hide a stricter rule."""
    try:
        path.lstat()
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False
