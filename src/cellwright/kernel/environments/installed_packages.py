"""Distributions that are installed with Cellwright, for an environment that is made while no index can be reached.

Their files are linked into the new environment, each after it was compared with the hash its wheel recorded; what is
not asked for stays out. Nothing of them is imported or run.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import Distribution, PackagePath
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

_EVERYONE_READS: Final = 0o444
# Both ways in which installers point a script at our interpreter: its path, or a shell line where that is too long.
_OUR_PYTHON: Final = re.compile(rb"#!(?:(?!/bin/sh\n)[^\n]*python[\d.]*|/bin/sh\n'''exec' [^\n]*\n' ''')\n")

_PROGRAM: Final = """\
import sys
from {program.module} import {program.attr}
if __name__ == "__main__":
    sys.exit({program.attr}())
"""


class NotInstalled(Exception):
    """The environment cannot be made of what is on this machine; says which package is at fault."""


def missing_distributions(folder: Path, requirements: Iterable[str]) -> dict[str, list[Requirement]]:
    """What the requirements need, and need in turn, and `folder` does not have, by name. Blocking.

    Raises `NotInstalled` where it has another version than is needed.
    """
    there = {_name(one.metadata["Name"]): one for one in importlib.metadata.distributions(path=[str(folder)])}
    pending, seen = [Requirement(text) for text in requirements], set[str]()
    found: dict[str, list[Requirement]] = {}
    while pending:
        wanted = pending.pop()
        if str(wanted) in seen:
            continue
        seen.add(str(wanted))
        distribution = there.get(_name(wanted.name))
        if distribution is None:
            found.setdefault(_name(wanted.name), []).append(wanted)
        elif not _fits(distribution, [wanted]):
            raise NotInstalled(f"{wanted} (here is {distribution.version})")
        else:
            pending += _needs(distribution, wanted.extras)
    return found


def installed_distributions(wanted: Mapping[str, Sequence[Requirement]]) -> list[Distribution]:
    """Those of the wanted distributions that are installed with us, whole, in a version that fits. Blocking."""
    found: list[Distribution] = []
    for name, requirements in wanted.items():
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        # Whatever was not installed from an index, our own checkout for one, is not what the header means.
        if (
            _fits(distribution, requirements)
            and distribution.files
            and distribution.read_text("direct_url.json") is None
        ):
            found.append(distribution)
    return found


@lru_cache(maxsize=64)
def satisfies_all(requirements: tuple[str, ...]) -> bool:
    """Whether what is installed with us meets these requirements, and all that they need in turn. Blocking."""
    pending, seen = [Requirement(text) for text in requirements], set[str]()
    while pending:
        wanted = pending.pop()
        if str(wanted) in seen:
            continue
        seen.add(str(wanted))
        found = installed_distributions({_name(wanted.name): [wanted]})
        try:
            if not found:
                return False
            pending += _needs(found[0], wanted.extras)
        except NotInstalled:
            return False
    return True


def link_distribution(distribution: Distribution, prefix: Path, site_packages: Path, interpreter: Path) -> None:
    """Put a distribution into the environment at `prefix`. Blocking.

    Raises `NotInstalled` if a file is missing, or is not the one that its wheel brought.
    """
    home = os.path.normpath(str(distribution.locate_file("")))
    programs = {one.name: one for one in distribution.entry_points if one.group == "console_scripts"}
    for file in distribution.files or ():
        if file.suffix == ".pyc":
            continue
        target = _target(file, home, prefix, site_packages)
        target.parent.mkdir(parents=True, exist_ok=True)
        is_program = target.parent == prefix / "bin"
        if is_program and target.name in programs:
            # The installer wrote it for the place it installed to, as we do here.
            _write_program(target, f"#!{interpreter}\n{_PROGRAM.format(program=programs[target.name])}".encode())
            continue
        content = _checked(distribution, file)
        if is_program and (first := _OUR_PYTHON.match(content)):
            _write_program(target, f"#!{interpreter}\n".encode() + content[first.end() :])
        else:
            _link_file(Path(str(file.locate())), target)


def _write_program(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o755)


def open_to_all(prefix: Path) -> None:
    """Let a kernel that runs as another user look into every folder, whatever umask we have. Blocking."""
    for folder, _, _ in os.walk(prefix):
        Path(folder).chmod(0o755)


def _needs(distribution: Distribution, extras: Iterable[str]) -> list[Requirement]:
    needed: list[Requirement] = []
    try:
        for one in map(Requirement, distribution.requires or ()):
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                one.marker = None
                needed.append(one)
    except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName, RecursionError, ValueError) as error:
        raise NotInstalled(f"{distribution.name} (what it needs cannot be read)") from error
    if any(one.url for one in needed):
        raise NotInstalled(f"{distribution.name} (it needs a file or a repository)")
    return needed


def _fits(distribution: Distribution, requirements: Iterable[Requirement]) -> bool:
    return all(one.specifier.contains(distribution.version, prereleases=True) for one in requirements)


def _target(file: PackagePath, home: str, prefix: Path, site_packages: Path) -> Path:
    """Where a recorded file belongs: beside the others, or as far from our prefix as it lies from ours."""
    if ".." not in file.parts and not PurePosixPath(file).is_absolute():
        return site_packages / file
    place = Path(os.path.normpath(Path(home, file)))
    if not place.is_relative_to(sys.prefix):
        raise NotInstalled(f"{file} (it lies outside of Cellwright's environment)")
    return prefix / place.relative_to(sys.prefix)


def _checked(distribution: Distribution, file: PackagePath) -> bytes:
    try:
        content = Path(str(file.locate())).read_bytes()
    except OSError as error:
        raise NotInstalled(f"{distribution.name} (its file {file.name} is missing)") from error
    # Only what the installer itself wrote, the record for one, has no hash.
    if file.hash is not None and file.hash.mode == "sha256":
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        if digest != file.hash.value:
            raise NotInstalled(f"{distribution.name} (its file {file.name} was changed since it was installed)")
    return content


def _link_file(source: Path, target: Path) -> None:
    if source.stat().st_mode & _EVERYONE_READS == _EVERYONE_READS:
        try:
            os.link(source, target, follow_symlinks=True)
        except OSError:
            # Another file system, somebody else's file, or too many links.
            pass
        else:
            return
    shutil.copyfile(source, target)
    target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)


def _name(name: str) -> str:
    return str(canonicalize_name(name))
