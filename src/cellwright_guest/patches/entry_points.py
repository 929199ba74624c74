"""`entry-points`: marimo looks for plugins once per search path, not once per run.

Stock `resolve_executor` reads the metadata of every installed distribution on every run: 4 ms of a 5 ms rerun.
A package installed into a folder already on the path is noticed by the next kernel, not by this one. Folders without
packages, such as a notebook's own, do not count: so what a zygote found before the fork still holds after it.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import EntryPoints
from typing import get_args

from marimo._entrypoints import registry
from marimo._entrypoints.ids import KnownEntryPoint

from cellwright_guest.patches.swap import Swap

_stock_get_entry_points = registry.get_entry_points
_known: dict[tuple[str, ...], EntryPoints] = {}
_holds_packages: dict[str, bool] = {}


def find_all() -> None:
    """Look for every kind of plugin now: for a zygote, before the fork."""
    for group in get_args(KnownEntryPoint):
        _get_entry_points(group)


def _get_entry_points(group: KnownEntryPoint) -> EntryPoints:
    key = (group, *filter(_has_packages, sys.path))
    found = _known.get(key)
    if found is None:
        found = _known[key] = _stock_get_entry_points(group)
    return found


def _has_packages(place: str) -> bool:
    known = _holds_packages.get(place)
    if known is None:
        known = _holds_packages[place] = _looks_installed(place)
    return known


def _looks_installed(place: str) -> bool:
    try:
        names = os.listdir(place or ".")  # noqa: PTH208
    except OSError:
        # A zip file can hold packages too.
        return os.path.isfile(place)  # noqa: PTH113
    return any(name.endswith((".dist-info", ".egg-info")) for name in names)


SWAPS = (Swap(owner=registry, name="get_entry_points", fingerprint="85eb0edcd10f", ours=_get_entry_points),)
