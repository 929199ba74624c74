"""What a run's proof is worth, as far as that is seen at once: who signed it, and whether the code is the same."""

from __future__ import annotations

from pathlib import Path

from cellwright.errors import UserError
from cellwright.notebook import read
from cellwright.runs.verify import Signer, parse
from cellwright.runs.verify.standing import code_changes, trust_in
from cellwright.server.web.shapes.runs import ProofShape
from cellwright.settings import Settings


def proof_of(proof: str, notebook: str, settings: Settings) -> ProofShape | None:
    """None: the run was not proven. Blocking."""
    if not proof:
        return None
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
