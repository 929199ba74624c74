"""A folder that a web server shows: files by their addresses, names by the links of its index pages."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

from cellwright.data.file_stores.store import joined
from cellwright.data.file_stores.web_folder import WebFolder, WebServer, modified_at, version_of
from cellwright.data.messages import FileEntry
from cellwright.data.worker.source import SourceFailed, SourceLogin


class HttpFolder(WebFolder):
    """Lists by index pages: only links that lead to what is right inside of the folder."""

    async def level(self, folder: str) -> list[FileEntry]:
        """The links of a page."""
        reader = _Links()
        reader.feed((await self.page("GET", folder)).decode("utf-8", "replace"))
        return links_inside(reader.found, joined(folder), self._web.url)

    async def stat(self, path: str) -> FileEntry:
        """By the headers of a file; what has an index page is a folder."""
        if not path or any(entry.is_folder and entry.path == path for entry in await self._beside(path)):
            return FileEntry(path=path, is_folder=True)
        async with self._web.answer("HEAD", path) as found:
            size = found.headers.get("content-length", "")
        return FileEntry(
            path=path,
            size=int(size[:18]) if size.isdecimal() else None,
            version=version_of(found.headers, size),
            modified=modified_at(found.headers.get("last-modified", "")),
        )

    async def _beside(self, path: str) -> list[FileEntry]:
        """Some servers show no pages: then every address is a file's."""
        if "." in path.rpartition("/")[2]:
            return []
        try:
            return await self.level(path.rpartition("/")[0])
        except SourceFailed as failed:
            if failed.kind != "missing":
                raise
            return []


def open_http_folder(login: SourceLogin) -> HttpFolder:
    """The folder. Nothing is asked yet. Raises `SourceFailed`."""
    return HttpFolder(WebServer(login))


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
