"""The proof: what was verified, as hashes, in one canonical form. No code, no data, no output, no path of a machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from pydantic import TypeAdapter

from cellwright.errors import UserError
from cellwright.ids import CellId
from cellwright.kernel.environments import PackageSource
from cellwright.notebook import Document
from cellwright.runs.verify.data_files import DataFile

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
    data: tuple[DataFile, ...]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedProof:
    """A proof and who vouches for it."""

    proof: Proof
    key: str
    """Ed25519 public key, base64."""
    signature: str
    """Over `canonical(proof)`, base64."""


_proofs: Final = TypeAdapter(Proof)


def canonical(proof: Proof) -> bytes:
    """The one spelling that is signed: sorted keys, no spaces, UTF-8."""
    return json.dumps(_plain(proof), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def to_json(signed: SignedProof) -> bytes:
    """For a file."""
    told = {"proof": _plain(signed.proof), "key": signed.key, "signature": signed.signature}
    return json.dumps(told, sort_keys=True, indent=1, ensure_ascii=False).encode() + b"\n"


def _plain(proof: Proof) -> dict[str, Any]:
    told = asdict(proof)
    if proof.environment.source is None:
        # Proofs that do not say it were signed without the word.
        del told["environment"]["source"]
    return told


def parse(content: bytes, where: str) -> SignedProof:
    """A proof from a file's bytes. Raises `UserError` for anything else; says nothing about its signature."""
    try:
        told: Any = json.loads(content)
        version: Any = told["proof"]["format"]
        if version != FORMAT:
            raise UserError(
                f"{where} is a proof of format {str(version)[:20]!r}, and this Cellwright reads format {FORMAT}.",
                hint="Check it with the Cellwright that made it, or verify the notebook again.",
            )
        key, signature = told["key"], told["signature"]
        if not isinstance(key, str) or not isinstance(signature, str):
            raise TypeError("key and signature are texts")
        return SignedProof(proof=_proofs.validate_python(told["proof"]), key=key, signature=signature)
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
