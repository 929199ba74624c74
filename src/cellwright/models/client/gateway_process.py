"""Finding the gateway or starting it, one per state directory, and handing it the keys of this process's environment.

Keys go to it over a pipe: never as an argument, never in an environment. The environment a process was started with can
be read by every process of the same person for as long as it lives, so a process with a key in it begins again without.
Blocking, with a deadline; standard library only, because keys are handed over before anything else is loaded.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cellwright import background
from cellwright.background import BackgroundProcess, ProcessLaunch, clean_environment
from cellwright.errors import CellwrightError, RefusedByPolicy, Unavailable
from cellwright.framing import BadFrame, pack_json, peer_uid, receive_json
from cellwright.models.config.keys import key_variables
from cellwright.remedies import remedy

VERSION: Final = 2
"""Version of the protocol. A gateway and a client of different versions do not speak."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayLaunch:
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


def connect_or_start(launch: GatewayLaunch) -> socket.socket:
    """A connection to the gateway of this state directory, greeted. Raises `Unavailable` or `RefusedByPolicy`."""
    return background.find_or_start(
        gateway_at(launch.home), _process_launch(launch), lambda found: _greet(launch.home, found)
    )


def connect(home: Path) -> socket.socket | None:
    """A greeted connection, or None if no gateway is there."""
    return background.find(gateway_at(home), lambda found: _greet(home, found))


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


def running_pid(home: Path) -> int | None:
    """The process that is the gateway now, if there is one."""
    return background.running_pid(gateway_at(home))


def gateway_at(home: Path) -> BackgroundProcess:
    """The gateway of this state directory, whether it runs or not."""
    return BackgroundProcess(home=home, name="gateway", called="model gateway", ended_by=remedy("stop_gateway"))


def _process_launch(launch: GatewayLaunch) -> ProcessLaunch:
    return ProcessLaunch(
        command=launch.command,
        environment=clean_environment(launch.environment),
        start_message={
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
        raise gateway_at(home).unresponsive_error() from problem


MARKER: Final = "CELLWRIGHT_KEYS_HANDED_OVER_BY"
"""The process that has done so: it keeps its number when it begins again, and never does so twice."""


def hand_over_keys(
    environment: Mapping[str, str],
    home: Path,
    argv: Sequence[str],
    *,
    warn: Callable[[str], None],
    launch: GatewayLaunch | None = None,
    also: Iterable[str] = (),
) -> dict[str, str] | None:
    """Hand over every key in the environment, then begin this process again without them: no return.

    `argv` is the whole command line with its interpreter (`sys.orig_argv`). None if there is no key. If this process
    began again already and finds keys all the same, the environment to go on with. If no gateway can be started, `warn`
    is told, and the process begins again without its keys. `also` are variables to begin again without, too.
    """
    found, others = key_variables(environment), set(also)
    if not found and not others:
        return None
    clean = {name: value for name, value in environment.items() if name not in found and name not in others}
    if environment.get(MARKER) == str(os.getpid()):
        return clean
    keys = {provider: environment[name] for name, provider in found.items() if environment[name]}
    try:
        if keys:
            _give(keys, launch or GatewayLaunch(home=home, environment=clean))
    except (CellwrightError, OSError, BadFrame, EOFError) as problem:
        warn(f"The model gateway did not take over {', '.join(sorted(found))}: {problem}")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *argv[1:]], {**clean, MARKER: str(os.getpid())})


def _give(keys: Mapping[str, str], launch: GatewayLaunch) -> None:
    connection = connect(launch.home) or connect_or_start(launch)
    with connection:
        connection.settimeout(10)
        connection.sendall(pack_json({"kind": "keys", "number": 1, "keys": dict(keys)}))
        if receive_json(connection).get("kind") != "done":
            raise BadFrame("the keys were not taken")
