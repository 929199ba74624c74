"""A web server that has files, asked in HTTP. A redirect is followed inside of the connection's address, not beyond.

Whom we ask is not for a server to say: it could send us to a host that only this machine reaches.
"""

from __future__ import annotations

import base64
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import quote, urljoin

import httpcore2

from cellwright.data.connection_options import read_address
from cellwright.data.exchanges.requests import SentRequest
from cellwright.data.file_stores.store import MAX_ENTRIES, ReadBytes, as_list, missing
from cellwright.data.messages import FileEntry, FileList
from cellwright.data.web_worker.upstream import Upstream, UpstreamFailed
from cellwright.data.worker.source import SourceFailed, SourceLogin
from cellwright.network import NetworkSettings

_PAGE_BYTES: Final = 32 << 20
_MOST_PAGES: Final = 500
_MOST_HOPS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_NOTHING_THERE: Final = frozenset({404, 410})
_UNKNOWN_USER: Final = frozenset({401, 407})
_DENIED: Final = 403
_PART: Final = 206
_BEYOND_ITS_END: Final = 416
_RANGE: Final = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAnswer:
    """The head of an answer that is a good one."""

    status: int
    headers: dict[str, str]
    """Names in small letters."""
    response: httpcore2.Response

    async def bytes(self, most: int, *, after: int = 0) -> bytes:
        """So many bytes of its body at most, after so many that are passed by."""
        found = bytearray()
        async for piece in self.response.aiter_stream():
            found += piece[after:]
            after = max(0, after - len(piece))
            if len(found) >= most:
                break
        return bytes(found[:most])


class WebServer:
    """The server of one connection, with its secret. Raises `SourceFailed`."""

    def __init__(self, login: SourceLogin) -> None:
        options = login.options
        self._address = read_address(options["url"], tls=options.get("tls", ""))
        self.base = f"{self._address.base}/"
        """Everything is below this path."""
        self.url = f"{self._address.scheme}://{self._address.authority}{self.base}"
        self._secret = (("authorization", _authorization(login)),) if login.secret else ()
        self._seconds = login.seconds
        try:
            self._upstream = Upstream(self._address, NetworkSettings.of(login.network), options.get("tls_ca", ""))
        except UpstreamFailed as failed:
            raise SourceFailed(failed.kind, failed.why) from None

    @asynccontextmanager
    async def answer(self, method: str, path: str, *headers: tuple[str, str]) -> AsyncGenerator[WebAnswer]:
        """What it answers for a path below its address."""
        target = f"{self.base}{quote(path)}"
        for _ in range(_MOST_HOPS):
            async with self._sent(method, target, headers) as found:
                if found.status not in _REDIRECTS:
                    _check(found, path)
                    yield found
                    return
                target = self._inside(target, found.headers.get("location", ""))
        raise SourceFailed("other", f"The server sends us from place to place for {path[:200]!r}.")

    @asynccontextmanager
    async def _sent(self, method: str, target: str, headers: tuple[tuple[str, str], ...]) -> AsyncGenerator[WebAnswer]:
        usual = (("host", self._address.authority), ("user-agent", "cellwright"), ("accept-encoding", "identity"))
        request = SentRequest(method=method, target=target, headers=(*usual, *self._secret, *headers), shown="")
        try:
            async with self._upstream.answer(request, None, self._seconds) as response:
                named = {name.decode("ascii").lower(): value.decode("latin-1") for name, value in response.headers}
                yield WebAnswer(status=response.status, headers=named, response=response)
        except UpstreamFailed as failed:
            raise SourceFailed(failed.kind, failed.why) from None

    def _inside(self, target: str, location: str) -> str:
        """Where a redirect leads, as a target."""
        origin = self.url.removesuffix(self.base)
        there = urljoin(f"{origin}{target}", location).partition("#")[0]
        if not location or not there.startswith(self.url):
            raise SourceFailed(
                "other",
                "The server sends us elsewhere, and only redirects below the connection's address are followed.",
                hint="Name a connection for where its files are.",
            )
        return there.removeprefix(origin)


class WebFolder(ABC):
    """Files of a web server. How a folder is listed is for each kind to say."""

    server: str = "HTTP"

    def __init__(self, web: WebServer) -> None:
        self._web = web

    @abstractmethod
    async def level(self, folder: str) -> list[FileEntry]:
        """What is right inside of a folder."""

    async def entries(self, folder: str, *, is_deep: bool) -> FileList:
        """A folder; deep: folder by folder, to a limit."""
        entries, waiting, pages = list[FileEntry](), [folder], 0
        while waiting and pages < _MOST_PAGES and len(entries) <= MAX_ENTRIES:
            found = await self.level(waiting.pop())
            pages += 1
            entries += [entry for entry in found if not (is_deep and entry.is_folder)]
            waiting += [entry.path for entry in found if is_deep and entry.is_folder]
        return as_list(entries, is_cut=bool(waiting))

    async def read(self, path: str, start: int, stop: int) -> ReadBytes:
        """One request with a range; of a server that knows none, what comes before is passed by."""
        async with self._web.answer("GET", path, ("range", f"bytes={start}-{stop - 1}")) as found:
            if found.status == _BEYOND_ITS_END:
                return ReadBytes(data=memoryview(b""), version="")
            part = _RANGE.fullmatch(found.headers.get("content-range", ""))
            if found.status == _PART and (part is None or int(part[1]) != start):
                raise SourceFailed("other", f"The server gives another part of {path[:200]!r} than was asked for.")
            data = await found.bytes(stop - start, after=0 if found.status == _PART else start)
        size = part[2] if part is not None else found.headers.get("content-length", "")
        return ReadBytes(data=memoryview(data), version=version_of(found.headers, size))

    async def page(self, method: str, folder: str, *headers: tuple[str, str]) -> bytes:
        """What tells about a folder."""
        async with self._web.answer(method, f"{folder}/" if folder else "", *headers) as found:
            return await found.bytes(_PAGE_BYTES)


def version_of(headers: dict[str, str], size: str) -> str:
    """Of a file, by what is told of it; empty: nothing is."""
    modified = modified_at(headers.get("last-modified", ""))
    # In the properties of WebDAV some servers leave the quotes out.
    tag = headers.get("etag", "").removeprefix("W/").strip('"')
    return tag or (f"{modified}-{size}" if modified else "")


def modified_at(date: str) -> str:
    """When that was, ISO 8601; empty if it is no date."""
    try:
        found = parsedate_to_datetime(date)
    except ValueError:
        return ""
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).isoformat()


def _check(found: WebAnswer, path: str) -> None:
    if found.status in _NOTHING_THERE:
        raise missing(path)
    if found.status in _UNKNOWN_USER:
        raise SourceFailed("login", f"it answers {found.status}")
    if found.status == _DENIED:
        raise SourceFailed("denied", f"The server does not let us read {path[:200]!r}.")
    if not 200 <= found.status < 300 and found.status != _BEYOND_ITS_END:
        where = f" for {path[:200]!r}" if path else ""
        hint = "Is the address right, and is it a server of this kind?"
        raise SourceFailed("other", f"The server answers {found.status}{where}.", hint=hint)
    if found.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise SourceFailed("other", "The server compressed its answer, though it was asked not to.")


def _authorization(login: SourceLogin) -> str:
    if user := login.options.get("user"):
        return f"Basic {base64.b64encode(f'{user}:{login.secret}'.encode()).decode()}"
    return f"Bearer {login.secret}"
