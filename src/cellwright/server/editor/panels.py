"""What the editor's panels and footer ask for by themselves, answered for the notebook alone: nothing of the host.

marimo's own answers would list the host's files, packages, secrets and memory. Unanswered, each would be an error in
the browser's console.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from cellwright.kernel import OpenNotebook
from cellwright.server.web.kernel_use import kernels_use

FindNotebook = Callable[[Request], OpenNotebook | None]
"""The notebook a page is connected to; None before it is."""

_MEGABYTE: Final = 1024 * 1024
_NOTHING: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("GET", "/api/files/roots"): {"roots": []},
    ("POST", "/api/files/list_files"): {"files": [], "root": ""},
    ("POST", "/api/packages/sandbox"): {"backend": None, "manifest": None, "filename": None},
    ("GET", "/api/packages/tree"): {"tree": None, "context": {"kind": "package-manager", "name": "uv"}},
    ("POST", "/api/secrets/keys"): {"keys": []},
}
"""The same answer for every page, connected or not."""
_HEADER_ONLY: Final = (
    "A notebook's packages stand in its header. Ask an agent for the package, or write it into `dependencies` there."
)
# A worker without a fetch handler changes no request. marimo's would ask for files of the host beside the notebook.
_NO_WORKER: Final = "// Nothing is fetched on the page's behalf here.\n"

ASKED: Final = frozenset(_NOTHING) | {
    ("GET", "/api/usage"),
    ("GET", "/api/packages/list"),
    ("GET", "/public-files-sw.js"),
}
"""Method and path of what a page may ask for before it is connected."""
REFUSED: Final = frozenset({("POST", "/api/packages/add"), ("POST", "/api/packages/remove")})
"""What a panel offers and we do otherwise: the answer says how."""


def panel_routes(find: FindNotebook) -> list[Route]:
    """Their routes."""
    panels = _Panels(find)
    constant = [Route(path, _says(answer), methods=[method]) for (method, path), answer in _NOTHING.items()]
    refused = {"success": False, "error": _HEADER_ONLY, "restartRequired": False}
    return [
        *constant,
        *(Route(path, _says(refused), methods=[method]) for method, path in sorted(REFUSED)),
        Route("/api/usage", panels.usage, methods=["GET"]),
        Route("/api/packages/list", panels.packages, methods=["GET"]),
        Route("/public-files-sw.js", _worker, methods=["GET"]),
    ]


def _says(answer: dict[str, Any]) -> Callable[[Request], Response]:
    return lambda request: JSONResponse(answer)


def _worker(request: Request) -> Response:
    return PlainTextResponse(_NO_WORKER, media_type="text/javascript")


class _Panels:
    def __init__(self, find: FindNotebook) -> None:
        self._find = find
        self._seen: WeakKeyDictionary[OpenNotebook, tuple[float, float]] = WeakKeyDictionary()

    async def usage(self, request: Request) -> Response:
        """What the notebook's cage uses of what it may: no figure of the machine around it."""
        notebook = self._find(request)
        if notebook is None:
            return JSONResponse({"memory": _memory(None, None), "cpu": {"percent": 0.0}, "gpu": []})
        use = (await kernels_use({"": notebook})).get("")
        used = int(use.memory_mb * _MEGABYTE) if use is not None else 0
        total = notebook.limits.memory_mb * _MEGABYTE
        percent = self._percent(notebook, use.cpu_seconds if use is not None else 0.0)
        answer = {"memory": _memory(total, used), "kernel": {"memory": used}, "cpu": {"percent": percent}, "gpu": []}
        return JSONResponse(answer)

    async def packages(self, request: Request) -> Response:
        """What the notebook can import."""
        notebook = self._find(request)
        found = await notebook.distributions() if notebook is not None else {}
        return JSONResponse({"packages": [{"name": name, "version": found[name]} for name in sorted(found)]})

    def _percent(self, notebook: OpenNotebook, cpu_seconds: float) -> float:
        """Of one core, since somebody last asked; a new kernel begins at nothing."""
        now = time.monotonic()
        then, before = self._seen.get(notebook, (now, cpu_seconds))
        self._seen[notebook] = now, cpu_seconds
        return round(100 * max(0.0, cpu_seconds - before) / (now - then), 1) if now > then else 0.0


def _memory(total: int | None, used: int | None) -> dict[str, Any]:
    if total is None or used is None:
        return dict.fromkeys(("total", "available", "percent", "used", "free")) | {"has_cgroup_mem_limit": False}
    left = max(0, total - used)
    share = {"total": total, "used": used, "available": left, "free": left, "percent": round(100 * used / total, 1)}
    return share | {"has_cgroup_mem_limit": True}
