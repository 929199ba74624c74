"""What host and guest say to each other when a kernel cannot be forked and another has to take its variables over.

Values never stand in these messages: they lie in a memory file that the host made, whose descriptor comes with
`ExportValues` and `ImportValues`. The host never opens what is in it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SeedKind = Literal["file", "directory", "symlink", "deleted"]


class _TransferMessage(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    request: int


# ── host → guest ──


class ExportValues(_TransferMessage, frozen=True, kw_only=True):
    """Write these variables into the memory file that comes with this message."""

    names: list[str]
    most_bytes: int


class ImportValues(_TransferMessage, frozen=True, kw_only=True):
    """Take over what lies in the memory file that comes with this message; the cells it needs have run."""


class MarkFresh(_TransferMessage, frozen=True, kw_only=True):
    """These cells count as run: what is needed of them comes from another kernel."""

    cells: list[str]


class SeedPiece(msgspec.Struct, frozen=True, kw_only=True):
    """One path of the project as it shall be, or the next bytes of a file that is too large for one message."""

    path: str
    """Relative to the project, parts divided by `/`."""
    kind: SeedKind
    mode: int = 0o644
    target: str = ""
    """Where a symbolic link points."""
    content: bytes = b""
    offset: int = 0
    """Where in the file `content` belongs; 0 begins it anew."""


class SeedFiles(_TransferMessage, frozen=True, kw_only=True):
    """Make the project's files these, in this order."""

    pieces: list[SeedPiece]


TransferRequest = ExportValues | ImportValues | MarkFresh | SeedFiles


# ── guest → host ──


class Exported(_TransferMessage, frozen=True, kw_only=True):
    """Answer to `ExportValues`."""

    carried: list[str] = []
    left: dict[str, str] = {}
    """Name → why it is not in the file."""
    bytes: int = 0
    """What the file holds."""
    error: str = ""
    """Why there is nothing in it at all."""


class Imported(_TransferMessage, frozen=True, kw_only=True):
    """Answer to `ImportValues`."""

    restored: list[str] = []
    left: dict[str, str] = {}
    """Name → why the kernel has no such value now."""
    error: str = ""


class FreshMarked(_TransferMessage, frozen=True, kw_only=True):
    """Answer to `MarkFresh`."""

    cells: list[str] = []
    """Those it knows."""
    stale: list[str] = []
    """Cells that must run to be current."""


class FilesSeeded(_TransferMessage, frozen=True, kw_only=True):
    """Answer to `SeedFiles`."""

    refused: dict[str, str] = {}
    """Path → why it is not as it should be."""


TransferAnswer = Exported | Imported | FreshMarked | FilesSeeded
