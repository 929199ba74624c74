"""Whether a notebook can be a page: refused early, with the cell and what to do, before anything is built."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from cellwright.notebook.document import Cell, Document
from cellwright.notebook.syntax_trees import syntax_tree
from cellwright.policy.masking.masker import Masker
from cellwright.runs.publish.browser_packages import browser_table, module_in_browser, version_conflict

ObstacleKind = Literal["import", "version", "connection", "data", "size", "secret", "syntax", "mirror"]
PUBLIC: Final = "public"
"""The one folder beside a notebook that its page takes along."""
_MOST_FILE_BYTES: Final = 50 << 20
_MOST_BYTES: Final = 200 << 20
_READ_BYTES: Final = 4 << 20
_MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PageObstacle:
    """Why a notebook cannot be a page."""

    kind: ObstacleKind
    cell: str
    """Its name or number; empty for what concerns no cell."""
    text: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePlan:
    """What a page will take along, or why there will be none."""

    obstacles: tuple[PageObstacle, ...]
    packages: tuple[str, ...] = ()
    """Of Pyodide, with versions."""
    from_index: tuple[str, ...] = ()
    """Pure Python, fetched from the package index by whoever opens the page."""
    files: tuple[str, ...] = ()
    """Of `public`, relative to it."""
    file_bytes: int = 0


def plan_page(document: Document, folder: Path, *, requirements: tuple[str, ...], masker: Masker) -> PagePlan:
    """What the page takes along. Blocking: data files are looked at."""
    obstacles = list[PageObstacle]()
    packages, from_index = dict[str, None](), dict[str, None]()
    for number, cell in enumerate(document.cells, start=1):
        label = cell.name if cell.name not in {"", "_"} else f"cell {number}"
        obstacles += _cell_obstacles(cell, label, folder, masker)
        for module in dict.fromkeys(_modules(cell)):
            found = module_in_browser(module)
            if module in {"cellwright", "cellwright_cells"}:
                continue
            match found.origin:
                case "pyodide":
                    packages[f"{found.package} {found.version}"] = None
                case "index":
                    from_index[found.package] = None
                case "nowhere":
                    obstacles.append(_no_module(module, label, folder))
                case _:
                    pass
    obstacles += [
        PageObstacle(kind="version", cell="", text=f"In its header {why}.", hint="Ask for a version that a page has.")
        for requirement in requirements
        if (why := version_conflict(requirement))
    ]
    files, size = _public_files(folder, obstacles, masker)
    return PagePlan(
        obstacles=tuple(obstacles), packages=tuple(packages), from_index=tuple(from_index), files=files, file_bytes=size
    )


def _no_module(module: str, label: str, folder: Path) -> PageObstacle:
    if (folder / f"{module}.py").is_file() or (folder / module).is_dir():
        return PageObstacle(
            kind="import",
            cell=label,
            text=f"It imports {module}, which is a file beside the notebook.",
            hint="Move what it needs of it into a cell: a page has the notebook alone.",
        )
    table = browser_table()
    return PageObstacle(
        kind="import", cell=label, text=f"It imports {module}, which no page can.",
        hint=f"Do without it: Pyodide {table['pyodide']} has {len(table['packages'])} packages, and of others what is "
             "pure Python and installed here counts.",
    )  # fmt: skip


def _modules(cell: Cell) -> Iterator[str]:
    tree = syntax_tree(cell.code)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def _cell_obstacles(cell: Cell, label: str, folder: Path, masker: Masker) -> Iterator[PageObstacle]:
    tree = syntax_tree(cell.code)
    if tree is None:
        yield PageObstacle(kind="syntax", cell=label, text="It is no Python.", hint="Mend it first.")
        return
    if {"cellwright", "cellwright_cells"} & set(_modules(cell)):
        yield PageObstacle(
            kind="connection", cell=label, text="It uses `cellwright`: connections and their files stay here.",
            hint=f"Write what it reads to a file in {PUBLIC}/ first, and read that.",
        )  # fmt: skip
    for found in masker.find(cell.code):
        yield PageObstacle(kind="secret", cell=label, text=f"It holds what looks like a secret ({found.name}).",
                           hint="Everybody who opens the page could read it: take it out.")  # fmt: skip
    for path in dict.fromkeys(_files_named(tree, folder)):
        where = folder / path
        public = PurePosixPath(path).parts[0] == PUBLIC
        if where.is_file() and where.stat().st_size > _MOST_FILE_BYTES:
            yield _too_large(path, where.stat().st_size, label)
        elif not public:
            name = PurePosixPath(path).name
            yield PageObstacle(
                kind="data", cell=label, text=f"It reads {path}, and a page has only what is in {PUBLIC}/.",
                hint=f'Put it there, and read `mo.notebook_location() / "{PUBLIC}" / "{name}"`.',
            )  # fmt: skip


def _files_named(tree: ast.Module, folder: Path) -> Iterator[str]:
    """Texts that are paths of files or folders beside the notebook, or on this machine."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not 0 < len(node.value) < 400:
            continue
        text = node.value
        looks = "/" in text or "." in PurePosixPath(text).suffix
        if not looks or "\0" in text or "\n" in text or "://" in text:
            continue
        try:
            if (folder / text).exists() and PurePosixPath(text).parts and set(text) - {".", "/"}:
                yield text
        except OSError:
            continue


def _too_large(path: str, size: int, label: str) -> PageObstacle:
    return PageObstacle(
        kind="size", cell=label, text=f"{path} is {size / _MEGABYTE:,.0f} MB; {_MOST_FILE_BYTES >> 20} MB at most.",
        hint="Whoever opens the page would load it whole: publish an extract.",
    )  # fmt: skip


def _public_files(folder: Path, obstacles: list[PageObstacle], masker: Masker) -> tuple[tuple[str, ...], int]:
    """What is in `public`; links are not followed."""
    root, files, total = folder / PUBLIC, list[str](), 0
    if root.is_symlink() or not root.is_dir():
        return (), 0
    for path in sorted(root.rglob("*")):
        name = f"{PUBLIC}/{path.relative_to(root).as_posix()}"
        if path.is_symlink():
            obstacles.append(PageObstacle(kind="data", cell="", text=f"{name} is a link.", hint="Put the file there."))
            continue
        if not path.is_file():
            continue
        size = path.stat().st_size
        total += size
        if size > _MOST_FILE_BYTES:
            obstacles.append(_too_large(name, size, ""))
            continue
        with path.open("rb") as stream:
            text = stream.read(_READ_BYTES).decode("utf-8", "replace")
        for found in masker.find(text)[:1]:
            what = f"{name} holds what looks like a secret ({found.name})."
            hint = "Everybody who opens the page could read it: take it out."
            obstacles.append(PageObstacle(kind="secret", cell="", text=what, hint=hint))
        files.append(path.relative_to(root).as_posix())
    if total > _MOST_BYTES:
        what = f"{PUBLIC}/ holds {total / _MEGABYTE:,.0f} MB; {_MOST_BYTES >> 20} MB at most."
        obstacles.append(PageObstacle(kind="size", cell="", text=what, hint="Publish an extract."))
    return tuple(files), total
