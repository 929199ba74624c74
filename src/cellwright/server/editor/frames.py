"""The last look at what goes to a browser: marimo offers there what this server does not have."""

from __future__ import annotations

import json
from typing import Any, Final

_READY: Final = '{"op": "kernel-ready"'
_BANNER: Final = '{"op": "banner"'


def outgoing(text: str) -> str | None:
    """The frame as the browser should get it; None: not at all."""
    if text.startswith(_READY):
        return _without_terminal(text)
    if text.startswith(_BANNER) and '"Reconnected"' in text:
        # Everybody joins a session that was there before; that is no news, and a restart is no answer to it.
        return None
    return text


def _without_terminal(text: str) -> str:
    frame: Any = json.loads(text)
    capabilities = frame.get("data", {}).get("capabilities")
    if isinstance(capabilities, dict):
        frame["data"]["capabilities"] = dict.fromkeys(capabilities, False)
    return json.dumps(frame)
