"""`/files`: what lies in the folder that is served, and new data for it: never outside, never over what is there.

Every folder on the way is opened without following links, so nobody can swap one in between.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Self

import anyio.to_thread
from fastapi import Path as InPath
from fastapi import Query, Request
from starlette.requests import ClientDisconnect

from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.sandbox.host.project import hidden_in
from cellwright.server.http.auth.dependencies import Reader, Steerer
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.resources import ApiRouter, Resources
from cellwright.server.http.schemas.model import ResponseModel

DATA: Final = "data"
"""Where uploads go."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_ENTRIES: Final = 2_000
_LONGEST_NAME: Final = 200
_MOST_NUMBERS: Final = 10_000
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK})


class FileEntry(ResponseModel):
    """A file or folder."""

    name: str
    path: str
    """Relative to the folder that is served."""
    is_folder: bool
    bytes: int
    changed_ms: int


def list_folder(root: Path, path: str) -> list[FileEntry]:
    """What lies at this path, folders first; no links, nothing hidden, nothing that looks like a secret. Blocking.

    Raises `ResourceNotFound`, `RefusedByPolicy` or `UserError`.
    """
    parts = _parts(path)
    hidden = set(hidden_in(root))
    if any(PurePosixPath(*parts[: count + 1]).as_posix() in hidden for count in range(len(parts))):
        raise RefusedByPolicy(f"{path!r} looks like a secret and is hidden.")
    with _opened(root, parts) as folder:
        with os.scandir(folder) as found:
            names = [each.name for each in islice(found, _MOST_ENTRIES)]
        entries = [entry for name in names if (entry := _entry(folder, parts, name)) is not None]
    shown = [entry for entry in entries if entry.path not in hidden]
    return sorted(shown, key=lambda entry: (not entry.is_folder, entry.name.casefold(), entry.name))


