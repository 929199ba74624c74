"""Attaching: notebooks in somebody's own `marimo edit`, under the standing rules, and copies of them in our cage.

What runs there runs outside any cage. Rules can forbid it; none allows it: a person says yes to each turn.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import msgspec

from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.ids import CellId
from cellwright.kernel.attached.attached_notebook import AttachedNotebook, HostExecution, attach
from cellwright.kernel.attached.marimo_server import MarimoServer, ServerAddress
from cellwright.kernel.attached.session_mirror import version_of
from cellwright.kernel.attached.turns import CellText
from cellwright.kernel.attached.typing_rules import Permission
from cellwright.notebook.atomic_write import write_atomically
from cellwright.notebook.document import Document
from cellwright.notebook.edits import Edit, restore_edits
from cellwright.notebook.files import SaveConflict, new, read, save
from cellwright.policy.judgement import Deny, judge
from cellwright.sandbox.host.project import project_of
from cellwright.settings import Settings
from cellwright.tools.approval.rule_files import standing_rules
from cellwright.tools.attached_tools import change_of
from cellwright.tools.notebook.cell_changes import merge, with_known_ids

AskPerson = Callable[[HostExecution], Awaitable[bool]]
TURNS_FOLDER: Final = "attached"
_MOST_SERVERS: Final = 100
_MOST_ENTRY: Final = 10_000


@asynccontextmanager
async def open_attached(
    address: ServerAddress, *, ask: AskPerson, file: str = "", settings: Settings | None = None
) -> AsyncGenerator[AttachedNotebook]:
    """The notebook that is open there. Before anything is executed, rules are asked and then a person."""
    settings = settings or Settings.read()

    async def permit(wanted: HostExecution) -> Permission:
        await anyio.to_thread.run_sync(_check_rules, wanted, settings)
        return "now" if await ask(wanted) else "no"

    async with MarimoServer.open(address) as server:
        turns = settings.ready_home() / TURNS_FOLDER
        async with attach(server, permit=permit, turns=turns, file=file) as notebook:
            yield notebook


def _check_rules(wanted: HostExecution, settings: Settings) -> None:
    """Raises `RefusedByPolicy` where a rule forbids it. Blocking."""
    path = Path(wanted.notebook)
    project = project_of(path if path.is_absolute() and path.exists() else Path.cwd() / "notebook.py")
    rules = standing_rules(
        state=settings.ready_home(), project=project, home=settings.user_home, team=settings.team_rules
    )
    verdict = judge(change_of(wanted), rules, run="", now=datetime.now(UTC))
    if isinstance(verdict, Deny):
        raise RefusedByPolicy(f"A rule forbids it: {verdict.reason}", hint="Whoever owns the rule can change it.")


# ── servers ──


class _ServerEntry(msgspec.Struct):
    """What a marimo without a token writes down about itself."""

    host: str = ""
    port: int = 0
    base_url: str = ""


async def find_servers(settings: Settings, given: list[ServerAddress]) -> list[dict[str, Any]]:
    """The marimo servers that can be found, and those given: what each is, and whether it wants a token."""
    addresses = {each.url: each for each in await anyio.to_thread.run_sync(_registered, settings)}
    addresses |= {each.url: each for each in given}
    found: list[dict[str, Any]] = []

    async def look(address: ServerAddress) -> None:
        found.append(await _server_view(address))

    async with anyio.create_task_group() as tasks:
        for address in list(addresses.values())[:_MOST_SERVERS]:
            tasks.start_soon(look, address)
    return sorted(found, key=lambda view: view["url"])


def _registered(settings: Settings) -> list[ServerAddress]:
    """From marimo's own list, which names only servers without a token. Blocking."""
    given = settings.environment.get("XDG_STATE_HOME", "").strip()
    folder = (Path(given) if given else settings.user_home / ".local" / "state") / "marimo" / "servers"
    found: list[ServerAddress] = []
    for entry in sorted(folder.glob("*.json"))[:_MOST_SERVERS]:
        try:
            with entry.open("rb") as file:
                said = msgspec.json.decode(file.read(_MOST_ENTRY), type=_ServerEntry)
            host = "127.0.0.1" if said.host in {"", "0.0.0.0", "localhost"} else said.host
            found.append(
                ServerAddress.parse(f"http://{f'[{host}]' if ':' in host else host}:{said.port}{said.base_url}")
            )
        except (OSError, msgspec.MsgspecError, UserError):
            # Half written, gone, or nothing of marimo's.
            continue
    return found


