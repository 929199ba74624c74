"""Which rule files hold for a project, and that none is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.errors import UserError
from cellwright.tools.approval.rule_files import standing_rules

RULE = '[[rule]]\naction = "run-shell"\nthen = "deny"\n'


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    for name in ("state", "project/.cellwright", "home"):
        (tmp_path / name).mkdir(parents=True)
    return {name: tmp_path / name for name in ("state", "project", "home")}


def test_the_layers_are_read_in_order_and_built_in_rules_always_hold(folders: dict[str, Path]) -> None:
    team = folders["home"] / "team.toml"
    files = [folders["state"] / "rules.toml", team, folders["project"] / ".cellwright/rules.toml"]
    assert {rule.layer for rule in standing_rules(**folders).rules} == {"built-in"}
    for file in files:
        file.write_text(RULE)
    rules = standing_rules(**folders, team=team).rules
    assert [(rule.layer, rule.where) for rule in rules[:3]] == [
        ("user", f"{files[0]}:1"),
        ("team", f"{files[1]}:1"),
        ("project", f"{files[2]}:1"),
    ]
    assert {rule.layer for rule in rules[3:]} == {"built-in"}


def test_a_mistake_names_file_line_and_column(folders: dict[str, Path]) -> None:
    file = folders["project"] / ".cellwright/rules.toml"
    file.write_text(RULE.replace("deny", "dney"))
    with pytest.raises(UserError, match=r"rules\.toml, line 3, column 8: unknown then 'dney'"):
        standing_rules(**folders)


def test_rules_that_are_somewhere_but_cannot_be_read_stop_everything(folders: dict[str, Path]) -> None:
    (folders["state"] / "rules.toml").symlink_to(folders["state"] / "gone.toml")
    with pytest.raises(UserError, match="Cannot read the rules"):
        standing_rules(**folders)


@pytest.mark.parametrize("name", ["team.toml", ".", "team.toml/rules.toml"])
def test_a_team_file_that_was_named_must_be_there(folders: dict[str, Path], name: str) -> None:
    with pytest.raises(UserError, match="Cannot read the rules") as caught:
        standing_rules(**folders, team=folders["home"] / name)
    assert "$CELLWRIGHT_TEAM_RULES" in caught.value.hint
