"""Network: the proxies, certificates and package indexes by which the host reaches the network.

Owns:   which settings are in force, where each came from, which proxy a request takes, how they are shown.
Above:  every room that connects: models, sandbox, kernel, tools.   Below: errors.
Never:  connecting anywhere, reading the environment by itself, entering a cage.

Settings come from Cellwright's own file, the environment, uv's and pip's files; the first one wins.
"""

from __future__ import annotations

import base64
import configparser
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import unquote, urlsplit

from cellwright.errors import UserError
from cellwright.remedies import remedy

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
class NetworkSettings:
    """The settings in force, in the spelling that uv, curl and Python share. Comparable and hashable."""

    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Name and value, sorted: `HTTPS_PROXY`, `SSL_CERT_FILE`, `UV_DEFAULT_INDEX`, …"""

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> NetworkSettings:
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
            hint=remedy(
                "see_doctor", lead="It should look like http://proxy.example:3128;", says="shows where it was set"
            ),
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


OWN_FILE: Final = "network.toml"
"""In the state directory: Cellwright's own settings, which win."""
_OWN_KEYS: Final = {
    "http_proxy": "HTTP_PROXY",
    "https_proxy": "HTTPS_PROXY",
    "all_proxy": "ALL_PROXY",
    "no_proxy": "NO_PROXY",
    "certificates": "SSL_CERT_FILE",
    "certificate_folder": "SSL_CERT_DIR",
    "index": "UV_DEFAULT_INDEX",
    "extra_indexes": "UV_INDEX",
    "find_links": "UV_FIND_LINKS",
    "offline": "UV_OFFLINE",
}
_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    # Lower case first, as curl, requests and Python's own library have it.
    "HTTP_PROXY": ("http_proxy", "HTTP_PROXY", "PIP_PROXY"),
    "HTTPS_PROXY": ("https_proxy", "HTTPS_PROXY", "PIP_PROXY"),
    "ALL_PROXY": ("all_proxy", "ALL_PROXY"),
    "NO_PROXY": ("no_proxy", "NO_PROXY"),
    "SSL_CERT_FILE": ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"),
    "SSL_CERT_DIR": ("SSL_CERT_DIR",),
    "SSL_CLIENT_CERT": ("SSL_CLIENT_CERT", "PIP_CLIENT_CERT"),
    "NETRC": ("NETRC",),
    "UV_DEFAULT_INDEX": ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"),
    "UV_INDEX": ("UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL"),
    "UV_INDEX_STRATEGY": ("UV_INDEX_STRATEGY",),
    "UV_FIND_LINKS": ("UV_FIND_LINKS", "PIP_FIND_LINKS"),
    "UV_NO_INDEX": ("UV_NO_INDEX", "PIP_NO_INDEX"),
    "UV_OFFLINE": ("UV_OFFLINE",),
    "UV_SYSTEM_CERTS": ("UV_SYSTEM_CERTS", "UV_NATIVE_TLS"),
    "UV_INSECURE_HOST": ("UV_INSECURE_HOST", "PIP_TRUSTED_HOST"),
    "UV_HTTP_TIMEOUT": ("UV_HTTP_TIMEOUT", "UV_REQUEST_TIMEOUT", "HTTP_TIMEOUT", "PIP_DEFAULT_TIMEOUT"),
    "UV_HTTP_CONNECT_TIMEOUT": ("UV_HTTP_CONNECT_TIMEOUT",),
    "UV_HTTP_RETRIES": ("UV_HTTP_RETRIES", "PIP_RETRIES"),
    "UV_EXCLUDE_NEWER": ("UV_EXCLUDE_NEWER",),
}
_PIP_NAMES: Final = {
    "UV_DEFAULT_INDEX": "PIP_INDEX_URL",
    "UV_INDEX": "PIP_EXTRA_INDEX_URL",
    "UV_FIND_LINKS": "PIP_FIND_LINKS",
    "UV_NO_INDEX": "PIP_NO_INDEX",
    "UV_INSECURE_HOST": "PIP_TRUSTED_HOST",
    "SSL_CERT_FILE": "PIP_CERT",
    "SSL_CLIENT_CERT": "PIP_CLIENT_CERT",
}
_INDEX_NAME: Final = re.compile(r"(?<!\S)[\w.-]+=(?=\w+://)")
"""uv's indexes may have names before their addresses."""
_MACHINE_STORES: Final = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
_INDEX_USER: Final = re.compile(r"UV_INDEX_[A-Z0-9_]+_(USERNAME|PASSWORD)")
_UV_KEYS: Final = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "index-strategy": "UV_INDEX_STRATEGY",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "offline": "UV_OFFLINE",
    "native-tls": "UV_SYSTEM_CERTS",
    "system-certs": "UV_SYSTEM_CERTS",
    "allow-insecure-host": "UV_INSECURE_HOST",
    "http-proxy": "HTTP_PROXY",
    "https-proxy": "HTTPS_PROXY",
    "no-proxy": "NO_PROXY",
}
_COMMAS: Final = frozenset({"UV_FIND_LINKS", "NO_PROXY"})
"""Lists that are joined by commas; uv separates the others by blanks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedValue:
    """One setting in force."""

    value: str = field(repr=False)
    source: str
    """`$NAME` of a variable, or the path of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSources:
    """Every setting in force, by name, and files that could not be read."""

    found: Mapping[str, SourcedValue] = field(default_factory=dict[str, SourcedValue])
    unreadable: tuple[str, ...] = ()

    @property
    def connection(self) -> NetworkSettings:
        """What is in force, wherever it came from."""
        return NetworkSettings.of({name: found.value for name, found in self.found.items()})


