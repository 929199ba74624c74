"""The form of a research: one of ours, or a person's own template. It says how to write, never what is true."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import Final

from cellwright.agents.skills import read_skill
from cellwright.errors import UserError

FORMS: Final = ("report", "brief", "slides", "blog")
TEMPLATE: Final = "template"
_LARGEST_TEMPLATE: Final = 20_000


def form_text(form: str, template: str) -> str:
    """What writers are told about the form."""
    if form == TEMPLATE:
        return f"Write in the form of this template: its headings become sections, its tone is yours.\n\n{template}"
    file = importlib.resources.files("cellwright.runs.research.forms") / f"{form}.md"
    return read_skill(file.read_text(encoding="utf-8"), form, f"forms/{form}.md").body


def read_form(typed: str, here: Path) -> tuple[str, str]:
    """The form and, for a file, its text. Raises `UserError`. Blocking."""
    if typed in FORMS:
        return typed, ""
    known = f"{', '.join(FORMS)}, or a template such as memo.md."
    if not typed.endswith(".md"):
        raise UserError(f"No form {typed!r}.", hint=known)
    path = here / Path(typed).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise UserError(f"The template {typed!r} cannot be read.", hint=known) from error
    if not text.strip() or len(text) > _LARGEST_TEMPLATE:
        raise UserError(f"The template {typed!r} has {len(text):,} characters.", hint=f"1 to {_LARGEST_TEMPLATE:,}.")
    return TEMPLATE, text
