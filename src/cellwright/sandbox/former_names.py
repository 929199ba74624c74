"""Names that were imported from the room itself, kept there for one version; each is loaded when it is used."""

from __future__ import annotations

import importlib

_HOMES = {
    "AllowedHost": "egress",
    "Egress": "egress",
    "EgressRecord": "egress",
    "Limits": "spec",
    "probe": "host.tiers",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"cellwright.sandbox.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'cellwright.sandbox' has no attribute {name!r}")
