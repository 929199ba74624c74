"""Goals about a notebook in somebody's own marimo: its copy in our cage, the connection to it, and its kept token.

Agents try things in the copy; what they then want there is asked about each time, see `tools/attached_tools.py`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

import anyio
import anyio.to_thread

from cellwright.agents.prompt.context_providers import ContextView, Onlooker
from cellwright.agents.prompt.prompt import PromptPart, Rank
from cellwright.agents.role import Sight
from cellwright.app.attached_notebooks import TURNS_FOLDER, save_copy, server_with
from cellwright.errors import CellwrightError, RefusedByPolicy, UserError
from cellwright.ids import CellId
from cellwright.kernel.attached.attached_notebook import AttachedNotebook, HostExecution, attach
from cellwright.kernel.attached.connection import AttachedConnection, AttachedPlace
from cellwright.kernel.attached.marimo_server import MarimoServer, ServerAddress
from cellwright.kernel.attached.typing_rules import Permission
from cellwright.kernel.observation import CellOutcome
from cellwright.notebook.document import Document
from cellwright.policy.display_text import shown, shown_block
from cellwright.policy.masking.masker import Secret
from cellwright.runs.goal.goal import Goal
from cellwright.secrets import find_secret, forget_secret, keep_secret, kept_secrets
from cellwright.settings import Settings
from cellwright.tools.attached_tools import execution_text

_ANYBODY: Final = Onlooker()
_SECONDS: Final = 60
_HOW: Final = """\

- the goal is about the notebook {file} in somebody's own marimo at {url}, the attached notebook. Your own notebook is \
a copy of its cells in the cage, as they were when you began. Try there what you want to change, until it runs and its \
tests pass; then make the same change there with apply_attached (cells and versions as below; no tests, no report \
cells), which a person is shown and allows, and look at what came of it. What runs there has no cage. Nothing there \
changes by itself: a goal that asks for a change is reached only once it is made there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedUse:
    """The notebook some work is about, as its goal names it."""

    url: str
    file: str


def _secret_name(url: str) -> str:
    return f"attached {url}"


def kept_token(url: str, settings: Settings) -> str:
    """The token that was kept for this server; empty: none was. Blocking."""
    name = _secret_name(url)
    found = find_secret(settings.home, name) if name in kept_secrets(settings.home) else None
    return "" if found is None else found.value


def keep_token(address: ServerAddress, settings: Settings) -> str:
    """Keep the token of a server for whatever works there later; where it is now. Blocking."""
    return keep_secret(settings.ready_home(), _secret_name(address.url), address.token)


def forget_token(url: str, settings: Settings) -> bool:
    """Whether there was one. Blocking."""
    return bool(forget_secret(settings.home, _secret_name(url)))


async def with_kept_token(address: ServerAddress, settings: Settings) -> ServerAddress:
    """The address with the token that was kept for it, if none was given."""
    if address.token:
        return address
    token = await anyio.to_thread.run_sync(kept_token, address.url, settings)
    return ServerAddress(url=address.url, token=token)


async def check_named_by_program(address: ServerAddress, settings: Settings) -> None:
    """Raises `RefusedByPolicy` for a server on another machine that no person has named at a terminal."""
    if not (address.is_here or await anyio.to_thread.run_sync(kept_token, address.url, settings)):
        raise RefusedByPolicy(
            f"{address.url} is on another machine, and nobody has named it here.",
            hint="A person attaches to it once, at a terminal, and keeps its token.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedView:
    """An attached notebook at one moment."""

    server: str
    path: str
    document: Document
    outcomes: Mapping[CellId, CellOutcome]
    stale: tuple[CellId, ...]


async def server_for_program(url: str, file: str, settings: Settings) -> ServerAddress:
    """The server that a program names, or that has this file open. Raises `UserError`, `RefusedByPolicy`."""
    if not url and not file:
        raise UserError("Which notebook?", hint="Give the address of its marimo server, or its file.")
    address = ServerAddress.parse(url) if url else await server_with(settings, file)
    await check_named_by_program(address, settings)
    return address


async def look_as_program(url: str, file: str, settings: Settings) -> AttachedView:
    """The cells, executing nothing. Raises what `server_for_program` does, and `Unavailable`."""
    address = await server_for_program(url, file, settings)
    place = await _place(AttachedUse(url=address.url, file=file), settings)
    with anyio.fail_after(_SECONDS):
        async with _opened(place) as notebook:
            return AttachedView(
                server=address.url,
                path=notebook.path,
                document=notebook.document,
                outcomes=notebook.outcomes,
                stale=notebook.stale,
            )


@asynccontextmanager
async def _opened(place: AttachedPlace) -> AsyncGenerator[AttachedNotebook]:
    async with (
        MarimoServer.open(place.address) as server,
        attach(server, permit=_nothing, turns=place.turns, file=place.file) as notebook,
    ):
        yield notebook


async def copy_attached(goal: Goal, settings: Settings) -> None:
    """Write the cells that are there now to the goal's own notebook. Raises `UserError`, `Unavailable`."""
    place = await _place(AttachedUse(url=goal.attach, file=goal.attach_file), settings)
    with anyio.fail_after(_SECONDS):
        async with _opened(place) as notebook:
            await anyio.to_thread.run_sync(save_copy, notebook, Path(goal.notebook), settings)


async def _nothing(_: HostExecution) -> Permission:
    return "no"


async def _place(use: AttachedUse, settings: Settings) -> AttachedPlace:
    address = await with_kept_token(ServerAddress.parse(use.url), settings)
    return AttachedPlace(address=address, file=use.file, turns=settings.ready_home() / TURNS_FOLDER)


@asynccontextmanager
async def open_connection(use: AttachedUse | None, settings: Settings) -> AsyncGenerator[AttachedConnection | None]:
    """The way to the notebook a goal is about; None where it is about none."""
    if use is None:
        yield None
        return
    async with AttachedConnection.open(await _place(use, settings), execution_text) as connection:
        yield connection


def attached_secrets(connection: AttachedConnection | None) -> tuple[Secret, ...]:
    """The server's token, to be masked wherever it turns up."""
    token = connection.place.address.token if connection is not None else ""
    return (Secret(name="marimo token", value=token),) if token else ()


def attached_text(connection: AttachedConnection | None) -> str:
    """How agents are to work there; empty where there is none."""
    if connection is None:
        return ""
    place = connection.place
    return _HOW.format(file=shown(place.file or "that is open"), url=shown(place.address.url))


@dataclass(frozen=True, slots=True, eq=False)
class AttachedContext:
    """The attached notebook as it is now: data, as every context is."""

    shows: ClassVar[Sight] = "notebook"
    connection: AttachedConnection

    async def view(self, tokens: int, onlooker: Onlooker = _ANYBODY) -> ContextView:
        """Its cells with their versions; why it cannot be seen, where it is gone."""
        del onlooker
        try:
            notebook = await self.connection.notebook()
        except CellwrightError as problem:
            text = f"It cannot be reached: {problem.message}"
        else:
            versions = ", ".join(f"{cell.id} {cell.version}" for cell in notebook.document.cells)
            text = f"{notebook.summary(budget_tokens=tokens)}\nVersions: {versions or 'no cells'}"
        part = PromptPart(name="attached notebook", text=shown_block(text), rank=Rank.ASSIGNMENT, least_tokens=200)
        return ContextView(parts=(part,))
