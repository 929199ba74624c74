"""What the web door reaches; every router is made from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cellwright.app.live_notebooks import LiveNotebooks
from cellwright.kernel import OpenNotebook
from cellwright.models.launching import Launch
from cellwright.policy import Masker
from cellwright.server.door import Live
from cellwright.settings import Settings


class EditorDoor(Protocol):
    """marimo's editor, on an origin of its own."""

    async def address(self, notebook: OpenNotebook, *, person: str) -> str:
        """Where this person's browser finds the editor of this notebook, once: the credential in it is used up."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Everything the routes use."""

    live: Live
    settings: Settings
    masker: Masker
    folder: Path
    """What `serve DIR` named: where notebooks and data are looked for and new ones are put."""
    editor: EditorDoor | None = None
    """None: this marimo's editor cannot be served; `editor_problem` says why. All else works."""
    editor_problem: str = ""
    opened: LiveNotebooks | None = None
    """Where people open notebooks that no run has open (`app.live_notebooks.open_live_notebooks`); None: nowhere."""
    launch: Launch | None = None
    """How the model gateway is started if none runs; None: as the command line does."""
