"""The PEP 723 header of a notebook, from what its cells really import, in the versions the kernel had.

With packages a notebook needs without importing them: another package imports them when a certain call is made.
"""

from __future__ import annotations

import ast
import importlib.metadata
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from cellwright.kernel.environments.packages import DISTRIBUTION_OF_MODULE, NEVER_INSTALLED, with_package
from cellwright.kernel.environments.script_header import header_of
from cellwright.notebook import Document
from cellwright.notebook.syntax_trees import walk_syntax

_MARIMO: Final = frozenset({"marimo"})
_PANDAS: Final = frozenset({"pandas"})
_POLARS: Final = frozenset({"polars"})
_FRAMES: Final = _PANDAS | _POLARS
_DRAWN: Final = frozenset({"plot", "hist", "boxplot"})

UNSEEN: Final[tuple[tuple[frozenset[str], frozenset[str], frozenset[str]], ...]] = (
    # `mo.sql` hands its result over as polars where polars is, else as pandas; either way through arrow.
    (_MARIMO, frozenset({"mo.sql"}), frozenset({"duckdb", "sqlglot", "polars", "pyarrow"})),
    (_MARIMO, frozenset({"mo.ui.altair_chart", "mo.ui.data_explorer"}), frozenset({"altair"})),
    (_MARIMO, frozenset({"mo.ui.plotly"}), frozenset({"plotly"})),
    (_MARIMO, frozenset({"mo.ui.anywidget"}), frozenset({"anywidget", "ipywidgets"})),
    (_MARIMO, frozenset({"mo.ui.matplotlib", "mo.mpl"}), frozenset({"matplotlib"})),
    (
        _PANDAS,
        frozenset({"read_parquet", "to_parquet", "read_feather", "to_feather", "read_orc", "to_orc", "ArrowDtype"}),
        frozenset({"pyarrow"}),
    ),
    (_PANDAS, frozenset({"read_excel", "to_excel", "ExcelFile", "ExcelWriter"}), frozenset({"openpyxl"})),
    (_PANDAS, frozenset({"read_html", "read_xml", "to_xml"}), frozenset({"lxml"})),
    (_PANDAS, frozenset({"read_sql", "read_sql_query", "read_sql_table", "to_sql"}), frozenset({"sqlalchemy"})),
    (_PANDAS, frozenset({"read_hdf", "to_hdf", "HDFStore"}), frozenset({"tables"})),
    (_PANDAS, frozenset({"to_markdown"}), frozenset({"tabulate"})),
    (_PANDAS, frozenset({"style"}), frozenset({"jinja2"})),
    (_PANDAS, _DRAWN, frozenset({"matplotlib"})),
    (_POLARS, frozenset({"plot"}), frozenset({"altair"})),
    (_POLARS, frozenset({"to_pandas"}), frozenset({"pandas", "pyarrow"})),
    (_POLARS, frozenset({"from_pandas", "to_arrow", "from_arrow"}), frozenset({"pyarrow"})),
    (_POLARS, frozenset({"read_excel"}), frozenset({"fastexcel"})),
    (_POLARS, frozenset({"write_excel"}), frozenset({"xlsxwriter"})),
    (_FRAMES, frozenset({"read_database", "read_database_uri"}), frozenset({"connectorx", "sqlalchemy"})),
    (frozenset({"duckdb"}), frozenset({"df", "fetchdf", "to_df"}), frozenset({"pandas", "numpy"})),
    (frozenset({"duckdb"}), frozenset({"pl"}), frozenset({"polars", "pyarrow"})),
    (frozenset({"duckdb"}), frozenset({"arrow", "fetch_arrow_table"}), frozenset({"pyarrow"})),
    (frozenset({"pyarrow"}), frozenset({"to_pandas"}), frozenset({"pandas"})),
)
"""Imported package, attributes that are called, distributions that these need."""

ENGINES: Final = frozenset(
    {"pyarrow", "fastparquet", "openpyxl", "xlsxwriter", "xlrd", "calamine", "lxml", "numba", "plotly", "matplotlib"}
)
"""Words that, given as an `engine`, a `backend` or a `flavor`, are the distribution's own name."""


def unseen(imported: Collection[str], calls: Collection[str], words: Collection[str]) -> set[str]:
    """What is needed besides the packages that are imported, from the calls that are made."""
    found = {name for word in words if (name := "python-calamine" if word == "calamine" else word) and word in ENGINES}
    for packages, attributes, needed in UNSEEN:
        if not packages.isdisjoint(imported) and not attributes.isdisjoint(calls):
            found |= needed
    return found


_IMPORTERS: Final = frozenset({"import_module", "__import__", "importorskip"})
_START: Final = "# /// script\n"


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
    named = _named(document)
    wanted = sorted(distributions_used(document, versions, owners=owners, local=local) - named)
    if header_of(document.header) is None:
        # Without a header `with_package` would add what it finds itself.
        document = replace(document, header=_new_block(document.header))
    elif not _has_python(document):
        document = _with_python(document)
    for name in reversed(wanted):
        document = with_package(document, f"{name}=={_public(versions[name])}")
    return document


