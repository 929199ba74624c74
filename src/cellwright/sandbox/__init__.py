"""Sandbox: the cage around every process that runs a notebook's code.

Owns:   namespaces, mounts, Landlock, seccomp, limits, egress, what a project shows and what is kept of its changes.
Above:  kernel, tools, app.   Below: network, framing, errors.
Never:  notebooks, marimo, the wire to the kernel, model calls.

`linux/` is what the operating system offers, `cage/` builds and supervises a cage, `host/` speaks with it and keeps
files, `egress/` is its one way to the network; `spec` is what a cage is asked to be. `cage/` and `linux/` run in the
zygote and use the standard library only, so the names below are loaded when used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cellwright.sandbox.names import __getattr__ as __getattr__

if TYPE_CHECKING:
    from cellwright.sandbox.control_frames import KernelExit
    from cellwright.sandbox.egress import AllowedHost, Egress, EgressCaps, EgressRecord
    from cellwright.sandbox.host.control import CageControl
    from cellwright.sandbox.host.file_changes import FileChange, KeepReport, UnkeptChanges
    from cellwright.sandbox.host.keep_terms import KeepQuestion, KeepTerms
    from cellwright.sandbox.host.project import hidden_in, project_of
    from cellwright.sandbox.host.tiers import Protection, SandboxReport, probe
    from cellwright.sandbox.spec import CageSpec, DataMount, FilesMode, Limits, Tier

__all__ = [
    "AllowedHost",
    "CageControl",
    "CageSpec",
    "DataMount",
    "Egress",
    "EgressCaps",
    "EgressRecord",
    "FileChange",
    "FilesMode",
    "KeepQuestion",
    "KeepReport",
    "KeepTerms",
    "KernelExit",
    "Limits",
    "Protection",
    "SandboxReport",
    "Tier",
    "UnkeptChanges",
    "hidden_in",
    "probe",
    "project_of",
]
