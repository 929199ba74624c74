"""A document as text: the bytes it was read from, with only what changed written anew."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from cellwright.errors import Defect
from cellwright.ids import CellId
from cellwright.notebook.document import Cell, Document, Origin
from cellwright.notebook.layout import CellWrapper, Chunk, Layout, signature_end
from cellwright.notebook.marimo_file import MARIMO_VERSION, app_line, cell_block, cell_wrappers, code_in, parse_notebook

_GUARD = '\n\n\nif __name__ == "__main__":\n    app.run()\n'


def render(document: Document) -> str:
    """The notebook's text. Unchanged documents come out as they were read, byte for byte."""
    origin = document.origin or _blank(document)
    if document.has_same_content(origin.document) and _order(document) == _order(origin.document):
        return origin.text
    return "".join(
        [_prologue(document, origin), *_cells(document, origin), origin.text[origin.layout.epilogue_start :]]
    )


def check_reads_back(document: Document, text: str, where: str) -> None:
    """The last check before a save: text that would not read back as the same notebook is our mistake."""
    read = parse_notebook(text, where)
    same = replace(read, options=document.options).has_same_content(document)
    if not same or app_line(read.options) != app_line(document.options):
        raise Defect(f"{where} was not saved: its text would not read back as the same notebook.")


def _order(document: Document) -> list[CellId]:
    return [cell.id for cell in document.cells]


def _blank(document: Document) -> Origin:
    """The text of a notebook that has a header and options, but no cells yet."""
    header = f"{document.header.rstrip()}\n\n" if document.header.strip() else ""
    top = f'import marimo\n\n__generated_with = "{MARIMO_VERSION}"\n{app_line(document.options)}'
    origin = parse_notebook(header + top + _GUARD, "a new notebook").origin
    assert origin is not None, "a parsed notebook has an origin"
    return origin


def _prologue(document: Document, origin: Origin) -> str:
    layout, text = origin.layout, origin.text
    header = layout.header.of(text)
    if document.header != origin.document.header:
        header = f"{document.header.rstrip()}\n\n".replace("\n", layout.newline) if document.header.strip() else ""
    app = layout.app.of(text)
    if dict(document.options) != dict(origin.document.options):
        app = app_line(document.options).replace("\n", layout.newline)
    between = text[layout.header.end : layout.app.start]
    if layout.version:
        start, end = layout.version.start - layout.header.end, layout.version.end - layout.header.end
        between = f'{between[:start]}"{MARIMO_VERSION}"{between[end:]}'
    return header + between + app + text[layout.app.end : layout.prologue_end]


def _cells(document: Document, origin: Origin) -> list[str]:
    before, after = cell_wrappers(origin.document.cells), cell_wrappers(document.cells)
    chunks = dict(origin.layout.chunks)
    orphans = _comments_of_deleted_cells(document, origin)
    pieces = orphans[None]
    for cell in document.cells:
        chunk, old = chunks.get(cell.id), origin.document.find(cell.id)
        if chunk is None or old is None:
            gap = "\n\n" if cell.is_setup else "\n\n\n"
            pieces.append((gap + cell_block(cell, after[cell.id])).replace("\n", origin.layout.newline))
            continue
        text = _cell(cell, old, chunk, origin, before[cell.id], after[cell.id])
        tail = chunk.tail.of(origin.text)
        if tail.lstrip().startswith(";") and text != chunk.span.of(origin.text):
            tail = origin.layout.newline + tail.lstrip("; \t")
        pieces += [chunk.lead.of(origin.text), text, tail, *orphans[cell.id]]
    return pieces


def _comments_of_deleted_cells(document: Document, origin: Origin) -> dict[CellId | None, list[str]]:
    """Top-level comments above deleted cells stay, behind the cell that came before."""
    kept = {cell.id for cell in document.cells}
    orphans: dict[CellId | None, list[str]] = defaultdict(list)
    previous: CellId | None = None
    for cell, chunk in origin.layout.chunks:
        if cell in kept:
            previous = cell
        elif comments := chunk.lead.of(origin.text).rstrip():
            orphans[previous].append(comments)
    return orphans


def _cell(cell: Cell, old: Cell, chunk: Chunk, origin: Origin, before: CellWrapper, after: CellWrapper) -> str:
    if cell.has_same_content(old) and before == after:
        return chunk.span.of(origin.text)
    can_splice = (chunk.kind, before.kind, after.kind) == ("cell", "cell", "cell")
    if cell.code == old.code and can_splice and chunk.definition is not None:
        spliced = _splice(cell, old, chunk, chunk.definition, origin, before, after)
        if spliced is not None and code_in(spliced) == cell.code:
            return spliced
    return cell_block(cell, after).replace("\n", origin.layout.newline)


def _splice(
    cell: Cell, old: Cell, chunk: Chunk, definition: int, origin: Origin, before: CellWrapper, after: CellWrapper
) -> str | None:
    """The cell's own text with a new decorator, signature or return; None when its shape does not allow that."""
    text, layout = origin.text, origin.layout
    body_start = signature_end(text, definition)
    decorators, signature = text[chunk.span.start : definition], text[definition:body_start]
    if cell.config != old.config:
        decorators = f"{after.decorator}\n".replace("\n", layout.newline)
    if before.signature != after.signature:
        signature = after.signature.replace("\n", layout.newline)
    head = decorators + signature
    if before.returns == after.returns:
        return head + text[body_start : chunk.span.end]
    return _with_returns(head, chunk, body_start, text, layout, after.returns)


def _with_returns(head: str, chunk: Chunk, body_start: int, text: str, layout: Layout, returns: str) -> str | None:
    returns = returns.replace("\n", layout.newline)
    if chunk.returns is not None:
        return head + text[body_start : chunk.returns.start] + returns + text[chunk.returns.end : chunk.span.end]
    if returns == "return":
        return head + text[body_start : chunk.span.end]
    if chunk.indent is None:
        return None
    return head + text[body_start : chunk.span.end] + layout.newline + chunk.indent + returns
