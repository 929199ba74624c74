"""Whether the broker holds another secret than before, without the secret: answers that came by one count for it only.

What is handed over, or told by a person's command, changes without a trace in the state directory. So the broker writes
there a random mark for each such connection, another one for another secret, and everybody else reads that.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Final

from cellwright.data.connections import DataConnection
from cellwright.data.source_kinds import FILE_KINDS
from cellwright.secrets import kept_secrets, secrets_stamp, write_private

_FILE: Final = "told-secrets.json"


class ToldSecrets:
    """The broker's side. What one before it held is nobody's any more: it may be started with other secrets."""

    def __init__(self, home: Path) -> None:
        self._file = home / _FILE
        self._values = dict[str, str]()
        self._marks = dict[str, str]()
        self._lock = threading.Lock()
        if self._file.exists():
            write_private(self._file, {})

    def tell(self, connection: str, secret: str) -> None:
        """It is this from now on. Blocking.

        To be told once the secret is in use: then nothing that came by an older one is remembered under its mark.
        """
        with self._lock:
            if self._values.get(connection) != secret:
                self._values[connection], self._marks[connection] = secret, os.urandom(16).hex()
                write_private(self._file, self._marks)

    def forget(self, connections: Iterable[str]) -> None:
        """Whatever comes next is another one. Blocking."""
        with self._lock:
            known = [name for name in connections if self._values.pop(name, None) is not None]
            for name in known:
                del self._marks[name]
            if known:
                write_private(self._file, self._marks)


def secret_mark(home: Path, connection: DataConnection) -> tuple[Hashable, bool]:
    """Another one for another secret; and whether that is known without asking the broker. Blocking."""
    mark = _read(home / _FILE).get(connection.name)
    is_known = mark is not None or connection.kind in FILE_KINDS or connection.secret_name in kept_secrets(home)
    return (mark, secrets_stamp(home)), is_known


def _read(file: Path) -> dict[str, str]:
    try:
        return json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
