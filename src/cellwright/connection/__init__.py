"""Connection: the proxies, certificates and package indexes by which the host reaches the network.

Owns:   which settings are in force, where each came from, which proxy a request takes, how they are shown.
Above:  every room that connects: models, sandbox, kernel, tools.   Below: errors.
Never:  connecting anywhere, reading the environment by itself, entering a cage.
"""

from cellwright.connection.connection import Connection, Proxy, masked, passwords_in
from cellwright.connection.sources import OWN_FILE, Found, Sources, asked_by_command, read_sources

__all__ = [
    "OWN_FILE",
    "Connection",
    "Found",
    "Proxy",
    "Sources",
    "asked_by_command",
    "masked",
    "passwords_in",
    "read_sources",
]
