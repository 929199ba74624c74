"""A connection to the daemon: who is at the other end and of which version; an older daemon is replaced. Blocking."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from http.client import BadStatusLine, HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from packaging.version import InvalidVersion, Version
from pydantic_core import PydanticSerializationError

from cellwright.background import BackgroundProcess, find, find_or_start, has_ended
from cellwright.errors import CellwrightError, RefusedByPolicy, Unavailable, UserError
from cellwright.framing import BadFrame, peer_uid
from cellwright.server.daemon.launch import DaemonLaunch, background_start, daemon_at
from cellwright.server.daemon.messages import MAX_REQUEST, PERSON_HEADER, DaemonVersion, StopDaemonBody, other_version
from cellwright.server.http.addresses import API
from cellwright.server.http.errors import REPORT_HEADER, read_error
from cellwright.server.http.schemas.model import RequestModel
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.server.daemon.predecessor import PredecessorConnection

_ANSWER_TIMEOUT_SECONDS: Final = 180
"""A daemon with fifty runs at work may take its time."""
_END_TIMEOUT_SECONDS: Final = 120
_MAX_REPLACEMENTS: Final = 3
"""As many daemons of other versions are replaced; then two installations are fighting over it."""
_MAX_ANSWER: Final = 8 << 20
OnNote = Callable[[str], None]


class DaemonConnection:
    """HTTP with a daemon of this user, over the socket that `find` connects. Blocking."""

    version: DaemonVersion

    def __init__(self, uid: int | None = None) -> None:
        self._uid = os.getuid() if uid is None else uid
        self._http = HTTPConnection("daemon")

    def greet(self, connection: socket.socket) -> None:
        """Make sure of who is at the other end, and of its version. Raises `RefusedByPolicy`, `BadStatusLine`."""
        if (other := peer_uid(connection)) != self._uid:
            raise RefusedByPolicy(
                f"The daemon's socket belongs to another user (uid {other}).",
                hint="Remove daemon.sock from the state directory, and find out who put it there.",
            )
        self._http.sock = connection
        said = self.ask("GET", "/daemon/version")
        self.version = DaemonVersion(pid=said["pid"], version=said["version"])
        if self._http.sock is None:
            raise ConnectionResetError("the daemon ends")

    def ask(self, method: str, path: str, body: bytes | None = None, *, person: str = "") -> Any:
        """What is answered. Raises what went wrong there, and `ConnectionError` if nobody answers."""
        # Without it, a connection that was closed would be opened again, to some other place.
        if self._http.sock is None:
            raise ConnectionResetError("the daemon closed the connection")
        headers = {"content-type": "application/json"} if body is not None else {}
        if person:
            headers[PERSON_HEADER] = quote(person)
        self._http.request(method, API + path, body, headers)
        response = self._http.getresponse()
        data = response.read(_MAX_ANSWER)
        if response.status >= 400:
            raise read_error(data, response.getheader(REPORT_HEADER, ""))
        return json.loads(data) if data else None

    def follow_events(self, path: str, kind: str) -> Iterator[Any]:
        """The data of each event of this kind in a stream that goes on. The connection is of no other use then."""
        self._http.request("GET", API + path)
        response = self._http.getresponse()
        if response.status >= 400:
            raise read_error(response.read(_MAX_ANSWER), response.getheader(REPORT_HEADER, ""))
        is_wanted = False
        for line in response:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                is_wanted = value == kind
            elif name == "data" and is_wanted:
                yield json.loads(value)

    def follow_lines(self, method: str, path: str, body: bytes) -> Iterator[dict[str, Any]]:
        """What is answered line by line, for as long as it takes. Raises as `ask` does."""
        if self._http.sock is None:
            raise ConnectionResetError("the daemon closed the connection")
        # A cell may say nothing for hours.
        self._http.sock.settimeout(None)
        self._http.request(method, API + path, body, {"content-type": "application/json"})
        response = self._http.getresponse()
        if response.status >= 400:
            raise read_error(response.read(_MAX_ANSWER), response.getheader(REPORT_HEADER, ""))
        for line in response:
            yield json.loads(line)

    def wait(self, seconds: float) -> None:
        """So long an answer may take."""
        if self._http.sock is not None:
            self._http.sock.settimeout(seconds)

    def close(self) -> None:
        """Leave; a thread that waits for an answer hears that nobody is there."""
        if self._http.sock is not None:
            with suppress(OSError):
                self._http.sock.shutdown(socket.SHUT_RDWR)
        self._http.close()


def find_or_start_daemon(settings: Settings, launch: DaemonLaunch, on_note: OnNote) -> DaemonConnection:
    """A connection to a daemon of this version: an older one is replaced, a newer one left alone.

    Raises `Unavailable` or `RefusedByPolicy`.
    """
    settings.ready_home()
    process = daemon_at(settings.home)
    for _ in range(_MAX_REPLACEMENTS):
        find_one = partial(find_or_start, process, background_start(settings, launch))
        if (found := _greeted(process, find_one, launch.version)) is None:
            continue
        if isinstance(found, DaemonConnection) and found.version.version == launch.version:
            return found
        with closing(found):
            if not _is_older(found, launch.version):
                raise other_version(found.version, launch.version)
            _replace(process, found, launch.version)
        on_note(
            f"The daemon of version {found.version.version} has ended; its runs go on with version {launch.version}."
        )
    raise Unavailable(
        "Daemons of several versions take turns.", hint="Use one version of Cellwright with this state directory."
    )


def find_daemon(settings: Settings, launch: DaemonLaunch) -> DaemonConnection | PredecessorConnection | None:
    """A connection to the daemon that runs, of whichever version; None if there is none."""
    process = daemon_at(settings.home)
    return _greeted(process, partial(find, process), launch.version)


def _greeted(
    process: BackgroundProcess, find_one: Callable[[Callable[[socket.socket], None]], socket.socket | None], own: str
) -> DaemonConnection | PredecessorConnection | None:
    """Whoever answers; None: nobody."""
    connection = DaemonConnection()
    try:
        if find_one(connection.greet) is None:
            return None
        connection.wait(_ANSWER_TIMEOUT_SECONDS)
        return connection
    except BadStatusLine:
        return _predecessor(process, own)
    except HTTPException as problem:
        raise process.unresponsive_error() from problem


def _predecessor(process: BackgroundProcess, own: str) -> PredecessorConnection | None:
    from cellwright.server.daemon.predecessor import PredecessorConnection

    found: list[PredecessorConnection] = []
    try:
        find(process, lambda connection: found.append(PredecessorConnection(connection, own)))
    except BadFrame as problem:
        raise process.unresponsive_error() from problem
    return found[0] if found else None


def _replace(process: BackgroundProcess, found: DaemonConnection | PredecessorConnection, version: str) -> None:
    """Let an older daemon end in order. Raises `Unavailable` if it does not."""
    # Whatever it answers, its end is what counts.
    with suppress(OSError, EOFError, HTTPException, BadFrame, CellwrightError):
        found.ask("POST", "/daemon/stop", as_json(StopDaemonBody(why=f"version {version} takes over")))
    if not has_ended(process, found.version.pid, _END_TIMEOUT_SECONDS):
        raise Unavailable(
            f"The daemon of version {found.version.version} (process {found.version.pid}) does not end.",
            hint=process.ended_by,
        )


def _is_older(found: DaemonConnection | PredecessorConnection, version: str) -> bool:
    """Whether the daemon is to make way. One whose version cannot be read is not."""
    try:
        its, own = Version(found.version.version), Version(version)
    except InvalidVersion:
        return False
    return its < own or (its == own and not isinstance(found, DaemonConnection))


def as_json(body: RequestModel | dict[str, Any] | None) -> bytes | None:
    """Raises `UserError` for what cannot be written as JSON, or is too much."""
    if body is None:
        return None
    try:
        data = json.dumps(body).encode() if isinstance(body, dict) else body.model_dump_json().encode()
    except PydanticSerializationError as error:
        raise UserError(
            "The request cannot be written down.", hint="Half a character stands somewhere in it."
        ) from error
    if len(data) > MAX_REQUEST:
        raise UserError(f"The request has {len(data):,} bytes.", hint="Put long texts in a file and name it.")
    return data
