"""What the routes use: every router is made from `ApiResources`; the model gateway is reached through it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cellwright.app.live_notebooks import LiveNotebooks
from cellwright.background import current_person
from cellwright.kernel import OpenNotebook
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.policy.masking.masker import Masker
from cellwright.server.executor import RunExecutor
from cellwright.settings import Settings


class EditorLinks(Protocol):
    """marimo's editor, on an origin of its own."""

    async def address(self, notebook: OpenNotebook, *, person: str) -> str:
        """Where this person's browser finds the editor of this notebook, once: the credential in it is used up."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResources:
    """Everything the routes use."""

    live: RunExecutor
    settings: Settings
    masker: Masker
    folder: Path
    """What `serve DIR` named: where notebooks and data are looked for and new ones are put."""
    editor: EditorLinks | None = None
    """None: this marimo's editor cannot be served; `editor_problem` says why. All else works."""
    editor_problem: str = ""
    opened: LiveNotebooks | None = None
    """Where people open notebooks that no run has open (`app.live_notebooks.open_live_notebooks`); None: nowhere."""
    launch: GatewayLaunch | None = None
    """How the model gateway is started if none runs; None: as the command line does."""


def open_models(resources: ApiResources) -> AbstractAsyncContextManager[Models]:
    """The models of this person, through their gateway, which is started if need be. Raises `Unavailable`."""
    settings = resources.settings
    launch = resources.launch or GatewayLaunch(
        home=settings.ready_home(),
        environment=settings.program_environment,
        connection=settings.connection.variables,
        person=current_person(),
        team_rules=settings.team_rules,
    )
    return Models.open(settings.home, launch=launch)
