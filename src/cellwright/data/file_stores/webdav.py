"""Files of a WebDAV server, which tells itself what is in a folder."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from cellwright.data.file_stores.store import joined, missing
from cellwright.data.file_stores.web_folder import WebFolder, WebServer, modified_at, version_of
from cellwright.data.messages import FileEntry
from cellwright.data.worker.source import SourceFailed, SourceLogin

_DAV: Final = "{DAV:}"


class WebDavFolder(WebFolder):
    """Listed by `PROPFIND`, one folder at a time."""

    server = "WebDAV"

    async def level(self, folder: str) -> list[FileEntry]:
        """What is right inside of a folder."""
        found = self._told(await self.page("PROPFIND", folder, ("depth", "1")), folder)
        return [entry for entry in found if entry.path != folder]

    async def stat(self, path: str) -> FileEntry:
        """By the properties of a file or folder."""
        async with self._web.answer("PROPFIND", path, ("depth", "0")) as found:
            told = self._told(await found.bytes(1 << 20), path)
        entry = next((entry for entry in told if entry.path == path), None)
        if entry is None:
            raise missing(path)
        return entry

    def _told(self, content: bytes, folder: str) -> list[FileEntry]:
        """The folder itself, and what is right inside of it; whatever else the server names is passed by."""
        try:
            tree = ElementTree.fromstring(content)
        except ElementTree.ParseError:
            raise SourceFailed("other", "The server does not answer as a WebDAV server does.") from None
        top = unquote(self._web.base)
        entries = list[FileEntry]()
        for each in tree.iter(f"{_DAV}response"):
            place = unquote(urlsplit(each.findtext(f"{_DAV}href") or "").path)
            path = place.removeprefix(top).strip("/") if place.startswith(top) else "" if f"{place}/" == top else None
            if path is None or not path.isprintable() or {".", ".."} & set(path.split("/")):
                continue
            if path == folder or path == joined(folder, path.rpartition("/")[2]):
                entries.append(_entry(path, each))
        return entries


def open_webdav(login: SourceLogin) -> WebDavFolder:
    """The folder. Nothing is asked yet. Raises `SourceFailed`."""
    return WebDavFolder(WebServer(login))


def _entry(path: str, told: ElementTree.Element) -> FileEntry:
    properties = {
        one.tag: one
        for part in told.iter(f"{_DAV}propstat")
        if " 200" in (part.findtext(f"{_DAV}status") or "")
        for one in part.iterfind(f"{_DAV}prop/*")
    }

    def text(name: str) -> str:
        found = properties.get(f"{_DAV}{name}")
        return "" if found is None else (found.text or "").strip()

    kind = properties.get(f"{_DAV}resourcetype")
    if kind is not None and kind.find(f"{_DAV}collection") is not None:
        return FileEntry(path=path, is_folder=True)
    size, modified = text("getcontentlength"), text("getlastmodified")
    return FileEntry(
        path=path,
        size=int(size[:18]) if size.isdecimal() else None,
        version=version_of({"etag": text("getetag"), "last-modified": modified}, size),
        modified=modified_at(modified),
    )
