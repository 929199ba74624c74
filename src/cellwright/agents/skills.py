"""Skills in the Agent Skills format: a folder with a `SKILL.md`, whose text is read only when it is needed.

Every request carries a skill's name and description; the body, and the files beside it, come through `read_skill`, as
they were when a person accepted them: see `project_additions`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from pydantic import ConfigDict, Field, TypeAdapter

from cellwright.agents.front_matter import read_front_matter
from cellwright.tools.tool import Done, Tool, ToolError, ToolResult, tool

FOLDER: Final = Path(".cellwright/skills")
FILE: Final = "SKILL.md"
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", flags=re.ASCII)
_LONGEST_NAME: Final = 64
_LONGEST_DESCRIPTION: Final = 1_024
LARGEST_FILE: Final = 200_000
"""Bytes of a file that is served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SkillHead:
    """What the format knows. Only the first two are used here."""

    name: str
    description: Annotated[str, Field(min_length=1, max_length=_LONGEST_DESCRIPTION)]
    license: str = ""
    compatibility: str = ""
    metadata: dict[str, str] | None = None
    allowed_tools: str | tuple[str, ...] = ""


_HEAD: Final = TypeAdapter(list[_SkillHead], config=ConfigDict(extra="forbid"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """Something the project has written down how to do."""

    name: str
    description: str
    """When to use it."""
    body: str
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """What it may refer to, by name."""
    too_large: tuple[str, ...] = ()
    """Files beside it that are not served."""

    @property
    def line(self) -> str:
        """How it is told to a model."""
        return f"- {self.name}: {self.description}"


def read_skill(
    text: str, folder: str, where: str, files: Mapping[str, str] | None = None, too_large: tuple[str, ...] = ()
) -> Skill:
    """A skill of its `SKILL.md`, in a folder of this name. Raises `UserError` with the file and line."""
    page = read_front_matter(text, where)
    head = page.read(_HEAD)
    name = head.name
    if _NAME.fullmatch(name) is None or len(name) > _LONGEST_NAME:
        raise page.complain("name", f"{name!r} is no name for a skill: small letters, digits and single dashes.")
    if name != folder:
        raise page.complain("name", f"the skill {name!r} lies in a folder called {folder!r}.")
    return Skill(name=name, description=head.description, body=page.body, files=files or {}, too_large=too_large)


def skill_tools(skills: Sequence[Skill]) -> list[Tool]:
    """The tool that reads a skill; none where there are no skills."""
    known = {skill.name: skill for skill in skills}

    @tool(name="read_skill")
    async def read(name: str, file: str = FILE) -> ToolResult:
        """Read how to do something this project has a skill for, or a file the skill refers to."""
        skill = known.get(name)
        if skill is None:
            return ToolError(
                kind="not-found", message=f"No skill {name[:80]!r}.", hint=f"There is: {', '.join(known)}."
            )
        if file == FILE:
            return Done(text=skill.body, value=skill.body)
        return _file_of(skill, file)

    return [read] if known else []


def _file_of(skill: Skill, file: str) -> ToolResult:
    name = posixpath.normpath(file)
    if name in skill.too_large:
        return ToolError(kind="too-big", message=f"{file[:200]!r} is larger than {LARGEST_FILE:,} bytes.")
    if (text := skill.files.get(name)) is None:
        return ToolError(kind="not-found", message=f"The skill {skill.name!r} has no file {file[:200]!r}.")
    return Done(text=text, value=text)
