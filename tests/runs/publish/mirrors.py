"""Mirrors of Pyodide's distribution: tiny ones of made-up files, and one of real parts."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from cellwright.runs.publish.browser_packages import browser_table
from cellwright.runs.publish.offline_packages import WORKER_PACKAGES
from cellwright.runs.publish.pyodide_mirror import CORE_FILES, LOCK_FILE

VERSION: Final = browser_table()["pyodide"]
MARIMO: Final = importlib.metadata.version("marimo")
INFO: Final = {"abi_version": "2026_0", "arch": "wasm32", "platform": "emscripten_5_0_3", "python": "3.14.0"}
PAGE_PACKAGES: Final = {
    **{name.lower(): "1.0" for name in (*WORKER_PACKAGES, "docutils", "pygments", "jedi", "pyodide-http")},
    "marimo-base": MARIMO,
}
"""What every page takes along."""
FETCHED: Final = Path(__file__).parents[3] / ".pyodide"
"""`make servers` puts Pyodide's core there, and wheels."""


def tiny_mirror(
    folder: Path,
    packages: Mapping[str, str] = PAGE_PACKAGES,
    *,
    depends: Mapping[str, tuple[str, ...]] | None = None,
    version: str = VERSION,
) -> Path:
    """A whole mirror of files that hold nothing of use."""
    folder.mkdir()
    for name in CORE_FILES:
        (folder / name).write_text(f'version="{version}"')
    entries = dict[str, Any]()
    for name, one in packages.items():
        file = folder / f"{name.replace('-', '_')}-{one}-py3-none-any.whl"
        file.write_text(name)
        entries[name] = {
            "name": name, "version": one, "file_name": file.name, "sha256": hashlib.sha256(name.encode()).hexdigest(),
            "depends": (depends or {}).get(name, ()), "imports": [name],
        }  # fmt: skip
    (folder / LOCK_FILE).write_text(json.dumps({"info": INFO, "packages": entries}))
    return folder


def add_wheel(folder: Path, file_name: str, *requires: str) -> None:
    """A wheel of one module, beside the lock."""
    name, version = file_name.split("-")[:2]
    with zipfile.ZipFile(folder / file_name, "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "")
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        wheel.writestr(
            f"{name}-{version}.dist-info/METADATA",
            "\n".join([*lines, *(f"Requires-Dist: {one}" for one in requires)]) + "\n",
        )


def real_mirror(folder: Path) -> Path:
    """Pyodide's own core and lock, and wheels as the package index has them; a PyYAML made pure of the one we run on.

    The index's wheels are not byte for byte those of the distribution: the lock's hashes are theirs here.
    """
    shutil.copytree(FETCHED / "wheels", folder)
    core = FETCHED / "node_modules/pyodide"
    for name in CORE_FILES:
        shutil.copyfile(core / name, folder / name)
    lock = json.loads((core / LOCK_FILE).read_text("utf-8"))
    del lock["packages"]["pyyaml"]
    for package in lock["packages"].values():
        if (file := folder / package["file_name"]).is_file():
            package["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    (folder / LOCK_FILE).write_text(json.dumps(lock))
    _write_pure(folder, "pyyaml", "yaml")
    return folder


def _write_pure(folder: Path, distribution: str, package: str) -> None:
    installed = importlib.metadata.distribution(distribution)
    sources: Iterable[Any] = [one for one in installed.files or () if one.parts[0] == package and one.suffix == ".py"]
    named = f"{distribution}-{installed.version}"
    with zipfile.ZipFile(folder / f"{named}-py3-none-any.whl", "w") as wheel:
        for one in sources:
            wheel.write(str(one.locate()), str(one))
        wheel.writestr(f"{named}.dist-info/METADATA", installed.read_text("METADATA") or "")
        wheel.writestr(f"{named}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{named}.dist-info/RECORD", "")
