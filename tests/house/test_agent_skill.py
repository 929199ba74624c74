"""The skill for other agents: each command, option and tool it tells them to use is there."""

from __future__ import annotations

import re

from cellwright.cli.main import app
from cellwright.server.mcp.tool_texts import TOOLS
from tests.house.commands import commands
from tests.house.places import ROOT

SKILL = (ROOT / "skills/cellwright/SKILL.md").read_text()


def test_the_commands_that_the_skill_names_are_there_with_their_options() -> None:
    known = {each.words: set(each.options) for each in commands(app, "cellwright")}
    named = re.findall(r"`(cellwright [^`]+)`", SKILL)
    assert len(named) >= 5
    for line in named:
        words = [word for word in known if line == word or line.startswith(f"{word} ")]
        assert words, line
        assert set(re.findall(r"(?<= )--[a-z-]+", line)) <= known[max(words, key=len)], line
    # Options it names by themselves are of the command it is about.
    alone = set(re.findall(r"`(--[a-z-]+)`", SKILL))
    assert alone and alone <= known["cellwright attach"]


def test_the_tools_that_the_skill_names_are_there_with_their_arguments() -> None:
    known = {each.name: set(each.takes) for each in TOOLS}
    commands_and_arguments = {"attach_file", "cellwright", "marimo"}
    named = set(re.findall(r"`([a-z_]+)`", SKILL)) - commands_and_arguments
    assert named == {"look", "apply", "run_cells", "undo", "start_run", "follow_run"}
    assert named <= set(known)
    given = set(re.findall(r"`([a-z_]+): ", SKILL)) | {"attach_file"}
    assert given == {"notebook", "attach", "attach_file"}
    assert given <= known["start_run"]
    for tool in ("look", "apply", "run_cells", "undo"):
        assert "notebook" in known[tool]
