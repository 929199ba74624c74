"""Which journal a command is about, and opening it: the options all such commands share."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import anyio
import typer

from cellwright.errors import UserError
from cellwright.journal.chain import read_existing_key
from cellwright.journal.database import JournalLocation
from cellwright.journal.records import Records
from cellwright.journal.tables import is_journal
from cellwright.policy.masking.masker import Masker
from cellwright.runs.events import EVENT_TYPES
from cellwright.settings import Settings

T = TypeVar("T")
JsonOption = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
DatabaseOption = Annotated[
    str | None,
    typer.Option("--database", metavar="FILE|URL", help="The journal; default: journal.db in the state directory."),
]
KeyOption = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The chain's key; default: the .key file beside the journal."),
]


def journal_location(database: str | None) -> JournalLocation:
    """The journal that is named, or the one in the state directory; it need not be there. Raises `UserError`."""
    return JournalLocation.of(database if database is not None else Settings.read().home / "journal.db")


def existing_journal(database: str | None) -> JournalLocation:
    """The same, where one is: no command makes a journal by looking at it. Raises `UserError`."""
    location = existing_file(database)
    if not is_journal(location):
        what = "The Postgres database" if location.path is None else repr(str(location.path))
        raise UserError(f"{what} is no journal.", hint="Name one with --database.")
    return location


def existing_file(database: str | None) -> JournalLocation:
    """The same, even if the file is broken. Raises `UserError` if there is none."""
    location = journal_location(database)
    if location.path is not None and not location.path.exists():
        raise UserError(
            f"No journal at {str(location.path)!r}.", hint="Nothing has run yet, or name it with --database."
        )
    return location


def chain_key(location: JournalLocation, key: Path | None) -> bytes:
    """The key that is named, or the journal's own: beside the file, or on Postgres in the state directory."""
    beside = location.path.with_suffix(".key") if location.path is not None else Settings.read().home / "journal.key"
    return read_existing_key(key or beside)


def terminal_masker() -> Masker:
    """A masker for what people type at a terminal: it knows how secrets look, and no secret."""
    return Masker.of(salt=secrets.token_bytes(16))


def open_records(
    database: str | None, key: Path | None, masker: Masker | None = None
) -> AbstractAsyncContextManager[Records]:
    """The records of that journal; what is written through them is masked. Raises `UserError`."""
    location, hide = existing_journal(database), masker or terminal_masker()
    return Records.open(
        location.url, chain_key=chain_key(location, key), mask=lambda text: hide.mask(text).text, types=EVENT_TYPES
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalOptions:
    """Which journal, and whether what is said about it is for a program."""

    as_json: JsonOption = False
    database: DatabaseOption = None
    key: KeyOption = None

    def read(self, work: Callable[[Records], Awaitable[T]], masker: Masker | None = None) -> T:
        """What the work gives with its records, which are open only for it."""

        async def opened() -> T:
            async with open_records(self.database, self.key, masker) as records:
                return await work(records)

        return anyio.run(opened)
