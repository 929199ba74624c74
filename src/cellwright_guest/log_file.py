"""marimo's log file: closed before anything is forked.

Its descriptor's number would be somebody else's in a kernel, the socket to the host for one, and every line that marimo
logs would go there. What it logs still reaches the console.
"""

from __future__ import annotations

import logging


def close_log_file() -> None:
    """Let marimo log to no file."""
    marimo = logging.getLogger("marimo")
    for handler in [each for each in marimo.handlers if isinstance(each, logging.FileHandler)]:
        marimo.removeHandler(handler)
        handler.close()
