"""marimo's file format, read by marimo's own parser and written by its own generator. Parsed, never executed.

Only this module knows how marimo reads and writes `.py` notebooks. What it hands out are our documents, and for
each cell the `CellWrapper` marimo would put around its body; `render.py` decides which bytes to replace.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Final, cast

from marimo._ast import codegen, parse
from marimo._ast.app_config import _AppConfig
from marimo._ast.cell import CellConfig as MarimoConfig
from marimo._ast.cell_id import CellIdGenerator
from marimo._ast.toplevel import TopLevelExtraction, TopLevelStatus
from marimo._schemas.serialization import (
    CellDef,
    ClassCell,
    FunctionCell,
    NotebookSerialization,
    SetupCell,
    UnparsableCell,
)
from marimo._types.ids import CellId_t
from marimo._version import __version__

from cellwright.errors import UserError
from cellwright.ids import CellId
from cellwright.notebook.document import (
    DEFAULT_NAME,
    SETUP_ID,
    SETUP_NAME,
    AppOption,
    Cell,
    CellConfig,
    Document,
    Origin,
)
from cellwright.notebook.layout import (
    CellWrapper,
    Chunk,
    ChunkKind,
    Layout,
    Lines,
    Span,
    chunk_spans,
    placeholder_of,
    split_wrapper,
    wrap_code,
)
from cellwright.notebook.marimo_graph import compiled
from cellwright.notebook.syntax_trees import UNREADABLE, parse_python, without_warnings

MARIMO_VERSION: Final[str] = __version__
_SEED: Final = 42
_PARSER_FAILURES: Final = (
    parse.MarimoFileError, AssertionError, AttributeError, IndexError, KeyError, TypeError, *UNREADABLE,
)  # fmt: skip
_LEADING_COMMENTS: Final = re.compile(r"\A(?:[ \t\f]*(?:#[^\n]*)?(?:\n|\Z))+")
_CellNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


# ── reading ──


def parse_notebook(text: str, where: str) -> Document:
    """The document in this text; `where` names it in errors. Raises `UserError` for anything but a marimo notebook."""
    tree = parse_python(text, where)
    notebook = _read_with_marimo(text, where)
    landmarks = _find_landmarks(tree)
    if len(landmarks.cells) != len(notebook.cells):
        raise UserError(
            f"{where} is not laid out as a marimo notebook.",
            hint="Open and save it once in `marimo edit`, which puts its parts in order.",
        )
    lines = Lines(text)
    cells = tuple(_to_cells(notebook.cells))
    layout = _lay_out(lines, landmarks, notebook.cells, cells)
    document = Document(
        cells=cells,
        header=_with_newlines(layout.header.of(text)),
        options={key: value for key, value in notebook.app.options.items() if _is_option(value)},
    )
    return replace(document, origin=Origin(text=text, layout=layout, document=document))


def new_cell_id(taken: set[CellId]) -> CellId:
    """A fresh id in marimo's own style that no cell of this notebook has."""
    generator = CellIdGenerator(seed=None)
    generator.seen_ids.update(map(CellId_t, taken))
    return CellId(generator.create_cell_id())


def _read_with_marimo(text: str, where: str) -> NotebookSerialization:
    try:
        with without_warnings():
            notebook = parse.parse_notebook(text, filepath=where)
    except _PARSER_FAILURES as error:
        raise UserError(
            f"{where} is not a marimo notebook: {error}", hint="Create one with `marimo new`, or check its decorators."
        ) from error
    if notebook is None or not notebook.valid:
        raise UserError(
            f"{where} is Python, but not a marimo notebook.", hint=f"Convert it with `marimo convert {where}`."
        )
    return notebook


@dataclass(frozen=True, slots=True, kw_only=True)
class _Landmarks:
    importing: ast.Import
    version: ast.expr | None
    app: ast.stmt
    cells: list[ast.stmt]


