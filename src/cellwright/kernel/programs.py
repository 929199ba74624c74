"""How a program that ran in a notebook's cage ended, as our own value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from cellwright_guest import wire

INSIDE: Final = PurePosixPath("/project")
GRACE_SECONDS: Final = 10.0
"""How much later than the program's own deadline the kernel may answer before it is given up."""
_ERROR_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnd:
    """What a program said, and how it ended."""

    exit_code: int | None
    """None if it was stopped."""
    output: str
    """Both of its outputs as they came; beginning and end if it was long."""
    left_out: int = 0
    """Bytes of the output that are missing."""
    is_late: bool = False
    """It was stopped at its deadline."""
    error: str = ""
    """Why it could not be started."""


def program_end(message: wire.ProgramEnded, output_bytes: int) -> ProgramEnd:
    """A guest's answer, its texts within bounds."""
    return ProgramEnd(
        exit_code=message.exit_code,
        output=message.output[: output_bytes + 100],
        left_out=max(0, message.left_out),
        is_late=message.is_late,
        error=message.error[:_ERROR_CHARACTERS],
    )
