"""What can go wrong outside Cellwright: a peer cannot be installed, does not start, or answers with an error."""

from __future__ import annotations


class BenchFailed(Exception):
    """A scenario has no result; the message says why."""
