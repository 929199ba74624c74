"""Speed patches: marimo's kernel with the same answers in a fraction of the time, each one removable.

Owns:   exchanging slow functions of marimo's for ours, the lean hooks, what a zygote should have imported.
Above:  the driver.   Below: marimo.
Never:  a change in what a notebook computes; a patch on code it does not recognise.
"""

from cellwright_guest.patches.audience import hooks, is_watched, lean_hooks, set_watched
from cellwright_guest.patches.swap import PATCHES, Outcome, Patch, PatchApplied, PatchNotApplied, apply, remove
from cellwright_guest.patches.warm import WARM_MODULES, WARM_WITH_PANDAS, warm

__all__ = [
    "PATCHES",
    "WARM_MODULES",
    "WARM_WITH_PANDAS",
    "Outcome",
    "Patch",
    "PatchApplied",
    "PatchNotApplied",
    "apply",
    "hooks",
    "is_watched",
    "lean_hooks",
    "remove",
    "set_watched",
    "warm",
]
