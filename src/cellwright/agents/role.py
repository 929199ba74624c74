"""Roles: what an agent is told about its work, which tools it has and how long it may take. A role is data.

Ours lie in `roles/*.md`; a project adds its own, or replaces one of ours, in `.cellwright/roles/`, once a person has
accepted it: see `project_additions`.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter

from cellwright.agents.front_matter import read_front_matter, split_words
from cellwright.errors import UserError
from cellwright.models import Tier

StyleName = Literal["auto", "tools", "one-call", "code"]
Sight = Literal["notebook", "data", "packages", "limits"]

FOLDER: Final = Path(".cellwright/roles")

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}", flags=re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One kind of agent, as its file says it. Runs keep it whole: its fields are a file's and a journal's."""

    name: str
    description: str
    """For the person or planner who chooses."""
    prompt: str
    tools: Annotated[tuple[str, ...], BeforeValidator(split_words)] = ()
    """By name; those a project does not have are left out. `*` is all there are."""
    tier: Tier = "smart"
    style: StyleName = "auto"
    steps: Annotated[int, Field(ge=1, le=1_000)] = 30
    """How many times it may ask its model; then it stops with what it has."""
    tokens: Annotated[int, Field(ge=1, le=1_000_000_000)] = 600_000
    """Read and written, in all its steps together."""
    context_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 24_000
    """What one request may hold; more is left out or shortened, least important first."""
    sees: Annotated[tuple[Sight, ...], BeforeValidator(split_words)] = get_args(Sight)
    """Without asking, in every step."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None


_ROLE: Final = TypeAdapter(list[Role], config=ConfigDict(extra="forbid"))


def read_role(text: str, where: str) -> Role:
    """A role of its file's text. Raises `UserError` with the file and line."""
    page = read_front_matter(text, where)
    role = page.read(_ROLE, prompt=page.body)
    if _NAME.fullmatch(role.name) is None:
        words_ = "small letters, digits and dashes, at most 40"
        raise page.complain("name", f"{role.name!r} is no name for a role: {words_}.")
    if not role.prompt:
        raise UserError(f"{where}: the role {role.name!r} says nothing.", hint="Write its prompt below the head.")
    return role


def built_in_roles() -> dict[str, Role]:
    """The roles that come with Cellwright, by name."""
    folder = importlib.resources.files("cellwright.agents") / "roles"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".md")), key=lambda file: file.name)
    roles = [read_role(file.read_text(encoding="utf-8"), f"roles/{file.name}") for file in files]
    return {role.name: role for role in roles}


def role_named(roles: Mapping[str, Role], name: str) -> Role:
    """The role of this name. Raises `UserError`."""
    if name not in roles:
        raise UserError(f"No role {name!r}.", hint=f"Known: {', '.join(sorted(roles))}. Add one in {FOLDER}/.")
    return roles[name]
