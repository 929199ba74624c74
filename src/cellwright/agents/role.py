"""Roles: what an agent is told about its work, which tools it has and how long it may take. A role is data.

Ours lie in `roles/*.md`; a project adds its own, or replaces one of ours, in `.cellwright/roles/`.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast, get_args

from cellwright.agents.front_matter import Page, read_page
from cellwright.errors import UserError
from cellwright.models import TIERS, Tier

StyleName = Literal["auto", "tools", "one-call", "code"]
STYLES: Final[tuple[StyleName, ...]] = get_args(StyleName)

FOLDER: Final = Path(".cellwright/roles")
LONGEST_PROMPT: Final = 2_500
"""Characters of our own prompts: they are sent with every request."""

_STEPS: Final = 30
_TOKENS: Final = 600_000
_CONTEXT_TOKENS: Final = 24_000
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}", flags=re.ASCII)
_FIELDS: Final = ("name", "description", "tools", "tier", "style", "steps", "tokens", "context-tokens", "temperature")


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One kind of agent."""

    name: str
    description: str
    """For the person or planner who chooses."""
    prompt: str
    tools: tuple[str, ...] = ()
    """By name; those a project does not have are left out. `*` is all there are."""
    tier: Tier = "smart"
    style: StyleName = "auto"
    steps: int = _STEPS
    """How many times it may ask its model; then it stops with what it has."""
    tokens: int = _TOKENS
    """Read and written, in all its steps together."""
    context_tokens: int = _CONTEXT_TOKENS
    """What one request may hold; more is left out or shortened, least important first."""
    temperature: float | None = None


def read_role(text: str, where: str) -> Role:
    """A role of its file's text. Raises `UserError` with the file and line."""
    page = read_page(text, where)
    page.only(_FIELDS)
    name = page.text("name")
    if _NAME.fullmatch(name) is None:
        raise page.complain("name", f"{name!r} is no name for a role: small letters, digits and dashes, at most 40.")
    if not page.body:
        raise UserError(f"{where}: the role {name!r} says nothing.", hint="Write its prompt below the head.")
    return Role(
        name=name,
        description=page.text("description"),
        prompt=page.body,
        tools=page.texts("tools"),
        tier=cast("Tier", _one_of(page, "tier", TIERS, "smart")),
        style=cast("StyleName", _one_of(page, "style", STYLES, "auto")),
        steps=_whole(page, "steps", _STEPS, at_most=1_000),
        tokens=_whole(page, "tokens", _TOKENS, at_most=1_000_000_000),
        context_tokens=_whole(page, "context-tokens", _CONTEXT_TOKENS, at_most=10_000_000),
        temperature=_temperature(page),
    )


def built_in_roles() -> dict[str, Role]:
    """The roles that come with Cellwright, by name."""
    folder = importlib.resources.files("cellwright.agents") / "roles"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".md")), key=lambda file: file.name)
    roles = [read_role(file.read_text(encoding="utf-8"), f"roles/{file.name}") for file in files]
    return {role.name: role for role in roles}


def read_roles(project: Path) -> Mapping[str, Role]:
    """Ours and the project's; one of the project's replaces ours of the same name. Raises `UserError`. Blocking."""
    own = dict[str, Role]()
    for path in sorted((project / FOLDER).glob("*.md")):
        role = read_role(_text(path), str(path.relative_to(project)))
        if role.name in own:
            raise UserError(f"Two roles are called {role.name!r}.", hint=f"Rename the one in {path.name}.")
        own[role.name] = role
    return built_in_roles() | own


def role_named(roles: Mapping[str, Role], name: str) -> Role:
    """The role of this name. Raises `UserError`."""
    if name not in roles:
        raise UserError(f"No role {name!r}.", hint=f"Known: {', '.join(sorted(roles))}. Add one in {FOLDER}/.")
    return roles[name]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read {path.name}: {error}.", hint="It is to be a text in UTF-8.") from error


def _one_of(page: Page, name: str, known: tuple[str, ...], default: str) -> str:
    said = page.text(name, default)
    if said not in known:
        raise page.complain(name, f"`{name}` is one of {', '.join(known)}, not {said!r}.")
    return said


def _whole(page: Page, name: str, default: int, *, at_most: int) -> int:
    said = page.text(name, str(default)).replace("_", "")
    if not said.isascii() or not said.isdigit() or not 1 <= int(said) <= at_most:
        raise page.complain(name, f"`{name}` is a whole number from 1 to {at_most:,}, not {said!r}.")
    return int(said)


def _temperature(page: Page) -> float | None:
    said = page.text("temperature", "")
    if not said:
        return None
    try:
        value = float(said)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 2:
        raise page.complain("temperature", f"`temperature` is a number from 0 to 2, not {said!r}.")
    return value
