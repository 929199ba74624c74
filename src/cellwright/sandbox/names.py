"""The room's names, each loaded from its module when it is first used.

A zygote and a probing process import `cellwright.sandbox.cage.launcher` with the standard library alone; the host's half of the
room needs anyio.
"""

from __future__ import annotations

import importlib

_ROOM = "cellwright.sandbox"
_HOMES = {
    "egress": ("AllowedHost", "Egress", "EgressCaps", "Visit"),
    "control": ("CageControl", "KernelEnd"),
    "keep": ("HeldBack", "KeepReport"),
    "keep_terms": ("KeepQuestion", "KeepTerms"),
    "left_files": ("FileChange",),
    "project": ("hidden_in", "project_of"),
    "spec": ("CageSpec", "DataMount", "FilesMode", "Limits", "Tier"),
    "tiers": ("Protection", "Report", "probe"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{_ROOM}.{home}"), name)
    raise AttributeError(f"module {_ROOM!r} has no attribute {name!r}")
