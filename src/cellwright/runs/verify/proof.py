"""The proof: what was verified, as hashes, in one canonical form; who signed it, and where it is stored.

No code, no data, no output, no path of a machine. Signed with an Ed25519 key of the state directory, made when first
needed; stored by what the notebook contains, and by where it last was.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import TypeAdapter, ValidationError

from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.ids import CellId
from cellwright.kernel.environments.lookup import PackageSource
from cellwright.notebook.atomic_write import write_atomically, write_new
from cellwright.notebook.document import Document
from cellwright.runs.verify.input_files import InputFile
from cellwright.sandbox.spec import DataMount

KEY_FILE: Final = "proof-key"
_PURPOSE: Final = b"cellwright proof\0"
"""Signed together with the proof: a signature made for anything else is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Signs with the key of this state directory."""

    _key: Ed25519PrivateKey = field(repr=False)

    @property
    def key(self) -> str:
        """The public key, base64."""
        return base64.b64encode(self._key.public_key().public_bytes_raw()).decode()

    def sign(self, message: bytes) -> str:
        """A signature, base64."""
        return base64.b64encode(self._key.sign(_PURPOSE + message)).decode()

    @classmethod
    def at(cls, home: Path) -> Signer:
        """The signer of this state directory; its key is made if there is none. Blocking."""
        return cls(_key=_read(home / KEY_FILE) or _make(home / KEY_FILE))

    @classmethod
    def known_at(cls, home: Path) -> Signer | None:
        """The signer of this state directory, if it ever signed anything. Blocking."""
        key = _read(home / KEY_FILE)
        return None if key is None else cls(_key=key)


def is_signed(message: bytes, *, key: str, signature: str) -> bool:
    """Whether the holder of this key signed exactly this."""
    try:
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key, validate=True))
        public.verify(base64.b64decode(signature, validate=True), _PURPOSE + message)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(key: str) -> str:
    """A key as people compare it."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:16]


def _read(path: Path) -> Ed25519PrivateKey | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"The key for proofs cannot be read: {error.strerror}.", hint=f"Look at {path}.") from error
    with os.fdopen(descriptor, "rb") as stream:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
            raise RefusedByPolicy(
                "Others can read the key for proofs, so a proof would prove nothing.",
                hint=f"Delete {path} and verify again: a new key is made.",
            )
        content = stream.read(4096)
    try:
        return Ed25519PrivateKey.from_private_bytes(base64.b64decode(content.strip(), validate=True))
    except ValueError as error:
        hint = f"Delete {path} and verify again: a new key is made."
        raise Unavailable("The key for proofs is damaged.", hint=hint) from error


def _make(path: Path) -> Ed25519PrivateKey:
    """A new key, whole or not at all. Of two processes that make one at once, one wins and both use it."""
    key = Ed25519PrivateKey.generate()
    write_new(path, base64.b64encode(key.private_bytes_raw()) + b"\n", mode=0o600)
    return _read(path) or key


FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenCell:
    """One cell: its code, and what it showed in both runs."""

    id: CellId
    name: str
    """Empty where nobody named it."""
    code_sha256: str
    status: str = ""
    output_sha256: str = ""
    """Over status, console and output, normalised; empty for a cell that shows nothing because it is switched off."""
    is_whole: bool = True
    """False where the output was too large and only its bounded text was compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenCheck:
    """One acceptance check that passed, or was skipped by its own word."""

    name: str
    kind: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenEnvironment:
    """What the notebook could import."""

    requirements: tuple[str, ...] | None
    """Of its header; None: it has no header, and ran on Cellwright's own packages."""
    packages: Mapping[str, str]
    source: PackageSource | None = None
    """Where its packages came from; None: it has no header, or the proof is older than this was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenQuery:
    """One result that came from a database while the notebook was proven: asked anew, never from what was kept."""

    connection: str
    statement: str
    sha256: str
    """Over the result as it was handed to the notebook."""
    rows: int
    at: str
    """When it was asked, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenExchange:
    """One answer of an object store or an API that came while the notebook was proven."""

    connection: str
    method: str
    path: str
    """With its query."""
    range: str
    """Which bytes were asked for; empty: all."""
    status: int
    sha256: str
    """Over the body as it was handed to the notebook."""
    bytes: int
    at: str
    """When it was asked, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """That a notebook ran twice from top to bottom, from scratch, with the same outputs."""

    format: int = FORMAT
    notebook: str
    """Its path in the project."""
    notebook_sha256: str
    """Over the file's bytes."""
    header_sha256: str
    """Over everything above `import marimo`."""
    options_sha256: str
    """Over the app's options."""
    cells: tuple[ProvenCell, ...]
    data: tuple[InputFile, ...]
    environment: ProvenEnvironment
    checks: tuple[ProvenCheck, ...]
    warnings: tuple[str, ...]
    """What marimo's linter said that does not fail a notebook."""
    tools: Mapping[str, str]
    """cellwright, marimo, python, platform."""
    tier: str
    """How well the runs were contained."""
    made_at: str
    """UTC, ISO 8601."""
    determinism: str
    """In words: how many cells, how many runs, what was normalised."""
    queries: tuple[ProvenQuery, ...] = ()
    exchanges: tuple[ProvenExchange, ...] = ()
    more_exchanges: int = 0
    """Answers that came beyond those that are named: only so many are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedProof:
    """A proof and who vouches for it."""

    proof: Proof
    key: str
    """Ed25519 public key, base64."""
    signature: str
    """Over `canonical(proof)`, base64."""


_SIGNED: Final = TypeAdapter(SignedProof)


def canonical(proof: Proof) -> bytes:
    """The one spelling that is signed: sorted keys, no spaces, UTF-8."""
    return json.dumps(_plain(proof), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def to_json(signed: SignedProof) -> bytes:
    """For a file."""
    fields = {"proof": _plain(signed.proof), "key": signed.key, "signature": signed.signature}
    return json.dumps(fields, sort_keys=True, indent=1, ensure_ascii=False).encode() + b"\n"


def _plain(proof: Proof) -> dict[str, Any]:
    fields: dict[str, Any] = asdict(proof)
    if proof.environment.source is None:
        # Proofs that do not say it were signed without the word.
        del fields["environment"]["source"]
    if not proof.queries:
        # Likewise.
        del fields["queries"]
    if not proof.exchanges:
        del fields["exchanges"]
    if not proof.more_exchanges:
        del fields["more_exchanges"]
    return fields


def parse(content: bytes, where: str) -> SignedProof:
    """A proof from a file's bytes. Raises `UserError` for anything else; says nothing about its signature."""
    try:
        fields: Any = json.loads(content)
        version: Any = fields["proof"]["format"]
        if version != FORMAT:
            raise UserError(
                f"{where} is a proof of format {str(version)[:20]!r}, and this Cellwright reads format {FORMAT}.",
                hint="Check it with the Cellwright that made it, or verify the notebook again.",
            )
        return _SIGNED.validate_python(fields)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(
            f"{where} is not a proof: it is damaged or something else.", hint="Verify the notebook again."
        ) from error


def sha256(content: str | bytes) -> str:
    """Hex digest."""
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode("utf-8", "replace")).hexdigest()


def options_sha256(document: Document) -> str:
    """Over the app's options, whatever their order."""
    return sha256(json.dumps(dict(document.options), sort_keys=True, default=str))


def header_sha256(document: Document) -> str:
    """Over the header, without blank lines around it."""
    return sha256(document.header.strip())


def cell_name(name: str) -> str:
    """A name a person gave, or nothing."""
    return "" if name == "_" else name


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProof:
    """A stored proof, and what only this machine knows about it."""

    signed: SignedProof
    data: tuple[DataMount, ...] = ()
    """Where the data was that was given from elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProofNote:
    """What is stored by where a notebook last was."""

    notebook_sha256: str = ""
    data: dict[str, str] = field(default_factory=dict[str, str])


_NOTE: Final = TypeAdapter(_ProofNote)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofStore:
    """The proofs of one state directory. Blocking."""

    home: Path

    def put(self, signed: SignedProof, notebook: Path, data: Iterable[DataMount]) -> Path:
        """Keep a proof. It appears whole or not at all; an earlier one of the same content is replaced."""
        file, digest = self._by_content(signed.proof.notebook_sha256), signed.proof.notebook_sha256
        for folder in (self._folder, file.parent, self._by_path(notebook).parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(file, to_json(signed))
        note = _ProofNote(notebook_sha256=digest, data={mount.target: mount.source for mount in data})
        write_atomically(self._by_path(notebook), _NOTE.dump_json(note, indent=1) + b"\n")
        return file

    def find(self, notebook: Path, content: bytes) -> StoredProof | None:
        """The proof of this very content, else the last one of the notebook at this path."""
        try:
            note = _NOTE.validate_json(self._by_path(notebook).read_bytes())
        except (OSError, ValidationError):
            note = _ProofNote()
        data = tuple(DataMount(source=source, target=target) for target, source in note.data.items())
        for digest in (sha256(content), note.notebook_sha256):
            file = self._by_content(digest)
            if digest.isalnum() and file.is_file():
                return StoredProof(signed=parse(file.read_bytes(), f"The stored proof {file.name!r}"), data=data)
        return None

    @property
    def _folder(self) -> Path:
        return self.home / "proofs"

    def _by_content(self, digest: str) -> Path:
        return self._folder / "by-content" / f"{digest}.json"

    def _by_path(self, notebook: Path) -> Path:
        return self._folder / "by-path" / f"{sha256(str(notebook))}.json"
