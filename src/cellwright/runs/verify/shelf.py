"""Where proofs are kept: in the state directory, by what the notebook contains, and by where it last was."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from cellwright.notebook.atomic import write_atomically
from cellwright.runs.verify.proof import SignedProof, parse, sha256, to_json
from cellwright.sandbox import DataMount


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A proof from the shelf, and what only this machine knows about it."""

    signed: SignedProof
    data: tuple[DataMount, ...] = ()
    """Where the data was that was given from elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The proofs of one state directory. Blocking."""

    home: Path

    def put(self, signed: SignedProof, notebook: Path, data: Iterable[DataMount]) -> Path:
        """Keep a proof. It appears whole or not at all; an earlier one of the same content is replaced."""
        place = self._by_content(signed.proof.notebook_sha256)
        for folder in (self._folder, place.parent, self._by_path(notebook).parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(place, to_json(signed))
        mounts = {mount.target: mount.source for mount in data}
        note = {"notebook_sha256": signed.proof.notebook_sha256, "data": mounts}
        write_atomically(self._by_path(notebook), json.dumps(note, indent=1).encode() + b"\n")
        return place

    def find(self, notebook: Path, content: bytes) -> Kept | None:
        """The proof of this very content, else the last one of the notebook at this path."""
        note = self._note(notebook)
        data = tuple(DataMount(source=source, target=target) for target, source in _mounts(note))
        for digest in (sha256(content), note.get("notebook_sha256")):
            place = self._by_content(digest) if isinstance(digest, str) and digest.isalnum() else None
            if place is not None and place.is_file():
                return Kept(signed=parse(place.read_bytes(), f"The stored proof {place.name!r}"), data=data)
        return None

    @property
    def _folder(self) -> Path:
        return self.home / "proofs"

    def _by_content(self, digest: str) -> Path:
        return self._folder / "by-content" / f"{digest}.json"

    def _by_path(self, notebook: Path) -> Path:
        return self._folder / "by-path" / f"{sha256(str(notebook))}.json"

    def _note(self, notebook: Path) -> dict[str, Any]:
        try:
            note: Any = json.loads(self._by_path(notebook).read_bytes())
        except (OSError, ValueError):
            return {}
        return cast("dict[str, Any]", note) if isinstance(note, dict) else {}


def _mounts(note: dict[str, Any]) -> list[tuple[str, str]]:
    mounts = note.get("data")
    pairs = cast("dict[object, object]", mounts).items() if isinstance(mounts, dict) else ()
    return [(target, source) for target, source in pairs if isinstance(target, str) and isinstance(source, str)]
