"""Names of the notebook replaced in a cell: in its text where that surely means the same, else written anew."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from cellwright_guest.jupyter.display_calls import replaced
from cellwright_guest.jupyter.name_uses import local_names, stored_names


def renamed(code: str, names: Mapping[str, str]) -> str:
    """The code with these names of the notebook replaced; names of the same letters inside functions stay."""
    if not names:
        return code
    wanted = _Renames(names)
    tree = wanted.visit(ast.parse(code))
    text = replaced(code, wanted.changes)
    try:
        if ast.dump(ast.parse(text)) == ast.dump(tree):
            return text
    except (SyntaxError, ValueError):
        pass
    return ast.unparse(ast.fix_missing_locations(tree))


class _Renames(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._scopes = list[set[str]]()
        self.changes = list[tuple[ast.AST, str]]()

    def _new(self, name: str) -> str | None:
        return None if any(name in scope for scope in self._scopes) else self._names.get(name)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if (new := self._new(node.id)) is not None:
            self.changes.append((node, new))
            return ast.copy_location(ast.Name(id=new, ctx=node.ctx), node)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self._names.get(name, name) for name in node.names]
        return node

    def visit_alias(self, node: ast.alias) -> ast.AST:
        bound = node.asname or node.name.split(".")[0]
        if (new := self._new(bound)) is not None and not ("." in node.name and node.asname is None):
            self.changes.append((node, f"{node.name} as {new}"))
            node.asname = new
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        if node.name is not None:
            node.name = self._new(node.name) or node.name
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.AST:
        self.generic_visit(node)
        if node.name is not None:
            node.name = self._new(node.name) or node.name
        return node

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.AST:
        if node.name is not None:
            node.name = self._new(node.name) or node.name
        return node

    def _scope(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.decorator_list = [self.visit(part) for part in node.decorator_list]
            if (new := self._new(node.name)) is not None:
                self._rename_definition(node, new)
        self._scopes.append(local_names(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # Defaults belong to the scope around it; they seldom name a parameter, and are checked with the rest.
            node.args = self.visit(node.args)
            node.body = [self.visit(part) for part in node.body]
            node.returns = self.visit(node.returns) if node.returns is not None else None
        else:
            self.generic_visit(node)
        self._scopes.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _scope
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _scope

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        if (new := self._new(node.name)) is not None:
            self._rename_definition(node, new)
        self._scopes.append({name for statement in node.body for name in stored_names(statement)})
        self.generic_visit(node)
        self._scopes.pop()
        return node

    def _rename_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, new: str) -> None:
        words = {"FunctionDef": "def ", "AsyncFunctionDef": "async def ", "ClassDef": "class "}[type(node).__name__]
        # Only where the name stands right behind its word; else the text is not trusted and written anew.
        begin = node.col_offset + len(words)
        end = begin + len(node.name.encode())
        place = {"lineno": node.lineno, "end_lineno": node.lineno, "col_offset": begin, "end_col_offset": end}
        name = ast.Name(id=node.name, **place)
        self.changes.append((name, new))
        node.name = new
