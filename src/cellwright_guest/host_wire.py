"""What a running cell asks of the host, and what it is answered: by the name of a service, in the service's own bytes.

Nothing here says what a service is for, and no secret is ever in either. Large results come as descriptors.
"""

from __future__ import annotations

from typing import Final

import msgspec

MAX_CALL_BYTES: Final = 1 << 20
"""What a call or its answer may say; more comes as a descriptor."""
MAX_DESCRIPTORS: Final = 4


class _HostMessage(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    call: int
    """The kernel's own number of the call."""


# ── guest → host ──


class HostCall(_HostMessage, frozen=True, kw_only=True):
    """A cell waits for the answer."""

    service: str
    body: bytes


class HostCancel(_HostMessage, frozen=True, kw_only=True):
    """Nobody waits any more: the cell was interrupted."""


FromCell = HostCall | HostCancel


# ── host → guest ──


class HostAnswer(_HostMessage, frozen=True, kw_only=True):
    """What came of it."""

    body: bytes = b""
    error: str = ""
    """Why nothing did, for whoever wrote the cell."""
    descriptors: int = 0
    """So many come with this message."""
