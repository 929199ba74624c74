"""Names that were imported from the room itself, kept there for one version; each is loaded when it is used."""

from __future__ import annotations

import importlib
import warnings

_HOMES = {
    "AllowedHost": "egress",
    "Egress": "egress",
    "EgressRecord": "egress",
    "Limits": "spec",
    "probe": "host.tiers",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        home = f"cellwright.sandbox.{_HOMES[name]}"
        warnings.warn(f"`cellwright.sandbox.{name}` is imported from `{home}` now.", DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'cellwright.sandbox' has no attribute {name!r}")
