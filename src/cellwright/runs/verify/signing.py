"""Who vouches for a proof: an Ed25519 key in the state directory, made when it is first needed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from cellwright.errors import RefusedByPolicy, Unavailable

KEY_FILE: Final = "proof-key"
_PURPOSE: Final = b"cellwright proof\0"
"""Signed together with the proof: a signature made for anything else is none."""
_SEED_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Signs with the key of this state directory."""

    _key: Ed25519PrivateKey = field(repr=False)

    @property
    def key(self) -> str:
        """The public key, base64."""
        return base64.b64encode(self._key.public_key().public_bytes_raw()).decode()

    def sign(self, message: bytes) -> str:
        """A signature, base64."""
        return base64.b64encode(self._key.sign(_PURPOSE + message)).decode()

    @classmethod
    def at(cls, home: Path) -> Signer:
        """The signer of this state directory; its key is made if there is none. Blocking."""
        seed = _read(home / KEY_FILE) or _make(home / KEY_FILE)
        return cls(_key=Ed25519PrivateKey.from_private_bytes(seed))

    @classmethod
    def known_at(cls, home: Path) -> Signer | None:
        """The signer of this state directory, if it ever signed anything. Blocking."""
        seed = _read(home / KEY_FILE)
        return None if seed is None else cls(_key=Ed25519PrivateKey.from_private_bytes(seed))


def is_signed(message: bytes, *, key: str, signature: str) -> bool:
    """Whether the holder of this key signed exactly this."""
    try:
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key, validate=True))
        public.verify(base64.b64decode(signature, validate=True), _PURPOSE + message)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(key: str) -> str:
    """A key as people compare it."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:16]


def _read(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"The key for proofs cannot be read: {error.strerror}.", hint=f"Look at {path}.") from error
    with os.fdopen(descriptor, "rb") as stream:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
            raise RefusedByPolicy(
                "Others can read the key for proofs, so a proof would prove nothing.",
                hint=f"Delete {path} and verify again: a new key is made.",
            )
        content = stream.read(4096)
    try:
        seed = base64.b64decode(content.strip(), validate=True)
    except binascii.Error:
        seed = b""
    if len(seed) != _SEED_BYTES:
        raise Unavailable("The key for proofs is damaged.", hint=f"Delete {path} and verify again: a new key is made.")
    return seed


def _make(path: Path) -> bytes:
    """A new key, whole or not at all. Of two processes that make one at once, one wins and both use it."""
    seed = Ed25519PrivateKey.generate().private_bytes_raw()
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(base64.b64encode(seed) + b"\n")
            stream.flush()
            os.fsync(descriptor)
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink(missing_ok=True)
    return _read(path) or seed
