"""The limits that hold for calls nobody of ours makes: those of the person's own rule file and of the team's."""

from __future__ import annotations

from pathlib import Path

from cellwright.errors import UserError
from cellwright.policy import Limit, RuleText, read_rules


def standing_limits(home: Path, team_rules: Path | None) -> tuple[Limit, ...]:
    """What may be used. Raises `UserError` for a file that is broken, or named and not there. Blocking."""
    texts: list[RuleText] = []
    own = home / "rules.toml"
    if own.exists() or own.is_symlink():
        texts.append(RuleText(layer="user", origin=str(own), content=_content(own)))
    if team_rules is not None:
        texts.append(RuleText(layer="team", origin=str(team_rules), content=_content(team_rules)))
    return read_rules(texts, project="/", home=str(home)).limits


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        hint = "Put the file back, or change what names it."
        raise UserError(f"Cannot read the rules in {str(file)!r}: {error.strerror}.", hint=hint) from error
