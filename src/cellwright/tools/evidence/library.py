"""What readers read: the documents of a run as text by pages, found by their words. Nothing of it is an instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from pydantic import TypeAdapter, ValidationError

from cellwright.documents.document import Document, DocumentKind, UnreadDocument
from cellwright.documents.document_files import DocumentFile, find_documents
from cellwright.documents.document_index import DocumentIndex, Passage
from cellwright.notebook.atomic_write import write_atomically

if TYPE_CHECKING:
    # Events of runs are made of what is here; whoever only reads them loads no kernel.
    from cellwright.kernel.documents import DocumentReader


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSource:
    """One document of a run."""

    id: str
    """What readers call it: `d1`."""
    sha256: str
    name: str
    kind: str
    title: str = ""
    pages: int = 0
    characters: int = 0
    path: str = ""
    address: str = ""
    notices: tuple[str, ...] = ()
    """What was cut or could not be read of it."""

    @property
    def line(self) -> str:
        """As readers and planners see it."""
        title = f" “{self.title}”" if self.title and self.title != self.name else ""
        return f"{self.id}: {self.name}{title} ({self.kind}, {self.pages} pages, {self.characters:,} characters)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryContents:
    """What the documents a goal names came to."""

    sources: tuple[EvidenceSource, ...] = ()
    skipped: tuple[str, ...] = ()
    """What could not be read, each with its reason."""


class Library:
    """The documents of one run. Read once: afterwards a document is what it was, whatever becomes of its file."""

    def __init__(self, reader: DocumentReader, paths: Sequence[str], *, home: Path) -> None:
        self._reader = reader
        self._paths = tuple(map(Path, paths))
        self._fetched_file = home / "fetched.json"
        """The pages of the web that were read, for the process after this one."""
        self._documents: dict[str, Document] = {}
        self._sources: dict[str, EvidenceSource] = {}
        self._index = DocumentIndex()

    @property
    def sources(self) -> tuple[EvidenceSource, ...]:
        """All there are, in the order they were named; pages of the web last."""
        return tuple(self._sources.values())

    async def read(self) -> LibraryContents:
        """Read what was named; bytes that any run has read before are not parsed again. Raises `UserError`."""
        files = await anyio.to_thread.run_sync(find_documents, self._paths)
        outcomes: dict[int, Document | UnreadDocument] = {}
        async with self._reader.read_all(files) as stream:
            async for place, outcome in stream:
                outcomes[place] = outcome
        sources, skipped = dict[str, EvidenceSource](), list[str]()
        for place in sorted(outcomes):
            match outcomes[place]:
                case UnreadDocument(name=name, why=why):
                    skipped.append(f"{name}: {why}")
                case Document() as document if document.sha256 in sources:
                    skipped.append(f"{document.name}: the same bytes as {sources[document.sha256].name}")
                case Document() as document:
                    path = str(files[place].path)
                    sources[document.sha256] = _source(document, f"d{len(sources) + 1}", path=path)
        return LibraryContents(sources=tuple(sources.values()), skipped=tuple(skipped))

    async def restore(self, contents: LibraryContents) -> None:
        """Be what was read, in this process or one before."""
        fetched = await anyio.to_thread.run_sync(self._read_fetched)
        for source in (*contents.sources, *fetched):
            document = await self._document(source)
            if document is not None and source.sha256 not in self._documents:
                await self._take(source, document)

    async def find(self, query: str, k: int, sha256: str = "") -> tuple[Passage, ...]:
        """Where these words stand, best first; of one document, where it is named."""
        return await anyio.to_thread.run_sync(self._index.find, query, k, sha256)

    def document(self, sha256: str) -> Document | None:
        """The text of a document, page by page."""
        return self._documents.get(sha256)

    async def add_page(self, address: str, kind: DocumentKind, content: bytes) -> EvidenceSource | UnreadDocument:
        """A page of the web becomes a document like any other."""
        outcome = await self._reader.read_bytes(address, kind, content)
        if isinstance(outcome, UnreadDocument):
            return outcome
        if outcome.sha256 in self._sources:
            return self._sources[outcome.sha256]
        source = _source(outcome, f"d{len(self._sources) + 1}", address=address)
        await self._take(source, outcome)
        await anyio.to_thread.run_sync(self._keep_fetched)
        return source

    def close(self) -> None:
        """Forget the index."""
        self._index.__exit__()

    async def _take(self, source: EvidenceSource, document: Document) -> None:
        self._documents[source.sha256], self._sources[source.sha256] = document, source
        await anyio.to_thread.run_sync(self._index.add, (document,))

    async def _document(self, source: EvidenceSource) -> Document | None:
        kept = await anyio.to_thread.run_sync(self._reader.store.find, source.sha256, source.kind, source.name)
        if kept is None and source.path:
            # The store has forgotten it: read anew, if it is still what it was.
            kept = await self._reader.read(DocumentFile(name=source.name, path=Path(source.path)))
        return kept if isinstance(kept, Document) and kept.sha256 == source.sha256 else None

    def _read_fetched(self) -> tuple[EvidenceSource, ...]:
        try:
            return _SOURCES.validate_json(self._fetched_file.read_bytes())
        except (OSError, ValidationError):
            return ()

    def _keep_fetched(self) -> None:
        fetched = tuple(source for source in self._sources.values() if source.address)
        self._fetched_file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self._fetched_file, _SOURCES.dump_json(fetched))


_SOURCES: Final = TypeAdapter(tuple[EvidenceSource, ...])


def _source(document: Document, id: str, *, path: str = "", address: str = "") -> EvidenceSource:
    return EvidenceSource(
        id=id,
        sha256=document.sha256,
        name=document.name,
        kind=document.kind,
        title=document.title,
        pages=len(document.pages),
        characters=document.characters,
        path=path,
        address=address,
        notices=document.notices,
    )
