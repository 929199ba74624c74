"""How a person wants a notebook opened, as typed: checked once, for a command and for the daemon it asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from cellwright.app.notebooks import Files
from cellwright.errors import UserError
from cellwright.sandbox.spec import FilesMode, Limits, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedOptions:
    """The words of the options."""

    files: str = "keep"
    data: Sequence[str] = ()
    reveal: Sequence[str] = ()
    limits: Sequence[str] = ()
    project: str | None = None
    tier: str | None = None
    allow_uncontained: bool = False
    python: str = "header"
    here: str = ""
    """What relative paths of data are relative to."""


def open_options(typed: TypedOptions) -> dict[str, Any]:
    """Arguments of `open_notebook` and `verify_notebook`. Raises `UserError`."""
    if typed.files not in get_args(FilesMode):
        raise UserError(f"Unknown --files {typed.files!r}.", hint="keep, drop or direct.")
    if typed.tier is not None and typed.tier.upper() not in get_args(Tier):
        raise UserError(f"Unknown --tier {typed.tier!r}.", hint="A, B, C or D.")
    if typed.python not in ("header", "ours"):
        raise UserError(
            f"Unknown --python {typed.python!r}.",
            hint="header or ours. On which versions a notebook runs is said by `requires-python` in its header.",
        )
    files = Files(
        mode=cast("FilesMode", typed.files),
        project=Path(typed.project) if typed.project is not None else None,
        data=tuple(typed.data),
        reveal=tuple(typed.reveal),
        here=Path(typed.here),
    )
    return {
        "files": files,
        "limits": Limits.parse(typed.limits),
        "tier": typed.tier.upper() if typed.tier is not None else None,
        "allow_uncontained": typed.allow_uncontained,
        "python": cast("Literal['header', 'ours']", typed.python),
    }
