"""What a run's proof is worth, as far as that is seen at once: who signed it, and whether the code is the same."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Final

from cellwright.errors import UserError
from cellwright.notebook import read
from cellwright.runs.verify.proof import KEY_FILE, Signer, parse
from cellwright.runs.verify.proof_status import code_changes, trust_in
from cellwright.server.http.schemas.runs import ProofShape
from cellwright.settings import Settings

_MAX_PROOFS: Final = 200
_Seen = tuple[int, ...]
"""A file as it was; empty: it was not there."""


class ProofCache:
    """Reads proofs, each once for as long as nothing it rests on has changed. From several threads."""

    def __init__(self, settings: Settings, most: int = _MAX_PROOFS) -> None:
        self._settings = settings
        self._most = most
        self._known: OrderedDict[tuple[str, str], tuple[tuple[_Seen, ...], ProofShape]] = OrderedDict()
        self.read = 0
        """How often one was really read."""

    def of(self, proof: str, notebook: str) -> ProofShape | None:
        """None: the run was not proven. Blocking."""
        if not proof:
            return None
        # Looked at before it is read: what changes in between is read again the next time.
        seen = tuple(_seen(path) for path in (Path(proof), Path(notebook), self._settings.home / KEY_FILE))
        known = self._known.get((proof, notebook))
        if known is None or known[0] != seen:
            self.read += 1
            known = self._known[proof, notebook] = seen, _read_proof(proof, notebook, self._settings)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return known[1]


def _seen(path: Path) -> _Seen:
    try:
        found = path.stat()
    except OSError:
        return ()
    # Whoever may write a file may also set its mtime back; its ctime nobody can.
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read_proof(proof: str, notebook: str, settings: Settings) -> ProofShape:
    try:
        problem = _problem(Path(proof), Path(notebook), settings)
    except FileNotFoundError:
        problem = "The proof, or its notebook, is not there any more."
    except (UserError, OSError) as error:
        problem = error.message if isinstance(error, UserError) else "The proof cannot be read."
    says = problem or "Signed with our own key; the notebook's code is what was proven."
    return ProofShape(path=proof, is_valid=not problem, says=says)


def _problem(proof: Path, notebook: Path, settings: Settings) -> str:
    signed, ours = parse(proof.read_bytes(), "The proof"), Signer.known_at(settings.home)
    match trust_in(signed, ours.key if ours is not None else None):
        case "not signed":
            return "The proof's signature does not hold: it is not what was signed."
        case "unknown key":
            return "The proof is signed with a key that is not ours."
        case "ours":
            changes = code_changes(signed.proof, read(notebook))
            return f"Changed since: {'; '.join(change.text for change in changes[:5])}." if changes else ""
