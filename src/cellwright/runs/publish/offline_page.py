"""Whether a mirror holds all that a page needs, and which files go beside it; decided before anything is written."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cellwright.runs.publish.offline_packages import (
    OfflinePackages,
    PageNeeds,
    UnmetNeed,
    choose_packages,
    page_requirements,
)
from cellwright.runs.publish.page_checks import PageObstacle
from cellwright.runs.publish.pyodide_mirror import (
    CORE_FILES,
    LOCK_FILE,
    LockedPackage,
    MirroredWheel,
    PyodideMirror,
    file_hash,
)

PYODIDE_FOLDER: Final = "pyodide"
"""Beside the page."""
_MOST_NAMED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflinePlan:
    """What goes beside a page, or what the mirror lacks."""

    mirror: PyodideMirror
    files: tuple[str, ...] = ()
    packages: OfflinePackages
    missing: tuple[str, ...] = ()
    """Files that the page needs and the mirror has not."""
    changed: tuple[str, ...] = ()
    """Files that are not what the lock says."""

    @property
    def package_names(self) -> tuple[str, ...]:
        """With versions."""
        return tuple(f"{name} {one.version}" for name, one in sorted(self.packages.chosen.items()))


def plan_offline(mirror: PyodideMirror, needs: PageNeeds) -> OfflinePlan:
    """What of the mirror the page takes along. Blocking: what it takes is held against the lock's hashes."""
    packages = OfflinePackages(chosen={})
    if mirror.lock is not None:
        packages = choose_packages(mirror, page_requirements(needs), requires_here=_requires_here)
    wanted = (LOCK_FILE, *CORE_FILES, *dict.fromkeys(one.file_name for one in packages.chosen.values()))
    changed = tuple(
        one.file_name
        for one in packages.chosen.values()
        if isinstance(one, LockedPackage)
        and one.file_name in mirror.files
        and file_hash(mirror.folder / one.file_name) != one.sha256
    )
    return OfflinePlan(
        mirror=mirror,
        files=tuple(one for one in wanted if one != LOCK_FILE),
        packages=packages,
        missing=tuple(one for one in wanted if one not in mirror.files),
        changed=changed,
    )


def offline_obstacles(plan: OfflinePlan, *, version: str) -> Iterator[PageObstacle]:
    """Why there is no page that needs no other host, and how to get what is missing."""
    distribution = f"the full distribution of Pyodide {version} (not the core alone)"
    if not plan.mirror.is_version:
        yield _obstacle(
            f"The mirror's core is not Pyodide {version}, which marimo's pages load.", f"Unpack {distribution}."
        )
    if plan.missing:
        rest = "" if plan.mirror.lock is not None else " What packages need cannot be told without its lock."
        yield _obstacle(
            f"The mirror lacks {_named(plan.missing)}.{rest}", f"Take them out of {distribution}, unpacked there."
        )
    if plan.changed:
        yield _obstacle(
            f"Not what the mirror's lock says (sha256): {_named(plan.changed)}.",
            f"Take them out of {distribution} again.",
        )
    if plan.packages.unmet:
        yield _unmet(plan.packages.unmet, plan.mirror)


def _unmet(unmet: tuple[UnmetNeed, ...], mirror: PyodideMirror) -> PageObstacle:
    info = mirror.lock.info if mirror.lock is not None else {}
    python = ".".join(info.get("python", "").split(".")[:2])
    platform = f"pyemscripten_{info.get('abi_version', '')}_{info.get('arch', '')}"
    listed = _named(tuple(f"{one.requirement} (for {one.asked_by})" for one in unmet))
    asked = " ".join(f"'{one.requirement}'" for one in unmet[:_MOST_NAMED])
    return _obstacle(
        f"Neither in the mirror's lock nor a wheel beside it: {listed}.",
        f"Put wheels there, pure Python or built for {platform}: pip download --no-deps --only-binary :all: "
        f"--python-version {python} --platform {platform} -d MIRROR {asked}",
    )


def _requires_here(name: str) -> list[str]:
    """What it needs where it is installed beside us; `marimo-base` is marimo without its page."""
    try:
        return importlib.metadata.requires("marimo" if name == "marimo-base" else name) or []
    except importlib.metadata.PackageNotFoundError:
        return []


def _obstacle(text: str, hint: str) -> PageObstacle:
    return PageObstacle(kind="mirror", cell="", text=text, hint=hint)


def _named(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def write_offline(plan: OfflinePlan, page_folder: Path) -> None:
    """The core, the packages and a lock of just these, beside the page. Blocking."""
    mirror, beside = plan.mirror, page_folder / PYODIDE_FOLDER
    beside.mkdir()
    for name in plan.files:
        shutil.copyfile(mirror.folder / name, beside / name)
    entries = {
        name: one.model_dump(mode="json") if isinstance(one, LockedPackage) else _locked(one, beside, plan)
        for name, one in sorted(plan.packages.chosen.items())
    }
    lock = {"info": mirror.lock.info if mirror.lock is not None else {}, "packages": entries}
    (beside / LOCK_FILE).write_text(json.dumps(lock, sort_keys=True), encoding="utf-8")


def _locked(wheel: MirroredWheel, beside: Path, plan: OfflinePlan) -> dict[str, Any]:
    """A wheel as a lock has it."""
    return LockedPackage(
        name=wheel.name,
        version=str(wheel.version),
        file_name=wheel.file_name,
        sha256=file_hash(beside / wheel.file_name),
        depends=plan.packages.depends[wheel.name],
        imports=wheel.imports,
    ).model_dump(mode="json")
