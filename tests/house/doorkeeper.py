"""An import-linter contract: only its doors may import a framework.

The built-in `protected` contract needs every named module to exist and sees an outside package only as a whole. This
one lets a door be built later, tells `pydantic_ai.models` from `pydantic_ai.messages`, and counts every import: in a
function, under `TYPE_CHECKING`, and by name through `import_module`.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import grimp
from importlinter import Contract, ContractCheck, fields, output


@dataclass(frozen=True, slots=True, kw_only=True)
class Trespass:
    """One import of a guarded package outside its doors."""

    module: str
    line: int
    imported: str


class Doorkeeper(Contract):
    """`guarded` packages are imported by the `doors` (with all below them) and by nobody else."""

    type_name = "doorkeeper"

    guarded = fields.SetField(subfield=fields.StringField())
    doors = fields.SetField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Kept when no module of our packages trespasses."""
        roots = cast("list[str]", self.session_options["root_packages"])
        ours = (module for module in graph.modules if _is_within(module, roots))
        found = [trespass for module in sorted(ours) for trespass in self._trespasses(module)]
        return ContractCheck(kept=not found, metadata={"trespasses": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """One line per trespass."""
        for trespass in cast("list[Trespass]", check.metadata["trespasses"]):
            output.print_error(f"{trespass.module}:{trespass.line} imports {trespass.imported}")

    def _trespasses(self, module: str) -> Iterator[Trespass]:
        if _is_within(module, cast("set[str]", self.doors)):
            return
        for name, line in _imports_of(module):
            if _is_within(name, cast("set[str]", self.guarded)):
                yield Trespass(module=module, line=line, imported=name)


@functools.cache
def _imports_of(module: str) -> tuple[tuple[str, int], ...]:
    """Read once for all contracts: parsing is what they take time for."""
    return tuple(imported_names(source_of(module)))


def imported_names(source: str) -> Iterator[tuple[str, int]]:
    """Every absolute name a source imports, wherever the statement stands, with its line."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(module=str(module), level=0, names=names):
                yield from ((f"{module}.{alias.name}", node.lineno) for alias in names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name, node.lineno
            case _:
                pass


def source_of(module: str) -> str:
    """The text of a module, found without importing it."""
    root, *below = module.split(".")
    spec = importlib.util.find_spec(root)
    for location in (spec.submodule_search_locations if spec else None) or ():
        path = Path(location, *below)
        for candidate in (path / "__init__.py", path.with_suffix(".py")):
            if candidate.is_file():
                return candidate.read_text(encoding="utf-8")
    raise FileNotFoundError(f"no source found for {module!r}")


def _is_within(name: str, packages: Collection[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)
