"""A notebook becomes a folder of files that any web server, or none, can serve: checked here, built in a cage."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import secrets
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import anyio.to_thread

from cellwright.app.notebooks import contained
from cellwright.errors import Unavailable, UserError
from cellwright.kernel.environments.script_header import header_of
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.one_shot import run_one_shot_in_nothing
from cellwright.kernel.process.page_program import PAGE_PROGRAM
from cellwright.kernel.process.zygote_process import package_paths
from cellwright.notebook.files import NotebookFile, read
from cellwright.notebook.render import render
from cellwright.policy.masking.masker import Masker
from cellwright.runs.publish.browser_packages import browser_table
from cellwright.runs.publish.offline_packages import PageNeeds
from cellwright.runs.publish.offline_page import OfflinePlan, offline_obstacles, plan_offline, write_offline
from cellwright.runs.publish.page_checks import PUBLIC, PagePlan, plan_page
from cellwright.runs.publish.page_seal import OFFLINE_RUNTIME, sealed_page, sealed_worker
from cellwright.runs.publish.pyodide_mirror import read_mirror
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import Limits, Tier
from cellwright.settings import Settings

PageLayout = Literal["vertical", "grid", "slides"]
_SECONDS: Final = 60.0
_MOST_BYTES: Final = 64 << 20
_LIMITS: Final = Limits(memory_mb=1024, cpu_seconds=60, processes=64, disk_mb=1, inodes=64, tmp_mb=16)
_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8"}
_GRID_COLUMNS: Final = 24
_GRID_ROWS: Final = 8
_HOST: Final = re.compile(
    r"https://([a-z0-9.-]+\.[a-z]{2,})/[^\s\"'`]*(?:pyodide|wasm|lock)|https://(wasm\.[a-z0-9.-]+)"
)
_WORKERS: Final = "*worker*.js"
_MOST_LAYOUT_BYTES: Final = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPage:
    """What came of it; nothing was written where there are obstacles."""

    folder: Path
    plan: PagePlan
    offline: OfflinePlan | None = None
    """What a mirror gave, or lacks; None where the page loads it from marimo's hosts."""
    hosts: tuple[str, ...] = ()
    files: int = 0
    bytes: int = 0


async def publish_page(
    path: Path,
    folder: Path,
    *,
    pool: KernelPool,
    settings: Settings,
    layout: PageLayout | None = None,
    show_code: bool = False,
    mirror_folder: Path | None = None,
    tier: Tier | None = None,
    allow_uncontained: bool = False,
) -> PublishedPage:
    """The page in a folder that is new, or why there is none. Raises `UserError`.

    With a mirror of Pyodide's distribution the page has all it needs beside it, and asks no other host than its own.
    """
    file, report = await anyio.to_thread.run_sync(lambda: (read(path), probe()))
    plan = await anyio.to_thread.run_sync(_plan, file, settings)
    offline = None
    if mirror_folder is not None:
        plan, offline = await anyio.to_thread.run_sync(_plan_offline, file, plan, mirror_folder)
    if plan.obstacles:
        return PublishedPage(folder=folder, plan=plan, offline=offline)
    if await anyio.Path(folder).exists():
        raise UserError(f"{str(folder)!r} exists.", hint="Name a folder that does not.")
    question = {
        "code": render(file.document),
        "name": file.path.name,
        "options": {name: value for name, value in file.document.options.items() if name != "css_file"},
        "layout": _layout(file, layout),
        "show_code": show_code,
        "runtime": OFFLINE_RUNTIME if offline is not None else {},
    }
    html = await run_one_shot_in_nothing(
        await pool.zygote(),
        "page",
        [str(getattr(sys, "_base_executable", sys.executable)), "-I", "-S", "-B", str(PAGE_PROGRAM), *package_paths()],
        json.dumps(question).encode(),
        most_bytes=_MOST_BYTES,
        seconds=_SECONDS,
        tier=contained(tier, report, allow_uncontained=allow_uncontained),
        software=tuple(dict.fromkeys([sys.base_prefix, sys.prefix, *package_paths()])),
        limits=_LIMITS,
        environment=_ENVIRONMENT,
        cwd="/tmp",
    )
    return await anyio.to_thread.run_sync(_write, folder, html, file, plan, settings, offline)


def _plan(file: NotebookFile, settings: Settings) -> PagePlan:
    header = header_of(file.document.header)
    return plan_page(
        file.document,
        file.path.parent,
        requirements=header.dependencies if header is not None else (),
        masker=Masker.of(salt=secrets.token_bytes(16)),
    )


def _plan_offline(file: NotebookFile, plan: PagePlan, folder: Path) -> tuple[PagePlan, OfflinePlan]:
    """The same plan, refused where the mirror lacks something."""
    version = browser_table()["pyodide"]
    header = header_of(file.document.header)
    needs = PageNeeds(
        code="\n".join(cell.code for cell in file.document.cells),
        packages=(*(one.rsplit(" ", 1)[0] for one in plan.packages), *plan.from_index),
        requirements=header.dependencies if header is not None else (),
        marimo_version=importlib.metadata.version("marimo"),
    )
    offline = plan_offline(read_mirror(folder, version=version), needs)
    return replace(plan, obstacles=(*plan.obstacles, *offline_obstacles(offline, version=version))), offline


