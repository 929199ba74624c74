"""Verify: whether a notebook runs from scratch, twice, with the same outputs; and the signed proof that it did.

Owns:   fresh runs, comparing them, acceptance checks, leaks, proofs: signing, storing, checking them later.
Above:  the rest of runs, app, cli.   Below: kernel, sandbox, notebook, policy.
Never:  model calls, the journal, a change to the notebook.
"""

from cellwright.runs.verify.fresh_environment import FreshEnvironment, OpenFresh, fresh_environments, fresh_packages
from cellwright.runs.verify.input_files import FileLocations, InputFile
from cellwright.runs.verify.judge import Machine
from cellwright.runs.verify.notebook_run import CheckResult
from cellwright.runs.verify.proof import (
    Proof,
    ProofStore,
    SignedProof,
    Signer,
    StoredProof,
    fingerprint,
    parse,
    to_json,
)
from cellwright.runs.verify.proof_status import ProofChange, ProofStatus, proof_status
from cellwright.runs.verify.reasons import SOURCE_NOTES, NoEnvironment, UnverifiedReason, hint_of, text_of
from cellwright.runs.verify.verification import (
    CellVerification,
    NotVerified,
    VerificationReport,
    Verified,
    tools_here,
    verify,
)

__all__ = [
    "SOURCE_NOTES",
    "CellVerification",
    "CheckResult",
    "FileLocations",
    "FreshEnvironment",
    "InputFile",
    "Machine",
    "NoEnvironment",
    "NotVerified",
    "OpenFresh",
    "Proof",
    "ProofChange",
    "ProofStatus",
    "ProofStore",
    "SignedProof",
    "Signer",
    "StoredProof",
    "UnverifiedReason",
    "VerificationReport",
    "Verified",
    "fingerprint",
    "fresh_environments",
    "fresh_packages",
    "hint_of",
    "parse",
    "proof_status",
    "text_of",
    "to_json",
    "tools_here",
    "verify",
]
