"""From a section of the analyst to edits of the notebook as it is: what stands stays, what is a person's too. Pure."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from cellwright.analyst.drafts import CellDraft
from cellwright.ids import CellId
from cellwright.notebook.document import DEFAULT_NAME, Cell, Document
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.source_text import numbered
from cellwright.notebook.syntax_trees import parse_cell

SECTIONS: Final = ("read", "quality", "look", "test", "findings", "tell", "answer")
"""In the order they are written. A short notebook has `read` and `answer`, a full one all others."""
Import = tuple[str, str, int]
"""Module, what of it, and from how far up."""
_RESERVED: Final = frozenset({"app", "marimo", "setup", "mo"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystCell:
    """A cell the analyst wrote in this run."""

    section: str
    draft: str
    """The draft's name; the cell's own may have a number behind it."""
    id: str
    code: str
    version: int = 1
    is_at_start: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedSection:
    """A section as it fits this notebook."""

    edits: tuple[dict[str, Any], ...] = ()
    """As the tool `apply` takes them; empty: everything stands already."""
    names: tuple[tuple[str, str], ...] = ()
    """Each new cell's draft, and what it is called in the notebook."""
    stands: tuple[AnalystCell, ...] = ()
    """Cells of the section that are there already, as it wants them or as a person made them since."""
    left: tuple[str, ...] = ()
    """Those that a person changed: they stay as they are."""
    clashes: tuple[str, ...] = ()
    """Variables that somebody else's cell defines already: then there are no edits."""


def fit(
    document: Document, section: str, drafts: Sequence[CellDraft], ours: Sequence[AnalystCell], *, is_new: bool
) -> FittedSection:
    """The edits that bring a section into the notebook, in the place of what it was before.

    In a notebook that somebody else began (not `is_new`) nothing is put above
    their cells. A cell that stands there word for word is not written again, whoever wrote it.
    """
    mine = {cell.draft: cell for cell in ours if cell.section == section}
    owned = {cell.id for cell in mine.values()}
    others = [cell for cell in document.cells if cell.id not in owned]
    there = {cell.code.strip() for cell in others}
    wanted = [draft for draft in without_known_imports(drafts, others) if draft.code.strip() not in there]
    if clashes := sorted(defined_in_drafts(wanted) & defined_in(others)):
        return FittedSection(clashes=tuple(clashes))
    changes, stands, left = _changes(document, section, wanted, mine)
    standing = {cell.draft for cell in stands}
    fresh = [draft for draft in wanted if draft.name not in standing]
    names = _cell_names(fresh, document.cells)
    created = _creations(document, section, fresh, names, ours, is_new=is_new)
    # New cells first: their place may be behind one that goes.
    return FittedSection(edits=(*created, *changes), names=tuple(names.items()), stands=tuple(stands), left=tuple(left))


def namesakes(
    document: Document, section: str, drafts: Sequence[CellDraft], ours: Sequence[AnalystCell]
) -> tuple[AnalystCell, ...]:
    """Cells called like a draft: in a notebook that an earlier run of the analyst left, they are its cells."""
    known = {cell.id for cell in ours}
    wanted = {draft.name: draft for draft in drafts}
    return tuple(
        AnalystCell(
            section=section, draft=cell.name, id=cell.id, code=cell.code, is_at_start=wanted[cell.name].at_start
        )
        for cell in document.cells
        if cell.name in wanted and cell.id not in known
    )


def to_take_out(drafts: Sequence[CellDraft], bad: Collection[str]) -> tuple[str, ...]:
    """The drafts to do without if these failed: they, and words that only lead to them."""
    out = set(bad)
    for at, draft in enumerate(drafts):
        if not draft.is_words or draft.at_start:
            continue
        led_to: list[CellDraft] = []
        for later in drafts[at + 1 :]:
            if later.is_words:
                break
            led_to.append(later)
        if led_to and all(each.name in bad for each in led_to):
            out.add(draft.name)
    return tuple(draft.name for draft in drafts if draft.name in out)


def defined_in(cells: Iterable[Cell]) -> frozenset[str]:
    """Every variable that these cells define."""
    nodes = graph(Document(cells=tuple(cells))).nodes.values()
    return frozenset(name for node in nodes for name in node.defs)


def defined_in_drafts(drafts: Iterable[CellDraft]) -> frozenset[str]:
    """Every variable that these would define."""
    return defined_in(Cell(id=CellId(f"draft-{at}"), code=draft.code) for at, draft in enumerate(drafts))


# ── what others have ──


def without_known_imports(drafts: Sequence[CellDraft], others: Sequence[Cell]) -> list[CellDraft]:
    """The drafts without imports that another cell makes already, under the same name."""
    known = {name: source for cell in others for name, source in imports_of(cell.code)}
    kept: list[CellDraft] = []
    for draft in drafts:
        tree = parse_cell(draft.code)
        statements = tree.body if tree is not None else []
        is_imports = statements and all(isinstance(each, ast.Import | ast.ImportFrom) for each in statements)
        code = without_imports(draft.code, known) if is_imports else draft.code
        if code.strip() or not is_imports:
            kept.append(replace(draft, code=code))
    return kept