def _find_landmarks(tree: ast.Module) -> _Landmarks:
    """The statements marimo's parser builds on; it has read this file, so there are an import and an app."""
    nodes = tree.body
    imports = (at for at, node in enumerate(nodes) if isinstance(node, ast.Import) and parse.is_marimo_import(node))
    import_at = next(imports)
    importing = cast(ast.Import, nodes[import_at])
    alias = importing.names[0].asname or importing.names[0].name
    app_at = next(at for at, node in enumerate(nodes) if at > import_at and parse.is_app_def(node, import_alias=alias))
    versions = [
        node.value
        for node in nodes[import_at:app_at]
        if isinstance(node, ast.Assign) and isinstance(parse._maybe_version(node), str)
    ]
    body = itertools.takewhile(lambda node: not parse.is_run_guard(node), nodes[app_at + 1 :])
    cells = [node for node in body if parse.is_cell(node)]
    return _Landmarks(
        importing=importing,
        version=next((value for value in versions if isinstance(ast.literal_eval(value), str)), None),
        app=nodes[app_at],
        cells=[node for at, node in enumerate(cells) if at == 0 or not parse.is_setup_cell(node)],
    )


def _to_cells(definitions: list[CellDef]) -> Iterator[Cell]:
    """Our cells, with the ids marimo's own loader would give them."""
    generator = CellIdGenerator(seed=_SEED)
    for index, definition in enumerate(definitions):
        name = definition.name
        if isinstance(definition, UnparsableCell):
            given = definition.options.get("name")
            name = given if isinstance(given, str) and given else DEFAULT_NAME
        elif isinstance(definition, FunctionCell | ClassCell):
            name = DEFAULT_NAME
        is_setup = isinstance(definition, SetupCell) or (
            index == 0 and isinstance(definition, UnparsableCell) and name == SETUP_NAME
        )
        yield Cell(
            id=SETUP_ID if is_setup else CellId(generator.create_cell_id()),
            name=SETUP_NAME if is_setup else name,
            code=definition.code,
            config=_to_config(definition.options),
        )


def _to_config(options: dict[str, object]) -> CellConfig:
    column = options.get("column")
    return CellConfig(
        column=column if isinstance(column, int) and not isinstance(column, bool) else None,
        disabled=options.get("disabled") is True,
        hide_code=options.get("hide_code") is True,
        expand_output=options.get("expand_output") is True,
    )


def _is_option(value: object) -> bool:
    return isinstance(value, str | bool | int | float | None) or (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    )


def _lay_out(lines: Lines, landmarks: _Landmarks, definitions: list[CellDef], cells: tuple[Cell, ...]) -> Layout:
    app = lines.span(landmarks.app)
    starts = [_start_of(lines, node) for node in landmarks.cells]
    ends = [_end_of_code(lines, *pair) for pair in zip(landmarks.cells, definitions, strict=True)]
    prologue_end = min([lines.end_of_line(app.end), *starts])
    spans = chunk_spans(lines, starts, ends, prologue_end)
    chunks = (_to_chunk(lines, *parts) for parts in zip(landmarks.cells, definitions, spans, strict=True))
    return Layout(
        newline=lines.newline,
        header=Span(start=0, end=lines.span(landmarks.importing).start),
        version=lines.span(landmarks.version) if landmarks.version else None,
        app=app,
        prologue_end=prologue_end,
        chunks=tuple((cell.id, chunk) for cell, chunk in zip(cells, chunks, strict=True)),
    )


def _start_of(lines: Lines, node: ast.stmt) -> int:
    if isinstance(node, _CellNode):
        return lines.starts[node.decorator_list[0].lineno - 1]
    return lines.span(node).start


def _end_of_code(lines: Lines, node: ast.stmt, definition: CellDef) -> int:
    """Where a cell ends, with the indented comments below it that marimo counts as its code."""
    end = lines.end_of_line_if_only_a_comment_follows(lines.span(node).end)
    if isinstance(definition, UnparsableCell) or (_kind(definition) == "cell" and _final_return(node)):
        return end
    further = lines.end_of_indented_lines(end, len(lines.text))
    last_line = lines.content(lines.line_of(further)).strip()
    return further if definition.code.rstrip().endswith(last_line) else end


