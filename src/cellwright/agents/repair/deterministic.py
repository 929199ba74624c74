"""Deterministic repairs: those that need no model, for there is only one thing they can be. In doubt there is none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Final

from cellwright.agents.repair.choices import DeterministicRepair, FailureContext, WantedCall
from cellwright.agents.repair.failures import ObservedFailure
from cellwright.ids import CellId
from cellwright.kernel.environments.packages import for_module
from cellwright.notebook import Document, EditCell, foresee, graph
from cellwright.notebook.consequences import Consequences
from cellwright.policy.actions import UseNetwork

_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def drop_import(code: str, name: str) -> str | None:
    """The code without the one top-level import that only binds this name."""
    tree = _parse(code)
    body = [] if tree is None else tree.body
    statements = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom) and name in import_of(node)]
    if tree is None or len(statements) != 1 or len(tree.body) < 2:
        return None
    [statement] = statements
    others = [node for node in tree.body if node is not statement]
    if len(statement.names) != 1 or any(_binds(node, name) for node in others):
        return None
    lines = code.splitlines(keepends=True)
    first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
    if any(first <= line <= last for node in others for line in range(node.lineno - 1, node.end_lineno or 0)):
        return None
    changed = "".join(lines[:first] + lines[last + 1 :])
    after = _parse(changed)
    expected = ast.dump(ast.Module(body=others, type_ignores=[]))
    return changed.strip("\n") if after is not None and ast.dump(after) == expected else None


def imported_as(code: str, name: str) -> str | None:
    """What the import that binds this name imports, if exactly one top-level statement does."""
    tree = _parse(code)
    found = [] if tree is None else [(node, import_of(node)[name]) for node in tree.body if name in import_of(node)]
    return found[0][1] if len(found) == 1 else None


def import_of(node: ast.stmt) -> dict[str, str]:
    """Names a statement imports, each with what it stands for."""
    match node:
        case ast.Import(names=names):
            return {
                alias.asname or alias.name.split(".")[0]: alias.name if alias.asname else alias.name.split(".")[0]
                for alias in names
                if alias.asname or "." not in alias.name
            }
        case ast.ImportFrom(module=module, names=names, level=level):
            return {alias.asname or alias.name: f"{'.' * level}{module or ''}:{alias.name}" for alias in names}
        case _:
            return {}


def _parse(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _binds(node: ast.stmt, name: str) -> bool:
    return any(
        (isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load))
        or (isinstance(each, _SCOPES) and each.name == name)
        or (isinstance(each, ast.Import | ast.ImportFrom) and name in import_of(each))
        for each in ast.walk(node)
    )


INSTALL: Final = "install_package"
"""The tool that installs a package after asking once: `tools/environment_tools.py`."""
RUN: Final = "run"
APPLY: Final = "apply"


def deterministic_repair(failure: ObservedFailure, context: FailureContext) -> DeterministicRepair | None:
    """The one thing to do, or None where it is not certain."""
    match failure.kind:
        case "name-conflict":
            return _one_import_one_cell(failure, context)
        case "missing-package":
            return _install(failure, context)
        case "network-refused":
            return _approve_host(failure, context)
        case "flaky":
            return _run_again(failure, "It may only have been bad luck: once more, unchanged.")
        case "kernel-lost" if failure.cell is None:
            reason = "The kernel ended under no cell: start another and run what is stale."
            return DeterministicRepair(reason=reason, calls=(WantedCall(name=RUN, arguments={"cells": "stale"}),))
        case _:
            return None


def near_files(wanted: str, files: Iterable[str]) -> tuple[str, ...]:
    """Files that are called the same but for letter case, blanks, `-` and `_`, wherever in the project they are.

    One letter more or less is another file: `sales_2023.csv` is not `sales_2024.csv`.
    """
    name = _plain(PurePosixPath(wanted.replace("\\", "/")).name)
    return tuple(file for file in files if name and _plain(PurePosixPath(file).name) == name)


def near_columns(wanted: str, columns: Iterable[str]) -> tuple[str, ...]:
    """Columns that are called the same but for letter case and blanks."""
    same = "".join(wanted.split()).casefold()
    return tuple(dict.fromkeys(column for column in columns if same and "".join(column.split()).casefold() == same))


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()


def _run_again(failure: ObservedFailure, reason: str) -> DeterministicRepair | None:
    if failure.cell is None:
        return None
    return DeterministicRepair(reason=reason, calls=(WantedCall(name=RUN, arguments={"cells": [failure.cell]}),))


# ── names ──


def _one_import_one_cell(failure: ObservedFailure, context: FailureContext) -> DeterministicRepair | None:
    """Names that the agent's cells import a second time: those imports are dropped."""
    document = context.document
    twice = {name: cells for name, cells in graph(document).defined_twice.items() if name in failure.subjects}
    codes = {cell.id: cell.code for cell in document.cells}
    reasons: list[str] = []
    for name, cells in twice.items():
        changed = _imported_once(name, cells, context, codes)
        if changed is None:
            return None
        reasons.append(changed)
    edits = _edits(document, codes)
    if not edits or not _are_settled(document, edits, twice):
        return None
    arguments = {"edits": [{"op": "edit", **asdict(edit)} for edit in edits]}
    return DeterministicRepair(reason=" ".join(reasons), calls=(WantedCall(name=APPLY, arguments=arguments),))


