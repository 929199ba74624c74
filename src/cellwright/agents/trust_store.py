"""Which roles and skills of which projects a person has accepted, in the state directory and never in a project.

One file for each, named after the project's own path and the path in it: an acceptance is written whole or not at all,
two at once do not meet, and a project that was moved is another one. With the text, so that a change can be shown.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from cellwright.agents.project_additions import Addition, FoundAdditions, find_additions
from cellwright.notebook.atomic_write import write_atomically

logger = logging.getLogger(__name__)
FOLDER: Final = "trusted-projects"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A person has read this addition of this project, and agents may go by it."""

    project: str
    addition: Addition
    by: str
    at: datetime


_ACCEPTANCE: Final = TypeAdapter(Acceptance)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedProject:
    """What a project brings along, by whether a person has accepted exactly that."""

    project: Path
    accepted: tuple[Addition, ...] = ()
    offered: tuple[Addition, ...] = ()
    """New, or changed since."""
    before: Mapping[str, Acceptance] = field(default_factory=dict[str, Acceptance])
    """What was accepted before, by path."""


@dataclass(frozen=True, slots=True)
class TrustStore:
    """The acceptances of a state directory. All of it blocks."""

    state: Path

    def look_at(self, project: Path, found: FoundAdditions | None = None) -> TrustedProject:
        """What the project brings along now. Raises `UserError` for a mistake in it, unless `found` is given."""
        project = project.resolve()
        additions = find_additions(project).sound() if found is None else found.additions
        before = {
            each.addition.path: each for each in self._read(self._folder(project)) if each.project == str(project)
        }

        def is_accepted(addition: Addition) -> bool:
            return addition.path in before and before[addition.path].addition.sha256 == addition.sha256

        return TrustedProject(
            project=project,
            accepted=tuple(each for each in additions if is_accepted(each)),
            offered=tuple(each for each in additions if not is_accepted(each)),
            before=before,
        )

    def accept(self, project: Path, additions: Iterable[Addition], *, by: str) -> None:
        """From now on agents may go by exactly these in this project. Twice is as good as once."""
        project = project.resolve()
        folder = self._folder(project)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for addition in additions:
            said = Acceptance(project=str(project), addition=addition, by=by, at=datetime.now(UTC))
            write_atomically(folder / f"{_digest(addition.path)}.json", _ACCEPTANCE.dump_json(said))

    def all(self) -> tuple[Acceptance, ...]:
        """Everything that was accepted, by project and path."""
        return _sorted(each for folder in (self.state / FOLDER).glob("*") for each in self._read(folder))

    def revoke(self, project: Path) -> tuple[Acceptance, ...]:
        """Take back what was accepted in a project, which may be gone by now. Gives what that was."""
        folder = self._folder(project.resolve())
        revoked = _sorted(self._read(folder))
        for file in folder.glob("*.json"):
            file.unlink(missing_ok=True)
        return revoked

    def _folder(self, project: Path) -> Path:
        return self.state / FOLDER / _digest(str(project))

    def _read(self, folder: Path) -> Iterable[Acceptance]:
        for file in sorted(folder.glob("*.json")):
            try:
                yield _ACCEPTANCE.validate_json(file.read_bytes())
            except (OSError, ValidationError) as problem:
                # What cannot be read allows nothing, so it asks again.
                logger.warning("The acceptance %s cannot be read: %s", file.name, problem)


def _sorted(found: Iterable[Acceptance]) -> tuple[Acceptance, ...]:
    return tuple(sorted(found, key=lambda each: (each.project, each.addition.path)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
