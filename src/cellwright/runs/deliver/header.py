"""The PEP 723 header of a notebook, from what its cells really import, in the versions the kernel had.

With packages a notebook needs without importing them: another package imports them when a certain call is made.
"""

from __future__ import annotations

import ast
import importlib.metadata
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from cellwright.kernel.environments.packages import (
    CELLS_MODULE,
    DISTRIBUTION_OF_MODULE,
    NEVER_INSTALLED,
    distributions_of_modules,
    with_package,
)
from cellwright.kernel.environments.script_header import CELLS, cells_requirement, header_of
from cellwright.notebook.document import Document
from cellwright.notebook.syntax_trees import walk_syntax

UNSEEN: Final = (
    # `mo.sql` hands its result over as polars where polars is, else as pandas; either way through arrow.
    ("marimo", "mo.sql", "duckdb sqlglot polars pyarrow"),
    ("marimo", "mo.ui.altair_chart mo.ui.data_explorer", "altair"),
    ("marimo", "mo.ui.plotly", "plotly"),
    ("marimo", "mo.ui.anywidget", "anywidget ipywidgets"),
    ("marimo", "mo.ui.matplotlib mo.mpl", "matplotlib"),
    ("pandas", "read_parquet to_parquet read_feather to_feather read_orc to_orc ArrowDtype", "pyarrow"),
    ("pandas", "read_excel to_excel ExcelFile ExcelWriter", "openpyxl"),
    ("pandas", "read_html read_xml to_xml", "lxml"),
    ("pandas", "read_sql read_sql_query read_sql_table to_sql", "sqlalchemy"),
    ("pandas", "read_hdf to_hdf HDFStore", "tables"),
    ("pandas", "to_markdown", "tabulate"),
    ("pandas", "style", "jinja2"),
    ("pandas", "plot hist boxplot", "matplotlib"),
    ("polars", "plot", "altair"),
    ("polars", "to_pandas", "pandas pyarrow"),
    ("polars", "from_pandas to_arrow from_arrow", "pyarrow"),
    ("polars", "read_excel", "fastexcel"),
    ("polars", "write_excel", "xlsxwriter"),
    ("pandas polars", "read_database read_database_uri", "connectorx sqlalchemy"),
    ("duckdb", "df fetchdf to_df", "pandas numpy"),
    ("duckdb", "pl", "polars pyarrow"),
    ("duckdb", "arrow fetch_arrow_table", "pyarrow"),
    ("pyarrow", "to_pandas", "pandas"),
    ("cellwright cellwright_cells", "connection", "pyarrow"),
    ("cellwright cellwright_cells", "files", "fsspec"),
    ("cellwright cellwright_cells", "to_pandas", "pandas"),
    ("cellwright cellwright_cells", "read_sql read_sql_query", "adbc-driver-manager"),
)
"""Imported packages, attributes that are called, distributions that these need."""

ENGINES: Final = frozenset(
    {"pyarrow", "fastparquet", "openpyxl", "xlsxwriter", "xlrd", "calamine", "lxml", "numba", "plotly", "matplotlib"}
)
"""Words that, given as an `engine`, a `backend` or a `flavor`, are the distribution's own name."""


def unseen(imported: Collection[str], calls: Collection[str], words: Collection[str]) -> set[str]:
    """What is needed besides the packages that are imported, from the calls that are made."""
    found = {name for word in words if (name := "python-calamine" if word == "calamine" else word) and word in ENGINES}
    for packages, attributes, needed in UNSEEN:
        if not set(packages.split()).isdisjoint(imported) and not set(attributes.split()).isdisjoint(calls):
            found |= set(needed.split())
    return found


_IMPORTERS: Final = frozenset({"import_module", "__import__", "importorskip"})
_START: Final = "# /// script\n"
_PYTHON: Final = f'# requires-python = ">={sys.version_info.major}.{sys.version_info.minor}"\n'


def with_header(
    document: Document,
    *,
    installed: Mapping[str, str],
    owners: Mapping[str, Sequence[str]] | None = None,
    local: Collection[str] = (),
) -> Document:
    """The notebook with a header that names all it imports; the same object if it does already. Raises `UserError`.

    `installed` are the distributions the kernel had, with their versions; `owners` says which of them have which
    modules (by default as in this process), `local` are modules of the project. Entries of a header that is there
    stay as they are, only missing ones are added.
    """
    versions = {str(canonicalize_name(name)): version for name, version in installed.items()}
    header = header_of(document.header)
    named = {str(canonicalize_name(Requirement(one).name)) for one in header.dependencies} if header else set()
    wanted = sorted(distributions_used(document, versions, owners=owners, local=local) - named)
    asked = [f"{name}=={_public(versions[name])}" for name in wanted]
    if CELLS not in named and _imports_cells(document):
        asked.append(cells_requirement())
    if header is None:
        # Without a header `with_package` would add what it finds itself.
        text = f"\n{document.header}" if document.header.strip() else ""
        document = replace(document, header=f"{_START}{_PYTHON}# dependencies = [\n# ]\n# ///\n{text}")
    elif not header.requires_python:
        document = _with_python(document)
    for requirement in sorted(asked, reverse=True):
        document = with_package(document, requirement)
    return document


