"""Egress: the one way from a cage to the network, by name and only to approved hosts.

A proxy on the host accepts what a kernel connects inside its cage, judges every request by itself, resolves names,
checks each address and connects to the very address it checked. Pure decisions are in `destinations`,
`http_messages` and `client_hello`; the other modules act. Who approves is the caller's matter.
"""

from cellwright.sandbox.egress.destinations import Allowed, AllowedHost, Denied, EgressCaps, EgressRecord, Verdict
from cellwright.sandbox.egress.proxy import Egress

__all__ = ["Allowed", "AllowedHost", "Denied", "Egress", "EgressCaps", "EgressRecord", "Verdict"]
