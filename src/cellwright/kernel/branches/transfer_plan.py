"""What a fresh kernel needs to try cells that cannot be tried in a fork: cells to run first, values to take over.

Pure: worked out from the document, its graph, what ran, and what kind of value each name has. A value is taken as it is
now, with all that any cell did to it. A cell that runs again makes its values anew: what other cells have done to them
since (a list appended to elsewhere, a table filled) cannot be seen in the graph and is not repeated. Where such a value
is carried too, its name has the parent's value, while defaults of functions keep what the replay made.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from cellwright.ids import CellId
from cellwright.kernel.process.run_request import Outcomes, stale_cells
from cellwright.notebook.dataflow import Graph
from cellwright.notebook.document import SETUP_ID, Document
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.syntax_trees import syntax_tree

_BY_CODE: Final = frozenset({"module", "function", "class"})
"""Kinds of values that are found by their names: only the code that makes them can give them."""
_BOUND: Final = frozenset({"ui", "markdown", "html"})
"""Kinds of values that marimo binds to their cells."""
_HOLDS_NOTHING: Final = frozenset({"dataframe", "series", "array", "number", "text", "bool", "none"})
"""Kinds of values that hardly hold objects of a cell's own classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferPlan:
    """How a fresh kernel comes to the state in which the candidate cells can run."""

    replay: list[CellId]
    """Cells to run first, parents before children; none of them waits for a carried value."""
    carry: list[str]
    """Names whose values are taken from the parent, after the replay; of a `mo.ui` element, what it is set to."""
    fresh: list[CellId]
    """Cells to count as run although they are not, because all that is needed of them is carried, or nothing is.

    Marimo runs every stale ancestor of what it is asked to run, also behind one that is not stale.
    """
    needed: frozenset[str] = frozenset()
    """Those of `carry` that something in the new kernel refers to; the others only come along with their cells."""


def plan_transfer(
    document: Document,
    outcomes: Outcomes,
    candidates: AbstractSet[CellId],
    kinds: Mapping[str, str],
    *,
    cannot: Collection[str] = (),
) -> TransferPlan:
    """What to replay and what to carry so that `candidates`, and whatever follows from them, can run.

    `document` is the notebook with the candidates in it, `outcomes` and `kinds` (`VariablePreview.kind`, for every
    name that has a value) are the parent's. Names in `cannot` turned out not to be carriable: their cells are
    replayed. A cell that has not run well in the parent is not replayed: it runs with the candidates, as it would
    there. Another edit in the same kernel is planned again: what it needs and is not there yet comes in the same way.
    """
    running = _running(document, outcomes, candidates)
    return _TransferPlanner(
        document=document, graph=graph(document), running=running, kinds=kinds, cannot=frozenset(cannot)
    ).plan()


def plan_replay(document: Document, outcomes: Outcomes, candidates: AbstractSet[CellId]) -> TransferPlan:
    """The way without carrying: every cell that had run and that something depends on, in order."""
    whole = graph(document)
    running = _running(document, outcomes, candidates)
    needed = set(whole.ancestors(running)) | ({SETUP_ID} & whole.nodes.keys())
    return TransferPlan(replay=list(whole.in_order(needed - running - _disabled(document))), carry=[], fresh=[])


def _running(document: Document, outcomes: Outcomes, candidates: AbstractSet[CellId]) -> frozenset[CellId]:
    """The candidates, what depends on them, what those need and has not run, and what depends on that."""
    whole = graph(document)
    behind = stale_cells(document, outcomes, frozenset())
    running = whole.descendants(candidates)
    while True:
        more = whole.descendants({*running, *(whole.ancestors(running) & behind)})
        if more == running:
            return running
        running = more


def _disabled(document: Document) -> set[CellId]:
    return {cell.id for cell in document.cells if cell.config.disabled}


