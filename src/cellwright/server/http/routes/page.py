"""The page's files, out of the package; they are built from `web/`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse, HTMLResponse

from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.page_build import INDEX, STATIC, is_built

_NAME: Final = re.compile(r"(?:assets/)?[A-Za-z0-9_-][A-Za-z0-9._-]*")
_HASHED: Final = re.compile(r"assets/.*-[A-Za-z0-9_-]{8,}\.[a-z0-9]+")
"""Named by its content: never another under this name."""
_TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_NOT_BUILT: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Cellwright</title>
<h1>The page is not built</h1>
<p>This Cellwright runs from its source. Build the page once, there, then load this address again:</p>
<pre>make page</pre>
<p>Runs, the command line and the API (<a href="/api/v1/openapi.json">its document</a>) work without it.</p>
"""


def page_routes(static: Path = STATIC) -> APIRouter:
    """`/` and everything the page loads."""
    router = APIRouter()

    @router.api_route("/", methods=["GET", "HEAD"])
    def show_page() -> Response:
        if not is_built(static):
            return HTMLResponse(_NOT_BUILT, status_code=503)
        return FileResponse(static / INDEX, media_type="text/html", headers={"cache-control": "no-cache"})

    # Two shapes of address and no more: a wrong one below /api is the API's to answer.
    @router.api_route("/assets/{name}", methods=["GET", "HEAD"])
    def show_asset(name: str) -> Response:
        return show_file(f"assets/{name}")

    @router.api_route("/{name}", methods=["GET", "HEAD"])
    def show_file(name: str) -> Response:
        file = static / name if _NAME.fullmatch(name) else None
        if file is None or not file.is_file() or (kind := _TYPES.get(file.suffix)) is None:
            raise ResourceNotFound("There is nothing at this address.", hint="The page is at /.")
        keep = "public, max-age=31536000, immutable" if _HASHED.fullmatch(name) else "no-cache"
        return FileResponse(file, media_type=kind, headers={"cache-control": keep})

    return router