def read_network_sources(variables: Mapping[str, str], *, own: Path, home: Path) -> NetworkSources:
    """What is in force for a command with this environment. Blocking. Raises `UserError` for a mistake in `own`."""
    found, unreadable = _of_files(variables, home)
    found = {**found, **_of_environment(variables), **_of_own_file(own)}
    extra = found.get("UV_INDEX")
    if extra and extra.source in {"$PIP_EXTRA_INDEX_URL", *map(str, _pip_files(variables, home))}:
        # Whoever set further indexes for pip relies on its rule, the best match of all; uv's own is the first index
        # that has the name at all, and would find no version of what only another one has.
        found.setdefault("UV_INDEX_STRATEGY", SourcedValue(value="unsafe-best-match", source=extra.source))
    return NetworkSources(found=found, unreadable=tuple(unreadable))


def command_settings(asked: Mapping[str, str], *, own: Path) -> NetworkSettings:
    """What is in force for a run whose command had `asked` in force: settings win, as always. Blocking."""
    known = {name: value for name, value in asked.items() if name in _ALIASES or _INDEX_USER.fullmatch(name)}
    return NetworkSettings.of(known | {name: found.value for name, found in _of_own_file(own).items()})


def pip_variables(connection: NetworkSettings) -> dict[str, str]:
    """The same in the words of pip: many versions of it know neither `SSL_CERT_FILE` nor the machine's store."""
    variables = connection.variables
    found = {name: _INDEX_NAME.sub("", variables.get(ours, "")) for ours, name in _PIP_NAMES.items()}
    found["PIP_FIND_LINKS"] = found["PIP_FIND_LINKS"].replace(",", " ")
    if variables.get("UV_SYSTEM_CERTS") and not found["PIP_CERT"]:
        found["PIP_CERT"] = next((file for file in _MACHINE_STORES if Path(file).is_file()), "")
    words = {name: value for name, value in found.items() if value}
    # By its own `PIP_PROXY` pip would go to hosts of `NO_PROXY`, too; of two spellings it heeds the lower case.
    ways = {name.lower(): value for name, value in variables.items() if name.endswith("_PROXY")}
    return words | ways | ({"PIP_PROXY": ""} if ways else {})


def _of_own_file(path: Path) -> dict[str, SourcedValue]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(
            f"Cannot read {str(path)!r}: {error}.", hint="It must be a TOML file; see docs/offline.md."
        ) from error
    found: dict[str, SourcedValue] = {}
    for key, value in table.items():
        if key not in _OWN_KEYS or (text := _text(_OWN_KEYS[key], value)) is None:
            hint = f"Known: {', '.join(_OWN_KEYS)}."
            raise UserError(f"{key!r} in {str(path)!r} is no setting, or not of its kind.", hint=hint)
        found[_OWN_KEYS[key]] = SourcedValue(value=text, source=str(path))
    return found


