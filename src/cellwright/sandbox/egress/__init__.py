"""Egress: the one way from a cage to the network, by name and only to approved hosts.

A proxy on the host accepts what a kernel connects inside its cage, judges every request by itself, resolves names,
checks each address and connects to the very address it checked. Requests that need a secret go to somebody who has it:
TLS is opened for their hosts, with an authority that only the cage trusts. Pure decisions are in `destinations`,
`completed_requests`, `http_messages` and `client_hello`; the other modules act. Who approves is the caller's matter.
"""

from cellwright.sandbox.egress.cage_authority import CageAuthority
from cellwright.sandbox.egress.completed_requests import (
    AnswerDigest,
    AnswerHead,
    AnswerListener,
    Completed,
    CompletedAnswer,
    ExchangeLine,
    KeptAnswer,
    WantedExchange,
)
from cellwright.sandbox.egress.destinations import Allowed, AllowedHost, Denied, EgressCaps, EgressRecord, Verdict
from cellwright.sandbox.egress.proxy import Egress

__all__ = [
    "Allowed",
    "AllowedHost",
    "AnswerDigest",
    "AnswerHead",
    "AnswerListener",
    "CageAuthority",
    "Completed",
    "CompletedAnswer",
    "Denied",
    "Egress",
    "EgressCaps",
    "EgressRecord",
    "ExchangeLine",
    "KeptAnswer",
    "Verdict",
    "WantedExchange",
]
