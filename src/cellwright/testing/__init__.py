"""Testing: a provider of models on loopback, for our tests and for those of people who build with Cellwright.

Owns:   the provider server: wire formats, scripted answers, faults on demand, its own count of what it charged.
Above:  nobody; tests use it.   Below: errors.
Never:  a real provider, a real key, anything a product process imports.

`server` is what tests open, `scripts` say what is answered, `wire/` has one module per provider's format,
`accounting` counts, `fixtures` are for pytest.
"""

from cellwright.testing.accounting import Charge, Received
from cellwright.testing.answers import FAULTS, Answer, CallTool, CallTools, Fault, FaultKind, Say, SayJson, Tokens
from cellwright.testing.process import ProviderProcess
from cellwright.testing.scripts import ScriptFile, read_script
from cellwright.testing.server import ProviderServer
from cellwright.testing.wire.formats import WIRE_KINDS, WireKind

__all__ = [
    "FAULTS",
    "WIRE_KINDS",
    "Answer",
    "CallTool",
    "CallTools",
    "Charge",
    "Fault",
    "FaultKind",
    "ProviderProcess",
    "ProviderServer",
    "Received",
    "Say",
    "SayJson",
    "ScriptFile",
    "Tokens",
    "WireKind",
    "read_script",
]
