"""`/runs`: every run, one of them.

Starting a new one in a notebook of its own, inside the folder that is served.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Collection, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final

import anyio
import anyio.to_thread
from fastapi import Query

from cellwright.app.profiling import remote_data
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import DataConnection, connections_at
from cellwright.data.files import split_name
from cellwright.data.messages import Asker
from cellwright.data.remote_check import check_remote_paths
from cellwright.data.remote_paths import RemotePath
from cellwright.errors import UserError
from cellwright.journal.names import RunId, run_id
from cellwright.notebook.files import read
from cellwright.profiles.data_search import project_files
from cellwright.runs.goal.extraction_order import ExtractionOrder, read_order
from cellwright.runs.goal.goal import Goal
from cellwright.runs.goal.request import GoalRequest, read_goal
from cellwright.runs.verify.proof import KEY_FILE, Signer, parse
from cellwright.runs.verify.proof_status import code_changes, trust_in
from cellwright.runs.views.progress import delivery_of, run_json_of, run_summary_json
from cellwright.runs.views.run_view import RUN_WORKFLOW, newest_first
from cellwright.server.http.auth.dependencies import KnownStatus, Reader, Steerer
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources, shared
from cellwright.server.http.routes.questions import asked_now
from cellwright.server.http.schemas import runs as shapes
from cellwright.server.http.schemas.runs import ExtractBody, NewRun, ProofShape
from cellwright.settings import Settings
from cellwright.tools.mcp.servers import servers_at
from cellwright.tools.project_files import ProjectFiles

router = ApiRouter(tags=["runs"])
_MAX_PROOFS: Final = 200
_Seen = tuple[int, ...]
"""A file as it was; empty: it was not there."""


class ProofCache:
    """Reads proofs, each once for as long as nothing it rests on has changed. From several threads."""

    def __init__(self, settings: Settings, most: int = _MAX_PROOFS) -> None:
        self._settings = settings
        self._known = lru_cache(most)(partial(_read_proof, settings=settings))

    @property
    def read(self) -> int:
        """How often one was really read."""
        return self._known.cache_info().misses

    def of(self, proof: str, notebook: str) -> ProofShape | None:
        """None: the run was not proven. Blocking."""
        # Looked at before it is read: what changes in between is read again the next time.
        seen = tuple(_seen(path) for path in (Path(proof), Path(notebook), self._settings.home / KEY_FILE))
        return self._known(proof, notebook, seen) if proof else None


def _seen(path: Path) -> _Seen:
    try:
        found = path.stat()
    except OSError:
        return ()
    # Whoever may write a file may also set its mtime back; its ctime nobody can.
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read_proof(proof: str, notebook: str, _seen: tuple[_Seen, ...], *, settings: Settings) -> ProofShape:
    try:
        problem = _problem(Path(proof), Path(notebook), settings)
    except FileNotFoundError:
        problem = "The proof, or its notebook, is not there any more."
    except (UserError, OSError) as error:
        problem = error.message if isinstance(error, UserError) else "The proof cannot be read."
    says = problem or "Signed with our own key; the notebook's code is what was proven."
    return ProofShape(path=proof, is_valid=not problem, says=says)


def _problem(proof: Path, notebook: Path, settings: Settings) -> str:
    signed, ours = parse(proof.read_bytes(), "The proof"), Signer.known_at(settings.home)
    match trust_in(signed, ours.key if ours is not None else None):
        case "not signed":
            return "The proof's signature does not hold: it is not what was signed."
        case "unknown key":
            return "The proof is signed with a key that is not ours."
        case "ours":
            changes = code_changes(signed.proof, read(notebook))
            return f"Changed since: {'; '.join(change.text for change in changes[:5])}." if changes else ""


async def _remote(resources: ApiResources, asked: NewRun, person: str) -> Mapping[str, RemotePath]:
    """The data that is behind connections, by its words; each is there. Raises what its server says."""
    settings, folder = resources.settings, resources.folder
    remote = await anyio.to_thread.run_sync(remote_data, asked.data, folder, settings.home)
    client = BrokerClient(launch=settings.broker_launch())
    await check_remote_paths(client, list(remote.values()), Asker(person=person, project=str(folder)))
    return remote


async def _attached(resources: ApiResources, asked: NewRun) -> NewRun:
    """With the address of the server that is meant, where a notebook is. Raises `UserError`, `RefusedByPolicy`."""
    if not asked.attach and not asked.attach_file:
        return asked
    # Late: only who attaches waits for what speaks to other servers.
    from cellwright.app.attached_goals import server_for_program

    address = await server_for_program(asked.attach, asked.attach_file, resources.settings)
    return asked.model_copy(update={"attach": address.url})


async def _make_goal(
    resources: ApiResources, asked: NewRun, person: str, remote: Mapping[str, RemotePath], taken: Collection[str]
) -> Goal:
    asked = await _attached(resources, asked)
    goal = await anyio.to_thread.run_sync(_goal, resources, asked, person, remote, taken)
    if goal.attach:
        from cellwright.app.attached_goals import copy_attached

        await copy_attached(goal, resources.settings)
    return goal


def _goal(
    resources: ApiResources, asked: NewRun, person: str, remote: Mapping[str, RemotePath], taken: Collection[str]
) -> Goal:
    home = resources.settings.home
    searches = asked.research is not None and bool(asked.research.search)
    known = connections_at(home) if asked.connections or searches else {}
    servers = servers_at(home) if asked.tools or asked.context or searches else {}
    if asked.kernels:
        # Late: only who names one waits for what looks for them.
        from cellwright.app.jupyter_kernels import chosen_kernelspecs

        chosen_kernelspecs(asked.kernels, resources.settings)
    return goal_of_request(asked, resources.folder, person, taken, known, remote, servers)


def run_of_key(folder: Path, person: str, key: str) -> RunId:
    """The name of the run with this key: the same for the same person and folder."""
    return run_id(hashlib.sha256("\0".join((str(folder), person, key)).encode()).hexdigest()[:16])


def goal_of_request(
    asked: NewRun,
    folder: Path,
    person: str,
    taken: Collection[str],
    connections: Mapping[str, DataConnection],
    remote: Mapping[str, RemotePath] = MappingProxyType({}),
    servers: Collection[str] = (),
) -> Goal:
    """The goal; `remote` is what of its data is behind connections.

    Raises `UserError`, and `RefusedByPolicy` for paths that are not to be had. Blocking.
    """
    files = ProjectFiles(folder)
    try:
        typed = GoalRequest(
            words=asked.goal,
            data=[word if word in remote else _data(files, word) for word in asked.data],
            connections=asked.connections,
            tools=asked.tools,
            context=asked.context,
            kernels=asked.kernels,
            attach=asked.attach,
            attach_file=asked.attach_file,
            notebook=None if asked.notebook is None else files.locate(asked.notebook),
            models=asked.models,
            budget=asked.budget_usd,
            approve=asked.approve,
            is_private=asked.is_private,
            priority=asked.priority,
            depth=asked.depth,
            effort=asked.effort,
            extraction=None if asked.extract is None else _extraction(files, asked.extract),
            **_research(files, asked.research),
        )
        return read_goal(
            typed,
            person=person,
            here=files.root,
            taken=taken,
            has_data=_has_data,
            known_connections=connections,
            find_remote=remote.get,
            apis=[name for name, each in connections.items() if each.kind == "api"],
            known_tools=servers,
        )
    except OSError as problem:
        raise UserError(f"A path cannot be used: {problem.strerror}.", hint="Give one inside the folder.") from problem


def _extraction(files: ProjectFiles, asked: ExtractBody) -> ExtractionOrder:
    """The order, every path of it certainly inside."""
    is_file = asked.fields.strip().endswith((".toml", ".json"))
    fields = str(files.locate(asked.fields.strip())) if is_file else asked.fields
    documents = [str(files.locate(path)) for path in asked.documents]
    return read_order(fields, documents, here=files.root, readings=asked.readings, has_many_rows=asked.has_many_rows)


def _research(files: ProjectFiles, asked: shapes.ResearchBody | None) -> dict[str, Any]:
    """What a research adds to what was typed."""
    if asked is None:
        return {}
    form = str(files.locate(asked.form)) if asked.form.endswith(".md") else asked.form
    sources = [str(files.locate(word)) for word in asked.sources]
    return {
        "wants": "research",
        "sources": sources,
        "uses_web": asked.uses_web,
        "search": asked.search,
        "form": form,
    }


def _data(files: ProjectFiles, word: str) -> str:
    """The word with its path absolute, and certainly inside."""
    name, path = split_name(word, files.root)
    inside = files.locate(path)
    return str(inside) if name is None else f"{name}={inside}"


def _has_data(project: Path) -> bool:
    return bool(project_files(project)[0])


Proofs = Annotated[ProofCache, shared(lambda resources: ProofCache(resources.settings))]
Search = Annotated[str, Query(max_length=200, description="In the goal, the names of run and notebook, the person.")]
Status = Annotated[
    shapes.StatusFilter,
    Query(
        description="Empty: any. A word that `status` may be (`done`, `partial`, `paused`, `build` …) gives the runs "
        "of exactly this status. `running`, `cancelled` and `dead`, which it never is, give those of this `standing`.",
    ),
]
Limit = Annotated[int, Query(ge=1, le=200)]
Before = Annotated[str | None, Query(max_length=100, description="`next` of the page before.")]


@router.post("/runs", status_code=201)
async def start_run(caller: Steerer, resources: Resources, asked: shapes.NewRun) -> shapes.RunName:
    """Begin a run."""
    remote = await _remote(resources, asked, caller.person)
    make = partial(_make_goal, resources, asked, caller.person, remote)
    chosen = None if asked.key is None else run_of_key(resources.folder, caller.person, asked.key)
    return shapes.RunName(run=await resources.starts.begin(make, run=chosen))


@router.get("/runs")
async def list_runs(
    _: Reader, resources: Resources, search: Search = "", status: Status = "", limit: Limit = 50, before: Before = None
) -> shapes.RunLines:
    """Runs, the newest first."""
    found: list[shapes.RunLine] = []
    async for line in _lines(resources, before):
        if _is_meant(line, search, status):
            found.append(line)
        if len(found) > limit:
            break
    return shapes.RunLines(runs=found[:limit], next=found[limit - 1].run if len(found) > limit else None)


async def _lines(resources: ApiResources, before: str | None) -> AsyncIterator[shapes.RunLine]:
    records = resources.records
    runs = await newest_first(records, [each for each in await records.runs() if each.name == RUN_WORKFLOW])
    names = [str(each.run) for each in runs]
    if before is not None and before not in names:
        raise ResourceNotFound(f"No run {before!r}.", hint="Begin again with the first page.")
    for status in runs[names.index(before) + 1 :] if before is not None else runs:
        yield shapes.RunLine.model_validate(run_summary_json(status, await resources.views.of(status.run)))


def _is_meant(line: shapes.RunLine, search: str, status: shapes.StatusFilter) -> bool:
    # `done` and `failed` are a status and a standing: a run that is done with a partial result is not `done`.
    has_status = not status or status == (line.status if status in shapes.STATUSES else line.standing)
    text = f"{line.run} {line.goal} {line.notebook.rpartition('/')[2]} {line.person}".casefold()
    return has_status and all(word in text for word in search.casefold().split())


@router.get("/runs/{run}")
async def show_run(_: Reader, resources: Resources, proofs: Proofs, status: KnownStatus) -> shapes.RunDetail:
    """Everything about one run."""
    progress = await resources.views.of(status.run)
    delivery = delivery_of(status.standing, progress)
    view = run_json_of(resources.records, resources.masker, status, progress)
    proof = None
    if delivery is not None:
        proof = await anyio.to_thread.run_sync(proofs.of, delivery.proof, delivery.notebook)
    known = {
        "questions": asked_now(resources, status.questions),
        "proof": proof,
        "notebook_is_live": status.run in resources.live.notebooks,
    }
    return shapes.RunDetail.model_validate({**view, **known})
