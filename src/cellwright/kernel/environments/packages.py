"""Packages a notebook lacks: which one a failed import needs, and the PEP 723 header that asks for it.

Nothing is installed here: `OpenNotebook.install` builds the environment, after somebody has agreed to the requirement.
"""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal, cast

import tomlkit
import tomlkit.exceptions
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from cellwright.errors import UserError
from cellwright.kernel.environments.script_header import ScriptHeader, cells_requirement, header_of, normal_requirement
from cellwright.kernel.observation import CellFault, Observation
from cellwright.notebook.document import Document
from cellwright.notebook.syntax_trees import walk_syntax

DISTRIBUTION_OF_MODULE: Final = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "MySQLdb": "mysqlclient",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "community": "python-louvain",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "fitz": "pymupdf",
    "git": "gitpython",
    "github": "pygithub",
    "google.cloud.bigquery": "google-cloud-bigquery",
    "google.cloud.storage": "google-cloud-storage",
    "google.genai": "google-genai",
    "google.protobuf": "protobuf",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "kafka": "kafka-python",
    "ldap": "python-ldap",
    "magic": "python-magic",
    "mpl_toolkits": "matplotlib",
    "mysql": "mysql-connector-python",
    "nacl": "pynacl",
    "osgeo": "gdal",
    "pkg_resources": "setuptools",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pylab": "matplotlib",
    "pythoncom": "pywin32",
    "ruamel": "ruamel-yaml",
    "serial": "pyserial",
    "shapefile": "pyshp",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "socks": "pysocks",
    "speech_recognition": "speechrecognition",
    "telegram": "python-telegram-bot",
    "tlz": "toolz",
    "umap": "umap-learn",
    "usb": "pyusb",
    "win32com": "pywin32",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
"""Import name → distribution. Only what is certain: a wrong guess would offer a stranger's package to install."""

CELLS_MODULE: Final = "cellwright_cells"
NEVER_INSTALLED: Final = frozenset({"cellwright", "cellwright_guest", CELLS_MODULE})
"""A notebook has these by itself."""


_MISSING: Final = re.compile(r"No module named '([A-Za-z_][A-Za-z0-9_.]{0,99})'")
_BLOCK: Final = re.compile(r"(?m)^# /// script$\n(?P<content>(?:^#(?: .*)?$\n)+?)^# ///$")
_NEW_BLOCK: Final = "# /// script\n# dependencies = [\n# ]\n# ///\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingPackage:
    """What a failed import needs."""

    module: str
    """As it was imported."""
    requirement: str
    """The distribution that would be asked for."""
    is_known: bool
    """True where the names differ and ours is certain; otherwise the import's own name is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageInstall:
    """A package was added to the notebook's environment."""

    requirement: str
    added: tuple[str, ...]
    """Everything that was written into the header: with the first one also what the notebook uses already."""
    way: Literal["already there", "continued", "replayed"]
    """continued: the kernel goes on with all it had. replayed: a new kernel ran what had run."""
    observation: Observation
    """What ran because of it."""


def missing_package(fault: CellFault | None) -> MissingPackage | None:
    """The package a cell's failure asks for; None when it failed for another reason, or no package would help."""
    if fault is None or fault.type != "ModuleNotFoundError":
        return None
    found = _MISSING.match(fault.message)
    return for_module(found[1]) if found else None


