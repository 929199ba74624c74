"""A folder that a web server shows: files by their addresses, names by the links of its index pages."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

import obstore

from cellwright.data.file_stores.object_failures import store_failed
from cellwright.data.file_stores.objects import ObjectFiles
from cellwright.data.file_stores.store import MAX_ENTRIES, ReadBytes, as_list, joined, missing
from cellwright.data.messages import FileEntry, FileList

_PAGE_BYTES: Final = 8 << 20
_MOST_PAGES: Final = 500


class HttpFolder:
    """Lists by index pages: only links that lead to what is right inside of the folder."""

    def __init__(self, store: Any, url: str) -> None:
        self.server = "HTTP"
        self._store, self._url = store, url
        self._objects = ObjectFiles("HTTP", {"": store})

    async def entries(self, folder: str, *, is_deep: bool) -> FileList:
        """The links of a page; deep: page by page, to a limit."""
        entries, waiting, pages = list[FileEntry](), [folder], 0
        while waiting and pages < _MOST_PAGES and len(entries) <= MAX_ENTRIES:
            found = await self._links(waiting.pop())
            pages += 1
            entries += [entry for entry in found if not (is_deep and entry.is_folder)]
            waiting += [entry.path for entry in found if is_deep and entry.is_folder]
        return as_list(entries, is_cut=bool(waiting))

    async def stat(self, path: str) -> FileEntry:
        """By the headers of a file; what has an index page is a folder."""
        if not path or any(entry.is_folder and entry.path == path for entry in await self._beside(path)):
            return FileEntry(path=path, is_folder=True)
        try:
            with store_failed(path):
                meta: Any = await obstore.head_async(self._store, path)
        except FileNotFoundError:
            raise missing(path) from None
        version = meta.get("e_tag") or f"{meta['last_modified'].isoformat()}-{meta['size']}"
        return FileEntry(path=path, size=meta["size"], version=version, modified=meta["last_modified"].isoformat())

    async def read(self, path: str, start: int, stop: int) -> ReadBytes:
        """One request with a range."""
        return await self._objects.read(path, start, stop)

    async def _beside(self, path: str) -> list[FileEntry]:
        """Some servers show no pages: then every address is a file's."""
        if "." in path.rpartition("/")[2]:
            return []
        try:
            return await self._links(path.rpartition("/")[0])
        except FileNotFoundError:
            return []

    async def _links(self, folder: str) -> list[FileEntry]:
        try:
            with store_failed(folder):
                page = memoryview(await (await obstore.get_async(self._store, folder)).bytes_async())
        except FileNotFoundError:
            raise missing(folder) from None
        reader = _Links()
        reader.feed(bytes(page[:_PAGE_BYTES]).decode("utf-8", "replace"))
        return links_inside(reader.found, joined(folder), self._url)


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found = list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep where a link leads."""
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


def links_inside(links: list[str], folder: str, url: str) -> list[FileEntry]:
    """What of these links is right inside the folder of this address. Pure."""
    base = url + (f"{folder}/" if folder else "")
    names = dict[str, bool]()
    for link in links:
        there = urlsplit(urljoin(base, link))
        address = f"{there.scheme}://{there.netloc}{there.path}"
        name = unquote(address[len(base) :]) if address.startswith(base) and not there.query else ""
        plain = name.rstrip("/")
        if plain and "/" not in plain and plain not in {".", ".."} and plain.isprintable():
            names[plain] = name.endswith("/")
    return [FileEntry(path=joined(folder, name), size=None, is_folder=names[name]) for name in names]
