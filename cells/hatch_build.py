"""Puts `src/cellwright_cells` into the wheel `cellwright-cells`; an editable install holds no copy of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "cellwright_cells"


class CellsHook(BuildHookInterface):
    """A source distribution is not made: the source is the repository's."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name what goes in."""
        if version != "editable":
            build_data["force_include"][str(PACKAGE)] = PACKAGE.name
