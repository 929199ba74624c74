"""How a daemon is started, and what it is told: no key, no secret, nothing that is only in the person's terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from cellwright.background import BackgroundProcess, ProcessLaunch, clean_environment
from cellwright.models.client.gateway_process import MARKER
from cellwright.models.config.keys import key_variables
from cellwright.remedies import remedy
from cellwright.server.http.addresses import WebOptions
from cellwright.settings import Settings

IDLE_SECONDS: Final = 600.0
COMMAND: Final = (sys.executable, "-I", "-m", "cellwright.server")
FOREGROUND: Final = "--foreground"
"""The daemon stays in the process and the session it was started in."""
_ALSO: Final = ("CELLWRIGHT_", "UV_", "PIP_", "NETRC", "XDG_STATE_HOME", "XDG_CACHE_HOME", "GIT_AUTHOR_")
_PATHS: Final = ("home", "cache", "team_rules", "user_home", "certificates")
"""Of the settings; empty: there is none."""
_NEVER: Final = "UV_PUBLISH_"
"""Tokens for uploading packages, which no run does."""


def package_version() -> str:
    """Of this Cellwright."""
    return version("cellwright")


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonLaunch:
    """How a daemon is started, if none runs."""

    idle_seconds: float = IDLE_SECONDS
    """It ends after so long without a run at work and without a connection; `math.inf`: only when told."""
    command: tuple[str, ...] = COMMAND
    start_seconds: float = 120
    """How long to wait for a daemon to listen."""
    version: str = field(default_factory=package_version)
    """Of whoever asks: an older daemon is replaced, a newer one is left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStart:
    """What a daemon is told at its start, over its standard input."""

    settings: Settings
    idle_seconds: float = IDLE_SECONDS
    web: WebOptions | None = None
    """Open the web server with these; None: when somebody asks for it."""
    is_json: bool = False
    """Whether what it says in the foreground, once it listens, is for a program."""
    url_to: int | None = None
    """The descriptor that the web server's address is also written to, in the foreground."""


def daemon_at(home: Path) -> BackgroundProcess:
    """The daemon of this state directory, whether it runs or not."""
    return BackgroundProcess(home=home, name="daemon", called="daemon", ended_by=remedy("stop_daemon", how="kill"))


def background_start(settings: Settings, launch: DaemonLaunch) -> ProcessLaunch:
    """How the daemon for these settings is started in the background."""
    start = DaemonStart(settings=settings, idle_seconds=launch.idle_seconds)
    return ProcessLaunch(
        command=launch.command,
        environment=daemon_environment(settings),
        start_message=start_message(start),
        seconds=launch.start_seconds,
    )


def daemon_environment(settings: Settings) -> dict[str, str]:
    """Of the person's environment, what the daemon gets."""
    found = clean_environment(settings.environment, also=_ALSO)
    keys = key_variables(found)
    return {
        name: value
        for name, value in found.items()
        if name not in keys and name != MARKER and not name.startswith(_NEVER)
    }


def start_message(start: DaemonStart) -> dict[str, Any]:
    """As plain values. Variables are not among them: the daemon has its own environment."""
    settings = start.settings
    paths = {name: getattr(settings, name) for name in _PATHS}
    return {
        **{name: str(path.absolute()) if path is not None else "" for name, path in paths.items()},
        "private_hosts": sorted(settings.private_hosts),
        "git_name": settings.git_name,
        "git_email": settings.git_email,
        "idle_seconds": None if math.isinf(start.idle_seconds) else start.idle_seconds,
        "web": asdict(start.web) if start.web is not None else None,
        "is_json": start.is_json,
        "url_to": start.url_to,
    }


def read_start(plain: Mapping[str, Any], own: Settings) -> DaemonStart:
    """What was told, with the variables of the daemon's `own` environment."""
    sent: dict[str, Any] = {name: Path(plain[name]) if plain[name] else None for name in _PATHS}
    sent |= {"private_hosts": frozenset(plain["private_hosts"])}
    return DaemonStart(
        settings=replace(own, **sent, git_name=plain["git_name"], git_email=plain["git_email"]),
        idle_seconds=math.inf if plain["idle_seconds"] is None else float(plain["idle_seconds"]),
        web=WebOptions(**plain["web"]) if plain["web"] is not None else None,
        is_json=plain["is_json"],
        url_to=plain["url_to"],
    )
