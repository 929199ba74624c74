"""The room's names, each loaded from its module when it is first used.

A zygote and a probing process import `cellwright.sandbox.cage.launcher` with the standard library alone; the host's
half of the room needs anyio.
"""

from __future__ import annotations

import importlib

_ROOM = "cellwright.sandbox"
_HOMES = {
    "egress": ("AllowedHost", "Egress", "EgressCaps", "EgressRecord"),
    "host.control": ("CageControl",),
    "control_frames": ("KernelExit",),
    "host.keep_terms": ("KeepQuestion", "KeepTerms"),
    "host.file_changes": ("FileChange", "KeepReport", "UnkeptChanges"),
    "host.project": ("hidden_in", "project_of"),
    "spec": ("CageSpec", "DataMount", "FilesMode", "Limits", "Tier"),
    "host.tiers": ("Protection", "SandboxReport", "probe"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{_ROOM}.{home}"), name)
    raise AttributeError(f"module {_ROOM!r} has no attribute {name!r}")
