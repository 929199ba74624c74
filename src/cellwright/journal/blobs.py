"""Large values, kept once under the hash of their bytes and checked whenever they are read."""

from __future__ import annotations

import hashlib

from cellwright.errors import Defect
from cellwright.journal.database import Cursor, Database


class Blobs:
    """In the same database, so that another worker can read them and a backup holds them. Blocking."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, text: str) -> str:
        """Keep the text; gives its name."""
        body = text.encode()
        name = hashlib.sha256(body).hexdigest()

        def work(cursor: Cursor) -> None:
            cursor.execute(
                "INSERT INTO cellwright_blob (sha256, body, kept_ms) VALUES (?, ?, ?) "
                "ON CONFLICT (sha256) DO UPDATE SET kept_ms = excluded.kept_ms",
                (name, body, cursor.now_ms()),
            )

        self._database.write_now(work)
        return name

    def get(self, name: str) -> str:
        """The text kept under this name. Raises `Defect` if it is gone or not what was kept."""
        select = "SELECT body FROM cellwright_blob WHERE sha256 = ?"
        row = self._database.read_now(lambda cursor: cursor.execute(select, (name,)).one())
        if row is None:
            raise Defect(f"The kept value {name[:12]}… is gone.", hint="Restore the journal from a backup.")
        body = bytes(row[0])
        if hashlib.sha256(body).hexdigest() != name:
            raise Defect(f"The kept value {name[:12]}… was altered.", hint="Restore the journal from a backup.")
        return body.decode()
