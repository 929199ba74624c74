"""Where the OpenAI-compatible endpoint listens, and the token that opens it: `endpoint.json` in the state directory.

Both outlive the gateway, so that a program configured once stays configured.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cellwright.errors import UserError

FILE: Final = "endpoint.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A port of this machine and what must be said to be heard there."""

    port: int
    token: str = field(repr=False)

    @property
    def base_url(self) -> str:
        """What a client is given."""
        return f"http://127.0.0.1:{self.port}/v1"


def read_address(home: Path) -> Address | None:
    """Where the endpoint was open last. Raises `UserError` if others could have read the token. Blocking."""
    path = home / FILE
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(
            f"Cannot read {str(path)!r}: {error.strerror}.", hint="Delete it; a new one is made."
        ) from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_mode & 0o077 or status.st_uid != os.getuid():
            raise UserError(f"Others can read {str(path)!r}.", hint="Delete it; a new one is made, with a new token.")
        return _parsed(file.read(4096))


def bind(home: Path) -> tuple[socket.socket, Address]:
    """A socket at the address used before, else at a new one with a new token. Blocking.

    Whoever took the port meanwhile may have been told the old token.
    """
    before = read_address(home)
    if before is not None:
        try:
            return _listening(before.port), before
        except OSError:
            pass
    listener = _listening(0)
    address = Address(port=listener.getsockname()[1], token=f"cellwright-{secrets.token_urlsafe(32)}")
    _write(home / FILE, address)
    return listener, address


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _parsed(content: bytes) -> Address | None:
    """None for what is no address: it is written anew."""
    try:
        match json.loads(content):
            case {"port": int() as port, "token": str() as token} if 0 < port < 65_536 and len(token) >= 32:
                return Address(port=port, token=token)
            case _:
                return None
    except ValueError:
        return None


def _write(path: Path, address: Address) -> None:
    text = json.dumps({"base_url": address.base_url, "port": address.port, "token": address.token})
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    beside.replace(path)
