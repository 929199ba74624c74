"""A connection: the settings in force, each under one name, and what follows from them for a request."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from cellwright.errors import UserError

_USER: Final = re.compile(r"://[^/@\s]+@")
_SECRET_NAME: Final = re.compile(r"PASSWORD|TOKEN")
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """Where requests go instead of straight to their host."""

    address: str = field(repr=False)
    """As it was set, password and all."""
    scheme: str
    host: str
    port: int
    authorization: str = field(default="", repr=False)
    """What `Proxy-Authorization` says; empty: nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The settings in force, in the spelling that uv, curl and Python share. Comparable and hashable."""

    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Name and value, sorted: `HTTPS_PROXY`, `SSL_CERT_FILE`, `UV_DEFAULT_INDEX`, …"""

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> Connection:
        """From names and values."""
        return cls(settings=tuple(sorted((name, value) for name, value in variables.items() if value)))

    @property
    def variables(self) -> dict[str, str]:
        """As a program's environment has them."""
        return dict(self.settings)

    @property
    def certificates(self) -> Path | None:
        """A PEM file with the authorities to trust, if it is there."""
        file = self.variables.get("SSL_CERT_FILE")
        return Path(file) if file and Path(file).is_file() else None

    @property
    def certificate_folder(self) -> Path | None:
        """A folder of hashed PEM files, if it is there."""
        folder = self.variables.get("SSL_CERT_DIR")
        return Path(folder) if folder and Path(folder).is_dir() else None

    def proxy_for(self, scheme: str, host: str, port: int | None = None) -> Proxy | None:
        """The proxy of a request to this host; None: it goes straight there. Raises `UserError` for a bad address."""
        variables = self.variables
        address = variables.get(f"{scheme.upper()}_PROXY") or variables.get("ALL_PROXY")
        if not address or _is_excepted(host, port or _PORTS.get(scheme), variables.get("NO_PROXY", "")):
            return None
        return _proxy(address)


def masked(name: str, value: str) -> str:
    """A setting as it may be shown: no user, password or token in it."""
    return "****" if _SECRET_NAME.search(name) else _USER.sub("://****@", value)


def passwords_in(variables: Mapping[str, str]) -> dict[str, str]:
    """The secret parts of these settings by name, for whoever masks them wherever they turn up."""
    found = {name: value for name, value in variables.items() if _SECRET_NAME.search(name)}
    for name, value in variables.items():
        for number, user in enumerate(_USER.findall(value)):
            secret = user[3:-1].partition(":")[2] or user[3:-1]
            found[f"{name} {number + 1}"] = secret
            found[f"{name} {number + 1} decoded"] = unquote(secret)
    return found


def _proxy(address: str) -> Proxy:
    parts = urlsplit(address if "://" in address else f"http://{address}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host:
        raise UserError(
            f"The proxy address {masked('', address)!r} cannot be read.",
            hint="It should look like http://proxy.example:3128; `cellwright doctor` shows where it was set.",
        )
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    return Proxy(
        address=address if "://" in address else f"http://{address}",
        scheme=parts.scheme,
        host=host,
        port=port or _PORTS.get(parts.scheme, 1080),
        authorization=f"Basic {token}" if user or password else "",
    )


def _is_excepted(host: str, port: int | None, exceptions: str) -> bool:
    """Whether `NO_PROXY` names this host: itself, a domain it is in, a network its address is in, or `*`."""
    host = host.strip("[]").rstrip(".").lower()
    return any(_names(one.lower(), host, port) for one in re.split(r"[\s,]+", exceptions) if one)


def _names(exception: str, host: str, port: int | None) -> bool:
    if exception == "*":
        return True
    try:
        return ip_address(host) in ip_network(exception.strip("[]"), strict=False)
    except ValueError:
        # Either is a name.
        pass
    name, colon, number = exception.rpartition(":")
    if colon and number.isdigit():
        if int(number) != port:
            return False
        exception = name
    domain = exception.removeprefix("*").lstrip(".").strip("[]")
    return bool(domain) and (host == domain or host.endswith(f".{domain}"))
