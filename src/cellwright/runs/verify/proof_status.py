"""Whether a proof still stands: who signed it, and exactly what has changed since. Nothing is run."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from cellwright.notebook.files import NotebookFile
from cellwright.runs.verify.input_files import FileLocations, digest_of
from cellwright.runs.verify.proof import (
    Proof,
    ProvenCell,
    SignedProof,
    canonical,
    cell_name,
    fingerprint,
    header_sha256,
    is_signed,
    options_sha256,
    sha256,
)

Trust = Literal["ours", "unknown key", "not signed"]
"""ours: our key signed it. unknown key: whole, but signed elsewhere. not signed: changed since, or never signed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofChange:
    """One thing that is not as it was."""

    about: Literal["code", "data", "environment", "tools"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofStatus:
    """What a proof is worth today."""

    proof: Proof
    trust: Trust
    fingerprint: str
    """Of the key it names."""
    changes: tuple[ProofChange, ...]

    @property
    def is_sound(self) -> bool:
        """True when our own key signed it and nothing has changed."""
        return self.trust == "ours" and not self.changes


def trust_in(signed: SignedProof, our_key: str | None) -> Trust:
    """Who vouches for it."""
    if not is_signed(canonical(signed.proof), key=signed.key, signature=signed.signature):
        return "not signed"
    return "ours" if signed.key == our_key else "unknown key"


def proof_status(
    signed: SignedProof,
    file: NotebookFile,
    around: FileLocations,
    *,
    our_key: str | None,
    packages: Mapping[str, str] | str,
    tools: Mapping[str, str],
) -> ProofStatus:
    """Compare a proof with what is there now. Blocking: reads the data files.

    `packages` is what the notebook would get today, or why that is not to be had.
    """
    proof = signed.proof
    changes = [
        *code_changes(proof, file),
        *data_changes(proof, around),
        *package_changes(proof, packages),
        *_tool_changes(proof, tools),
    ]
    return ProofStatus(
        proof=proof, trust=trust_in(signed, our_key), fingerprint=fingerprint(signed.key), changes=tuple(changes)
    )


def code_changes(proof: Proof, file: NotebookFile) -> list[ProofChange]:
    """Cells that were changed, added, removed or moved; then header, options, and the text between."""
    document = file.document
    if proof.notebook_sha256 == sha256(file.content or b""):
        return []
    now = [ProvenCell(id=cell.id, name=cell_name(cell.name), code_sha256=sha256(cell.code)) for cell in document.cells]
    found = [ProofChange(about="code", text=text) for text in _cell_changes(list(proof.cells), now)]
    if proof.header_sha256 != header_sha256(document):
        found.append(ProofChange(about="code", text="the header changed"))
    if proof.options_sha256 != options_sha256(document):
        found.append(ProofChange(about="code", text="the app's options changed"))
    return found or [ProofChange(about="code", text="only text outside the cells, or a cell's settings, changed")]


def _cell_changes(before: list[ProvenCell], now: list[ProvenCell]) -> Iterator[str]:
    old, new = [_key(cell) for cell in before], [_key(cell) for cell in now]
    for kind, old_start, old_end, new_start, new_end in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            continue
        pairs = min(old_end - old_start, new_end - new_start)
        for index in range(pairs):
            yield _changed(before[old_start + index], now[new_start + index], new_start + index)
        for index in range(new_start + pairs, new_end):
            yield f"{_called(now[index], index)} was {'moved' if new[index] in old else 'added'}"
        for index in range(old_start + pairs, old_end):
            if old[index] not in new:
                yield f"{_called(before[index], index)} was removed"


def _key(cell: ProvenCell) -> tuple[str, str]:
    return cell.name, cell.code_sha256


def _changed(before: ProvenCell, now: ProvenCell, index: int) -> str:
    if before.code_sha256 == now.code_sha256:
        return f"{_called(before, index)} was renamed to {now.name or 'nothing'}"
    if before.name != now.name:
        return f"{_called(before, index)} was replaced by {_called(now, index)}"
    return f"{_called(now, index)} changed"


def _called(cell: ProvenCell, index: int) -> str:
    return f"cell {cell.name}" if cell.name else f"cell {index + 1}"


def data_changes(proof: Proof, around: FileLocations) -> list[ProofChange]:
    """Files whose content is another, or that are gone."""
    found: list[ProofChange] = []
    for data in proof.data:
        digest = digest_of(around.on_host(data.path))
        if digest is None:
            missing = "; name it as data again" if data.why == "given" else ""
            found.append(ProofChange(about="data", text=f"{data.path} is not there{missing}"))
        elif digest[0] != data.sha256:
            found.append(ProofChange(about="data", text=f"{data.path} changed ({data.bytes:,} → {digest[1]:,} bytes)"))
    return found


def package_changes(proof: Proof, packages: Mapping[str, str] | str) -> list[ProofChange]:
    """Versions the notebook would get today and did not get then."""
    if isinstance(packages, str):
        return [ProofChange(about="environment", text=f"it is not to be had any more: {packages}")]
    before = proof.environment.packages
    found: list[ProofChange] = []
    for name in sorted({*before, *packages}):
        was, now = before.get(name), packages.get(name)
        if was == now:
            continue
        text = f"{name} {was} → {now}" if was and now else f"{name} {was} is gone" if was else f"{name} {now} is new"
        found.append(ProofChange(about="environment", text=text))
    return found


def _tool_changes(proof: Proof, tools: Mapping[str, str]) -> list[ProofChange]:
    return [
        ProofChange(about="tools", text=f"{name} {proof.tools.get(name, 'unknown')} → {now}")
        for name, now in sorted(tools.items())
        if proof.tools.get(name) != now
    ]
