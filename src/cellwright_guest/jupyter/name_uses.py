"""What a cell does with the notebook's names: reads, binds, changes in place, now or when a function is called."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Final

CHANGING_METHODS: Final = frozenset({
    "add", "append", "appendleft", "clear", "discard", "extend", "fill", "fit", "insert", "partial_fit", "pop",
    "popitem", "popleft", "remove", "reverse", "setdefault", "sort", "update",
})  # fmt: skip
_FIGURES: Final = frozenset({"fig", "ax", "axs", "axes"})


@dataclass(slots=True, kw_only=True)
class NameUses:
    """Of one cell."""

    bound: dict[str, bool] = field(default_factory=dict[str, bool])
    """Names bound at its top level → whether that surely happens before anything reads them there."""
    read: set[str] = field(default_factory=set[str])
    """Names read at its top level before they are surely bound there."""
    changed: set[str] = field(default_factory=set[str])
    """Names whose value is changed in place."""
    deleted: set[str] = field(default_factory=set[str])
    deferred: set[str] = field(default_factory=set[str])
    """Names that its functions read when they are called."""
    deferred_bound: set[str] = field(default_factory=set[str])
    """Names that its functions bind when they are called."""
    passing: set[str] = field(default_factory=set[str])
    """Names bound only by loops, `with` or as a figure: what they hold afterwards is seldom wanted."""
    imports: dict[str, str] = field(default_factory=dict[str, str])
    """Names bound by imports alone → what is imported."""

    @property
    def all_read(self) -> set[str]:
        """Whatever it may read of other cells."""
        return self.read | self.deferred | self.changed


def uses_of(tree: ast.Module) -> NameUses:
    """What the cell does with names."""
    visitor = _Visitor()
    for statement in tree.body:
        visitor.is_sure = True
        visitor.visit(statement)
    uses = visitor.uses
    uses.passing = {name for name in uses.bound if name not in visitor.lasting or name in _FIGURES}
    uses.imports = {name: text for name, text in visitor.imported.items() if name not in visitor.other}
    return uses


class _Visitor(ast.NodeVisitor):
    def __init__(self) -> None:
        self.uses = NameUses()
        self.is_sure = True
        self.lasting = set[str]()
        self.imported = dict[str, str]()
        self.other = set[str]()

    # ── binding ──

    def bind(self, name: str, *, is_passing: bool = False) -> None:
        uses = self.uses
        if name not in uses.bound:
            uses.bound[name] = self.is_sure and name not in uses.read and name not in uses.deferred
        if not is_passing:
            self.lasting.add(name)
        self.other.add(name)

    def targets(self, node: ast.expr, *, is_passing: bool = False) -> None:
        match node:
            case ast.Name(id=name):
                self.bind(name, is_passing=is_passing)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self.targets(part, is_passing=is_passing)
            case ast.Starred(value=value):
                self.targets(value, is_passing=is_passing)
            case _:
                self.change(node)
                self.visit(node)

    def change(self, node: ast.expr) -> None:
        root = _root(node)
        if root is not None:
            self.uses.changed.add(root)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.targets(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)
            self.targets(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.read(node.target.id)
        self.visit(node.value)
        self.targets(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.targets(node.target)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            self._import(name, f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else ""))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            text = f"from {'.' * node.level}{node.module or ''} import {alias.name}"
            self._import(alias.asname or alias.name, text + (f" as {alias.asname}" if alias.asname else ""))

    def _import(self, name: str, text: str) -> None:
        was_other = name in self.other
        self.bind(name)
        if not was_other:
            self.other.discard(name)
        self.imported[name] = text if self.imported.get(name, text) == text else ""

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.uses.deleted.add(target.id)
            else:
                self.change(target)
                self.visit(target)

    # ── reading ──

    def read(self, name: str) -> None:
        if not self.uses.bound.get(name, False):
            self.uses.read.add(name)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.read(node.id)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            is_in_place = any(
                word.arg == "inplace" and isinstance(word.value, ast.Constant) and word.value.value is True
                for word in node.keywords
            )
            if node.func.attr in CHANGING_METHODS or is_in_place:
                self.change(node.func.value)
        self.generic_visit(node)

    # ── what may not happen ──

    def _unsure(self, statements: list[ast.stmt]) -> None:
        was = self.is_sure
        self.is_sure = False
        for statement in statements:
            self.visit(statement)
        self.is_sure = was

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._unsure([*node.body, *node.orelse])

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._unsure([*node.body, *node.orelse])

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self.targets(node.target, is_passing=True)
        self._unsure([*node.body, *node.orelse])

    visit_AsyncFor = visit_For

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self.targets(item.optional_vars, is_passing=True)
        for statement in node.body:
            self.visit(statement)

    visit_AsyncWith = visit_With

    def visit_Try(self, node: ast.Try) -> None:
        self._unsure([*node.body])
        for handler in node.handlers:
            if handler.type is not None:
                self.visit(handler.type)
            self._unsure(handler.body)
        self._unsure([*node.orelse, *node.finalbody])

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        for case in node.cases:
            for part in ast.walk(case.pattern):
                if isinstance(part, ast.MatchAs | ast.MatchStar) and part.name:
                    self.is_sure, was = False, self.is_sure
                    self.bind(part.name)
                    self.is_sure = was
            if case.guard is not None:
                self.visit(case.guard)
            self._unsure(case.body)

    # ── scopes of their own ──

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in (*node.decorator_list, *_defaults(node.args), *_annotations(node)):
            self.visit(part)
        self._defer(node)
        self.bind(node.name)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for part in _defaults(node.args):
            self.visit(part)
        self._defer(node)

    def _defer(self, node: ast.AST) -> None:
        free = FreeNames.of(node)
        self.uses.deferred |= free.read
        self.uses.deferred_bound |= free.bound

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *(word.value for word in node.keywords)):
            self.visit(part)
        local = set[str]()
        for statement in node.body:
            free = FreeNames.of(statement, skip=local, is_class_body=True)
            now = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
            for name in free.read:
                if now:
                    self.uses.deferred.add(name)
                else:
                    self.read(name)
            self.uses.deferred_bound |= free.bound
            local |= stored_names(statement)
        self.bind(node.name)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        for name in FreeNames.of(node).read:
            self.read(name)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [part for part in (*arguments.defaults, *arguments.kw_defaults) if part is not None]


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
    found = [argument.annotation for argument in arguments if argument is not None]
    return [part for part in (*found, node.returns) if part is not None]


def parameters(node: ast.AST) -> set[str]:
    """Of a function or a lambda."""
    given = getattr(node, "args", None)
    if not isinstance(given, ast.arguments):
        return set()
    listed = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
    return {argument.arg for argument in listed if argument is not None}


def stored_names(node: ast.AST) -> set[str]:
    """Names bound in this node itself, not in scopes inside it."""
    found, waiting = set[str](), [node]
    while waiting:
        one = waiting.pop()
        match one:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
                continue
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                found |= {part.target.id for part in ast.walk(one) if isinstance(part, ast.NamedExpr)}
                continue
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found.add(asname or name.split(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case _:
                pass
        waiting += ast.iter_child_nodes(one)
    return found


def local_names(node: ast.AST) -> set[str]:
    """Names that belong to a function, lambda or comprehension itself."""
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        targets = [generator.target for generator in node.generators]
        return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    body = node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else [getattr(node, "body", node)]
    stored, outer = set[str](), set[str]()
    for statement in body:
        stored |= stored_names(statement)
        outer |= {name for part in ast.walk(statement) if isinstance(part, ast.Global) for name in part.names}
        # `nonlocal` names are found in an enclosing function's own names.
        outer |= {name for part in ast.walk(statement) if isinstance(part, ast.Nonlocal) for name in part.names}
    return (parameters(node) | stored) - outer


class FreeNames(ast.NodeVisitor):
    """Names of the notebook that a node with scopes of its own reads and binds."""

    def __init__(self, skip: set[str]) -> None:
        self.read = set[str]()
        self.bound = set[str]()
        self._scopes = [skip]

    @classmethod
    def of(cls, node: ast.AST, skip: set[str] | None = None, *, is_class_body: bool = False) -> FreeNames:
        """Of a function, a lambda, a comprehension, or a statement of a class."""
        found = cls(skip or set())
        found._class_body = is_class_body
        found.visit(node)
        return found

    _class_body = False

    def visit_Global(self, node: ast.Global) -> None:
        """Bound when it is called."""
        self.bound |= set(node.names)

    def visit_Name(self, node: ast.Name) -> None:
        """Read, unless a scope inside has it."""
        if not any(node.id in scope for scope in self._scopes) and isinstance(node.ctx, ast.Load):
            self.read.add(node.id)

    def _scope(self, node: ast.AST) -> None:
        self._scopes.append(local_names(node))
        self.generic_visit(node)
        self._scopes.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _scope
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _scope
