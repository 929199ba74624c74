"""The bytes of `cellwright mcp` and `cellwright acp`: from standard input to the daemon and back, loading little.

Clients wait for it. One HTTP request whose body is what the client says, line by line, and whose answer is what it is
told.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from importlib.metadata import version
from typing import BinaryIO, Final, Literal
from urllib.parse import quote, urlencode

from cellwright.background import BackgroundProcess, find
from cellwright.data.broker_process import secret_variables
from cellwright.errors import RefusedByPolicy, Unavailable
from cellwright.framing import peer_uid
from cellwright.models.config.keys import key_variables
from cellwright.remedies import remedy
from cellwright.settings import Settings

_BYTES: Final = 1 << 16
PumpProtocol = Literal["mcp", "acp"]
"""What the client speaks; where the daemon answers it is called the same."""
_OTHER_VERSION: Final = 409


def has_keys(settings: Settings) -> bool:
    """Whether there is something in the environment that goes to its own process first."""
    return bool(key_variables(settings.environment) or secret_variables(settings.environment))


Options = Mapping[str, Sequence[str]]


def dial(settings: Settings, protocol: PumpProtocol, folder: str, options: Options) -> socket.socket | None:
    """A connection on which the daemon was asked to answer this protocol; None: there is no daemon.

    Raises `RefusedByPolicy` for a daemon of somebody else.
    """
    # As `server.daemon.launch` names it, which takes longer to load than a client waits.
    process = BackgroundProcess(
        home=settings.home, name="daemon", called="daemon", ended_by=remedy("stop_daemon", how="kill")
    )
    connection = find(process, _check_peer)
    if connection is not None:
        connection.sendall(_head(protocol, folder, options))
    return connection


def pump(settings: Settings, protocol: PumpProtocol, folder: str, options: Mapping[str, Sequence[str]] = {}) -> bool:
    """Until the client or the daemon ends; False: there is no daemon of this version, and not a byte was read.

    Raises `RefusedByPolicy` for a daemon of somebody else, `Unavailable` if it ends first or cannot answer.
    """
    connection = dial(settings, protocol, folder, options)
    if connection is None:
        return False
    with closing(connection):
        answer = connection.makefile("rb")
        status = _read_head(answer)
        if status == _OTHER_VERSION:
            return False
        if status != 200:
            raise Unavailable(f"The daemon does not take this client ({status}).", hint="See its log, daemon.log.")
        has_ended = threading.Event()
        threading.Thread(target=_send, args=(connection, has_ended), daemon=True).start()
        _write_chunks(answer)
        if not has_ended.is_set():
            raise Unavailable("The daemon has ended; runs go on with the next one.", hint="Start this again.")
        return True


def pump_or_start(
    settings: Settings, protocol: PumpProtocol, folder: str, options: Mapping[str, Sequence[str]] = {}
) -> None:
    """The same; a daemon is started if there is none. Raises `Unavailable`."""
    if pump(settings, protocol, folder, options):
        return
    start_daemon(settings)
    if not pump(settings, protocol, folder, options):
        raise Unavailable("The daemon ended at once.", hint="See its log, daemon.log in the state directory.")


def start_daemon(settings: Settings) -> None:
    """One of this version, if none runs. Raises `Unavailable`."""
    # Half a second that only the first client pays.
    from cellwright.cli.render import console
    from cellwright.server.daemon.connection import find_or_start_daemon
    from cellwright.server.daemon.launch import DaemonLaunch

    with closing(find_or_start_daemon(settings, DaemonLaunch(), console.note)):
        pass


def _check_peer(connection: socket.socket) -> None:
    if (other := peer_uid(connection)) != os.getuid():
        raise RefusedByPolicy(f"The daemon's socket belongs to another user (uid {other}).")


def _head(protocol: PumpProtocol, folder: str, options: Options) -> bytes:
    lines = (
        f"POST /api/v1/{protocol}?{urlencode(options, doseq=True)} HTTP/1.1",
        "host: daemon",
        "transfer-encoding: chunked",
        "content-type: application/x-ndjson",
        f"cellwright-version: {version('cellwright')}",
        f"cellwright-folder: {quote(folder)}",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii")


def _read_head(answer: BinaryIO) -> int:
    words = answer.readline(_BYTES).split()
    while answer.readline(_BYTES).strip():
        pass
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def _send(connection: socket.socket, has_ended: threading.Event) -> None:
    """What the client says, until it ends; then the daemon is told, which ends the answer."""
    # Where the daemon is gone, whoever reads its answer says so.
    with suppress(OSError):
        while data := os.read(0, _BYTES):
            connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))
        has_ended.set()
        connection.sendall(b"0\r\n\r\n")


def _write_chunks(answer: BinaryIO) -> None:
    with suppress(OSError, ValueError):
        while size := int(answer.readline(_BYTES) or b"0", 16):
            sys.stdout.buffer.write(answer.read(size))
            sys.stdout.buffer.flush()
            answer.readline(_BYTES)
