"""Servers a person named once: `tool-servers.toml` of the state directory, without any secret in it.

It says what is started, in which packages, and what it may reach. A project may propose servers in a file of the same
form; nothing of that counts until a person made it theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import tomlkit
import tomlkit.items
from packaging.requirements import InvalidRequirement, Requirement
from pydantic import Field

from cellwright.errors import UserError
from cellwright.notebook.atomic_write import write_atomically
from cellwright.policy.toml_text import StrictTable, TomlText, read_toml
from cellwright.remedies import remedy
from cellwright.sandbox.egress import AllowedHost

FilesShown = Literal["none", "read", "write"]
FILES_SHOWN: Final[tuple[FilesShown, ...]] = ("none", "read", "write")
PROPOSALS: Final = Path(".cellwright/tool-servers.toml")
"""Where a project proposes servers."""
_FILE: Final = "tool-servers.toml"
_SEE: Final = "docs/tool-servers.md"
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*", flags=re.ASCII)
_LONGEST_NAME: Final = 32
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", flags=re.ASCII)
_OUR_VARIABLES: Final = re.compile(r"(?i)(?:LD_.*|PYTHON(?:PATH|HOME|STARTUP)|HTTPS?_PROXY|PATH|HOME|SSL_CERT_FILE)")
_LONGEST: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedServer:
    """One server, as a person named it: a command in a cage, or an address."""

    name: str
    command: tuple[str, ...] = ()
    """Program and arguments. `/project` is the project's folder."""
    packages: tuple[str, ...] = ()
    """Python packages of its own environment, each with its version."""
    url: str = ""
    software: tuple[str, ...] = ()
    """Folders of this machine that the command needs to read, besides the system's own programs."""
    hosts: tuple[str, ...] = ()
    """What a command may reach: `host` or `host:port`. Nothing else."""
    private_hosts: bool = False
    """Whether its hosts, or its address, may lead to this machine or its network."""
    variables: tuple[str, ...] = ()
    """Secrets it is given, as variables of these names."""
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(dict[str, str]()))
    """Variables that are no secret."""
    files: FilesShown = "none"
    """What it sees of the project. read: all but what looks like secrets; what it writes there is forgotten. write:
    what a call that may change something writes there is kept."""
    call_seconds: float = 120.0
    """How long one call may take; then the server is ended."""
    projects: tuple[str, ...] = ()
    """Folders whose runs may use it; empty: all."""

    @property
    def is_remote(self) -> bool:
        """Whether it is reached over HTTP."""
        return bool(self.url)

    @property
    def place(self) -> str:
        """What it is, in a few words for people."""
        return self.url or " ".join(self.command)

    @property
    def secret_names(self) -> Mapping[str, str]:
        """Under which name each of its secrets is kept: by variable, of an address its token."""
        names = {variable: f"tools:{self.name}:{variable}" for variable in self.variables}
        return names | ({"token": f"tools:{self.name}:token"} if self.is_remote else {})

    def may_be_used_in(self, project: Path) -> bool:
        """Whether runs in this folder may use it."""
        return not self.projects or any(project.is_relative_to(folder) for folder in self.projects)


def servers_at(home: Path) -> dict[str, NamedServer]:
    """The servers of this state directory, by name. Raises `UserError`. Blocking."""
    return _read_file(home / _FILE)


def proposed_servers(project: Path) -> dict[str, NamedServer]:
    """What a project proposes, by name; nothing of it is used. Raises `UserError`. Blocking."""
    file = project / PROPOSALS
    if file.is_symlink() or file.parent.is_symlink():
        raise UserError(f"{str(PROPOSALS)!r} is a link.", hint="Put the file itself there: links are not followed.")
    return _read_file(file)


def find_server(home: Path, name: str) -> NamedServer:
    """The server of this name. Raises `UserError`. Blocking."""
    known = servers_at(home)
    if name not in known:
        names = f"There is {', '.join(sorted(known))}." if known else "There is none yet."
        hint = remedy("add_tool_server", name=name if is_server_name(name) else "NAME")
        raise UserError(f"No tool server is called {name[:80]!r}. {names}", hint=hint)
    return known[name]


def is_server_name(text: str) -> bool:
    """Whether a server can be called so."""
    return len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None


def store_server(home: Path, server: NamedServer) -> None:
    """Write it into the file, in place of one of its name; all else in it stays as it is. Blocking."""
    check_server(server)
    file = home / _FILE
    document = tomlkit.parse(file.read_text("utf-8")) if file.exists() else tomlkit.document()
    tables = document.setdefault("servers", tomlkit.table(is_super_table=True))
    tables[server.name] = _table_of(server)
    text = tomlkit.dumps(document)
    read_servers(text, str(file))
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(file, text.encode())


def remove_server(home: Path, name: str) -> bool:
    """Take it out of the file; whether it was there. Blocking."""
    file = home / _FILE
    if name not in servers_at(home):
        return False
    document = tomlkit.parse(file.read_text("utf-8"))
    del document["servers"][name]
    write_atomically(file, tomlkit.dumps(document).encode())
    return True


