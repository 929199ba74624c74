"""How a person wants a notebook opened, as typed: read once, for a command and for the daemon it asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellwright.app.notebooks import Files
from cellwright.kernel.environments.interpreters import PythonChoice
from cellwright.sandbox.spec import FilesMode, Limits, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedOptions:
    """The words of the options."""

    files: FilesMode = "keep"
    data: Sequence[str] = ()
    reveal: Sequence[str] = ()
    limits: Sequence[str] = ()
    project: str | None = None
    tier: Tier | None = None
    allow_uncontained: bool = False
    python: PythonChoice = "header"
    here: str = ""
    """What relative paths of data are relative to."""


def open_options(typed: TypedOptions) -> dict[str, Any]:
    """Arguments of `open_notebook` and `verify_notebook`. Raises `UserError`."""
    files = Files(
        mode=typed.files,
        project=Path(typed.project) if typed.project is not None else None,
        data=tuple(typed.data),
        reveal=tuple(typed.reveal),
        here=Path(typed.here),
    )
    return {
        "files": files,
        "limits": Limits.parse(typed.limits),
        "tier": typed.tier,
        "allow_uncontained": typed.allow_uncontained,
        "python": typed.python,
    }
