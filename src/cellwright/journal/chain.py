"""The hash chain: each event's link covers everything before it, so what was changed afterwards no longer fits.

Keyed: without the key nobody can compute a link that fits. What the chain alone cannot show is that a stream was
put back to an earlier state as a whole; an anchor, kept elsewhere, shows that.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path
from typing import Final

from cellwright.errors import UserError
from cellwright.remedies import remedy

START: Final = b"\0" * 32
"""What the first event of a stream follows."""
_KEY_BYTES: Final = 32


class Chain:
    """Computes links with one key."""

    __slots__ = ("_seed", "key")

    def __init__(self, key: bytes) -> None:
        self.key: Final = key
        self._seed = hashlib.blake2b(key=key, digest_size=32)

    def link(self, previous: bytes, place: bytes, sequence: int, kind: str, body: bytes) -> bytes:
        """The link of an event, over everything that is kept of it."""
        # A copy of the keyed state: half the price of keying it for every event.
        state = self._seed.copy()
        state.update(b"%b%b%d\x1f%b\x1f%b" % (previous, place, sequence, kind.encode(), body))
        return state.digest()

    def seal(self, text: str) -> bytes:
        """A mark only the holder of the key can make, for records that stand outside the chain."""
        return hashlib.blake2b(text.encode(), key=self.key, digest_size=32, person=b"seal").digest()


def place_of(stream: str, at_ms: int, key: str) -> bytes:
    """Where and when an event stands; the parts hold no control characters, so no two places look the same."""
    return f"{stream}\x1f{at_ms}\x1f{key}\x1f".encode()


def read_key(path: Path) -> bytes:
    """The key in this file; a new one, readable by its owner only, if there is none."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return read_existing_key(path)
    key = secrets.token_bytes(_KEY_BYTES)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    return key


def read_existing_key(path: Path) -> bytes:
    """The key in this file. Raises `UserError` if there is none."""
    try:
        key = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"Cannot read the journal's key {str(path)!r}: {error.strerror}.",
            hint=remedy("name_journal_key", lead="Put back the file it was, or"),
        ) from error
    if len(key) != _KEY_BYTES:
        raise UserError(f"{str(path)!r} is no journal key.", hint="Put back the file it was.")
    return key
