"""What the routes use: every router is made from `ApiResources`; the model gateway is reached through it.

What the streams of runs add up to is read on from where it was left, however often one asks.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import anyio

from cellwright.app.live_notebooks import LiveNotebooks
from cellwright.background import current_person
from cellwright.journal.log import EventLog
from cellwright.journal.names import stream_of
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.policy.masking.masker import Masker
from cellwright.runs.views.run_view import RunView, update_view
from cellwright.server.executor import RunExecutor
from cellwright.settings import Settings

_MAX_RUNS: Final = 1_000


@dataclass(slots=True)
class _Projection:
    view: RunView
    after: int = 0
    turn: anyio.Lock = field(default_factory=anyio.Lock)


class RunProjections:
    """The view of each run."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._projections: OrderedDict[str, _Projection] = OrderedDict()

    async def of(self, run: str) -> RunView:
        """The run as of now."""
        known = self._projections.get(run)
        if known is None:
            known = self._projections[run] = _Projection(RunView(run=run))
            if len(self._projections) > _MAX_RUNS:
                self._projections.popitem(last=False)
        self._projections.move_to_end(run)
        async with known.turn:
            async for recorded in self._log.read_all(stream_of(run), known.after):
                known.view, known.after = update_view(known.view, recorded), recorded.sequence
            return known.view


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
    views: RunProjections = field(init=False)
    """What the events of each run add up to, folded once for all routes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "views", RunProjections(self.live.records.log))


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
