"""A folder with Pyodide's distribution, read: its lock, its core, and the wheels that are no part of the lock.

What the folder holds is parsed and never run; a wheel that cannot be read counts as not there.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Final

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, NormalizedName, canonicalize_name, parse_wheel_filename
from packaging.version import Version
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from cellwright.errors import UserError

LOCK_FILE: Final = "pyodide-lock.json"
CORE_FILES: Final = ("pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
"""What the workers load themselves; `pyodide.mjs` is built into them."""
_VERSIONED_FILE: Final = "pyodide.asm.mjs"
_MOST_LOCK_BYTES: Final = 16 << 20
_MOST_CORE_BYTES: Final = 32 << 20
_MOST_METADATA_BYTES: Final = 1 << 20
_MOST_FILES: Final = 20_000
_CHUNK_BYTES: Final = 1 << 20


class LockedPackage(BaseModel):
    """A package as the lock has it; what else the lock says of it goes along."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = Field(max_length=200)
    version: str = Field(max_length=100)
    file_name: str = Field(max_length=400)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    depends: tuple[Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")], ...] = ()
    imports: tuple[str, ...] = ()
    package_type: str = "package"
    install_dir: str = "site"
    unvendored_tests: bool = False

    @field_validator("file_name")
    @classmethod
    def _is_beside_the_lock(cls, file_name: str) -> str:
        """Its last part: locks that were made for one mirror name files by their address there."""
        plain = file_name.partition("?")[0].rsplit("/", 1)[-1]
        if not plain or plain.startswith(".") or "\\" in plain or "\0" in plain:
            raise ValueError("no name of a file")
        return plain


class PyodideLock(BaseModel):
    """`pyodide-lock.json`: packages by their normalized names."""

    model_config = ConfigDict(frozen=True)

    info: dict[str, str]
    packages: dict[str, LockedPackage]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredWheel:
    """A wheel that lies in the mirror, is not in its lock, and that this Pyodide could install."""

    name: NormalizedName
    version: Version
    file_name: str
    requires: tuple[Requirement, ...] = ()
    imports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PyodideMirror:
    """What a folder holds."""

    folder: Path
    files: frozenset[str]
    lock: PyodideLock | None
    """None if there is no such file."""
    is_version: bool = True
    """Whether its core says that it is the version that was asked for; also where there is no core."""
    wheels: Mapping[NormalizedName, tuple[MirroredWheel, ...]]

    def locked(self, name: str) -> LockedPackage | None:
        """The package of this name in the lock."""
        return self.lock.packages.get(canonicalize_name(name)) if self.lock is not None else None


def read_mirror(folder: Path, *, version: str) -> PyodideMirror:
    """What is in the folder. Blocking. Raises `UserError` if it is none, or its lock cannot be read."""
    if not folder.is_dir():
        raise UserError(
            f"{str(folder)!r} is no folder.", hint="Name the folder into which Pyodide's distribution was unpacked."
        )
    names = list[str]()
    for path in folder.iterdir():
        names += [path.name] if path.is_file() else []
        if len(names) > _MOST_FILES:
            raise UserError(f"{str(folder)!r} holds over {_MOST_FILES:,} files.", hint="Name Pyodide's own folder.")
    files = frozenset(names)
    lock = _lock(folder / LOCK_FILE) if LOCK_FILE in files else None
    return PyodideMirror(
        folder=folder,
        files=files,
        lock=lock,
        is_version=_VERSIONED_FILE not in files or _says_version(folder / _VERSIONED_FILE, version),
        wheels=_wheels(folder, files, lock) if lock is not None else {},
    )


def file_hash(path: Path) -> str:
    """Of a file's contents, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _lock(path: Path) -> PyodideLock:
    with path.open("rb") as stream:
        text = stream.read(_MOST_LOCK_BYTES + 1)
    try:
        if len(text) > _MOST_LOCK_BYTES:
            raise ValueError("it is too large")
        return PyodideLock.model_validate_json(text)
    except (ValidationError, ValueError) as error:
        raise UserError(
            f"{str(path)!r} is no lock of Pyodide's.", hint="Unpack the distribution again: nothing in it is changed."
        ) from error


def _says_version(path: Path, version: str) -> bool:
    with path.open("rb") as stream:
        return f'"{version}"'.encode() in stream.read(_MOST_CORE_BYTES)


def _wheels(folder: Path, files: frozenset[str], lock: PyodideLock) -> dict[NormalizedName, tuple[MirroredWheel, ...]]:
    """Newest first."""
    locked = {package.file_name for package in lock.packages.values()}
    found = dict[NormalizedName, list[MirroredWheel]]()
    for file_name in sorted(files - locked):
        if file_name.endswith(".whl") and (wheel := _wheel(folder / file_name, lock)) is not None:
            found.setdefault(wheel.name, []).append(wheel)
    return {
        name: tuple(sorted(wheels, key=lambda one: one.version, reverse=True)) for name, wheels in sorted(found.items())
    }


def _wheel(path: Path, lock: PyodideLock) -> MirroredWheel | None:
    try:
        name, version, _, tags = parse_wheel_filename(path.name)
        if not any(_is_installable(tag, lock.info) for tag in tags):
            return None
        with zipfile.ZipFile(path) as wheel:
            at = next(one for one in wheel.infolist() if _is_metadata(one.filename))
            if at.file_size > _MOST_METADATA_BYTES:
                return None
            metadata, _ = parse_email(wheel.read(at))
            imports = tuple(dict.fromkeys(_top_levels(wheel.namelist())))
        requires = tuple(Requirement(one) for one in metadata.get("requires_dist", ()))
    # NotImplementedError: packed in a way zipfile does not know. What cannot be read counts as missing, and is named.
    except (InvalidWheelFilename, InvalidRequirement, zipfile.BadZipFile, StopIteration, OSError, NotImplementedError):
        return None
    return MirroredWheel(name=name, version=version, file_name=path.name, requires=requires, imports=imports)


def _is_installable(tag: Tag, info: Mapping[str, str]) -> bool:
    """Pure Python, or built for this Pyodide's Python and ABI."""
    python = "cp" + "".join(info.get("python", "").split(".")[:2])
    if tag.platform == "any":
        return tag.abi == "none" and tag.interpreter in {"py3", python}
    built_for = {f"{kind}_{info.get('abi_version')}_{info.get('arch')}" for kind in ("pyemscripten", "pyodide")}
    return tag.platform in built_for and tag.abi in {python, "abi3", "none"}


def _is_metadata(name: str) -> bool:
    path = PurePosixPath(name)
    return len(path.parts) == 2 and path.parts[0].endswith(".dist-info") and path.name == "METADATA"


def _top_levels(names: list[str]) -> Iterator[str]:
    """What can be imported of a wheel with these files."""
    for name in names:
        first, *rest = PurePosixPath(name).parts or ("",)
        module = first.split(".")[0]
        if module.isidentifier() and ((rest and "." not in first) or first.endswith((".py", ".so"))):
            yield module
