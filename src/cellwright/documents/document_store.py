"""Read texts, kept under the hash of the file's bytes: nothing is read twice, also after a kill -9.

What is kept is masked as everything else that is kept of a stranger's words; places count in the masked text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from cellwright.documents.document import Document, UnreadDocument
from cellwright.notebook.atomic_write import write_new

_VERSION: Final = "1"
"""Raised when reading says something else of the same bytes."""
_MOST_BYTES: Final = 2 << 30
_FOLDER: Final = "documents"


_DOCUMENT: Final = TypeAdapter[Document | UnreadDocument](Document | UnreadDocument)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentStore:
    """In the state directory. Blocking."""

    home: Path
    mask: Callable[[str], str]
    """Takes secrets out of a text."""

    def find(self, sha256: str, kind: str, name: str) -> Document | UnreadDocument | None:
        """What was read of these bytes as this kind, under this name."""
        try:
            raw = json.loads(self._path(sha256, kind).read_bytes())
            kept = _DOCUMENT.validate_python(raw["document"])
            if raw["version"] != _VERSION or raw["checksum"] != _checksum(raw["document"]) or kept.sha256 != sha256:
                return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return replace(kept, name=name)

    def keep(self, kind: str, read: Document | UnreadDocument) -> Document | UnreadDocument:
        """Keep what was read; as it is kept, masked."""
        masked = self._masked(read) if isinstance(read, Document) else read
        if isinstance(masked, UnreadDocument) and not masked.is_lasting:
            return masked
        body = asdict(masked)
        path = self._path(masked.sha256, kind)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = json.dumps({"version": _VERSION, "checksum": _checksum(body), "document": body}, ensure_ascii=False)
        # Half a file, or one of a former version, is in the way.
        path.unlink(missing_ok=True)
        write_new(path, text.encode(), mode=0o600)
        return masked

    def prune(self, most_bytes: int = _MOST_BYTES) -> int:
        """Forget the texts that were read longest ago, once all are too large together; how many."""
        kept = [(path.stat(), path) for path in (self.home / _FOLDER).glob("*/*.json")]
        size, gone = sum(found.st_size for found, _ in kept), 0
        for found, path in sorted(kept, key=lambda item: item[0].st_mtime_ns):
            if size <= most_bytes:
                break
            path.unlink(missing_ok=True)
            size, gone = size - found.st_size, gone + 1
        return gone

    def _masked(self, read: Document) -> Document:
        pages = tuple(replace(page, text=self.mask(page.text)) for page in read.pages)
        return replace(read, title=self.mask(read.title), pages=pages, notices=tuple(map(self.mask, read.notices)))

    def _path(self, sha256: str, kind: str) -> Path:
        return self.home / _FOLDER / sha256[:2] / f"{sha256}.{kind}.json"


def _checksum(body: object) -> str:
    return hashlib.sha256(json.dumps(body, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
