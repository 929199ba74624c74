"""Where the settings come from: Cellwright's own file, the environment, uv's and pip's files; the first one wins."""

from __future__ import annotations

import configparser
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from cellwright.connection.connection import Connection
from cellwright.errors import UserError

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
_PIP_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "index-url": ("UV_DEFAULT_INDEX",),
    "extra-index-url": ("UV_INDEX",),
    "find-links": ("UV_FIND_LINKS",),
    "no-index": ("UV_NO_INDEX",),
    "trusted-host": ("UV_INSECURE_HOST",),
    "cert": ("SSL_CERT_FILE",),
    "client-cert": ("SSL_CLIENT_CERT",),
    "proxy": ("HTTP_PROXY", "HTTPS_PROXY"),
}
_COMMAS: Final = frozenset({"UV_FIND_LINKS", "NO_PROXY"})
"""Lists that are joined by commas; uv separates the others by blanks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One setting in force."""

    value: str = field(repr=False)
    source: str
    """`$NAME` of a variable, or the path of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Every setting in force, by name, and files that could not be read."""

    found: Mapping[str, Found] = field(default_factory=dict[str, Found])
    unreadable: tuple[str, ...] = ()

    @property
    def connection(self) -> Connection:
        """What is in force, wherever it came from."""
        return Connection.of({name: found.value for name, found in self.found.items()})


def read_sources(variables: Mapping[str, str], *, own: Path, home: Path) -> Sources:
    """What is in force for a command with this environment. Blocking. Raises `UserError` for a mistake in `own`."""
    found, unreadable = _of_files(variables, home)
    found = {**found, **_of_environment(variables), **_of_own_file(own)}
    extra = found.get("UV_INDEX")
    if extra and extra.source in {"$PIP_EXTRA_INDEX_URL", *map(str, _pip_files(variables, home))}:
        # Whoever set further indexes for pip relies on its rule, the best match of all; uv's own is the first index
        # that has the name at all, and would find no version of what only another one has.
        found.setdefault("UV_INDEX_STRATEGY", Found(value="unsafe-best-match", source=extra.source))
    return Sources(found=found, unreadable=tuple(unreadable))


def asked_by_command(asked: Mapping[str, str], *, own: Path) -> Connection:
    """What is in force for a run whose command had `asked` in force: settings win, as always. Blocking."""
    known = {name: value for name, value in asked.items() if name in _ALIASES or _INDEX_USER.fullmatch(name)}
    return Connection.of(known | {name: found.value for name, found in _of_own_file(own).items()})


def _of_own_file(path: Path) -> dict[str, Found]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(
            f"Cannot read {str(path)!r}: {error}.", hint="It must be a TOML file; see docs/offline.md."
        ) from error
    found: dict[str, Found] = {}
    for key, value in table.items():
        if key not in _OWN_KEYS or (text := _text(_OWN_KEYS[key], value)) is None:
            hint = f"Known: {', '.join(_OWN_KEYS)}."
            raise UserError(f"{key!r} in {str(path)!r} is no setting, or not of its kind.", hint=hint)
        found[_OWN_KEYS[key]] = Found(value=text, source=str(path))
    return found


def _of_environment(variables: Mapping[str, str]) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for name, aliases in _ALIASES.items():
        for alias in aliases:
            if value := variables.get(alias, "").strip():
                if name == "SSL_CERT_FILE" and alias != name and Path(value).is_dir():
                    # requests takes a folder under the same name.
                    found.setdefault("SSL_CERT_DIR", Found(value=value, source=f"${alias}"))
                    continue
                is_list = alias == "PIP_FIND_LINKS"
                found[name] = Found(value=",".join(value.split()) if is_list else value, source=f"${alias}")
                break
    found |= {
        name: Found(value=value, source=f"${name}") for name, value in variables.items() if _INDEX_USER.fullmatch(name)
    }
    return found


def _of_files(variables: Mapping[str, str], home: Path) -> tuple[dict[str, Found], list[str]]:
    """uv's files before pip's, a person's before the machine's."""
    found: dict[str, Found] = {}
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
            found.setdefault(name, Found(value=value, source=str(path)))
    if (netrc := home / ".netrc").is_file():
        found.setdefault("NETRC", Found(value=str(netrc), source=str(netrc)))
    if store := next((file for file in _MACHINE_STORES if Path(file).is_file()), ""):
        # A company's own authority is in the machine's store, not in uv's.
        found.setdefault("UV_SYSTEM_CERTS", Found(value="true", source=store))
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
            for name in _PIP_KEYS.get(key.replace("_", "-"), ()):
                if words := value.split():
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
