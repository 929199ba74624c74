"""The ledger: every call to a model, written down before it is sent and when it ends, in one SQLite file.

Promises: what a method wrote survives kill -9 and a power cut; no id is sent twice unknowingly; every use is counted
once; an unknown price is never 0.   Never: deciding (that is `policy`), sending, keys.
"""

from cellwright.models.ledger.ledger import Ledger, utc_now
from cellwright.models.ledger.records import (
    Begun,
    InFlight,
    Kept,
    Mismatch,
    New,
    PriceOf,
    Sent,
    Unknown,
)

__all__ = [
    "Begun",
    "InFlight",
    "Kept",
    "Ledger",
    "Mismatch",
    "New",
    "PriceOf",
    "Sent",
    "Unknown",
    "utc_now",
]
