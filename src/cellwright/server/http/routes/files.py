"""`/files`: what lies in the folder, and new data for it."""

from __future__ import annotations

from typing import Annotated, Final

import anyio.to_thread
from fastapi import Path, Query, Request
from starlette.requests import ClientDisconnect

from cellwright.errors import UserError
from cellwright.server.http.auth.dependencies import Reader, Steerer
from cellwright.server.http.resources import ApiRouter, Resources
from cellwright.server.http.schemas.model import ResponseModel
from cellwright.server.http.served_folder import FileEntry, Upload, list_folder

router = ApiRouter(tags=["files"])
_WRITE_BYTES: Final = 1 << 20
"""Written at a time: one trip to a thread for each."""
_BODY: Final = {
    "requestBody": {
        "required": True,
        "description": "The file, byte for byte",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class Listing(ResponseModel):
    """What lies at a path."""

    path: str
    entries: list[FileEntry]


class KeptFile(ResponseModel):
    """Where an upload is now."""

    path: str
    bytes: int


@router.get("/files")
async def list_files(_: Reader, resources: Resources, path: Annotated[str, Query(max_length=4_000)] = "") -> Listing:
    """What lies in the folder that is served."""
    return Listing(path=path, entries=await anyio.to_thread.run_sync(list_folder, resources.folder, path))


@router.put("/files/{name}", openapi_extra=_BODY)
async def upload_file(
    _: Steerer, resources: Resources, name: Annotated[str, Path(min_length=1, max_length=255)], request: Request
) -> KeptFile:
    """Put a file into the data folder; a name that is taken gets a number."""
    arriving = await anyio.to_thread.run_sync(Upload.at, resources.folder, name)
    try:
        size = await _receive(request, arriving)
        return KeptFile(path=await anyio.to_thread.run_sync(arriving.keep), bytes=size)
    except ClientDisconnect:
        raise UserError("The upload was cut off.", hint="Send it again.") from None
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(arriving.close)


async def _receive(request: Request, arriving: Upload) -> int:
    """Every byte, as it comes; how many there were."""
    size, waiting = 0, bytearray()
    async for chunk in request.stream():
        size += len(chunk)
        waiting += chunk
        if len(waiting) >= _WRITE_BYTES:
            await anyio.to_thread.run_sync(arriving.write, bytes(waiting))
            waiting.clear()
    await anyio.to_thread.run_sync(arriving.write, bytes(waiting))
    return size
