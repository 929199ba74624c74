"""Buckets through obstore: S3, Google Cloud Storage, Azure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import obstore

from cellwright.data.file_stores.object_failures import store_failed
from cellwright.data.file_stores.store import MAX_ENTRIES, ReadBytes, as_list, is_within, joined, missing
from cellwright.data.messages import FileEntry, FileList


class ObjectFiles:
    """Objects as files. A store of several buckets has them as its topmost folders; `allowed` is all that there is."""

    def __init__(self, server: str, buckets: Mapping[str, Any], allowed: tuple[str, ...] = ("",)) -> None:
        self.server = server
        self._buckets = buckets
        """By name; a store that is not of buckets is under the empty one."""
        self._allowed = allowed

    async def entries(self, folder: str, *, is_deep: bool) -> FileList:
        """A page of objects after the other, or one level of them."""
        if not self._is_allowed(folder):
            return await self._above(folder, is_deep=is_deep)
        bucket, store, key = self._split(folder)
        with store_failed(folder):
            if is_deep:
                found, is_cut = await _all_below(store, key)
                return as_list([_entry(bucket, each) for each in found], is_cut=is_cut)
            level = await obstore.list_with_delimiter_async(store, key or None)
        folders = [FileEntry(path=joined(bucket, prefix), is_folder=True) for prefix in level["common_prefixes"]]
        files = [_entry(bucket, each) for each in level["objects"] if each["path"] != key]
        return as_list([*folders, *(file for file in files if file.path != folder)])

    async def stat(self, path: str) -> FileEntry:
        """An object, or a folder if there are objects below."""
        if not self._is_allowed(path) or path in {*self._buckets, *self._allowed}:
            return await self._folder(path)
        bucket, store, key = self._split(path)
        try:
            with store_failed(path):
                entry = _entry(bucket, await obstore.head_async(store, key))
        except FileNotFoundError:
            return await self._folder(path)
        # Some tools put an empty object where they want a folder to be.
        is_folder = not entry.size and bool((await self.entries(path, is_deep=False)).entries)
        return FileEntry(path=path, is_folder=True) if is_folder else entry

    async def read(self, path: str, start: int, stop: int) -> ReadBytes:
        """One request with a range."""
        if not self._is_allowed(path):
            raise missing(path)
        _, store, key = self._split(path)
        try:
            with store_failed(path):
                got = await obstore.get_async(store, key, options={"range": (start, stop)})
                return ReadBytes(data=memoryview(await got.bytes_async()), version=_version(got.meta))
        except FileNotFoundError:
            raise missing(path) from None

    async def _folder(self, path: str) -> FileEntry:
        if path and not (await self.entries(path, is_deep=False)).entries:
            raise missing(path)
        return FileEntry(path=path, is_folder=True)

    async def _above(self, folder: str, *, is_deep: bool) -> FileList:
        """Above what is allowed there are only the ways to it."""
        inside = [each for each in self._allowed if is_within(each, folder)]
        if not inside:
            raise missing(folder)
        if is_deep:
            lists = [await self.entries(each, is_deep=True) for each in inside]
            return as_list([entry for each in lists for entry in each.entries], is_cut=any(x.is_cut for x in lists))
        steps = {each[len(folder) :].lstrip("/").split("/")[0] for each in inside}
        return as_list([FileEntry(path=joined(folder, step), is_folder=True) for step in steps])

    def _is_allowed(self, path: str) -> bool:
        return any(is_within(path, each) for each in self._allowed)

    def _split(self, path: str) -> tuple[str, Any, str]:
        if "" in self._buckets:
            return "", self._buckets[""], path
        bucket, _, key = path.partition("/")
        return bucket, self._buckets[bucket], key


async def _all_below(store: Any, key: str) -> tuple[list[Any], bool]:
    found = list[Any]()
    async for page in obstore.list(store, key or None, chunk_size=1000):
        found += page
        if len(found) > MAX_ENTRIES:
            return found, True
    return found, False


def _entry(bucket: str, meta: Any) -> FileEntry:
    modified = meta["last_modified"].isoformat()
    plain = FileEntry(path=meta["path"], size=meta["size"], version=_version(meta), modified=modified)
    return replace(plain, path=joined(bucket, meta["path"]))


def _version(meta: Any) -> str:
    # Azure's lists have it without the quotes that its answers have.
    tag = (meta.get("e_tag") or "").removeprefix("W/").strip('"')
    return tag or f"{meta['last_modified'].isoformat()}-{meta['size']}"
