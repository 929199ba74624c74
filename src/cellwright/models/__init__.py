"""Models: one gateway to every provider; nothing is paid twice and no one else holds a key.

Owns:   the gateway process and its client, providers, routing, fallback, breakers, prices, the ledger of calls, cache.
Above:  tools, agents, runs, server, cli.   Below: policy, errors, ids.
Never:  what is allowed (policy), what agents do with answers, the journal, kernels.

Calls are in `cellwright.models.calls`, the client in `cellwright.models.client.gateway_client`: both load pydantic-
ai, which takes a second, and a command that asks no model must not wait for it.
"""

from cellwright.models.config.names import Ability, CallId, ModelName, Tier

__all__ = ["Ability", "CallId", "ModelName", "Tier"]