def distributions_used(
    document: Document,
    versions: Mapping[str, str],
    *,
    owners: Mapping[str, Sequence[str]] | None = None,
    local: Collection[str] = (),
) -> set[str]:
    """The distributions, of those there are, that the notebook needs; marimo always."""
    known = importlib.metadata.packages_distributions() if owners is None else owners
    used = read_imports(document)
    modules = {module for module in used.modules if _is_foreign(module, local)}
    found = {owner for module in modules for owner in _owners(module, known, versions)}
    found |= unseen({module.partition(".")[0] for module in modules}, used.calls, used.words)
    found.add("marimo")
    return {name for name in found if name in versions and name not in NEVER_INSTALLED}


def installed_packages(site: Path | None = None) -> dict[str, str]:
    """Every distribution in that `site-packages`, by default this process's own, with its version. Blocking."""
    found = importlib.metadata.distributions() if site is None else importlib.metadata.distributions(path=[str(site)])
    return {str(canonicalize_name(one.name)): one.version for one in found if one.name}


def module_owners(site: Path) -> dict[str, list[str]]:
    """Which distributions of that `site-packages` have which top-level modules. Blocking."""
    owners: dict[str, list[str]] = {}
    for one in importlib.metadata.distributions(path=[str(site)]):
        for file in one.files or ():
            top = file.parts[0].partition(".")[0] if len(file.parts) == 1 and file.suffix == ".py" else file.parts[0]
            if top.isidentifier() and one.name not in owners.setdefault(top, []):
                owners[top].append(one.name)
    return owners


def local_modules(notebook: Path) -> frozenset[str]:
    """The modules that lie beside the notebook: Python finds them first. Blocking."""
    folder = notebook.resolve().parent
    names = {entry.stem for entry in folder.glob("*.py")} - {notebook.stem}
    names |= {entry.name for entry in folder.iterdir() if entry.is_dir() and next(entry.glob("*.py"), None)}
    return frozenset(name for name in names if name.isidentifier())


# ── what the cells import ──


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """What a notebook's code asks for, found by reading it."""

    modules: frozenset[str]
    """With their dots, as they are imported."""
    calls: frozenset[str]
    """Attributes that are called or taken: `read_excel`; those of marimo itself as `mo.sql`."""
    words: frozenset[str]
    """Strings given to parameters that name an engine."""


def read_imports(document: Document) -> Imports:
    """What the notebook imports and which calls it makes. Cells that cannot be parsed count as empty."""
    nodes = [node for cell in document.cells for node in walk_syntax(cell.code)]
    marimo = {name for node in nodes for name in _names_of_marimo(node)}
    return Imports(
        modules=frozenset(module for node in nodes for module in _modules(node)),
        calls=frozenset(call for node in nodes for call in _calls(node, marimo)),
        words=frozenset(word for node in nodes for word in _engines(node)),
    )


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


def _names_of_marimo(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.asname or alias.name for alias in node.names if alias.name == "marimo")


def _calls(node: ast.AST, marimo: Collection[str]) -> Iterator[str]:
    match node:
        case ast.Attribute(value=ast.Name(id=base), attr=name) if base in marimo:
            yield f"mo.{name}"
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=base), attr="ui"), attr=name) if base in marimo:
            yield f"mo.ui.{name}"
        case ast.Attribute(attr=name):
            yield name
        case ast.Call(func=ast.Name(id=name)):
            yield name
        case _:
            pass


def _engines(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.keyword(arg="engine" | "dtype_backend" | "backend" | "flavor", value=ast.Constant(value=str(word))):
            yield word
        case _:
            pass


def _is_foreign(module: str, local: Collection[str]) -> bool:
    top = module.partition(".")[0]
    return top not in sys.stdlib_module_names and top not in NEVER_INSTALLED and top not in local


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


def _named(document: Document) -> set[str]:
    header = header_of(document.header)
    return {str(canonicalize_name(Requirement(one).name)) for one in header.dependencies} if header else set()


def _python() -> str:
    return f'# requires-python = ">={sys.version_info.major}.{sys.version_info.minor}"\n'


def _new_block(header: str) -> str:
    return f"{_START}{_python()}# dependencies = [\n# ]\n# ///\n" + (f"\n{header}" if header.strip() else "")


def _has_python(document: Document) -> bool:
    header = header_of(document.header)
    return header is not None and bool(header.requires_python)


def _with_python(document: Document) -> Document:
    at = document.header.find(_START)
    if at < 0:
        return document
    changed = document.header[: at + len(_START)] + _python() + document.header[at + len(_START) :]
    before, after = header_of(document.header), header_of(changed)
    is_only_that = before is not None and after is not None and before.dependencies == after.dependencies
    return replace(document, header=changed) if is_only_that else document


def _public(version: str) -> str:
    """Without a local part such as `+cpu`, which no index has."""
    try:
        return Version(version).public
    except InvalidVersion:
        return version
