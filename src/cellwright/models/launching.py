"""Finding the gateway, or starting it: one per state directory, whoever asks first and however many at once.

Keys go to it over a pipe: never as an argument, never in an environment. Blocking, with a deadline; standard library
only, because a door hands its keys over before it loads anything else.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cellwright import residents
from cellwright.errors import RefusedByPolicy, Unavailable
from cellwright.framing import BadFrame, pack_json, peer_uid, receive_json
from cellwright.residents import READY, Beginning, Resident, clean_environment

VERSION: Final = 2
"""Of the protocol. A gateway and a door of different versions do not speak."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a gateway is started."""

    home: Path
    """The state directory; the socket, the log and the record lie in it."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The person's. Only what names proxies, certificates and keyrings is passed on."""
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """By provider, handed over at the start."""
    connection: Mapping[str, str] | None = field(default=None, repr=False)
    """Proxies and certificates for what is asked, whoever started the gateway; None: the gateway's own."""
    idle_seconds: float = 300
    """It ends after so long without a connection and without a call; `math.inf`: only when told."""
    person: str = ""
    """On whose account calls of the OpenAI-compatible endpoint go."""
    team_rules: Path | None = None
    """The team's rule file: its limits hold for the endpoint too."""
    command: tuple[str, ...] = (sys.executable, "-I", "-m", "cellwright.models.gateway")
    start_seconds: float = 60
    """How long to wait for a gateway to listen."""


def connect_or_start(launch: Launch) -> socket.socket:
    """A connection to the gateway of this state directory, greeted. Raises `Unavailable` or `RefusedByPolicy`."""
    return residents.find_or_start(_gateway(launch.home), _beginning(launch), lambda found: _greet(launch.home, found))


def connect(home: Path) -> socket.socket | None:
    """A greeted connection, or None if no gateway is there."""
    return residents.find(_gateway(home), lambda found: _greet(home, found))


def greet(connection: socket.socket, uid: int) -> None:
    """Make sure that a gateway of this person, speaking our language, is at the other end."""
    if (other := peer_uid(connection)) != uid:
        raise RefusedByPolicy(
            f"The model gateway's socket belongs to another user (uid {other}).",
            hint="Remove gateway.sock from the state directory, and find out who put it there.",
        )
    connection.sendall(pack_json({"kind": "hello", "version": VERSION}))
    match receive_json(connection):
        case {"kind": "welcome", "version": version} if version == VERSION:
            return
        case {"kind": "failed", "message": str(message), "hint": str(hint)}:
            raise Unavailable(message, hint=hint)
        case _:
            raise BadFrame("no welcome")


def listen(home: Path) -> socket.socket:
    """The gateway's socket, closed to everyone else. What a killed gateway left behind is replaced."""
    return residents.listen(_gateway(home))


def sole_gateway(home: Path, wait_seconds: float = 10) -> AbstractContextManager[bool]:
    """Whether this process may be the gateway of this state directory; it is until the block ends."""
    return residents.sole(_gateway(home), wait_seconds)


def running_pid(home: Path) -> int | None:
    """The process that is the gateway now, if there is one."""
    return residents.running_pid(_gateway(home))


def _gateway(home: Path) -> Resident:
    return Resident(home=home, name="gateway", called="model gateway", ended_by="`cellwright gateway stop` ends it.")


def _beginning(launch: Launch) -> Beginning:
    return Beginning(
        command=launch.command,
        environment=clean_environment(launch.environment),
        told={
            "home": str(launch.home.absolute()),
            "keys": dict(launch.keys),
            "idle_seconds": launch.idle_seconds,
            "person": launch.person,
            "team_rules": str(launch.team_rules.absolute()) if launch.team_rules else "",
        },
        seconds=launch.start_seconds,
    )


def _greet(home: Path, connection: socket.socket) -> None:
    try:
        greet(connection, os.getuid())
    except BadFrame as problem:
        raise _gateway(home).silent() from problem


__all__ = ["READY", "Launch", "connect", "connect_or_start", "greet", "listen", "running_pid", "sole_gateway"]
