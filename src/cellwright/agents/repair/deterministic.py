"""Deterministic repairs: those that need no model, for there is only one thing they can be. In doubt there is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Final

from cellwright.agents.repair.choices import DeterministicRepair, FailureContext, WantedCall
from cellwright.agents.repair.failures import ObservedFailure
from cellwright.ids import CellId
from cellwright.kernel.environments.packages import for_module
from cellwright.notebook.consequences import Consequences, foresee
from cellwright.notebook.document import Document
from cellwright.notebook.edits import EditCell
from cellwright.notebook.marimo_graph import graph
from cellwright.policy.actions import QueryConnection, UseNetwork
from cellwright.tools.section_cells import imports_of, without_imports

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
        case "connection-refused":
            return _approve_connection(failure)
        case "flaky":
            again = (WantedCall(name=RUN, arguments={"cells": [failure.cell]}),)
            reason = "It may only have been bad luck: once more, unchanged."
            return DeterministicRepair(reason=reason, calls=again) if failure.cell is not None else None
        case "kernel-lost" if failure.cell is None:
            reason = "The kernel ended under no cell: start another and run what is stale."
            return DeterministicRepair(reason=reason, calls=(WantedCall(name=RUN, arguments={"cells": "stale"}),))
        case _:
            return None


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
    imports = [[source for bound, source in imports_of(codes[cell]) if bound == name] for cell in cells]
    sources = {source for found in imports for source in found}
    if len(sources) != 1 or not all(imports) or any(cell not in context.own_cells for cell in to_change):
        return None
    imported = dict.fromkeys([name], sources.pop())
    dropped = {cell: without_imports(codes[cell], imported) for cell in to_change}
    if not all(code.strip() for code in dropped.values()):
        return None
    codes |= dropped
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


def _approve_connection(failure: ObservedFailure) -> DeterministicRepair:
    """Ask for the connection, to read."""
    wanted = QueryConnection(connection=failure.subject, access="read", statement="")
    again = (WantedCall(name=RUN, arguments={"cells": [failure.cell]}),) if failure.cell is not None else ()
    reason = f"The notebook's code wants to read {failure.subject!r}: ask whether it may, then run again."
    return DeterministicRepair(reason=reason, wants=(wanted,), calls=again)


def _port(host: str, message: str, code: str) -> int:
    said = re.search(r"port (\d{1,5}) of host '", message) or re.search(r"port=(\d{1,5})\b", message)
    written = re.search(rf"(https?)://{re.escape(host)}(?::(\d{{1,5}}))?(?![\w.])", code)
    if said is not None:
        return int(said[1])
    if written is None:
        return 443
    return int(written[2]) if written[2] else {"http": 80, "https": 443}[written[1]]
