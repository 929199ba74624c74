"""An import-linter contract: no module imports itself, by whatever detour.

The built-in `acyclic_siblings` looks at packages; a circle of two modules inside one package is a knot as well. Every
import counts: in a function and under `TYPE_CHECKING` too.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import cast

import grimp
from importlinter import Contract, ContractCheck, output


class NoCircles(Contract):
    """The modules of our packages can be put in an order in which each imports only earlier ones."""

    type_name = "no_circles"

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Kept when there is no circle; one is named, for it hides the others."""
        roots = cast("list[str]", self.session_options["root_packages"])
        ours = {module for module in graph.modules if module.split(".")[0] in roots}
        imported = {module: graph.find_modules_directly_imported_by(module) & ours for module in ours}
        circle = find_circle(imported)
        return ContractCheck(kept=not circle, metadata={"circle": circle})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """The circle, each module before the one that imports it."""
        output.print_error(" ← ".join(cast("list[str]", check.metadata["circle"])))


def find_circle(imported: dict[str, set[str]]) -> list[str]:
    """One circle of modules, the first named again at the end; empty when there is none."""
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        return cast("list[str]", error.args[1])
    return []
