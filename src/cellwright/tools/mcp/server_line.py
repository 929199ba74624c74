"""What is known of the line to a server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ServerLine:
    """Why the line to a server ended, or why there was none; empty as long as nobody knows of an end."""

    why: str = ""
    is_private: bool = False
    """Whether it led to this machine or its network, which nobody had allowed."""