def _of_environment(variables: Mapping[str, str]) -> dict[str, SourcedValue]:
    found: dict[str, SourcedValue] = {}
    for name, aliases in _ALIASES.items():
        for alias in aliases:
            if value := variables.get(alias, "").strip():
                if name == "SSL_CERT_FILE" and alias != name and Path(value).is_dir():
                    # requests takes a folder under the same name.
                    found.setdefault("SSL_CERT_DIR", SourcedValue(value=value, source=f"${alias}"))
                    continue
                is_list = alias == "PIP_FIND_LINKS"
                found[name] = SourcedValue(value=",".join(value.split()) if is_list else value, source=f"${alias}")
                break
    found |= {
        name: SourcedValue(value=value, source=f"${name}")
        for name, value in variables.items()
        if _INDEX_USER.fullmatch(name)
    }
    return found


def _of_files(variables: Mapping[str, str], home: Path) -> tuple[dict[str, SourcedValue], list[str]]:
    """uv's files before pip's, a person's before the machine's."""
    found: dict[str, SourcedValue] = {}
    unreadable: list[str] = []
    for path, read in [
        *((path, _uv_settings) for path in _uv_files(variables, home)),
        *((path, _pip_settings) for path in _pip_files(variables, home)),
    ]:
        try:
            settings = dict(read(path.read_text("utf-8")))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError, configparser.Error):
            unreadable.append(str(path))
            continue
        for name, value in settings.items():
            found.setdefault(name, SourcedValue(value=value, source=str(path)))
    if (netrc := home / ".netrc").is_file():
        found.setdefault("NETRC", SourcedValue(value=str(netrc), source=str(netrc)))
    if store := next((file for file in _MACHINE_STORES if Path(file).is_file()), ""):
        # A company's own authority is in the machine's store, not in uv's.
        found.setdefault("UV_SYSTEM_CERTS", SourcedValue(value="true", source=store))
    return found, unreadable


def _uv_files(variables: Mapping[str, str], home: Path) -> list[Path]:
    if variables.get("UV_NO_CONFIG", "").lower() in {"1", "true"}:
        return []
    if chosen := variables.get("UV_CONFIG_FILE"):
        return [Path(chosen)]
    person = Path(variables.get("XDG_CONFIG_HOME") or home / ".config")
    return [person / "uv" / "uv.toml", Path("/etc/uv/uv.toml")]


def _pip_files(variables: Mapping[str, str], home: Path) -> list[Path]:
    if (chosen := variables.get("PIP_CONFIG_FILE")) == "/dev/null":
        return []
    person = Path(variables.get("XDG_CONFIG_HOME") or home / ".config")
    files = [Path(sys.prefix, "pip.conf"), person / "pip" / "pip.conf", home / ".pip" / "pip.conf"]
    return [*([Path(chosen)] if chosen else []), *files, Path("/etc/xdg/pip/pip.conf"), Path("/etc/pip.conf")]


def _uv_settings(text: str) -> Iterator[tuple[str, str]]:
    table = tomllib.loads(text)
    pip = table.get("pip", {})
    # What stands under [pip] is meant for installing, so it wins.
    flat = {**table, **(cast("dict[str, Any]", pip) if isinstance(pip, dict) else {})}
    for key, name in _UV_KEYS.items():
        if key in flat and (value := _text(name, flat[key])):
            yield name, value
    indexes = [cast("dict[str, Any]", one) for one in table.get("index", []) if isinstance(one, dict)]
    for one in indexes:
        if one.get("default") and isinstance(one.get("url"), str):
            yield "UV_DEFAULT_INDEX", one["url"]
    extra = [f"{one['name']}={one['url']}" if "name" in one else str(one["url"])
             for one in indexes if "url" in one and not one.get("default") and not one.get("explicit")]  # fmt: skip
    if extra:
        yield "UV_INDEX", " ".join(extra)


def _pip_settings(text: str) -> Iterator[tuple[str, str]]:
    parser = configparser.RawConfigParser()
    parser.read_string(text)
    for section in ("global", "install"):
        for key, value in parser.items(section) if parser.has_section(section) else ():
            # pip calls a key in its file as it calls the variable; timeouts and retries are taken from variables only.
            variable = f"PIP_{key.replace('-', '_').upper()}"
            for name, aliases in _ALIASES.items():
                if variable in aliases and not name.startswith("UV_HTTP_") and (words := value.split()):
                    yield name, (",".join if name in _COMMAS else " ".join)(words)


def _text(name: str, value: object) -> str | None:
    match value:
        case bool():
            return "true" if value else ""
        case str():
            return value
        case list() if all(isinstance(one, str) for one in cast("list[object]", value)):
            return ("," if name in _COMMAS else " ").join(cast("list[str]", value))
        case _:
            return None