def check_server(server: NamedServer) -> None:
    """Raises `UserError` for what cannot be one."""
    if not is_server_name(server.name):
        raise UserError(
            f"{server.name[:80]!r} cannot name a tool server.",
            hint="Small letters and digits, parts joined by one - or _, a letter first: tools are called by it.",
        )
    if bool(server.command) == bool(server.url):
        raise UserError(
            "A tool server is a command or an address.", hint="Give one of them, and not both.",
        )  # fmt: skip
    texts = (*server.command, server.url, *server.software, *server.settings.values())
    if any(len(text) > _LONGEST or not text.isprintable() for text in texts):
        raise UserError("A word of a server has at most 4,096 characters in one line.", hint="Look at what you gave.")
    for word in server.packages:
        _check_package(word)
    for folder in server.software:
        if not folder.startswith("/") or folder == "/":
            raise UserError(f"{folder!r} is no folder of software.", hint="Give it from the root on.")
    for host in server.hosts:
        allowed_host(host, may_be_private=server.private_hosts)
    _check_variables(server)
    if server.is_remote:
        _check_address(server)


def _check_variables(server: NamedServer) -> None:
    for name in (*server.variables, *server.settings):
        if _VARIABLE.fullmatch(name) is None or _OUR_VARIABLES.fullmatch(name):
            raise UserError(f"{name[:80]!r} is no variable a server can be given.", hint="Such as API_KEY.")
    if both := set(server.variables) & set(server.settings):
        raise UserError(f"{min(both)!r} is given twice.", hint="It is a secret, or it is not.")


def _check_address(server: NamedServer) -> None:
    if server.packages or server.software or server.hosts or server.variables or server.settings:
        raise UserError(
            "A server at an address is not started here.", hint="It has a token, and nothing else of these."
        )
    if server.files != "none":
        raise UserError("A server at an address sees no files of this machine.", hint="Leave that out.")
    server_origin(server.url)


def server_origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address. Raises `UserError`."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
        host, is_sound = parts.hostname or "", parts.username is None and parts.fragment == ""
    except ValueError:
        port, host, is_sound, parts = 0, "", False, urlsplit("")
    if not port or not host or not is_sound or any(character.isspace() for character in url):
        raise UserError(f"{url[:200]!r} is no address of a server.", hint="Write https://host/path.")
    return parts.scheme, AllowedHost(name=f"[{host}]" if ":" in host else host).normal(), port


def allowed_host(text: str, *, may_be_private: bool) -> AllowedHost:
    """What `host` or `host:port` lets through. Raises `UserError`."""
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host = text
    if colon and not (port.isdecimal() and 0 < int(port) < 65536):
        raise UserError(f"{text[:200]!r} is no host.", hint="Write host or host:port.")
    ports = (int(port),) if colon else (80, 443)
    allowed = AllowedHost(name=host, ports=ports, has_private_addresses=may_be_private)
    allowed.normal()
    return allowed


def _check_package(word: str) -> None:
    try:
        asked = Requirement(word)
    except InvalidRequirement:
        raise UserError(f"{word[:200]!r} is no package.", hint="Write name==version.") from None
    if asked.url is not None:
        raise UserError(f"{word[:200]!r} comes from an address.", hint="Name a package of the index.")


# ── the file ──


_Words = Annotated[tuple[str, ...], Field(strict=False)]


class _ServerTable(StrictTable):
    command: _Words = ()
    packages: _Words = ()
    url: str = ""
    software: _Words = ()
    hosts: _Words = ()
    private_hosts: bool = False
    variables: _Words = ()
    settings: dict[str, str] = Field(default_factory=dict[str, str])
    files: FilesShown = "none"
    call_seconds: Annotated[float, Field(gt=0, le=3600, strict=False)] = 120.0
    projects: _Words = ()


class _ServersFile(StrictTable):
    servers: dict[str, _ServerTable] = Field(default_factory=dict[str, _ServerTable])


def read_servers(text: str, origin: str) -> dict[str, NamedServer]:
    """What such a file says. Raises `UserError` for its first mistake."""
    toml = read_toml(text, origin, see=_SEE)
    tables = toml.into(_ServersFile).servers
    return {name: _server_of(toml, name, table) for name, table in tables.items()}


def _read_file(file: Path) -> dict[str, NamedServer]:
    try:
        return read_servers(file.read_text("utf-8"), str(file))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read {str(file)!r}: {error}.", hint="It must be a TOML file you may read.") from error


def _server_of(toml: TomlText, name: str, table: _ServerTable) -> NamedServer:
    server = NamedServer(name=name, **table.model_dump() | {"settings": MappingProxyType(dict(table.settings))})
    try:
        check_server(server)
    except UserError as problem:
        toml.refuse(("servers", name), problem.message, problem.advice, at_key=True)
    return server


_PLAIN: Final = ("url", "private_hosts", "files", "call_seconds")
_LISTS: Final = ("command", "packages", "software", "hosts", "variables", "projects")


def server_json(server: NamedServer) -> dict[str, Any]:
    """What differs from what holds anyway."""
    plain = NamedServer(name=server.name)
    found: dict[str, Any] = {key: list(getattr(server, key)) for key in _LISTS if getattr(server, key)}
    found |= {key: getattr(server, key) for key in _PLAIN if getattr(server, key) != getattr(plain, key)}
    return found | ({"settings": dict(server.settings)} if server.settings else {})


def _table_of(server: NamedServer) -> tomlkit.items.Table:
    table = tomlkit.table()
    for key, value in server_json(server).items():
        table.add(key, value)
    return table
