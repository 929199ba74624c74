"""Previews: what a model sees of a variable, typed and bounded in tokens, time and memory.

`preview` and `preview_all` never raise and start no threads. Values are recognised without running their code, and a
library that is not loaded is never imported. `TimeLimit` is the guard around code that is not ours.
"""

from cellwright_guest.previews.preview import preview, preview_all
from cellwright_guest.previews.time_limit import TimeLimit, TimeUp, within

__all__ = ["TimeLimit", "TimeUp", "preview", "preview_all", "within"]