def _kind(definition: CellDef) -> ChunkKind:
    match definition:
        case SetupCell():
            return "setup"
        case FunctionCell() | ClassCell():
            return "definition"
        case UnparsableCell():
            return "unparsable"
        case _:
            return "cell"


def _final_return(node: ast.stmt) -> ast.Return | None:
    last = node.body[-1] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    return last if isinstance(last, ast.Return) else None


def _to_chunk(lines: Lines, node: ast.stmt, definition: CellDef, spans: tuple[Span, Span, Span]) -> Chunk:
    lead, span, tail = spans
    chunk = Chunk(kind=_kind(definition), lead=lead, span=span, tail=tail)
    if chunk.kind != "cell" or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return chunk
    returns = _final_return(node)
    first = node.body[0]
    before_first = lines.content(first.lineno)[: first.col_offset]
    # Below a body without `return` marimo glues comments to its last line: only a whole rewrite keeps that reading.
    has_comments_below = span.end > lines.end_of_line_if_only_a_comment_follows(lines.span(node).end)
    return replace(
        chunk,
        definition=lines.span(node).start,
        returns=lines.span(returns) if returns else None,
        indent=None if before_first.strip() or has_comments_below else before_first,
    )


def _with_newlines(text: str) -> str:
    return re.sub(r"\r\n|\r", "\n", text)


# ── writing ──


def cell_wrappers(cells: tuple[Cell, ...]) -> dict[CellId, CellWrapper]:
    """The shell of every cell; it depends on all the others, for a cell returns only what another one uses."""
    contents = tuple((cell.is_setup, cell.name, cell.code, cell.config) for cell in cells)
    return dict(zip((cell.id for cell in cells), _cell_wrappers(contents), strict=True))


@lru_cache(maxsize=8)
def _cell_wrappers(cells: tuple[tuple[bool, str, str, CellConfig], ...]) -> tuple[CellWrapper, ...]:
    setup = next((cell for cell in cells if cell[0]), None)
    setup_impl = compiled(setup[2]).impl if setup else None
    body = cells if setup_impl is None else tuple(cell for cell in cells if not cell[0])
    with without_warnings():
        extraction = TopLevelExtraction(
            [_for_extraction(name, code) for _, name, code, _ in body],
            [name for _, name, _, _ in body],
            [_to_marimo(config) for *_, config in body],
            set(setup_impl.defs) if setup_impl else set(),
        )
        found = tuple(
            _to_wrapper(extraction, status, name, code)
            for status, (_, name, code, _) in zip(extraction, body, strict=True)
        )
    return found if setup is None or setup_impl is None else (_setup_wrapper(setup[2], setup[3]), *found)


def _for_extraction(name: str, code: str) -> str:
    if compiled(code).impl is None:
        # Not only syntax errors: whatever marimo's compiler chokes on is written as an unparsable cell.
        return "("
    # A trailing comment keeps marimo from turning a named cell into a bare function, which loses its name.
    return code if name == DEFAULT_NAME else f"{code}\n# named"


def _to_marimo(config: CellConfig) -> MarimoConfig:
    return MarimoConfig(**asdict(config))


def _to_wrapper(extraction: TopLevelExtraction, status: TopLevelStatus, name: str, code: str) -> CellWrapper:
    impl = status._cell
    if impl is None:
        return CellWrapper(kind="unparsable")
    if status.is_toplevel:
        decorator = codegen.to_top_functiondef(impl, extraction.allowed_refs)
        return CellWrapper(kind="definition", decorator=decorator[: len(decorator) - len(impl.code.strip()) - 1])
    # Only the names at hand: marimo looks through all it is given, for every cell.
    variables = {name: extraction.variables[name] for name in impl.refs | impl.defs if name in extraction.variables}
    generated = codegen.to_functiondef(
        replace(impl, code=placeholder_of(code), markdown=None),
        name,
        extraction.allowed_refs | impl.defs,
        extraction.used_refs,
        variable_data=variables,
    )
    return split_wrapper(generated, placeholder_of(code))


