"""The file system of a connection, as fsspec has it: it lists and reads ranges, and never writes.

It holds a name and nothing else: no socket, no thread and no file stays open between two requests.
"""

from __future__ import annotations

import os
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import fsspec
from fsspec.spec import AbstractFileSystem

from cellwright_cells.data_requests import ask, close_all
from cellwright_cells.range_reads import RangeFile
from cellwright_cells.replies import ConnectionFailed, read_object

PROTOCOL: Final = "cellwright"
_PREFIX: Final = f"{PROTOCOL}://"
_AT_ONCE: Final = 64 << 20
_READ_ONLY: Final = "Files of a connection are only read here."


class ConnectionFileSystem(AbstractFileSystem):
    """Paths are `a/b/c` below the connection's own place; of S3 `bucket/key`."""

    protocol = PROTOCOL
    root_marker = ""

    def __init__(self, connection: str = "", *, fresh: bool = False, **options: Any) -> None:
        if not connection:
            raise ConnectionFailed("The address names no connection: it is cellwright://NAME/path.")
        super().__init__(connection, fresh=fresh, **options)
        self.connection = connection
        self.is_fresh = fresh

    # ── addresses ──

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        text = os.fspath(path)
        if text.startswith(_PREFIX):
            text = text.removeprefix(_PREFIX).partition("/")[2]
        return text.strip("/")

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        return {"connection": path.removeprefix(_PREFIX).partition("/")[0]} if path.startswith(_PREFIX) else {}

    def unstrip_protocol(self, name: str) -> str:
        """The whole address."""
        return f"{_PREFIX}{self.connection}/{self._strip_protocol(name)}"

    # ── looking ──

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """What is in a folder; of a file, itself."""
        folder = self._strip_protocol(path)
        entries = self._listed(folder, is_deep=False)
        if not entries:
            found = self.info(folder)
            entries = [] if found["type"] == "directory" else [found]
        return entries if detail else [entry["name"] for entry in entries]

    def find(
        self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False, **more: Any
    ) -> Any:
        """Every file below; all of them with one request."""
        if maxdepth is not None or withdirs:
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, **more)
        folder = self._strip_protocol(path)
        try:
            entries = self._listed(folder, is_deep=True)
        except FileNotFoundError:
            entries = []
        if not entries and folder and self.exists(folder) and self.isfile(folder):
            entries = [self.info(folder)]
        return {entry["name"]: entry for entry in entries} if detail else [entry["name"] for entry in entries]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Size, kind, version. Raises `FileNotFoundError`."""
        plain = self._strip_protocol(path)
        if not plain:
            return {"name": "", "size": 0, "type": "directory"}
        reply = ask({"kind": "stat", "connection": self.connection, "path": plain, "fresh": self.is_fresh})
        return _entry(reply.body)

    def modified(self, path: str) -> datetime:
        """When it was changed last."""
        return datetime.fromisoformat(self.info(path)["modified"])

    def ukey(self, path: str) -> str:
        """Another one for another version."""
        found = self.info(path)
        return sha256(f"{self.connection}\n{found['name']}\n{found['ETag']}".encode()).hexdigest()

    def _listed(self, folder: str, *, is_deep: bool) -> list[dict[str, Any]]:
        reply = ask(
            {
                "kind": "files",
                "connection": self.connection,
                "path": folder,
                "recursive": is_deep,
                "fresh": self.is_fresh,
            }
        )
        body = reply.body
        for descriptor in reply.descriptors:
            # More than a message may say: the same object, in a file.
            with os.fdopen(descriptor, "rb") as file:
                body = read_object(file.read())
        if body.get("is_cut"):
            raise ConnectionFailed(f"There are too many files below {folder!r} to list at once: name a folder in it.")
        return [_entry(entry) for entry in body["entries"]]

    # ── reading ──

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        """Bytes of a file; ends count from its end if they are negative."""
        found = self._file(path)
        size = found["size"]
        first = max(0, size + start) if start is not None and start < 0 else min(start or 0, size)
        last = size if end is None else max(0, size + end) if end < 0 else min(end, size)
        return self.read_range(found["name"], first, last, found["ETag"])

    def read_range(self, path: str, start: int, stop: int, version: str) -> bytes:
        """Exactly these bytes of this version. Raises `ConnectionFailed`."""
        parts = [self._part(path, at, min(at + _AT_ONCE, stop), version) for at in range(start, stop, _AT_ONCE)]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _part(self, path: str, start: int, stop: int, version: str) -> bytes:
        request = {"kind": "read", "connection": self.connection, "path": path, "start": start}
        reply = ask(request | {"length": stop - start, "version": version})
        try:
            # Others may read the same open file: by place, not from where it stands.
            data = bytearray()
            while len(data) < stop - start:
                if not (chunk := os.pread(reply.descriptors[0], stop - start - len(data), len(data))):
                    raise ConnectionFailed("A part of a file came without all of its bytes.")
                data += chunk
            return bytes(data)
        finally:
            close_all(reply.descriptors)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: Any = None,
        autocommit: bool = True,
        cache_options: Any = None,
        **_: Any,
    ) -> Any:
        if mode != "rb":
            raise ConnectionFailed(_READ_ONLY)
        found = self._file(path)
        version = found["ETag"]
        return RangeFile(found["size"], lambda start, stop: self.read_range(found["name"], start, stop, version))

    def _file(self, path: str) -> dict[str, Any]:
        """What is known of a file. Raises `IsADirectoryError` for a folder, and as `info` does."""
        found = self.info(path)
        if found["type"] == "directory":
            raise IsADirectoryError(
                f"{found['name'] or self.connection!r} is a folder: name a file in it, or list it with ls()."
            )
        return found

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise ConnectionFailed(_READ_ONLY)

    pipe_file = put_file = cp_file = rm_file = _rm = mkdir = makedirs = rmdir = touch = mv = _refuse

    def __truediv__(self, path: str) -> ConnectionPath:
        """A file or folder of it, for programs that take paths."""
        return ConnectionPath(self, self._strip_protocol(path))

    def __repr__(self) -> str:
        return f'files("{self.connection}")'


class ConnectionPath(os.PathLike[str]):
    """A file or folder of a connection in the place of a `pathlib.Path`, as far as reading goes.

    Libraries that know fsspec take its address for it; others take what `open` gives.
    """

    def __init__(self, files: ConnectionFileSystem, path: str) -> None:
        self.files = files
        self.path = path

    @property
    def name(self) -> str:
        """Of the file, without its folders."""
        return self.path.rpartition("/")[2]

    def open(self, mode: str = "r", **options: Any) -> Any:
        """The file, for reading; `encoding` and `errors` as Python's own has them."""
        return self.files.open(self.path, mode, **options)

    def read_bytes(self) -> bytes:
        """All of it."""
        return self.files.cat_file(self.path)

    def __truediv__(self, below: str) -> ConnectionPath:
        return ConnectionPath(self.files, f"{self.path}/{below}".strip("/"))

    def __fspath__(self) -> str:
        return self.files.unstrip_protocol(self.path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConnectionPath) and os.fspath(self) == os.fspath(other)

    def __hash__(self) -> int:
        return hash(os.fspath(self))

    def __repr__(self) -> str:
        return f"{self.files!r} / {self.path!r}"


def file_system(name: str, *, fresh: bool) -> ConnectionFileSystem:
    """The file system, which libraries find by its protocol from now on."""
    fsspec.register_implementation(PROTOCOL, ConnectionFileSystem, clobber=True)
    return ConnectionFileSystem(name, fresh=fresh)


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    is_folder = bool(entry["is_folder"])
    modified = str(entry.get("modified") or "")
    told: dict[str, Any] = {
        "name": entry["path"],
        "size": 0 if is_folder else entry["size"],
        "type": "directory" if is_folder else "file",
        "ETag": entry.get("version", ""),
        "modified": modified,
    }
    return told | ({"mtime": datetime.fromisoformat(modified)} if modified else {})
