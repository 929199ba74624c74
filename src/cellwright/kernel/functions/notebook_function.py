"""A whole notebook as a function: some of its names given from outside, it runs once, other names come back.

What `marimo.App.run(defs=…)` does, in a cage and a little more: a cell may define other names besides the given one.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final

from cellwright.errors import UserError
from cellwright.kernel.branches.notebook_session import NotebookSession
from cellwright.kernel.functions.cell_functions import NotebookValue, read_values
from cellwright.kernel.observation import Observation
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.edits import EditCell
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.syntax_trees import walk_syntax

_GIVEN: Final = "__import__('cellwright_guest.functions', fromlist=['given']).given"
_INPUT_CHARACTERS: Final = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookAnswer:
    """What a notebook made of its inputs."""

    outputs: dict[str, NotebookValue]
    missing: tuple[str, ...] = ()
    """Outputs that have no value, because the cell that makes them failed or was stopped."""
    observation: Observation
    """Everything that ran, with its errors."""


async def call_notebook(
    opening: AbstractAsyncContextManager[NotebookSession],
    inputs: Mapping[str, object],
    outputs: Sequence[str],
    *,
    seconds: float | None = None,
    tokens: int = 500,
) -> NotebookAnswer:
    """Open it in a cage of its own, give it its inputs, run all of it once, take its outputs. Its file stays as it is.

    An input is a JSON value for a name that a cell assigns, or for the `mo.ui` element of that name. Raises
    `UserError` for names the notebook does not have, and for inputs that cannot be put in.
    """
    async with opening as notebook:
        document = notebook.state.document
        edits = input_edits(document, inputs)
        known = {name for node in graph(document).nodes.values() for name in node.defs}
        if unknown := sorted(set(outputs) - known):
            raise _no_such_name(unknown[0], known)
        observation = await notebook.apply(edits, run="all", seconds=seconds)
        found = await read_values(notebook.side_calls, outputs, tokens=tokens) if outputs else {}
    wanted = {name: found[name] for name in outputs if name in found}
    missing = tuple(name for name in outputs if name not in found)
    return NotebookAnswer(outputs=wanted, missing=missing, observation=observation)


def input_edits(document: Document, inputs: Mapping[str, object]) -> list[EditCell]:
    """The edits that put the inputs in the place of what their cells assign."""
    nodes = graph(document).nodes
    homes = {name: cell for cell, node in nodes.items() for name in node.defs}
    if unknown := sorted(inputs.keys() - homes.keys()):
        raise _no_such_name(unknown[0], homes)
    edits: list[EditCell] = []
    for cell in document.cells:
        given = {name: inputs[name] for name in inputs if homes[name] == cell.id}
        if given:
            code = _with_inputs(cell, given, nodes[cell.id].defs, _marimo_names(document))
            edits.append(EditCell(cell=cell.id, base_version=cell.version, code=code))
    return edits


def _no_such_name(name: str, known: Iterable[str]) -> UserError:
    return UserError(f"No cell defines {name!r}.", hint=f"Cells define: {', '.join(sorted(known)[:40]) or 'nothing'}.")


# ── one cell ──


def _with_inputs(cell: Cell, given: Mapping[str, object], defined: frozenset[str], marimo: frozenset[str]) -> str:
    """The cell's code with what it assigns to these names replaced; all else in it sees the given values."""
    tree = ast.parse(cell.code)
    assigned = {name: list(_assignments(tree, name)) for name in given}
    awkward = [name for name in given if len(assigned[name]) != 1 or _bindings(tree, name) != 1]
    if not awkward:
        return _spliced(cell.code, {name: assigned[name][0] for name in given}, given, marimo)
    if defined <= given.keys():
        return "\n".join(f"{name} = {_literal(value)}" for name, value in given.items())
    others = ", ".join(sorted(defined - given.keys()))
    raise UserError(
        f"{awkward[0]!r} cannot be given: its cell does more than assign it once.",
        hint=f"Give all that the cell defines ({others} too), or assign {awkward[0]!r} in a line of its own.",
    )


def _assignments(tree: ast.Module, name: str) -> Iterator[ast.expr]:
    """The expressions of `name = …` at the top of the cell."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                yield value
            case ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value) if found == name:
                yield value
            case _:
                pass


def _bindings(tree: ast.Module, name: str) -> int:
    """How often the name may be bound, anywhere in the cell."""
    found = 0
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=bound, ctx=ast.Store() | ast.Del()) if bound == name:
                found += 1
            case ast.FunctionDef(name=bound) | ast.AsyncFunctionDef(name=bound) | ast.ClassDef(name=bound):
                found += bound == name
            case ast.alias(name=imported, asname=alias):
                found += (alias or imported.partition(".")[0]) == name
            case ast.Global(names=names):
                found += name in names
            case ast.ExceptHandler(name=str(bound)) | ast.MatchAs(name=str(bound)) | ast.MatchStar(name=str(bound)):
                found += bound == name
            case _:
                pass
    return found


def _spliced(code: str, values: Mapping[str, ast.expr], given: Mapping[str, object], marimo: frozenset[str]) -> str:
    raw = code.encode()
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for name, value in sorted(values.items(), key=lambda item: (item[1].lineno, item[1].col_offset), reverse=True):
        assert value.end_lineno is not None
        assert value.end_col_offset is not None
        start = starts[value.lineno - 1] + value.col_offset
        end = starts[value.end_lineno - 1] + value.end_col_offset
        old = raw[start:end].decode()
        literal = _literal(given[name])
        # As many lines as before: errors further down keep their line.
        lines = "" if _is_ui(value, marimo) else "\n" * old.count("\n")
        new = f"{_GIVEN}({old}, {literal})" if _is_ui(value, marimo) else f"({literal}{lines})"
        raw = raw[:start] + new.encode() + raw[end:]
    return raw.decode()


def _is_ui(value: ast.expr, marimo: frozenset[str]) -> bool:
    """Whether an expression makes a `mo.ui` element: `mo.ui.slider(…)`, `ui.slider(…)`, `mo.ui.text().form()`."""
    node: ast.expr = value
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Attribute) and node.attr == "ui" and isinstance(node.value, ast.Name):
            return node.value.id in marimo
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(value, ast.Call) and isinstance(node, ast.Name) and f"ui {node.id}" in marimo


def _marimo_names(document: Document) -> frozenset[str]:
    """What marimo is called here; names of `marimo.ui` and what is in it with `ui ` in front."""
    names: set[str] = set()
    for node in (node for cell in document.cells for node in walk_syntax(cell.code)):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.asname or "marimo" for alias in aliases if alias.name == "marimo"}
                names |= {f"ui {alias.asname}" for alias in aliases if alias.name == "marimo.ui" and alias.asname}
            case ast.ImportFrom(module="marimo", names=aliases):
                names |= {f"ui {alias.asname or 'ui'}" for alias in aliases if alias.name == "ui"}
            case ast.ImportFrom(module="marimo.ui", names=aliases):
                names |= {f"ui {alias.asname or alias.name}" for alias in aliases}
            case _:
                pass
    return frozenset(names)


def _literal(value: object) -> str:
    """A JSON value as Python writes it."""
    try:
        literal = repr(json.loads(json.dumps(value, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(
            f"An input is no JSON value: {error}.", hint="Give text, numbers, lists and objects."
        ) from error
    if len(literal) > _INPUT_CHARACTERS:
        raise UserError("An input is larger than 4 MB.", hint="Put it in a file of the project and give its name.")
    return literal
