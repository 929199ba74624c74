"""Finding the broker or starting it, one per state directory, and handing it secrets of this process's environment.

Secrets go to it over a pipe or its socket: never as an argument, never in an environment. Blocking, with a deadline;
standard library only.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cellwright import background
from cellwright.background import BackgroundProcess, ProcessLaunch, clean_environment
from cellwright.errors import RefusedByPolicy, Unavailable
from cellwright.framing import BadFrame, pack_json, peer_uid, receive_json
from cellwright.remedies import remedy

BROKER_VERSION: Final = 1
"""Of the protocol, as `messages` has it."""
_SECRET_VARIABLE: Final = "CELLWRIGHT_SECRET_"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLaunch:
    """How a broker is started."""

    home: Path
    """The state directory; the socket, the log and the audit lie in it."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The person's. Only what names proxies, certificates and keyrings is passed on."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """By connection, handed over at the start."""
    idle_seconds: float = 300
    """It ends after so long without a connection."""
    network: Mapping[str, str] | None = field(default=None, repr=False)
    """How it is to connect for what we ask, whoever started it; None: as it would by itself."""
    cache: Path | None = None
    """Where cages for files keep what they prepared; None: nowhere that lasts."""
    command: tuple[str, ...] = (sys.executable, "-I", "-m", "cellwright.server.data_broker")
    start_seconds: float = 60


def broker_at(home: Path) -> BackgroundProcess:
    """The broker of this state directory, whether it runs or not."""
    return BackgroundProcess(home=home, name="broker", called="data broker", ended_by=remedy("stop_broker"))


def connect_or_start_broker(launch: BrokerLaunch) -> socket.socket:
    """A connection to the broker of this state directory, greeted. Raises `Unavailable` or `RefusedByPolicy`."""
    process = ProcessLaunch(
        command=launch.command,
        environment=clean_environment(launch.environment, also=("AWS_", "GOOGLE_", "VAULT_", "OP_")),
        start_message={
            "home": str(launch.home.absolute()),
            "secrets": dict(launch.secrets),
            "idle_seconds": launch.idle_seconds,
            "cache": str(launch.cache.absolute()) if launch.cache else "",
        },
        seconds=launch.start_seconds,
    )
    return background.find_or_start(broker_at(launch.home), process, lambda found: _greet(launch.home, found))


def connect_broker(home: Path) -> socket.socket | None:
    """A greeted connection, or None if no broker is there."""
    return background.find(broker_at(home), lambda found: _greet(home, found))


def _greet(home: Path, connection: socket.socket) -> None:
    if (other := peer_uid(connection)) != os.getuid():
        raise RefusedByPolicy(
            f"The data broker's socket belongs to another user (uid {other}).",
            hint="Remove broker.sock from the state directory, and find out who put it there.",
        )
    connection.sendall(pack_json({"kind": "hello", "version": BROKER_VERSION}))
    try:
        match receive_json(connection):
            case {"kind": "welcome", "version": version} if version == BROKER_VERSION:
                return
            case {"kind": "failed", "message": str(message), "hint": str(hint)}:
                raise Unavailable(message, hint=hint)
            case _:
                raise BadFrame("no welcome")
    except BadFrame as problem:
        raise broker_at(home).unresponsive_error() from problem


def secret_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables with a connection's secret, and the connection's name: `CELLWRIGHT_SECRET_SHOP` is shop's."""
    return {
        name: name.removeprefix(_SECRET_VARIABLE).lower()
        for name in environment
        if name.startswith(_SECRET_VARIABLE) and len(name) > len(_SECRET_VARIABLE)
    }


def give_secrets(launch: BrokerLaunch, secrets: Mapping[str, str]) -> None:
    """Hand these over, to a new broker if there is none. Raises `Unavailable`, `BadFrame`, `EOFError` or `OSError`."""
    with connect_or_start_broker(launch) as connection:
        connection.settimeout(10)
        connection.sendall(pack_json({"kind": "secrets", "secrets": dict(secrets)}))
        if receive_json(connection).get("kind") != "done":
            raise BadFrame("the secrets were not taken")