def distributions_used(
    document: Document,
    versions: Mapping[str, str],
    *,
    owners: Mapping[str, Sequence[str]] | None = None,
    local: Collection[str] = (),
) -> set[str]:
    """The distributions, of those there are, that the notebook needs; marimo always."""
    known = distributions_of_modules() if owners is None else owners
    ours = {*sys.stdlib_module_names, *NEVER_INSTALLED, *local}
    # Cells that cannot be parsed count as empty.
    nodes = [node for cell in document.cells for node in walk_syntax(cell.code)]
    imported = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    marimo = {alias.asname or alias.name for alias in imported if alias.name == "marimo"}
    every = {each for node in nodes for each in _modules(node)}
    modules = {each for each in every if each.partition(".")[0] not in ours}
    calls = {call for node in nodes for call in _calls(node, marimo)}
    words = {word for node in nodes for word in _engines(node)}
    found = {owner for module in modules for owner in _owners(module, known, versions)}
    found |= unseen({module.partition(".")[0] for module in every} - set(local), calls, words)
    found.add("marimo")
    return {name for name in found if name in versions and name not in NEVER_INSTALLED}


def _imports_cells(document: Document) -> bool:
    modules = (each for cell in document.cells for node in walk_syntax(cell.code) for each in _modules(node))
    return any(module.partition(".")[0] == CELLS_MODULE for module in modules)


def installed_packages() -> dict[str, str]:
    """Every distribution of this process, with its version. Blocking."""
    return {one.name: one.version for one in importlib.metadata.distributions() if one.name}


def local_modules(notebook: Path) -> frozenset[str]:
    """The modules that lie beside the notebook: Python finds them first. Blocking."""
    folder = notebook.resolve().parent
    names = {entry.stem for entry in folder.glob("*.py")} - {notebook.stem}
    names |= {entry.name for entry in folder.iterdir() if entry.is_dir() and next(entry.glob("*.py"), None)}
    return frozenset(name for name in names if name.isidentifier())


# ── what the cells import ──


def _modules(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), level=0, names=names):
            # `from google import genai` imports `google.genai`.
            yield from (f"{module}.{alias.name}" for alias in names)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(module)), *_]):
            if name in _IMPORTERS and all(map(str.isidentifier, module.split("."))):
                yield module
        case _:
            pass


def _calls(node: ast.AST, marimo: Collection[str]) -> Iterator[str]:
    match node:
        case ast.Attribute(value=ast.Name(id=base), attr=name) if base in marimo:
            yield f"mo.{name}"
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=base), attr="ui"), attr=name) if base in marimo:
            yield f"mo.ui.{name}"
        case ast.Attribute(attr=name) | ast.Call(func=ast.Name(id=name)):
            yield name
        case _:
            pass


def _engines(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.keyword(arg="engine" | "dtype_backend" | "backend" | "flavor", value=ast.Constant(value=str(word))):
            yield word
        case _:
            pass


def _owners(module: str, known: Mapping[str, Sequence[str]], versions: Mapping[str, str]) -> Iterator[str]:
    """The distributions that have the module; where many share a top-level name, the one for the longer name."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        certain = DISTRIBUTION_OF_MODULE.get(".".join(parts[:length]))
        if certain is not None and certain in versions:
            yield certain
            return
    owners = [str(canonicalize_name(owner)) for owner in known.get(parts[0], ())]
    if not owners:
        owners = [str(canonicalize_name(parts[0]))]
    elif len(owners) > 1:
        # A namespace that several share: `google.auth` is in `google-auth`.
        exact = str(canonicalize_name("-".join(parts[:2])))
        namesake = str(canonicalize_name(parts[0]))
        owners = next(([one] for one in (exact, namesake) if one in owners), owners)
    yield from owners


# ── the header's text ──


def _with_python(document: Document) -> Document:
    at = document.header.find(_START)
    if at < 0:
        return document
    changed = document.header[: at + len(_START)] + _PYTHON + document.header[at + len(_START) :]
    before, after = header_of(document.header), header_of(changed)
    is_only_that = before is not None and after is not None and before.dependencies == after.dependencies
    return replace(document, header=changed) if is_only_that else document


def _public(version: str) -> str:
    """Without a local part such as `+cpu`, which no index has."""
    try:
        return Version(version).public
    except InvalidVersion:
        return version