def for_module(module: str) -> MissingPackage | None:
    """The package that has this module; None for Python's own, ours, and parts of packages that are there."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in NEVER_INSTALLED or not all(map(str.isidentifier, module.split("."))):
        return None
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        known = DISTRIBUTION_OF_MODULE.get(".".join(parts[:length]))
        if known is not None:
            return MissingPackage(module=module, requirement=known, is_known=True)
    if len(parts) > 1:
        # Python names the first part that is missing: the package is there, and has no such module.
        return None
    return MissingPackage(module=module, requirement=str(canonicalize_name(top)), is_known=False)


def is_there(requirement: str, distributions: Mapping[str, str]) -> bool:
    """Whether what is installed, name → version, is that already: it is had without installing anything."""
    try:
        wanted = Requirement(requirement)
    except InvalidRequirement:
        return False
    version = distributions.get(str(canonicalize_name(wanted.name)))
    return version is not None and not wanted.extras and not wanted.url and wanted.specifier.contains(version, True)


# ── the header ──


def with_package(document: Document, requirement: str) -> Document:
    """The notebook asking for one more package; the same object if it does already. Raises `UserError`.

    A notebook without a header runs on Cellwright's own packages. Its first header also names those that it uses,
    in the versions it has, or they would be gone.
    """
    wanted = normal_requirement(requirement)
    header = header_of(document.header)
    known = header or ScriptHeader()
    if wanted in known.dependencies or (_is_bare(wanted) and _name(wanted) in map(_name, known.dependencies)):
        return document
    adding = [*(packages_used(document) if header is None else ()), wanted]
    kept = [one for one in adding if one == wanted or _name(one) != _name(wanted)]
    text = document.header
    for one in kept:
        text = _with_dependency(text, one)
    return replace(document, header=text)


def added_between(before: Document, after: Document) -> tuple[str, ...]:
    """Dependencies the one header has and the other had not."""
    old, new = header_of(before.header), header_of(after.header)
    return tuple(one for one in (new.dependencies if new else ()) if old is None or one not in old.dependencies)


def packages_used(document: Document) -> tuple[str, ...]:
    """What the notebook's cells import of the packages that come with Cellwright, in the versions that are here."""
    owners = distributions_of_modules()
    names = {"marimo"}
    imported = {name for cell in document.cells for name in _imports(cell.code)}
    for module in sorted(imported - NEVER_INSTALLED):
        names |= {str(canonicalize_name(owner)) for owner in owners.get(module, ())}
    pinned = (f"{name}=={importlib.metadata.version(name)}" for name in sorted(names - NEVER_INSTALLED))
    return (*pinned, cells_requirement()) if CELLS_MODULE in imported else tuple(pinned)


@cache
def distributions_of_modules() -> Mapping[str, Sequence[str]]:
    """Top-level module → the distributions of this process that have it, as they were when first asked for. Blocking.

    What `importlib.metadata.packages_distributions` tells, without a path object for each of 50,000 files.
    """
    found: dict[str, list[str]] = {}
    for one in importlib.metadata.distributions():
        declared = one.read_text("top_level.txt")
        rows = (one.read_text("RECORD") or "").splitlines() if declared is None else []
        paths = [row.partition(",")[0].lstrip('"') for row in rows]
        inferred = {path.partition("/")[0].removesuffix(".py") for path in paths if path.endswith(".py")}
        for module in {*(declared or "").split(), *inferred}:
            found.setdefault(module, []).append(one.name)
    return found


def _imports(code: str) -> Iterator[str]:
    for node in walk_syntax(code):
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case _:
                pass


def _name(requirement: str) -> str:
    return str(canonicalize_name(Requirement(requirement).name))


def _is_bare(requirement: str) -> bool:
    parsed = Requirement(requirement)
    return not parsed.specifier and not parsed.extras and parsed.marker is None


def _with_dependency(header: str, requirement: str) -> str:
    """The header's text with one dependency more; everything else in it keeps its bytes."""
    known = header_of(header)
    if known is None:
        header = _NEW_BLOCK + (f"\n{header}" if header.strip() else "")
        known = ScriptHeader()
    block = _BLOCK.search(header)
    if block is None:
        raise _unreadable(requirement)
    try:
        content = _added(block["content"], requirement)
    except tomlkit.exceptions.TOMLKitError as error:
        raise _unreadable(requirement) from error
    changed = header[: block.start("content")] + content + header[block.end("content") :]
    expected = {one for one in known.dependencies if _name(one) != _name(requirement)} | {requirement}
    after = header_of(changed)
    if after is None or set(after.dependencies) != expected or after.requires_python != known.requires_python:
        raise _unreadable(requirement)
    return changed


def _added(content: str, requirement: str) -> str:
    """The lines of a block, comment signs and all, with this dependency in front; the rest as it is written."""
    lines = content.splitlines(keepends=True)
    table = tomlkit.parse("".join(line[2:] if line.startswith("# ") else line[1:] for line in lines))
    # An empty list would take its first entry without the comma that every other line has.
    if not table.get("dependencies"):
        table["dependencies"] = tomlkit.array().multiline(True)
    listed = cast("list[str]", table["dependencies"])
    for number in reversed(range(len(listed))):
        if _name(listed[number]) == _name(requirement):
            del listed[number]
    listed.insert(0, requirement)
    return "".join(f"# {line}" if line.strip() else "#\n" for line in tomlkit.dumps(table).splitlines(keepends=True))


def _unreadable(requirement: str) -> UserError:
    return UserError(
        f"The notebook's header is written in a way that {requirement!r} cannot be added to it.",
        hint="Write `dependencies = [` in a line of its own, between `# /// script` and `# ///`.",
    )
