"""Whether an editor reads marimo's notifications. Imports nothing of marimo's, so it is there whatever broke."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Audience:
    """Read by the `broadcast` patch on every notification."""

    is_watching: bool = True


audience = Audience()


def set_watched(watched: bool) -> None:
    """Say whether notifications are worth building. Cells keep their own state either way.

    Nothing is told afterwards: an editor that joins needs the present state from the driver.
    """
    audience.is_watching = watched


def is_watched() -> bool:
    """Whether notifications are sent; true until somebody says otherwise."""
    return audience.is_watching
