"""Why a notebook is not verified: each reason with its words and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from cellwright.ids import CellId
from cellwright.kernel.environments.lookup import PackageSource
from cellwright.remedies import Hint

ReasonKind = Literal[
    "LintError", "NoEnvironment", "CellFailed", "DidNotEnd", "KernelStopped", "OutputDiffers", "CheckFailed",
    "SecretFound", "MachinePathFound", "ChangedMeanwhile",
]  # fmt: skip
"""What is wrong, as JSON says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnverifiedReason:
    """One thing that speaks against a notebook. No secret is repeated in it."""

    kind: ReasonKind
    text: str
    """What is wrong, beginning with where."""
    hint: Hint
    """What to do about it."""
    cell: CellId | None = None
    """Whose output differs."""
    is_unavailable: bool = False
    """Something outside was missing: no change to the notebook would help."""


SOURCE_NOTES: Final[Mapping[PackageSource | None, str]] = {
    "cache": "No package index was reached: the environment was made anew from uv's cache, with the versions it had.",
    "installed": "No package index was reached: the environment was made anew from packages installed with Cellwright "
    "(each file as its wheel brought it) and uv's cache, in versions that the header allows.",
}
"""What to know of an environment that did not come from an index."""
