"""The secret of a connection: handed over, kept in keyring or file, or told by the person's own command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from cellwright.data.broker.worker_pool import Access
from cellwright.data.connections import DataConnection
from cellwright.data.told_secrets import ToldSecrets
from cellwright.errors import UserError
from cellwright.remedies import remedy
from cellwright.secrets import ask_command, find_secret, secrets_stamp


class SecretFinder:
    """Secrets of one state directory; what is found is kept in memory until it is told to be forgotten."""

    def __init__(self, home: Path, handed_over: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self._home = home
        self._handed_over = dict[str, str]()
        self._environment = environment
        self._known = dict[str, str]()
        self._stamp: object = None
        self._told = ToldSecrets(home)
        self.take(handed_over)

    def take(self, secrets: Mapping[str, str]) -> None:
        """Hold these, by connection; a writer's is under `NAME_writer`. Blocking."""
        self._handed_over.update(secrets)
        self._known.clear()
        for name, secret in secrets.items():
            self._told.tell(name, secret)

    def forget(self, connections: Iterable[str]) -> None:
        """Read these anew when they are needed; what was handed over is gone. Blocking."""
        for name in (names := [*connections]):
            self._handed_over.pop(name, None)
            self._handed_over.pop(f"{name}_writer", None)
        self._known.clear()
        self._told.forget(names)

    def find(self, connection: DataConnection, access: Access = "read") -> str:
        """The secret, empty if the connection has none. Raises `UserError`, `Unavailable`. Blocking."""
        is_writer = access == "write"
        if is_writer and not connection.writer:
            raise UserError(
                f"The connection {connection.name!r} has no user that may write.",
                hint="Name one: `writer` of the connection, with a secret of its own.",
            )
        name = f"{connection.name}_writer" if is_writer else connection.name
        kept_as = connection.writer_secret_name if is_writer else connection.secret_name
        if (given := self._handed_over.get(name)) is not None:
            return given
        if (stamp := secrets_stamp(self._home)) != self._stamp:
            self._known.clear()
            self._stamp = stamp
        if (known := self._known.get(kept_as)) is not None:
            return known
        found = find_secret(self._home, kept_as)
        if found is None and connection.secret_command and not is_writer:
            found = ask_command(connection.secret_command, self._environment)
        if found is None and is_writer:
            raise UserError(
                f"No secret of {connection.writer!r}, the writer of {connection.name!r}, is kept.",
                hint=remedy("set_writer_secret", name=connection.name, writer=connection.writer),
            )
        # Some servers want none: then the server says so if it does.
        value = self._known[kept_as] = found.value if found is not None else ""
        if not is_writer and (found is None or found.source == "command"):
            self._told.tell(connection.name, value)
        return value
