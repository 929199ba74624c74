"""`entry-points`: marimo looks for plugins once per search path, not once per run.

Stock `resolve_executor` reads the metadata of every installed distribution on every run: 4 ms of a 5 ms rerun.
A package installed into a folder already on the path is noticed by the next kernel, not by this one.
"""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoints
from typing import TYPE_CHECKING

from marimo._entrypoints import registry

from cellwright_guest.patches.swap import Swap

if TYPE_CHECKING:
    from marimo._entrypoints.ids import KnownEntryPoint

_stock_get_entry_points = registry.get_entry_points
_known: dict[tuple[str, ...], EntryPoints] = {}


def _get_entry_points(group: KnownEntryPoint) -> EntryPoints:
    key = (group, *sys.path)
    found = _known.get(key)
    if found is None:
        found = _known[key] = _stock_get_entry_points(group)
    return found


SWAPS = (Swap(owner=registry, name="get_entry_points", fingerprint="85eb0edcd10f", ours=_get_entry_points),)