async def _server_view(address: ServerAddress) -> dict[str, Any]:
    view: dict[str, Any] = {
        "url": address.url, "version": None, "needs_token": False, "can_attach": False, "notebooks": [], "problem": "",
    }  # fmt: skip
    try:
        with anyio.fail_after(10):
            async with MarimoServer.open(address) as server:
                view |= {"version": await server.version(), "can_attach": True}
                view["notebooks"] = [session.path for session in await server.sessions()]
    except TimeoutError:
        view["problem"] = "It does not answer in time."
    except (UserError, Unavailable) as problem:
        view["problem"] = problem.message
        view["needs_token"] = "token" in problem.message
    return view


async def server_with(settings: Settings, file: str) -> ServerAddress:
    """The one server that has this file open. Raises `UserError`."""
    found = await find_servers(settings, [])
    having = [view for view in found if file in view["notebooks"]]
    if len(having) == 1:
        return ServerAddress.parse(having[0]["url"])
    said = f"{len(having)} servers have" if having else "No marimo server that was found has"
    raise UserError(
        f"{said} {file!r} open.",
        hint="Give the server's address too: one with a token is in no list of marimo's.",
    )


# ── a copy in our cage ──


class _CopyBase(msgspec.Struct):
    """What a copy was made of."""

    server: str
    notebook: str
    header: str
    cells: list[CellText]

    def document(self) -> Document:
        cells = (text.cell() for text in self.cells)
        versioned = (replace(cell, version=version_of(cell.code, cell.name, cell.config)) for cell in cells)
        return Document(header=self.header, cells=tuple(versioned))


def save_copy(notebook: AttachedNotebook, copy: Path, settings: Settings) -> None:
    """Write the cells as they are now to a file of their own. Raises `UserError` if there is one. Blocking."""
    if copy.exists():
        raise UserError(f"{str(copy)!r} is there already.", hint="Name a file that does not exist yet.")
    document, source = notebook.document, Path(notebook.path)
    header = ""
    if notebook.server.address.is_here and source.is_file():
        # Its packages stand above the cells, where a session does not tell them.
        header = read(source).document.header
    written = save(
        new(copy, Document(header=header, cells=document.cells)), Document(header=header, cells=document.cells)
    )
    if isinstance(written, SaveConflict):
        raise UserError(f"{str(copy)!r} is there already.", hint="Name a file that does not exist yet.")
    texts = [CellText.of(cell, document) for cell in document.cells]
    base = _CopyBase(server=notebook.server.address.url, notebook=notebook.path, header=header, cells=texts)
    file = _base_file(copy, settings)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(file, msgspec.json.encode(base))


def edits_from_copy(notebook: AttachedNotebook, copy: Path, settings: Settings) -> tuple[list[Edit], list[CellId]]:
    """What was done in the copy, as edits of the notebook as it is now; and cells left, which a person has changed.

    Raises `UserError`. Blocking.
    """
    try:
        base = msgspec.json.decode(_base_file(copy, settings).read_bytes(), type=_CopyBase)
    except (OSError, msgspec.MsgspecError):
        raise UserError(
            f"{str(copy)!r} is no copy of an attached notebook.", hint="Make a copy first, and change that."
        ) from None
    if (base.server, base.notebook) != (notebook.server.address.url, notebook.path):
        raise UserError(f"{str(copy)!r} is a copy of {base.notebook!r} on {base.server}.", hint="Attach to that one.")
    known = base.document()
    merged = merge(known, with_known_ids(known, read(copy).document), notebook.document)
    return restore_edits(notebook.document, merged.document), [change.id for change in merged.given_up]


def _base_file(copy: Path, settings: Settings) -> Path:
    name = hashlib.sha256(str(copy.resolve()).encode()).hexdigest()[:24]
    return settings.ready_home() / TURNS_FOLDER / "copies" / f"{name}.json"