def _layout(file: NotebookFile, wanted: PageLayout | None) -> dict[str, Any] | None:
    """The layout that is wanted; the notebook's own where it is of that kind, or none is wanted."""
    own = _own_layout(file)
    if wanted is None or (own is not None and own["type"] == wanted):
        return own
    number = len(file.document.cells)
    match wanted:
        case "vertical":
            return None
        case "slides":
            return {"type": "slides", "data": {"cells": [{} for _ in range(number)], "deck": {}}}
        case "grid":
            places = [{"position": [0, at * _GRID_ROWS, _GRID_COLUMNS, _GRID_ROWS]} for at in range(number)]
            return {
                "type": "grid",
                "data": {"columns": _GRID_COLUMNS, "rowHeight": 20, "bordered": True, "cells": places},
            }


def _own_layout(file: NotebookFile) -> dict[str, Any] | None:
    named = file.document.options.get("layout_file")
    if not isinstance(named, str) or named.startswith("data:"):
        return None
    place = (file.path.parent / named).resolve()
    if not place.is_relative_to(file.path.parent) or not place.is_file() or place.stat().st_size > _MOST_LAYOUT_BYTES:
        raise UserError(
            f"Its layout file {named!r} is not beside the notebook.",
            hint="Put it there, or choose the vertical layout.",
        )
    try:
        found = json.loads(place.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"Its layout file {named!r} is not JSON.", hint="Put it there, or choose the vertical layout."
        ) from error
    match found:
        case {"type": "grid" | "slides" as kind, "data": dict(data)}:
            return {"type": kind, "data": data}
        case _:
            return None


def _write(
    folder: Path, html: bytes, file: NotebookFile, plan: PagePlan, settings: Settings, offline: OfflinePlan | None
) -> PublishedPage:
    """All of it beside its place first: a folder that is there is whole."""
    assets = _assets()
    text = html.decode("utf-8", "replace")
    for place in (str(file.path.parent), str(settings.user_home), str(settings.home)):
        if len(place) > 1 and place in text:
            raise UserError(
                f"The page would name {place!r}, a path of this machine.", hint="Take it out of the notebook."
            )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as beside:
            building = Path(beside) / "page"
            shutil.copytree(assets, building, ignore=shutil.ignore_patterns("index.html", "CLAUDE.md"))
            (building / "index.html").write_bytes(html)
            (building / ".nojekyll").touch()
            for name in plan.files:
                target = building / PUBLIC / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.path.parent / PUBLIC / name, target, follow_symlinks=False)
            if offline is not None:
                write_offline(offline, building)
                _seal(building)
            written = [one for one in building.rglob("*") if one.is_file()]
            size = sum(one.stat().st_size for one in written)
            building.rename(folder)
    except OSError as error:
        raise UserError(
            f"Could not write {str(folder)!r}: {error.strerror or error}.", hint="Name another place."
        ) from error
    hosts = _hosts(assets, text) if offline is None else ()
    return PublishedPage(folder=folder, plan=plan, offline=offline, hosts=hosts, files=len(written), bytes=size)


def _seal(building: Path) -> None:
    """The page and its workers ask no other host than theirs."""
    version = browser_table()["pyodide"]
    page, workers = building / "index.html", list((building / "assets").glob(_WORKERS))
    page.write_text(sealed_page(page.read_text("utf-8")), encoding="utf-8")
    for worker in workers:
        worker.write_text(sealed_worker(worker.read_text("utf-8"), version=version), encoding="utf-8")
    if not workers:
        raise Unavailable(
            "marimo's pages have no workers here.", hint="Install Cellwright again: marimo is one of its packages."
        )


def _assets() -> Path:
    """marimo's own files for pages. Nothing of it is imported."""
    found = importlib.util.find_spec("marimo")
    if found is None or found.origin is None:
        raise Unavailable("marimo is not installed.", hint="Install Cellwright again: it is one of its packages.")
    return Path(found.origin).parent / "_static"


def _hosts(assets: Path, html: str) -> tuple[str, ...]:
    """Where the page loads Python from: as its workers have it."""
    hosts = set[str]()
    for text in (html, *(one.read_text("utf-8", "replace") for one in (assets / "assets").glob(_WORKERS))):
        hosts |= {found[1] or found[2] for found in _HOST.finditer(text)}
    return tuple(sorted(hosts))


def page_view(page: PublishedPage) -> dict[str, Any]:
    """What came of it as `--json` shows it."""
    table = browser_table()
    return {
        "folder": str(page.folder) if not page.plan.obstacles else None,
        "ok": not page.plan.obstacles,
        "obstacles": [asdict(one) for one in page.plan.obstacles],
        "packages": list(page.plan.packages),
        "from_index": list(page.plan.from_index) if page.offline is None else [],
        "offline": _offline_view(page.offline) if page.offline is not None else None,
        "hosts": list(page.hosts),
        "public": list(page.plan.files),
        "files": page.files,
        "bytes": page.bytes,
        "pyodide": {"version": table["pyodide"], "python": table["python"], "date": table["date"]},
    }


def _offline_view(offline: OfflinePlan) -> dict[str, Any]:
    return {
        "packages": list(offline.package_names),
        "files": list(offline.files),
        "missing": list(offline.missing),
        "changed": list(offline.changed),
        "unmet": [asdict(one) for one in offline.packages.unmet],
    }
