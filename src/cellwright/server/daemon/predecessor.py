"""The version before spoke frames over the same socket: how its daemon is replaced, and what its commands are answered.

Goes with the version after this one.
"""

from __future__ import annotations

import json
import socket
from typing import Any, ClassVar, Final

from cellwright.framing import MAX_GREETING, BadFrame, FrameUnpacker, pack_json, read_json, receive_json
from cellwright.server.daemon.messages import DaemonVersion, other_version
from cellwright.server.http.uvicorn_server import LocalProtocol

_ANSWER_TIMEOUT_SECONDS: Final = 30
_OLD_PROTOCOL: Final = 4
_NEW_PROTOCOL: Final = 5
"""What the version before takes for a daemon that is newer than itself."""


class PredecessorConnection:
    """A connection to a daemon of the version before, which has been greeted. Blocking."""

    def __init__(self, connection: socket.socket, version: str) -> None:
        self._connection = connection
        self._own_version = version
        match self._exchange({"kind": "hello", "protocol": _OLD_PROTOCOL, "version": version}):
            case {"kind": "welcome", "pid": int(pid), "version": str(its)}:
                self.version = DaemonVersion(pid=pid, version=its)
            case _:
                raise BadFrame("no welcome")

    def ask(self, method: str, path: str, body: bytes | None = None, *, person: str = "") -> Any:
        """Of the requests of this version, those that both know. Raises `Unavailable` for the others."""
        match method, path:
            case "GET", "/daemon":
                return self._exchange({"kind": "status", "number": 1})
            case "POST", "/daemon/stop":
                return self._exchange({"kind": "stop", "number": 1, **json.loads(body or b"{}")})
            case _:
                raise other_version(self.version, self._own_version)

    def close(self) -> None:
        """Leave."""
        self._connection.close()

    def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        self._connection.settimeout(_ANSWER_TIMEOUT_SECONDS)
        self._connection.sendall(pack_json(message))
        return receive_json(self._connection)


class PredecessorProtocol(LocalProtocol):
    """HTTP; a command of the version before, whose first byte is that of a length, is told that the daemon is newer."""

    version: ClassVar[DaemonVersion]
    _frames: FrameUnpacker | None = None
    _is_http = False

    def data_received(self, data: bytes) -> None:
        """The first byte tells: no method of HTTP begins with it, and every message of a command is short."""
        if self._frames is None and not self._is_http:
            if data.startswith(b"\x00"):
                self._frames = FrameUnpacker(MAX_GREETING)
            else:
                self._is_http = True
        if self._frames is None:
            super().data_received(data)
            return
        try:
            for payload in self._frames.feed(data):
                self.transport.write(pack_json(self._answer(read_json(payload))))
        except BadFrame:
            self.transport.close()

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Its greeting is understood; for all else it has to be upgraded."""
        match message:
            case {"kind": "hello"}:
                return {
                    "kind": "welcome",
                    "protocol": _NEW_PROTOCOL,
                    "version": self.version.version,
                    "pid": self.version.pid,
                }
            case {"kind": str(), "number": int(number)}:
                return {
                    "kind": "failed",
                    "number": number,
                    "error": "unavailable",
                    "message": f"The daemon is of version {self.version.version} and newer than this command.",
                    # Whatever it asks; its `cellwright serve stop` then ends the process by a signal.
                    "hint": "Upgrade this Cellwright, or end the daemon with `cellwright serve stop`.",
                }
            case _:
                raise BadFrame(f"no message of the version before: {json.dumps(message)[:40]}")