# ── what was there before ──


def _changes(
    document: Document, section: str, drafts: Sequence[CellDraft], mine: Mapping[str, AnalystCell]
) -> tuple[list[dict[str, Any]], list[AnalystCell], list[str]]:
    """Edits of our cells, what stands of them, and the names of those a person changed."""
    edits, stands, left = list[dict[str, Any]](), list[AnalystCell](), list[str]()
    wanted = {draft.name: draft for draft in drafts}
    for cell in mine.values():
        now, draft = document.find(CellId(cell.id)), wanted.get(cell.draft)
        if now is None:
            continue
        based = {"cell": cell.id, "base_version": now.version}
        if now.code != cell.code:
            left.append(now.name)
            stands.append(replace(cell, section=section))
        elif draft is None:
            edits.append({"op": "delete", **based})
        else:
            edits += [{"op": "edit", **based, "code": draft.code}] if draft.code != now.code else []
            stands.append(replace(cell, section=section, code=draft.code))
    return edits, stands, left


# ── what is new ──


def _cell_names(drafts: Sequence[CellDraft], others: Iterable[Cell]) -> dict[str, str]:
    taken, names = {cell.name for cell in others} | _RESERVED, dict[str, str]()
    for draft in drafts:
        names[draft.name] = numbered(draft.name, lambda name: name not in taken or name == DEFAULT_NAME)
        taken.add(names[draft.name])
    return names


def _creations(
    document: Document,
    section: str,
    drafts: Sequence[CellDraft],
    names: Mapping[str, str],
    ours: Sequence[AnalystCell],
    *,
    is_new: bool,
) -> list[dict[str, Any]]:
    """New cells: on top what belongs there, the rest behind what the section or the ones before it have."""
    here = [cell for cell in ours if document.find(CellId(cell.id)) is not None]
    upto = SECTIONS[: SECTIONS.index(section) + 1]
    before = {cell.id for cell in here if cell.section in upto and not cell.is_at_start}
    is_followed = any(cell.section not in upto for cell in here)
    last = next((cell.id for cell in reversed(document.cells) if cell.id in before), None) if is_followed else None
    first = next((cell.id for cell in document.cells if cell.id in {each.id for each in here}), None)

    def created(draft: CellDraft, place: dict[str, str]) -> dict[str, Any]:
        config = {"config": {"hide_code": True}} if draft.is_words else {}
        return {"op": "create", "code": draft.code, "name": names[draft.name], **config, **place}

    on_top = [draft for draft in drafts if draft.at_start]
    below = [draft for draft in drafts if not draft.at_start]
    if is_new:
        # Each goes above the one put there before it.
        top = [created(draft, {"at": "start"}) for draft in reversed(on_top)]
    else:
        top = [created(draft, {"before": first} if first else {}) for draft in on_top]
    if last is None:
        return [*top, *(created(draft, {}) for draft in below)]
    return [*top, *(created(draft, {"after": last}) for draft in reversed(below))]


# ── imports ──


def imports_of(code: str) -> Iterator[tuple[str, Import]]:
    """The names that a cell imports, and from where."""
    tree = parse_cell(code)
    for statement in tree.body if tree is not None else []:
        for alias in statement.names if isinstance(statement, ast.Import | ast.ImportFrom) else []:
            yield _bound(statement, alias)


def _bound(statement: ast.stmt, alias: ast.alias) -> tuple[str, Import]:
    if isinstance(statement, ast.ImportFrom):
        return alias.asname or alias.name, (statement.module or "", alias.name, statement.level)
    return alias.asname or alias.name.partition(".")[0], (alias.name, "", 0)


def without_imports(code: str, imported: Mapping[str, Import]) -> str:
    """The code without those of its import lines that bring nothing new."""
    tree = parse_cell(code)
    lines = code.splitlines(keepends=True)
    statements = tree.body if tree is not None else []
    alone = [each for each in statements if _has_lines_to_itself(each, statements)]
    for statement in reversed(alone):
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        bound = [(alias, *_bound(statement, alias)) for alias in statement.names]
        left = [alias for alias, name, source in bound if imported.get(name) != source]
        if len(left) == len(statement.names):
            continue
        end = statement.end_lineno or statement.lineno
        statement.names = left
        lines[statement.lineno - 1 : end] = [ast.unparse(statement) + "\n"] if left else []
    return "".join(lines).strip("\n") if lines != code.splitlines(keepends=True) else code


def _has_lines_to_itself(statement: ast.stmt, others: Collection[ast.stmt]) -> bool:
    lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    return all(
        other is statement or not (other.lineno in lines or (other.end_lineno or other.lineno) in lines)
        for other in others
    )
