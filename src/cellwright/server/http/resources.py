"""What the routes use: `ApiResources`, of which each application has one; the model gateway is reached through it.

What the streams of runs add up to is read on from where it was left, however often one asks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import InitVar, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, Protocol, cast

import anyio
from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute

from cellwright.app.live_notebooks import LiveNotebooks
from cellwright.journal.log import EventLog
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.policy.masking.masker import Masker
from cellwright.runs.views.questions import run_inbox
from cellwright.runs.views.run_view import RunView, update_view
from cellwright.server.executor import RunExecutor
from cellwright.server.run_starts import RunStarts
from cellwright.settings import Settings
from cellwright.tools.approval.inbox import Inbox

_MAX_RUNS: Final = 1_000


@dataclass(slots=True)
class _Projection:
    view: RunView
    after: int = 0
    turn: anyio.Lock = field(default_factory=anyio.Lock)


def _projection(run: str) -> _Projection:
    return _Projection(RunView(run=run))


class RunProjections:
    """The view of each run; of too many, those that were asked for last."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._known = lru_cache(_MAX_RUNS)(_projection)

    async def of(self, run: str) -> RunView:
        """The run as of now."""
        known = self._known(run)
        async with known.turn:
            async for recorded in self._log.read_all(stream_of(run), known.after):
                known.view, known.after = update_view(known.view, recorded), recorded.sequence
            return known.view


class EditorLinks(Protocol):
    """marimo's editor, on an origin of its own."""

    async def address(self, notebook: OpenNotebook, *, person: str) -> str:
        """Where this person's browser finds the editor of this notebook, once: the credential in it is used up."""


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
    begins: InitVar[RunStarts | None] = None
    """How runs begin in this process; None: nobody else of it begins any."""
    starts: RunStarts = field(init=False)
    views: RunProjections = field(init=False)
    """What the events of each run add up to, folded once for all routes."""
    inbox: Inbox = field(init=False)
    """What runs ask."""
    made: dict[object, object] = field(init=False, default_factory=dict[object, object])
    """What routes have `shared`."""

    def __post_init__(self, begins: RunStarts | None) -> None:
        object.__setattr__(self, "starts", begins or RunStarts(self.live))
        object.__setattr__(self, "views", RunProjections(self.live.records.log))
        object.__setattr__(self, "inbox", run_inbox(self.live.records, self.masker))

    @property
    def records(self) -> Records:
        """Of the journal."""
        return self.live.records

    def mask(self, text: str) -> str:
        """The text without secrets."""
        return self.masker.mask(text).text


async def _resources(request: Request) -> ApiResources:
    return request.app.state.resources


Resources = Annotated[ApiResources, Depends(_resources)]


def shared(make: Callable[[ApiResources], object]) -> Any:
    """A dependency: what `make` makes of the resources, once for all requests to an application."""

    async def get(resources: Resources) -> object:
        if make not in resources.made:
            resources.made[make] = make(resources)
        return resources.made[make]

    return Depends(get)


class ApiRouter(APIRouter):
    """A router whose functions document their routes: the name is the operation's, the docstring its summary."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """One route."""
        options |= {"operation_id": endpoint.__name__, "summary": (endpoint.__doc__ or "").removesuffix(".")}
        super().add_api_route(path, endpoint, **options)
        # What stands behind a form feed is no description: else the docstring would be said twice.
        cast("APIRoute", self.routes[-1]).description = "\f"


def open_models(resources: ApiResources) -> AbstractAsyncContextManager[Models]:
    """The models of this person, through their gateway, which is started if need be. Raises `Unavailable`."""
    launch = resources.launch or resources.settings.gateway_launch()
    return Models.open(resources.settings.home, launch=launch)
