"""Verify: whether a notebook runs from scratch, twice, with the same outputs; and the signed proof that it did.

Owns:   fresh runs, comparing them, acceptance checks, leaks, proofs: signing, keeping, checking them later.
Above:  the rest of runs, app, cli.   Below: kernel, sandbox, notebook, policy.
Never:  model calls, the journal, a change to the notebook.
"""

from cellwright.runs.verify.checks import CheckResult
from cellwright.runs.verify.data_files import DataFile, Surroundings
from cellwright.runs.verify.fresh import FreshPlace, OpenFresh, fresh_in, fresh_packages
from cellwright.runs.verify.leaks import Machine
from cellwright.runs.verify.proof import Proof, SignedProof, parse, to_json
from cellwright.runs.verify.reasons import SOURCE_NOTES, NoEnvironment, Reason, hint_of, text_of
from cellwright.runs.verify.shelf import Kept, Shelf
from cellwright.runs.verify.signing import Signer, fingerprint
from cellwright.runs.verify.standing import Change, Standing, standing
from cellwright.runs.verify.verification import CellReport, NotVerified, Report, Verified, tools_here, verify

__all__ = [
    "SOURCE_NOTES",
    "CellReport",
    "Change",
    "CheckResult",
    "DataFile",
    "FreshPlace",
    "Kept",
    "Machine",
    "NoEnvironment",
    "NotVerified",
    "OpenFresh",
    "Proof",
    "Reason",
    "Report",
    "Shelf",
    "SignedProof",
    "Signer",
    "Standing",
    "Surroundings",
    "Verified",
    "fingerprint",
    "fresh_in",
    "fresh_packages",
    "hint_of",
    "parse",
    "standing",
    "text_of",
    "to_json",
    "tools_here",
    "verify",
]
