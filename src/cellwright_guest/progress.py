"""A cell's own progress bars (`mo.status.progress_bar`), told to the host while the cell runs."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from marimo._plugins.stateless.status._progress import _Progress

_SECONDS_BETWEEN = 0.1

Tell = Callable[[str, float, float | None], None]


def follow(tell: Tell) -> None:
    """Call `tell(title, done, total)` as any bar moves: now and then while it does, always at its end."""
    update, close = _Progress.update_progress, _Progress.close
    last = 0.0

    @functools.wraps(update)
    def update_and_tell(
        self: _Progress, increment: int = 1, title: str | None = None, subtitle: str | None = None
    ) -> None:
        nonlocal last
        update(self, increment, title, subtitle)
        if time.monotonic() - last >= _SECONDS_BETWEEN:
            last = time.monotonic()
            tell(self.title or "", self.current, self.total)

    @functools.wraps(close)
    def close_and_tell(self: _Progress) -> None:
        close(self)
        tell(self.title or "", self.current, self.total)

    bar: Any = _Progress
    bar.update_progress = update_and_tell
    bar.close = close_and_tell
