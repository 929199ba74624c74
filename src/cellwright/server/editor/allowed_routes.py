"""Which of marimo's routes a browser may reach; what the editor's panels ask for is answered without the host.

Everything else is not there, whatever marimo adds. marimo's own answers to its panels would list the host's files,
packages, secrets and memory; unanswered, each would be an error in the browser's console.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.server.http.kernel_usage import measure_kernels

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
    constant = [
        Route(path, says(JSONResponse(answer)), methods=[method]) for (method, path), answer in _NOTHING.items()
    ]
    refused = JSONResponse({"success": False, "error": _HEADER_ONLY, "restartRequired": False})
    return [
        *constant,
        *(Route(path, says(refused), methods=[method]) for method, path in sorted(REFUSED)),
        Route("/api/usage", panels.usage, methods=["GET"]),
        Route("/api/packages/list", panels.packages, methods=["GET"]),
        Route("/public-files-sw.js", says(PlainTextResponse(_NO_WORKER, media_type="text/javascript"))),
    ]


def says(answer: Response) -> Callable[[Request], Response]:
    """What gives every request this answer."""
    return lambda request: answer


class _Panels:
    def __init__(self, find: FindNotebook) -> None:
        self._find = find
        self._seen: WeakKeyDictionary[OpenNotebook, tuple[float, float]] = WeakKeyDictionary()

    async def usage(self, request: Request) -> Response:
        """What the notebook's cage uses of what it may: no figure of the machine around it."""
        notebook = self._find(request)
        if notebook is None:
            return JSONResponse({"memory": _memory(None, None), "cpu": {"percent": 0.0}, "gpu": []})
        use = (await measure_kernels({"": notebook})).get("")
        used = int(use.memory_mb * _MEGABYTE) if use is not None else 0
        total = notebook.provisioner.options.limits.memory_mb * _MEGABYTE
        percent = self._percent(notebook, use.cpu_seconds if use is not None else 0.0)
        answer = {"memory": _memory(total, used), "kernel": {"memory": used}, "cpu": {"percent": percent}, "gpu": []}
        return JSONResponse(answer)

    async def packages(self, request: Request) -> Response:
        """What the notebook can import."""
        notebook = self._find(request)
        found = await notebook.live.distributions() if notebook is not None else {}
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


Access = Literal["marimo", "ours"]
"""marimo: its own route answers. ours: we do, in its place."""

_KERNEL: Final = "/api/kernel/"
_BY_MARIMO: Final = frozenset(
    {
        ("GET", "/"),
        ("POST", _KERNEL + "run"),
        ("POST", _KERNEL + "instantiate"),
        ("POST", _KERNEL + "set_ui_element_value"),
        ("POST", _KERNEL + "set_model_value"),
        ("POST", _KERNEL + "function_call"),
        ("POST", _KERNEL + "code_autocomplete"),
        ("POST", _KERNEL + "delete"),
        ("POST", _KERNEL + "set_cell_config"),
        ("POST", _KERNEL + "focus_cell"),
        ("POST", _KERNEL + "takeover"),
        ("GET", _KERNEL + "status"),
        ("POST", "/api/datasources/discover"),
        ("POST", "/api/datasources/preview_column"),
        ("POST", "/api/datasources/preview_sql_table"),
        ("POST", "/api/datasources/preview_sql_table_list"),
        ("POST", "/api/datasources/preview_sql_schema_list"),
        ("POST", "/api/datasources/preview_datasource_connection"),
        ("POST", "/api/sql/validate"),
        ("GET", "/api/documentation/snippets"),
        ("GET", "/api/lsp/health"),
        ("GET", "/health"),
    }
)
_BY_US: Final = frozenset(
    {
        ("POST", "/api/document/transaction"),
        ("POST", _KERNEL + "save"),
        ("POST", _KERNEL + "read_code"),
        ("POST", _KERNEL + "interrupt"),
        ("POST", _KERNEL + "restart_session"),
        ("POST", "/cellwright/typing"),
        ("GET", "/cellwright/typing.js"),
    }
    | ASKED
    | REFUSED
)
_STATIC: Final = re.compile(
    r"/assets/[A-Za-z0-9_.\-]+|/favicon\.ico|/manifest\.json|/logo\.png|/apple-touch-icon\.png"
    r"|/android-chrome-(192x192|512x512)\.png"
)
WEBSOCKET: Final = "/ws"
OPEN: Final = "/cellwright/open"
"""Where a code becomes a cookie."""
NEEDS_PAGE: Final = frozenset(
    path for method, path in (_BY_MARIMO | _BY_US) - ASKED if method == "POST" or path == _KERNEL + "status"
)
"""Requests that speak for one page, named in their `Marimo-Session-Id`."""
FOR_PANELS: Final = frozenset(path for _, path in ASKED)
"""Requests that speak for one page once it is connected."""


def access(method: str, path: str) -> Access | None:
    """Who answers this request; None: nobody."""
    asked = ("GET" if method == "HEAD" else method, path)
    if asked in _BY_US:
        return "ours"
    if asked in _BY_MARIMO or (asked[0] == "GET" and _STATIC.fullmatch(path)):
        return "marimo"
    return None


def routes() -> frozenset[tuple[str, str]]:
    """Those of marimo's routes that are used, for whoever checks that marimo still has them."""
    own = {(method, path) for method, path in _BY_US if not path.startswith("/cellwright/")}
    return frozenset(_BY_MARIMO | own)