class Upload:
    """A file that is being uploaded: nobody sees it before it is whole, nothing stays if it never is. Blocking."""

    def __init__(self, folder: int, name: str) -> None:
        self._folder = folder
        self._name = name
        self._temporary = f".{secrets.token_hex(8)}.arriving"
        self._file = os.open(self._temporary, _NEW, 0o644, dir_fd=folder)

    @classmethod
    def at(cls, root: Path, name: str) -> Self:
        """A file of this name in the data folder, which is made if need be. Raises `UserError`, `RefusedByPolicy`."""
        _check_name(name)
        with _disk_errors(DATA), _opened(root, ()) as folder:
            with suppress(FileExistsError):
                os.mkdir(DATA, dir_fd=folder)
            inside = _open_folder(DATA, folder)
        try:
            with _disk_errors(name):
                return cls(inside, name)
        except BaseException:
            os.close(inside)
            raise

    def write(self, content: bytes) -> None:
        """More of it. Raises `Unavailable` if the disk is full."""
        with _disk_errors(self._name):
            while content:
                content = content[os.write(self._file, content) :]

    def keep(self) -> str:
        """It is whole: the path it has now. A name that is taken gets a number."""
        with _disk_errors(self._name):
            os.fsync(self._file)
            name = self._take_name()
            os.fsync(self._folder)
        return f"{DATA}/{name}"

    def close(self) -> None:
        """Forget it, if it was not kept."""
        os.close(self._file)
        with suppress(FileNotFoundError):
            os.unlink(self._temporary, dir_fd=self._folder)
        os.close(self._folder)

    def _take_name(self) -> str:
        for number in range(1, _MOST_NUMBERS):
            path = PurePosixPath(self._name)
            name = self._name if number == 1 else f"{path.stem}-{number}{path.suffix}"
            with suppress(FileExistsError):
                self._link(name)
                return name
        raise UserError(f"There are too many files called {self._name!r}.", hint="Choose another name.")

    def _link(self, name: str) -> None:
        """Raises `FileExistsError`, whoever was faster."""
        try:
            os.link(self._temporary, name, src_dir_fd=self._folder, dst_dir_fd=self._folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # A file system without links: the name is ours once it is made, and then replaced by what we have.
            os.close(os.open(name, _NEW, 0o644, dir_fd=self._folder))
            os.replace(self._temporary, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)


def _parts(path: str) -> tuple[str, ...]:
    pure = PurePosixPath(path)
    if "\0" in path or pure.is_absolute() or ".." in pure.parts:
        raise UserError(f"{path!r} is no path in the folder.", hint="Give one relative to it, without `..`.")
    return pure.parts


def _check_name(name: str) -> None:
    is_plain = name.isprintable() and "/" not in name and "\\" not in name and not name.startswith(".")
    if not is_plain or name.strip() != name or not 1 <= len(os.fsencode(name)) <= _LONGEST_NAME:
        raise UserError(
            f"{name[:80]!r} is no name for a file.",
            hint=f"At most {_LONGEST_NAME} bytes, no slashes, no dot or space at the beginning.",
        )


@contextmanager
def _opened(root: Path, parts: tuple[str, ...]) -> Generator[int]:
    """The folder of these parts, each reached without following a link."""
    descriptor = _open_folder(os.fspath(root.resolve()), None)
    try:
        for part in parts:
            deeper = _open_folder(part, descriptor)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor
    finally:
        os.close(descriptor)


def _open_folder(name: str, parent: int | None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise RefusedByPolicy(f"{name!r} is a link.", hint="Links are not followed here.") from error
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}:
            raise ResourceNotFound(f"There is no folder {name[:200]!r}.") from error
        raise UserError(f"{name!r} cannot be opened: {error.strerror}.") from error


def _entry(folder: int, parts: tuple[str, ...], name: str) -> FileEntry | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        # It went while we looked.
        return None
    is_folder, is_file = stat.S_ISDIR(found.st_mode), stat.S_ISREG(found.st_mode)
    if name.startswith(".") or not (is_folder or is_file) or not _is_text(name):
        return None
    return FileEntry(
        name=name,
        path=PurePosixPath(*parts, name).as_posix(),
        is_folder=is_folder,
        bytes=0 if is_folder else found.st_size,
        changed_ms=found.st_mtime_ns // 1_000_000,
    )


def _is_text(name: str) -> bool:
    """Whether JSON can carry it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def _disk_errors(name: str) -> Generator[None]:
    """The disk's own troubles as ours."""
    try:
        yield
    except OSError as error:
        raise Unavailable(
            f"{name!r} cannot be kept: {error.strerror}.", hint="Is the disk full or read-only?"
        ) from error


router = ApiRouter(tags=["files"])
_WRITE_BYTES: Final = 1 << 20
"""Written at a time: one trip to a thread for each."""
_BODY: Final = {
    "requestBody": {
        "required": True,
        "description": "The file, byte for byte",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class Listing(ResponseModel):
    """What lies at a path."""

    path: str
    entries: list[FileEntry]


class KeptFile(ResponseModel):
    """Where an upload is now."""

    path: str
    bytes: int


@router.get("/files")
async def list_files(_: Reader, resources: Resources, path: Annotated[str, Query(max_length=4_000)] = "") -> Listing:
    """What lies in the folder that is served."""
    return Listing(path=path, entries=await anyio.to_thread.run_sync(list_folder, resources.folder, path))


@router.put("/files/{name}", openapi_extra=_BODY)
async def upload_file(
    _: Steerer, resources: Resources, name: Annotated[str, InPath(min_length=1, max_length=255)], request: Request
) -> KeptFile:
    """Put a file into the data folder; a name that is taken gets a number."""
    arriving = await anyio.to_thread.run_sync(Upload.at, resources.folder, name)
    try:
        size = await _receive(request, arriving)
        return KeptFile(path=await anyio.to_thread.run_sync(arriving.keep), bytes=size)
    except ClientDisconnect:
        raise UserError("The upload was cut off.", hint="Send it again.") from None
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(arriving.close)


async def _receive(request: Request, arriving: Upload) -> int:
    """Every byte, as it comes; how many there were."""
    size, waiting = 0, bytearray()
    async for chunk in request.stream():
        size += len(chunk)
        waiting += chunk
        if len(waiting) >= _WRITE_BYTES:
            await anyio.to_thread.run_sync(arriving.write, bytes(waiting))
            waiting.clear()
    await anyio.to_thread.run_sync(arriving.write, bytes(waiting))
    return size