@dataclass(slots=True, kw_only=True)
class _TransferPlanner:
    document: Document
    graph: Graph
    running: frozenset[CellId]
    kinds: Mapping[str, str]
    cannot: frozenset[str]
    replay: set[CellId] = field(default_factory=set[CellId])
    carry: set[str] = field(default_factory=set[str])
    owners: dict[str, CellId] = field(default_factory=dict[str, CellId])
    codes: dict[CellId, str] = field(default_factory=dict[CellId, str])
    states: set[str] = field(default_factory=set[str])
    _wanted: list[str] = field(default_factory=list[str])
    _again: list[CellId] = field(default_factory=list[CellId])

    def plan(self) -> TransferPlan:
        usable = self.graph.nodes.keys() - self.running - _disabled(self.document)
        self.codes = {cell.id: cell.code for cell in self.document.cells if cell.id in usable}
        self.owners = {name: cell for cell in self.codes for name in self.graph.nodes[cell].defs}
        self.states = {name for code in self.codes.values() for name in _states_in(code)}
        self._wanted += (name for cell in self.running for name in self.graph.nodes[cell].refs)
        # The setup cell runs before all others, asked for or not.
        self._again += {SETUP_ID} & usable
        self._work_out()
        along: set[str] = set()
        for name in self._come_along():
            along.add(name)
            self._need_definitions_for(name)
        self._work_out()
        fresh = (self.graph.ancestors(self.running | self.replay) & self.codes.keys()) - self.replay
        return TransferPlan(
            replay=list(self.graph.in_order(self.replay)),
            carry=sorted(self.carry | along),
            fresh=list(self.graph.in_order(fresh)),
            needed=frozenset(self.carry),
        )

    def _come_along(self) -> list[str]:
        """What else the carried names' cells define: a later edit may refer to it."""
        whole = {self.owners[name] for name in self.carry} - self.replay
        defined = {name for cell in whole for name in self.graph.nodes[cell].defs if self._can_carry(name)}
        return sorted(defined - self.carry)

    def _work_out(self) -> None:
        while self._wanted or self._again:
            if self._again:
                self._replay(self._again.pop())
            else:
                self._need(self._wanted.pop())

    def _need(self, name: str) -> None:
        """A name that must have its value before the candidates run."""
        if name in self.carry or name not in self.owners:
            return
        if self._is_bound(name):
            self.carry.add(name)
            self._again.append(self.owners[name])
        elif self._can_carry(name):
            self.carry.add(name)
            self._need_definitions_for(name)
        else:
            self._again.append(self.owners[name])

    def _replay(self, cell: CellId) -> None:
        """Run it, and first all that it needs while it runs; what only its functions need may be carried."""
        if cell in self.replay:
            return
        self.replay.add(cell)
        refs = self.graph.nodes[cell].refs
        later = _needed_later(self.codes[cell], refs)
        self._again += (self.owners[name] for name in refs - later if name in self.owners)
        # Once it has run, its functions go on with the parent's values, not with those the replay made.
        self._wanted += refs

    def _need_definitions_for(self, name: str) -> None:
        """Its value may hold objects of classes that cells define, which are found by name when it is restored."""
        if self.kinds.get(name) in _HOLDS_NOTHING:
            return
        for cell in self.graph.ancestors([self.owners[name]]) & self.codes.keys():
            if any(self.kinds.get(defined) in ("class", "function") for defined in self.graph.nodes[cell].defs):
                self._again.append(cell)

    def _is_bound(self, name: str) -> bool:
        return name in self.states or self.kinds.get(name) == "ui"

    def _can_carry(self, name: str) -> bool:
        # A name without a value is no variable (a table of a database), or was never looked at.
        kind = self.kinds.get(name)
        return (
            kind is not None and kind not in _BY_CODE | _BOUND and name not in self.cannot and name not in self.states
        )


# ── what code needs when ──


def _states_in(code: str) -> Iterator[str]:
    """Names bound by `get_x, set_x = mo.state(…)`: their previews do not tell."""
    for statement in _statements(code):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        called = statement.value.func
        if isinstance(called, ast.Attribute) and called.attr == "state":
            yield from (
                node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)
            )


def _needed_later(code: str, refs: AbstractSet[str]) -> frozenset[str]:
    """Of the names a cell refers to, those that only the functions it defines use, and not while it runs."""
    statements = _statements(code)
    if not all(_only_defines(statement) for statement in statements):
        return frozenset()
    at_once = {name for statement in statements for name in _used_at_once(statement)}
    return frozenset(refs - at_once)


def _statements(code: str) -> list[ast.stmt]:
    tree = syntax_tree(code)
    return tree.body if tree is not None else []


def _only_defines(statement: ast.stmt) -> bool:
    """True when no function of the cell can run with it."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Pass():
            return True
        case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
            return not any(isinstance(node, ast.Call) for node in ast.walk(arguments))
        case ast.ClassDef(body=body):
            return all(_only_defines(inner) for inner in body)
        case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.Expr(value=value):
            return value is None or not any(isinstance(node, _ACTS) for node in ast.walk(value))
        case _:
            return False


_ACTS: Final = (ast.Call, ast.Await, ast.Attribute, ast.Subscript, ast.BinOp, ast.Compare)
"""What may run a function: an operator too, through a method."""


def _used_at_once(statement: ast.stmt) -> Iterator[str]:
    match statement:
        # A decorator may call what it is given.
        case ast.FunctionDef(decorator_list=[]) | ast.AsyncFunctionDef(decorator_list=[]):
            heads: list[ast.AST] = [statement.args, *([statement.returns] if statement.returns is not None else [])]
            yield from _names(heads)
        case ast.ClassDef(decorator_list=[], keywords=[]):
            yield from _names(statement.bases)
            for inner in statement.body:
                yield from _used_at_once(inner)
        case _:
            yield from _names([statement])


def _names(nodes: Collection[ast.AST]) -> Iterator[str]:
    for top in nodes:
        yield from (node.id for node in ast.walk(top) if isinstance(node, ast.Name))
