"""The program in the cage that makes a notebook's page: its code on descriptor 3, one HTML file back. Nothing runs.

`python -I -S page_main.py PACKAGES…`. What the page loads besides, marimo's own files, is copied by the host.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]

import json
import os
from typing import Any

_DESCRIPTOR = 3
_CHUNK_BYTES = 1 << 16


def main() -> None:
    """Answer, and end."""
    data = bytearray()
    while chunk := os.read(_DESCRIPTOR, _CHUNK_BYTES):
        data += chunk
    left = memoryview(page(**json.loads(data)).encode())
    while left:
        left = left[os.write(_DESCRIPTOR, left) :]


def page(
    code: str,
    name: str,
    options: dict[str, Any],
    layout: dict[str, Any] | None,
    show_code: bool,
    runtime: dict[str, str],
) -> str:
    """The page of this notebook; `runtime` is where it has Python from, marimo's own hosts if empty."""
    from marimo._ast.app_config import _AppConfig
    from marimo._config.config import DEFAULT_CONFIG
    from marimo._export.exporter import Exporter
    from marimo._export.requests import WASMExportRequest
    from marimo._runtime.layout.layout import LayoutConfig, layout_config_to_data_uri
    from marimo._schemas.export_options import WASMExportOptions, WASMRuntimeConfig

    chosen = LayoutConfig(type=layout["type"], data=layout["data"]) if layout is not None else None
    config = dict(options)
    config["layout_file"] = layout_config_to_data_uri(chosen) if chosen is not None else None
    request = WASMExportRequest(
        filename=name,
        app_config=_AppConfig.from_untrusted_dict(config, silent=True),
        display_config=DEFAULT_CONFIG["display"],
        code=code,
        options=WASMExportOptions(mode="run", show_code=show_code, runtime=WASMRuntimeConfig(**runtime)),
        layout=chosen,
    )
    return Exporter().export_as_wasm(request)[0]


if __name__ == "__main__":
    main()
