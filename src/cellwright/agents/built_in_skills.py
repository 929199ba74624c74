"""Skills that come with Cellwright: what an agent should mind in a kind of work. Professions are skills, not agents.

They are told only where they fit, to the agents of a plan of several tasks: every other request stays as it is.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Collection
from typing import Final

from cellwright.agents.skills import Skill, read_skill

_FITS: Final = {
    "sql": r"\bsql\b|duckdb|\bquer(y|ies)\b|\bjoin|\bdatabase",
    "statistics": r"statisti|significan|correlat|regress|hypothes|confidence|p-value|\btrend|\bvariance|\bforecast",
    "plotting": r"\bplot|\bchart|\bgraphs?\b|visuali[sz]|\bhistogram|\bscatter|\bdraw\b",
    "debugging": r"\bdebug|\bbug\b|\bfails?\b|\bbroken\b|why .{0,40}\bwrong\b",
}
"""Words of a task that a skill is for; short of these nobody is told of it."""
_FIXER: Final = "fixer"
_WRITER: Final = "writer"


@functools.cache
def built_in_skills() -> dict[str, Skill]:
    """All of them, by name."""
    folder = importlib.resources.files("cellwright.agents") / "skill_files"
    texts = {name: (folder / f"{name}.md").read_text(encoding="utf-8") for name in _FITS}
    return {name: read_skill(text, name, f"skill_files/{name}.md") for name, text in texts.items()}


def skills_for(role: str, task: str, known: Collection[str] = ()) -> tuple[Skill, ...]:
    """Those that fit this task in words; a project's own of the same name (`known`) counts instead of ours."""
    if role == _WRITER:
        return ()
    fits = [name for name, words in _FITS.items() if re.search(words, task, flags=re.IGNORECASE)]
    if role == _FIXER:
        fits = ["debugging"]
    return tuple(built_in_skills()[name] for name in fits if name not in known)
