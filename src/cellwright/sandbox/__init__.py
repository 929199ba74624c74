"""Sandbox: the cage around every process that runs a notebook's code.

Owns:   namespaces, mounts, Landlock, seccomp, limits, what a project shows and what is kept of its changes.
Above:  kernel.   Below: errors.
Never:  notebooks, marimo, the wire to the kernel, model calls.

`cage` and all it imports run in the zygote and use the standard library only, so the names below are loaded when used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cellwright.sandbox.names import __getattr__ as __getattr__

if TYPE_CHECKING:
    from cellwright.sandbox.control import CageControl, KernelEnd
    from cellwright.sandbox.egress import AllowedHost, Egress, EgressCaps, Visit
    from cellwright.sandbox.keep import HeldBack, KeepReport
    from cellwright.sandbox.keep_terms import KeepQuestion, KeepTerms
    from cellwright.sandbox.left_files import FileChange
    from cellwright.sandbox.project import hidden_in, project_of
    from cellwright.sandbox.spec import CageSpec, DataMount, FilesMode, Limits, Tier
    from cellwright.sandbox.tiers import Protection, Report, probe

__all__ = [
    "AllowedHost",
    "CageControl",
    "CageSpec",
    "DataMount",
    "Egress",
    "EgressCaps",
    "FileChange",
    "FilesMode",
    "HeldBack",
    "KeepQuestion",
    "KeepReport",
    "KeepTerms",
    "KernelEnd",
    "Limits",
    "Protection",
    "Report",
    "Tier",
    "Visit",
    "hidden_in",
    "probe",
    "project_of",
]
