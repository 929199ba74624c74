"""A process that holds secrets, closed to the person's other processes."""

from __future__ import annotations

import ctypes
import os
import resource
from typing import Final

_PR_SET_DUMPABLE: Final = 4


def close_to_others() -> None:
    """Our files are the person's alone from here on, and nobody looks into our memory."""
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot close this process's memory to others")
