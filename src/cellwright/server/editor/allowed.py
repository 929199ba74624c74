"""Which addresses of marimo's server there are for a browser. Everything else is not there, whatever marimo adds."""

from __future__ import annotations

import re
from typing import Final, Literal

from cellwright.server.editor.panels import ASKED, REFUSED

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
