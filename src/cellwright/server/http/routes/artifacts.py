"""`/runs/{run}/artifacts`: the notebook, the report and the proof of a run, as files."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import quote

import anyio.to_thread
from fastapi import Path as InPath
from fastapi import Query
from starlette.responses import Response

from cellwright.errors import UserError
from cellwright.runs.views.progress import delivery_of
from cellwright.runs.views.run_view import read_view
from cellwright.server.http.auth.dependencies import Reader, RunName, status_of
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources
from cellwright.server.http.schemas.runs import Artifact, ArtifactKind, Artifacts

_MOST_BYTES: Final = 256 << 20
_TYPES: Final[dict[ArtifactKind, str]] = {
    "notebook": "text/x-python; charset=utf-8",
    "report": "text/html; charset=utf-8",
    "proof": "application/json",
}
_SANDBOX: Final = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_OF_FILES: Final = {media.partition(";")[0]: {"schema": {"type": "string"}} for media in _TYPES.values()}
ArtifactName = Annotated[str, InPath(min_length=1, max_length=255, description="As `/artifacts` names it.")]
Inline = Annotated[bool, Query(description="Of a report: to be looked at, in a sandbox, instead of kept.")]

router = ApiRouter(tags=["artifacts"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _ArtifactFile:
    name: str
    kind: ArtifactKind
    path: Path


@router.get("/runs/{run}/artifacts")
async def list_artifacts(_: Reader, resources: Resources, run: RunName) -> Artifacts:
    """What a run made."""
    files = await _artifact_files(resources, run)
    return Artifacts(artifacts=await anyio.to_thread.run_sync(_sizes, files))


@router.get(
    "/runs/{run}/artifacts/{name}",
    response_class=Response,
    responses={200: {"description": "The file", "content": _OF_FILES}},
)
async def read_artifact(
    _: Reader, resources: Resources, run: RunName, name: ArtifactName, inline: Inline = False
) -> Response:
    """One file of a run."""
    artifact = next((each for each in await _artifact_files(resources, run) if each.name == name), None)
    if artifact is None:
        raise ResourceNotFound(f"The run has no file {name!r}.", hint="See /artifacts for what it has.")
    content = await anyio.to_thread.run_sync(_read, artifact)
    return Response(content, headers=_headers(artifact, is_inline=inline and artifact.kind == "report"))


async def _artifact_files(resources: ApiResources, run: str) -> list[_ArtifactFile]:
    """Where the run's files are or will be, as its own stream tells. Raises `ResourceNotFound`."""
    status = await status_of(resources, run)
    view = await read_view(resources.records.log.read_all, run)
    delivery, goal = delivery_of(status.standing, view), view.goal
    if goal is None:
        return []
    notebook = Path(goal.notebook)
    found = [_ArtifactFile(name=notebook.name, kind="notebook", path=notebook)]
    if delivery is not None and delivery.report:
        report = Path(delivery.report)
        found.append(_ArtifactFile(name=report.name, kind="report", path=report))
    if delivery is not None and delivery.proof:
        found.append(_ArtifactFile(name=f"{notebook.stem}.proof.json", kind="proof", path=Path(delivery.proof)))
    return found


def _sizes(files: list[_ArtifactFile]) -> list[Artifact]:
    """Those that are there, as files and nothing else. Blocking."""
    found: list[Artifact] = []
    for artifact in files:
        try:
            seen = artifact.path.lstat()
        except OSError:
            continue
        if stat.S_ISREG(seen.st_mode):
            found.append(Artifact(name=artifact.name, kind=artifact.kind, bytes=seen.st_size))
    return found


def _read(artifact: _ArtifactFile) -> bytes:
    """The whole file. A link in its place is not followed: the notebook's code may have put it there. Blocking."""
    try:
        descriptor = os.open(artifact.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        raise ResourceNotFound(
            f"{artifact.name!r} is not there any more.", hint="See /artifacts for what is."
        ) from problem
    with os.fdopen(descriptor, "rb") as file:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise ResourceNotFound(f"{artifact.name!r} is no file any more.", hint="See /artifacts for what is.")
        if seen.st_size > _MOST_BYTES:
            raise UserError(f"{artifact.name!r} is too large to be sent.", hint="Copy it from the folder.")
        return file.read(_MOST_BYTES)


def _headers(artifact: _ArtifactFile, *, is_inline: bool) -> dict[str, str]:
    headers = {"content-type": _TYPES[artifact.kind], "x-content-type-options": "nosniff"}
    if is_inline:
        return headers | {"content-disposition": "inline", "content-security-policy": _SANDBOX}
    return headers | {"content-disposition": f"attachment; filename*=UTF-8''{quote(artifact.name, safe='')}"}
