"""New packages for a kernel that runs: which files it would need, and whether having them is safe.

Safe means: nothing the kernel may have loaded changes its version. Then the files are handed into the cage, where the
kernel puts them in a folder of its own; the next kernel finds the same in its environment.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.utils import canonicalize_name

from cellwright.kernel.environments.lookup import Environment

_MOST_FILES: Final = 4_000
_MOST_BYTES: Final = 32 << 20
"""More would eat into the kernel's memory, where the files are kept."""
_FRAME_BYTES: Final = 4 << 20
_INFO: Final = ".dist-info"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageAddition:
    """Distributions a running kernel can be given."""

    distributions: dict[str, str]
    files: dict[str, bytes]

    def portions(self) -> Iterator[dict[str, bytes]]:
        """The files in pieces that fit on the wire."""
        portion: dict[str, bytes] = {}
        size = 0
        for path, content in self.files.items():
            if portion and size + len(content) > _FRAME_BYTES:
                yield portion
                portion, size = {}, 0
            portion[path] = content
            size += len(content)
        if portion:
            yield portion


def distributions_in(folders: Sequence[Path]) -> dict[str, str]:
    """Name → version of all that is installed there. Blocking."""
    found: dict[str, str] = {}
    for folder in folders:
        for info in folder.glob(f"*{_INFO}"):
            name, _, version = info.name.removesuffix(_INFO).rpartition("-")
            found.setdefault(str(canonicalize_name(name)), version)
    return found


def plan_addition(environment: Environment, running: Mapping[str, str]) -> PackageAddition | None:
    """What the environment has and the running kernel lacks; None if only a new kernel can have it. Blocking."""
    wanted = distributions_in([environment.site_packages])
    if any(running.get(name, version) != version for name, version in wanted.items()):
        return None
    added = {name: version for name, version in wanted.items() if name not in running}
    files: dict[str, bytes] = {}
    left = _MOST_BYTES
    for info in sorted(environment.site_packages.glob(f"*{_INFO}")):
        if str(canonicalize_name(info.name.removesuffix(_INFO).rpartition("-")[0])) not in added:
            continue
        for path in _recorded(info):
            content = _content(environment.site_packages, path)
            left -= len(content) if content is not None else _MOST_BYTES + 1
            if left < 0 or len(files) >= _MOST_FILES or content is None:
                return None
            files[path] = content
    return PackageAddition(distributions=added, files=files)


def _recorded(info: Path) -> Iterator[str]:
    """The files of a distribution, as its record names them, without programs: those are no part of an import."""
    record = (info / "RECORD").read_text(encoding="utf-8", errors="replace")
    for row in csv.reader(io.StringIO(record)):
        if row and not row[0].startswith(("/", "..")) and not row[0].endswith(".pyc"):
            yield row[0]


def _content(folder: Path, path: str) -> bytes | None:
    """The file's bytes; None for what cannot simply be put beside others."""
    parts = PurePosixPath(path).parts
    place = folder.joinpath(*parts)
    # A .pth file changes how the interpreter starts, and this one has started.
    if ".." in parts or path.endswith(".pth") or not place.is_file() or place.resolve() != folder.resolve() / path:
        return None
    return place.read_bytes() if place.stat().st_size < _FRAME_BYTES * 3 else None