def _imported_once(name: str, cells: Sequence[CellId], context: FailureContext, codes: dict[CellId, str]) -> str | None:
    """Changes `codes` so that one cell imports the name; says what was done, or None."""
    keeps = next((cell for cell in cells if cell not in context.own_cells), cells[0])
    to_change = [cell for cell in cells if cell != keeps]
    imports = {imported_as(codes[cell], name) for cell in cells}
    if len(imports) != 1 or None in imports or any(cell not in context.own_cells for cell in to_change):
        return None
    dropped = {cell: drop_import(codes[cell], name) for cell in to_change}
    if None in dropped.values():
        return None
    codes |= {cell: code for cell, code in dropped.items() if code is not None}
    return f"{name!r} is imported once, in cell {keeps}; cell {', '.join(to_change)} uses that."


def _edits(document: Document, codes: Mapping[CellId, str]) -> tuple[EditCell, ...]:
    return tuple(
        EditCell(cell=cell.id, base_version=cell.version, code=codes[cell.id])
        for cell in document.cells
        if codes[cell.id] != cell.code
    )


def _are_settled(document: Document, edits: Sequence[EditCell], names: Iterable[str]) -> bool:
    before, after = foresee(document, []), foresee(document, edits)
    return (
        isinstance(before, Consequences)
        and isinstance(after, Consequences)
        and not any(name in after.defined_twice for name in names)
        and len(after.cycles) <= len(before.cycles)
        and len(after.problems) <= len(before.problems)
        and not after.lost_names
    )


# ── what is not there ──


def _install(failure: ObservedFailure, context: FailureContext) -> DeterministicRepair | None:
    """Ask for the package; installing it runs again what failed for want of it."""
    module = failure.subject
    files = {PurePosixPath(file) for file in context.files}
    is_of_project = any(module in (file.stem, *file.parts[:-1]) for file in files)
    missing = None if is_of_project or failure.cell is None else for_module(module.replace("-", "_"))
    if missing is None:
        return None
    return DeterministicRepair(
        reason=f"The package {missing.requirement!r} is missing: ask to install it, and run again what needs it.",
        calls=(WantedCall(name=INSTALL, arguments={"requirement": missing.requirement}),),
    )


# ── network ──


def _approve_host(failure: ObservedFailure, context: FailureContext) -> DeterministicRepair | None:
    """Ask for the host. Where there is no network at all, or the host is not to be found, permission would not help."""
    host = failure.subject
    if not host or "is not approved for this notebook" not in failure.message:
        return None
    cell = context.document.find(failure.cell) if failure.cell is not None else None
    wanted = UseNetwork(host=host, port=_port(host, failure.message, cell.code if cell else ""), purpose="the notebook")
    again = (WantedCall(name=RUN, arguments={"cells": [failure.cell]}),) if failure.cell is not None else ()
    reason = f"The notebook's code wants to reach {host!r}: ask whether it may, then run again."
    return DeterministicRepair(reason=reason, wants=(wanted,), calls=again)


def _port(host: str, message: str, code: str) -> int:
    said = re.search(r"port (\d{1,5}) of host '", message) or re.search(r"port=(\d{1,5})\b", message)
    written = re.search(rf"(https?)://{re.escape(host)}(?::(\d{{1,5}}))?(?![\w.])", code)
    if said is not None:
        return int(said[1])
    if written is None:
        return 443
    return int(written[2]) if written[2] else {"http": 80, "https": 443}[written[1]]
