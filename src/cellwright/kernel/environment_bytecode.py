"""Bytecode for an environment: that of our own packages, where the environment has the very same files.

An environment is mounted read-only, so each of its kernels would compile every module it imports again; and nothing
that came out of a wheel is compiled on the host. But what most notebooks ask for is installed with us, compiled.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from importlib.metadata import Distribution
from pathlib import Path
from typing import Final

_HEADER_BYTES: Final = 16
# By PEP 552: bytecode that goes by a hash of its source, which nobody need check. A time would not fit: each of the
# two files has its own.
_UNCHECKED_HEADER: Final = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
_NEVER_IMPORTED: Final = frozenset({"tests", "testing"})


def lend_bytecode(site_packages: Path) -> int:
    """Give an environment of our own Python the bytecode that we have for its files; for how many. Blocking."""
    return sum(
        _lend(ours, site_packages)
        for theirs in importlib.metadata.distributions(path=[str(site_packages)])
        if (ours := _of_ours(theirs)) is not None
    )


def _of_ours(theirs: Distribution) -> Distribution | None:
    try:
        ours = importlib.metadata.distribution(theirs.metadata["Name"] or "none")
    except importlib.metadata.PackageNotFoundError:
        return None
    return ours if ours.version == theirs.version else None


def _lend(ours: Distribution, site_packages: Path) -> int:
    lent = 0
    for file in ours.files or ():
        if file.suffix != ".py" or ".." in file.parts or not _NEVER_IMPORTED.isdisjoint(file.parts):
            continue
        source, copy = Path(str(file.locate())), site_packages / file
        bytecode = _read(Path(importlib.util.cache_from_source(str(source))))
        if bytecode.startswith(importlib.util.MAGIC_NUMBER) and _read(copy) == _read(source) != b"":
            target = Path(importlib.util.cache_from_source(str(copy)))
            if target.parent.is_symlink() or target.parent.is_file() or target.is_dir():
                continue
            target.parent.mkdir(exist_ok=True)
            target.parent.chmod(0o755)
            # A wheel may bring its own, whose other name is in uv's cache.
            target.unlink(missing_ok=True)
            target.write_bytes(_UNCHECKED_HEADER + bytecode[_HEADER_BYTES:])
            target.chmod(0o644)
            lent += 1
    return lent


def _read(path: Path) -> bytes:
    """Nothing where there is no plain file."""
    return path.read_bytes() if path.is_file() and not path.is_symlink() else b""
