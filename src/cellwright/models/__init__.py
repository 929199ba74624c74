"""Models: one gateway to every provider; nothing is paid twice and no one else holds a key.

Owns:   the gateway process and its client, providers, routing, fallback, breakers, prices, the ledger of calls, cache.
Above:  tools, agents, runs, server, cli.   Below: policy, errors, ids.
Never:  what is allowed (policy), what agents do with answers, the journal, kernels.
"""

from cellwright.models.calls import (
    Answered,
    AnswerUnknown,
    Attempt,
    BudgetReached,
    Call,
    Cancelled,
    Choice,
    Outcome,
    OutputSchema,
    Payer,
    Piece,
    Request,
    Restarted,
    Started,
    Update,
    Usage,
    call_id,
)
from cellwright.models.names import ABILITIES, TIERS, Ability, CallId, ModelName, Tier

__all__ = [
    "ABILITIES",
    "TIERS",
    "Ability",
    "AnswerUnknown",
    "Answered",
    "Attempt",
    "BudgetReached",
    "Call",
    "CallId",
    "Cancelled",
    "Choice",
    "ModelName",
    "Outcome",
    "OutputSchema",
    "Payer",
    "Piece",
    "Request",
    "Restarted",
    "Started",
    "Tier",
    "Update",
    "Usage",
    "call_id",
]
