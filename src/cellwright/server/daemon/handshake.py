"""The first words between a door and a daemon: whose is it, and which version? Blocking."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Final

from packaging.version import InvalidVersion, Version

from cellwright.background import BackgroundProcess, find, find_or_start, has_ended
from cellwright.errors import RefusedByPolicy, Unavailable
from cellwright.framing import MAX_GREETING, BadFrame, FrameUnpacker, peer_uid
from cellwright.server.daemon.launch import DaemonLaunch, background_start, daemon_at
from cellwright.server.daemon.protocol import (
    PROTOCOL,
    DaemonHello,
    DaemonWelcome,
    StopRequest,
    pack_request,
    read_answer,
)
from cellwright.settings import Settings

_MAX_REPLACEMENTS: Final = 3
"""As many daemons of other versions are replaced; then two doors are fighting over it."""
_END_TIMEOUT_SECONDS: Final = 120
_ANSWER_TIMEOUT_SECONDS: Final = 10
OnNote = Callable[[str], None]


class Handshake:
    """Makes sure that a daemon of this person is at the other end, and learns its version."""

    def __init__(self, resident: BackgroundProcess, version: str, uid: int | None = None) -> None:
        self.welcome: DaemonWelcome | None = None
        self._resident = resident
        self._version = version
        self._uid = os.getuid() if uid is None else uid

    def __call__(self, connection: socket.socket) -> None:
        """Say hello. Raises `RefusedByPolicy` if it is somebody else's, `Unavailable` if it makes no sense."""
        if (other := peer_uid(connection)) != self._uid:
            raise RefusedByPolicy(
                f"The daemon's socket belongs to another user (uid {other}).",
                hint="Remove daemon.sock from the state directory, and find out who put it there.",
            )
        try:
            connection.sendall(pack_request(DaemonHello(protocol=PROTOCOL, version=self._version)))
            self.welcome = _read_welcome(connection)
        except BadFrame as problem:
            raise self._resident.silent() from problem


def find_daemon(settings: Settings, launch: DaemonLaunch) -> socket.socket | None:
    """A connection to the daemon that runs, of whichever version; None if there is none."""
    resident = daemon_at(settings.home)
    return find(resident, Handshake(resident, launch.version))


def find_or_start_daemon(settings: Settings, launch: DaemonLaunch, on_note: OnNote) -> socket.socket:
    """A connection to a daemon of this version: an older one is replaced, a newer one left alone.

    Raises `Unavailable` or `RefusedByPolicy`.
    """
    settings.ready_home()
    resident = daemon_at(settings.home)
    for _ in range(_MAX_REPLACEMENTS):
        greeting = Handshake(resident, launch.version)
        connection = find_or_start(resident, background_start(settings, launch), greeting)
        welcome = greeting.welcome
        assert welcome is not None
        if (welcome.version, welcome.protocol) == (launch.version, PROTOCOL):
            return connection
        with connection:
            if not _is_older(welcome, launch.version):
                raise _newer(welcome, launch.version)
            _end(resident, connection, welcome, launch.version)
        on_note(f"The daemon of version {welcome.version} has ended; its runs go on with version {launch.version}.")
    raise Unavailable(
        "Daemons of several versions take turns.", hint="Use one version of Cellwright with this state directory."
    )


def _end(resident: BackgroundProcess, connection: socket.socket, welcome: DaemonWelcome, version: str) -> None:
    """Let an older daemon end in order. Raises `Unavailable` if it does not."""
    connection.settimeout(_ANSWER_TIMEOUT_SECONDS)
    try:
        connection.sendall(pack_request(StopRequest(number=1, when="now", why=f"version {version} takes over")))
        # Whatever it answers, its end is what counts.
        connection.recv(1)
    except OSError:
        pass
    if not has_ended(resident, welcome.pid, _END_TIMEOUT_SECONDS):
        raise Unavailable(
            f"The daemon of version {welcome.version} (process {welcome.pid}) does not end.", hint=resident.ended_by
        )


def _read_welcome(connection: socket.socket) -> DaemonWelcome:
    unpacker = FrameUnpacker(MAX_GREETING)
    while data := connection.recv(MAX_GREETING):
        for payload in unpacker.feed(data):
            match read_answer(payload):
                case DaemonWelcome() as welcome:
                    return welcome
                case _:
                    raise BadFrame("no welcome")
    raise EOFError


def _is_older(welcome: DaemonWelcome, version: str) -> bool:
    """Whether the daemon is to make way. One whose version cannot be read is not."""
    try:
        return (Version(welcome.version), welcome.protocol) < (Version(version), PROTOCOL)
    except InvalidVersion:
        return False


def _newer(welcome: DaemonWelcome, version: str) -> Unavailable:
    return Unavailable(
        f"The daemon is of version {welcome.version}, this is {version}.",
        hint="Upgrade this Cellwright, or end the daemon with `cellwright serve stop`: its runs wait until then.",
    )
