"""Names for a reactive notebook: each is bound by one cell, and what changes a value comes before its readers.

A name that is bound again, or whose value is changed in place, gets a new version: `df` becomes `df_2` from there on.
Where functions read a name that is bound again later, no version is right for them: those cells are joined.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from cellwright_guest.jupyter.display_calls import replaced
from cellwright_guest.jupyter.name_uses import NameUses, uses_of
from cellwright_guest.jupyter.renames import renamed


@dataclass(slots=True, kw_only=True)
class NamedCell:
    """A code cell on its way."""

    sources: list[int]
    code: str
    notes: list[str] = field(default_factory=list[str])
    refused: list[str] = field(default_factory=list[str])
    defines: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def uses(self) -> NameUses:
        """What it does with names; nothing if it is no Python."""
        try:
            return uses_of(ast.parse(self.code))
        except (SyntaxError, ValueError, RecursionError):
            return NameUses()


def ranges_to_join(uses: Sequence[NameUses]) -> list[tuple[int, int]]:
    """Stretches of cells that cannot be told apart by versions, first and last of each."""
    stretches = list[tuple[int, int]]()
    names = {name for each in uses for name in (*each.bound, *each.deferred_bound)}
    for name in names:
        binding = [at for at, each in enumerate(uses) if name in each.bound]
        through = [at for at, each in enumerate(uses) if name in each.deferred_bound]
        if through and len(set(binding) | set(through)) > 1:
            stretches.append((min(*binding, *through), max(*binding, *through)))
            continue
        if _is_one_import(name, [uses[at] for at in binding]):
            continue
        for at, each in enumerate(uses):
            if name in each.deferred:
                seen = [one for one in binding if one <= at][-1:] + [one for one in binding if one > at]
                if len(seen) > 1 or (seen and seen[0] > at and at in _needed_by(seen[0], uses)):
                    stretches.append((min(seen[0], at), max(seen[-1], at)))
    return _united(stretches)


def _needed_by(cell: int, uses: Sequence[NameUses]) -> set[int]:
    """The cells above that this one reads from, also through others."""
    needed, waiting = set[int](), [cell]
    while waiting:
        one = waiting.pop()
        for above in range(one):
            if above not in needed and set(uses[above].bound) & uses[one].all_read:
                needed.add(above)
                waiting.append(above)
    return needed


def _is_one_import(name: str, binding: Sequence[NameUses]) -> bool:
    texts = {each.imports.get(name) for each in binding}
    return len(texts) == 1 and bool(texts - {None, ""})


def _united(stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    united = list[tuple[int, int]]()
    for first, last in sorted(stretches):
        if united and first <= united[-1][1]:
            united[-1] = (united[-1][0], max(last, united[-1][1]))
        else:
            united.append((first, last))
    return united


@dataclass(slots=True)
class _Names:
    """Which version of each name is current."""

    taken: set[str]
    imports: dict[str, str] = field(default_factory=dict[str, str])
    current: dict[str, str] = field(default_factory=dict[str, str])

    def fresh(self, name: str) -> str:
        # A leading underscore means private to a cell here; in Jupyter it meant nothing.
        stem = name.lstrip("_") or "value"
        candidate, number = stem, 1
        while candidate in self.taken:
            number += 1
            candidate = f"{stem}_{number}"
        self.taken.add(candidate)
        return candidate


def give_versions(cells: Sequence[NamedCell]) -> None:
    """Rename in every cell what must be."""
    found = [cell.uses for cell in cells]
    names = _Names(taken={name for each in found for name in (*each.bound, *each.all_read, *each.deferred_bound)})
    for at, (cell, uses) in enumerate(zip(cells, found, strict=True)):
        _version_cell(cell, uses, found[at + 1 :], names)


def _version_cell(cell: NamedCell, uses: NameUses, later: Sequence[NameUses], names: _Names) -> None:
    mapping = {name: names.current[name] for name in uses.all_read | uses.deleted if name in names.current}
    aliases = list[str]()
    dropped = list[str]()
    for name in sorted(uses.deferred_bound - set(uses.bound)):
        names.current.setdefault(name, name)
    for name, is_sure in uses.bound.items():
        before = names.current.get(name)
        if before is not None and names.imports.get(name) and uses.imports.get(name) == names.imports[name]:
            dropped.append(names.imports[name])
            continue
        if _is_private(name, uses, later):
            mapping[name] = name if name.startswith("_") else f"_{name}"
            cell.defines[name] = ""
            continue
        new = names.fresh(name) if before is not None or name.startswith("_") else name
        if before is not None and not is_sure:
            aliases.append(f"{new} = {before}")
        mapping[name] = names.current[name] = cell.defines[name] = new
        names.imports[name] = uses.imports.get(name, "")
    for name in sorted(uses.changed - set(uses.bound)):
        if name in names.current and not names.imports.get(name):
            before, new = names.current[name], names.fresh(name)
            aliases.append(f"{new} = {before}")
            mapping[name] = names.current[name] = cell.defines[name] = new
    deleted = sorted(name for name in uses.deleted if name not in uses.bound and name in names.current)
    _rewrite(cell, mapping, aliases, dropped, deleted)


def _is_private(name: str, uses: NameUses, later: Sequence[NameUses]) -> bool:
    """Whether nobody else reads what this cell binds to it, and it is bound elsewhere, too."""
    if name in uses.read or name in uses.deferred_bound or name in uses.changed - uses.passing:
        return False
    if name not in uses.passing and not name.startswith("_"):
        return False
    for each in later:
        if name in each.all_read or name in each.deleted:
            return False
        if name in each.bound:
            return True
    return name.startswith("_") or name in uses.passing


def _rewrite(
    cell: NamedCell, mapping: dict[str, str], aliases: list[str], dropped: list[str], deleted: list[str]
) -> None:
    code = _without(cell.code, set(dropped), set(deleted))
    if deleted:
        cell.notes.append(f"`del {', '.join(deleted)}` is left out: another cell binds it")
    changes = {name: new for name, new in mapping.items() if name != new and not new.startswith(f"_{name}")}
    private = {name: new for name, new in mapping.items() if new == f"_{name}"}
    code = renamed(code, changes | private)
    if aliases:
        code = "\n".join(aliases) + "\n" + code
    new = {name: word for name, word in cell.defines.items() if word not in {name, ""}}
    if new:
        cell.notes.append("new versions of names: " + ", ".join(f"`{name}` → `{word}`" for name, word in new.items()))
    cell.code = code


def _without(code: str, imports: set[str], deleted: set[str]) -> str:
    """The code without imports that an earlier cell has, and without `del` of another cell's names."""
    if not imports and not deleted:
        return code
    changes = list[tuple[ast.AST, str]]()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            left = [alias for alias in node.names if _import_text(node, alias) not in imports]
            if len(left) < len(node.names):
                words = ", ".join(f"{alias.name} as {alias.asname}" if alias.asname else alias.name for alias in left)
                head = (
                    "import" if isinstance(node, ast.Import) else f"from {'.' * node.level}{node.module or ''} import"
                )
                changes.append((node, f"{head} {words}" if left else "pass  # imported above"))
        if isinstance(node, ast.Delete):
            left = [target for target in node.targets if not (isinstance(target, ast.Name) and target.id in deleted)]
            if len(left) < len(node.targets):
                words = ", ".join(ast.unparse(target) for target in left)
                changes.append((node, f"del {words}" if left else f"pass  # {ast.unparse(node)}"))
    return replaced(code, changes)


def _import_text(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    more = f" as {alias.asname}" if alias.asname else ""
    if isinstance(node, ast.Import):
        return f"import {alias.name}{more}"
    return f"from {'.' * node.level}{node.module or ''} import {alias.name}{more}"
