"""Access to the OpenAI-compatible endpoint.

Its address and token (`endpoint.json`), on whose account it asks, within which limits.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from cellwright.errors import UserError
from cellwright.policy.budgets import Limit
from cellwright.policy.rule_file import RuleText, read_rules
from cellwright.secrets import write_private


def standing_limits(home: Path, team_rules: Path | None) -> tuple[Limit, ...]:
    """What may be used. Raises `UserError` for a file that is broken, or named and not there: nothing is sent then."""
    own = home / "rules.toml"
    files: list[tuple[Literal["user", "team"], Path]] = []
    if own.exists() or own.is_symlink():
        files.append(("user", own))
    if team_rules is not None:
        files.append(("team", team_rules))
    texts: list[RuleText] = []
    for layer, file in files:
        try:
            texts.append(RuleText(layer=layer, origin=str(file), content=file.read_bytes()))
        except OSError as error:
            hint = "Put the file back, or change what names it."
            raise UserError(f"Cannot read the rules in {str(file)!r}: {error.strerror}.", hint=hint) from error
    return read_rules(texts, project="/", home=str(home)).limits


ADDRESS_FILE: Final = "endpoint.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointAddress:
    """A port of this machine and what must be said to be heard there."""

    port: int
    token: str = field(repr=False)

    @property
    def base_url(self) -> str:
        """What a client is given."""
        return f"http://127.0.0.1:{self.port}/v1"


def read_address(home: Path) -> EndpointAddress | None:
    """Where the endpoint was open last. Raises `UserError` if others could have read the token. Blocking."""
    path = home / ADDRESS_FILE
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


def bind_endpoint(home: Path) -> tuple[socket.socket, EndpointAddress]:
    """A socket at the address used before, else at a new one with a new token. Blocking.

    Whoever took the port meanwhile may have been told the old token.
    """
    if (before := read_address(home)) is not None:
        with suppress(OSError):
            return _listening(before.port), before
    listener = _listening(0)
    address = EndpointAddress(port=listener.getsockname()[1], token=f"cellwright-{secrets.token_urlsafe(32)}")
    written = {"base_url": address.base_url, "port": address.port, "token": address.token}
    write_private(home / ADDRESS_FILE, written)
    return listener, address


def _listening(port: int) -> socket.socket:
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    listener.setblocking(False)
    return listener


def _parsed(content: bytes) -> EndpointAddress | None:
    """None for what is no address: it is written anew."""
    try:
        match json.loads(content):
            case {"port": int() as port, "token": str() as token} if 0 < port < 65_536 and len(token) >= 32:
                return EndpointAddress(port=port, token=token)
            case _:
                return None
    except ValueError:
        return None