def _setup_wrapper(code: str, config: CellConfig) -> CellWrapper:
    prefix = "async " if compiled(code).is_coroutine else ""
    arguments = "(hide_code=True)" if config.hide_code else ""
    return CellWrapper(kind="setup", signature=f"{prefix}with app.setup{arguments}:")


def app_line(options: Mapping[str, AppOption]) -> str:
    """`app = marimo.App(…)` with every option that is not marimo's default."""
    changed = _AppConfig.from_untrusted_dict(dict(options), silent=True).asdict_difference()
    # marimo's own writer leaves quotes inside strings as they are.
    arguments = tuple(
        f"{key}={json.dumps(value, ensure_ascii=False) if isinstance(value, (str, list)) else repr(value)}"
        for key, value in changed.items()
    )
    return codegen.format_tuple_elements("app = marimo.App(...)", arguments)


def cell_block(cell: Cell, shell: CellWrapper) -> str:
    """A cell's whole text, checked: marimo's parser reads exactly `cell.code` back from it."""
    for block in _forms(cell, shell):
        if code_in(block) == cell.code:
            return block
    raise UserError(
        f"The code of cell {cell.id!r} cannot be kept in a marimo file.",
        hint="Marimo's parser would read it back differently; look for odd indentation at its start.",
    )


def _forms(cell: Cell, shell: CellWrapper) -> Iterator[str]:
    if shell.kind != "unparsable":
        yield wrap_code(cell.code, shell, needs_pass=not compiled(cell.code).has_statements)
    config = _to_marimo(cell.config)
    name = None if cell.name == DEFAULT_NAME else cell.name
    yield codegen.generate_unparsable_cell(cell.code, name, config)
    plain = codegen.generate_unparsable_cell("", name, config)
    escaped = cell.code.replace("\\", "\\\\").replace('"', '\\"')
    yield re.sub(r'r"""\s*"""', lambda _: f'"""\n{escaped}\n"""', plain, count=1)


def code_in(block: str) -> str | None:
    """What marimo's parser takes for the code in one cell's text."""
    try:
        with without_warnings():
            extractor = parse.Extractor(contents=block)
            (node,) = ast.parse(block).body
            read = extractor.to_setup_cell if parse.is_setup_cell(node) else extractor.to_cell
            return read(node).unwrap().code
    except _PARSER_FAILURES:
        return None


@lru_cache(maxsize=256)
def storable_code(code: str, *, is_setup: bool = False) -> str | None:
    """The code as marimo's file format will give it back, or None if it cannot hold it.

    The same text for almost all code; line breaks, outer blank lines and a common indentation are evened out.
    """
    code = re.sub(r"\A(?:[ \t\f]*\n)+", "", _with_newlines(code.replace("\u00a0", " ")).rstrip())
    if compiled(code).impl is not None:
        # Comments above the first statement may be indented anyhow; marimo would indent the rest after them.
        code = _LEADING_COMMENTS.sub(lambda found: re.sub(r"(?m)^[ \t\f]+", "", found[0]), code)
    for _ in range(3):
        kind = "unparsable" if compiled(code).impl is None else "setup" if is_setup else "cell"
        signature = "with app.setup:" if is_setup else "def _():"
        shell = CellWrapper(kind=kind, decorator="@app.cell", signature=signature, returns="return")
        forms = list(_forms(Cell(id=CellId("x"), code=code), shell))
        readings = [code_in(form) for form in (forms if kind == "unparsable" else forms[:1])]
        if code in readings or readings[0] is None:
            return code if code in readings else None
        code = readings[0]
    return None
