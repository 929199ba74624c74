"""What the person's environment says, read once.

Sits above every room, so no room can read it: constructors receive values.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from cellwright.background import current_person
from cellwright.data.broker_process import BrokerLaunch
from cellwright.errors import UserError
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.network import OWN_FILE, NetworkSettings, NetworkSources, command_settings, read_network_sources

_WAY_VARIABLES: Final = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Paths and passed-on variables."""

    home: Path
    """The state directory: mode 0700, never visible in a cage."""
    cache: Path
    """What can be thrown away and built again, e.g. notebook environments."""
    team_rules: Path | None = None
    """The team's rule file, `$CELLWRIGHT_TEAM_RULES`."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """All of it, for programs started on the person's behalf, each of which takes what it needs."""
    sources: NetworkSources = field(default_factory=NetworkSources, repr=False)
    """Proxies, certificates and package indexes in force, and where each was set."""
    connection: NetworkSettings = field(default_factory=NetworkSettings)
    """The same without where: what every part of the host connects with."""
    user_home: Path = field(default_factory=Path.home)
    """What `~` stands for in rules."""
    private_hosts: frozenset[str] = frozenset()
    """Hosts that may lead into the private network once they are approved, `$CELLWRIGHT_PRIVATE_HOSTS`."""
    certificates: Path | None = None
    """Authorities to trust besides the usual ones, `$SSL_CERT_FILE` of the connection."""
    git_name: str = ""
    """Whose name an agent's commits bear, `$GIT_AUTHOR_NAME`; empty: that of the person it works for."""
    git_email: str = ""
    """Their address, `$GIT_AUTHOR_EMAIL`."""

    @classmethod
    def read(cls, variables: Mapping[str, str] | None = None) -> Settings:
        """From `$CELLWRIGHT_HOME`, else the XDG folders. Raises `UserError` for a mistake in `network.toml`."""
        variables = os.environ if variables is None else variables
        person = Path(variables.get("HOME") or "/")
        state = Path(variables.get("XDG_STATE_HOME") or person / ".local" / "state")
        cache = Path(variables.get("XDG_CACHE_HOME") or person / ".cache")
        own = variables.get("CELLWRIGHT_HOME")
        home = Path(own) if own else state / "cellwright"
        sources = read_network_sources(variables, own=home / OWN_FILE, home=person)
        return cls(
            home=home,
            cache=Path(own) / "cache" if own else cache / "cellwright",
            team_rules=Path(team) if (team := variables.get("CELLWRIGHT_TEAM_RULES")) else None,
            environment=dict(variables),
            sources=sources,
            connection=sources.connection,
            user_home=person,
            private_hosts=frozenset(variables.get("CELLWRIGHT_PRIVATE_HOSTS", "").replace(",", " ").lower().split()),
            certificates=sources.connection.certificates,
            git_name=variables.get("GIT_AUTHOR_NAME", ""),
            git_email=variables.get("GIT_AUTHOR_EMAIL", ""),
        )

    def for_command(self, asked: Mapping[str, str]) -> Settings:
        """For a run whose command had these connection settings in force: what `network.toml` says still wins."""
        connection = command_settings(asked, own=self.home / OWN_FILE)
        return replace(self, connection=connection, certificates=connection.certificates)

    @property
    def program_environment(self) -> dict[str, str]:
        """The person's variables with the proxies and certificates in force, wherever those were set."""
        others = {name: value for name, value in self.environment.items() if name.upper() not in _WAY_VARIABLES}
        return others | self._way

    @property
    def _way(self) -> dict[str, str]:
        """Proxies and certificates in force, without package indexes and their passwords."""
        return {name: value for name, value in self.connection.settings if name in _WAY_VARIABLES}

    @property
    def uv_cache(self) -> Path:
        """Where the person's own uv keeps what it downloaded."""
        own, xdg = self.environment.get("UV_CACHE_DIR"), self.environment.get("XDG_CACHE_HOME")
        return Path(own) if own else Path(xdg or self.user_home / ".cache") / "uv"

    def gateway_launch(
        self, *, person: str | None = None, idle_seconds: float = 300, keys: Mapping[str, str] = MappingProxyType({})
    ) -> GatewayLaunch:
        """How the model gateway is started for this person, or for whoever's process this is, if none runs."""
        return GatewayLaunch(
            home=self.ready_home(),
            environment=self.program_environment,
            keys=keys,
            connection=self.connection.variables,
            idle_seconds=idle_seconds,
            person=current_person() if person is None else person,
            team_rules=self.team_rules,
        )

    def broker_launch(self) -> BrokerLaunch:
        """How the data broker is started for this person, if none runs, and how it connects for what is asked."""
        return BrokerLaunch(
            home=self.ready_home(), environment=self.program_environment, cache=self.cache, network=self._way
        )

    def ready_home(self) -> Path:
        """The state directory, made if need be, closed to everyone else."""
        try:
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.home.chmod(0o700)
        except OSError as error:
            raise UserError(
                f"The state directory {str(self.home)!r} cannot be made: {error.strerror}.",
                hint="Set CELLWRIGHT_HOME to a directory of your own. A container's user without an entry in "
                "/etc/passwd has HOME=/.",
            ) from error
        return self.home


def forget_variables(names: Iterable[str]) -> None:
    """Take variables out of this process's environment, and so out of that of every process it starts."""
    for name in names:
        os.environ.pop(name, None)
