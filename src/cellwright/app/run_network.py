"""A run's network: what rules, envelope and people allow, who was visited, and the proxy settings it was started with.

Both the permissions given and the settings outlast the process: after a crash, cells that read from a host run again.
Settings may hold passwords, so they are in a file of the state directory that only its owner can read, and nowhere
else: not in the journal, not in a log, not in a prompt.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream
from pydantic import TypeAdapter, ValidationError

from cellwright.app.notebook_exchanges import NotebookExchanges
from cellwright.errors import Defect
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.network import NetworkSettings
from cellwright.notebook.atomic_write import write_atomically, write_new
from cellwright.policy.actions import Action, UseNetwork
from cellwright.policy.approvals import AgreedEnvelope
from cellwright.policy.judgement import Allow, judge
from cellwright.policy.rules import Rules
from cellwright.runs.events import HostVisited
from cellwright.sandbox.egress import Allowed, AllowedHost, Denied, Egress, EgressCaps, EgressRecord, Verdict
from cellwright.sandbox.egress.server_connector import Resolve, resolve_here
from cellwright.settings import Settings
from cellwright.tools.web_tools import EgressFetch

_VISITS_PER_APPEND: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """How hosts are found and whom to trust. Which of them may be reached is for rules and people to say."""

    private_hosts: frozenset[str] = frozenset()
    """Names that may lead to this machine or its own network, once they are approved."""
    certificates: Path | None = None
    """A PEM file with authorities to trust besides the usual ones."""
    connection: NetworkSettings = field(default_factory=NetworkSettings)
    """The proxy to take, if there is one."""
    caps: EgressCaps | None = None
    resolve: Resolve = resolve_here

    @classmethod
    def of(cls, settings: Settings) -> Network:
        """As the person's settings say."""
        return cls(
            private_hosts=settings.private_hosts, certificates=settings.certificates, connection=settings.connection
        )

    def may_be_private(self, host: str) -> bool:
        """Whether a yes to this name also means this machine or its network: it is listed, or says so itself."""
        try:
            ip_address(host.strip("[]"))
        except ValueError:
            return host in self.private_hosts or host == "localhost" or host.endswith(".localhost")
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPolicy:
    """What was agreed for a run before it began."""

    rules: Rules
    envelope: AgreedEnvelope | None
    run: str

    def allows(self, host: str, port: int) -> bool:
        """Whether nobody need be asked. Standing grants count, too, but are looked up when permission is asked for."""
        wanted = UseNetwork(host=host, port=port, purpose="the notebook")
        return isinstance(judge(wanted, self.rules, self.envelope, run=self.run, now=datetime.now(UTC)), Allow)


@dataclass(frozen=True, slots=True, kw_only=True)
class _HostPermission:
    """A host and port that a person, or a standing grant, let the notebook's code reach."""

    host: str
    port: int


_HOST_PERMISSIONS: Final = TypeAdapter(list[_HostPermission])


class NetworkAccess:
    """The only connection of a workspace to the network. Made by `open_network_access`."""

    def __init__(
        self,
        network: Network,
        agreed: NetworkPolicy,
        kept: Path,
        on_visit: Callable[[EgressRecord], None],
        exchanges: NotebookExchanges | None = None,
    ) -> None:
        self._network = network
        self._agreed = agreed
        self._kept = kept
        self._permissions: list[_HostPermission] = []
        both: dict[str, Any] = {
            "resolve": network.resolve,
            "certificates": network.certificates,
            "on_visit": on_visit,
            "connection": network.connection,
        }
        completed = {} if exchanges is None else exchanges.egress_options()
        self.egress: Final = Egress(decide=self._decide, caps=network.caps, **both, **completed)
        """For the notebook's code."""
        self.fetch: Final = EgressFetch(private_hosts=network.private_hosts, **both)
        """For the web tool, which asks about every page."""

    async def grant(self, action: Action) -> None:
        """From now on the notebook's code may reach the host this action names; other actions change nothing here."""
        if not isinstance(action, UseNetwork):
            return
        permission = _HostPermission(host=AllowedHost(name=action.host).normal(), port=action.port)
        if permission not in self._permissions:
            permissions = [*self._permissions, permission]
            await anyio.to_thread.run_sync(_write_permissions, self._kept, permissions)
            self._allow(permissions)

    async def restore(self) -> None:
        """Allow again what was allowed before this process."""
        self._allow(await anyio.to_thread.run_sync(_read_permissions, self._kept))

    def _allow(self, permissions: list[_HostPermission]) -> None:
        self._permissions = permissions
        for host in {permission.host for permission in permissions}:
            ports = tuple(sorted(permission.port for permission in permissions if permission.host == host))
            is_private = self._network.may_be_private(host)
            self.egress.allow(AllowedHost(name=host, ports=ports, has_private_addresses=is_private))

    def _decide(self, host: str, port: int) -> Verdict:
        if not self._agreed.allows(host, port):
            return Denied()
        return Allowed(has_private_addresses=self._network.may_be_private(host))


