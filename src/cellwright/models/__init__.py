"""Models: one gateway to every provider; nothing is paid twice and no one else holds a key.

Owns:   the gateway process and its client, providers, routing, fallback, breakers, prices, the ledger of calls, cache.
Above:  tools, agents, runs, server, cli.   Below: policy, errors, ids.
Never:  what is allowed (policy), what agents do with answers, the journal, kernels.

`config/` is what a person says about models, `providers/` the SDKs, `routing/` whom to ask, `money/` what it costs,
`gateway/` the process, `client/` the way to it. `calls` and `client.gateway_client` load pydantic-ai, which takes a
second: a command that asks no model must not wait for it.
"""

from cellwright.models.config.names import Ability, CallId, ModelName, Tier

__all__ = ["Ability", "CallId", "ModelName", "Tier"]