@asynccontextmanager
async def open_network_access(
    network: Network,
    agreed: NetworkPolicy,
    *,
    kept: Path,
    records: Records,
    exchanges: NotebookExchanges | None = None,
) -> AsyncGenerator[NetworkAccess]:
    """Access whose every visit is an event of the run's stream; permissions outlast the process in `kept`.

    Requests to hosts of connections are completed by `exchanges`, if there are any.
    """
    # As many as the egress lets through: its caps bound them.
    visited, visits = anyio.create_memory_object_stream[EgressRecord](math.inf)
    with unwrap_single_error():
        async with anyio.create_task_group() as tasks, visited:
            tasks.start_soon(_record_visits, visits, records, stream_of(agreed.run))
            # It reads every certificate that this machine trusts.
            access = await anyio.to_thread.run_sync(
                NetworkAccess, network, agreed, kept, visited.send_nowait, exchanges
            )
            await access.restore()
            yield access


async def _record_visits(visits: MemoryObjectReceiveStream[EgressRecord], records: Records, stream: str) -> None:
    """Append each visit; what was made before the end is recorded even when all else is cancelled."""
    with anyio.CancelScope(shield=True):
        async with visits:
            async for first in visits:
                events = [_event(first)]
                while len(events) < _VISITS_PER_APPEND and visits.statistics().current_buffer_used:
                    events.append(_event(visits.receive_nowait()))
                await records.log.append(stream, *events)


def _event(visit: EgressRecord) -> HostVisited:
    where = f" at {visit.address}" if visit.address else ""
    why = f": {visit.why}" if visit.why else ""
    return HostVisited(
        host=f"{visit.host}:{visit.port}",
        verdict=f"{visit.verdict}{where}{why}",
        bytes_in=visit.bytes_in,
        bytes_out=visit.bytes_out,
        milliseconds=round(visit.milliseconds),
    )


# ── how permissions are stored ──


def _read_permissions(path: Path) -> list[_HostPermission]:
    try:
        return _HOST_PERMISSIONS.validate_json(path.read_bytes())
    except FileNotFoundError:
        return []
    except ValidationError as error:
        raise Defect(f"The hosts in {str(path)!r} that leave was given for cannot be read: {error}.") from error


def _write_permissions(path: Path, permissions: list[_HostPermission]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(path, _HOST_PERMISSIONS.dump_json(permissions))


_FILE: Final = "connection.json"
_VARIABLES: Final = TypeAdapter(dict[str, str])


def store_network_variables(folder: Path, variables: Mapping[str, str]) -> None:
    """Remember these for the run of this folder; a run that has some keeps them. Blocking."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    # It is there already where the same start was requested twice.
    write_new(folder / _FILE, _VARIABLES.dump_json(dict(variables)), mode=0o600)


def stored_network_variables(folder: Path) -> dict[str, str] | None:
    """What the run of this folder was started with; None: nobody said. Blocking."""
    try:
        return _VARIABLES.validate_json((folder / _FILE).read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise Defect(f"The connection kept in {str(folder)!r} cannot be read.") from error
