"""What this machine can do, what it cannot, and what follows from that, for whichever interface asks."""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from cellwright.errors import CellwrightError, Unavailable
from cellwright.journal.database import SQLITE_VERSION
from cellwright.kernel.process.zygote import Zygote
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch, running_pid
from cellwright.models.config.configuration import Endpoint, configuration_at
from cellwright.models.config.keys import key_remedy
from cellwright.models.config.names import ModelName
from cellwright.network import NetworkSources, SourcedValue, masked
from cellwright.remedies import Hint, hint_after
from cellwright.sandbox.host.tiers import SandboxReport, probe
from cellwright.sandbox.linux.huge_pages import can_gather, huge_page_bytes
from cellwright.secrets import kept_secrets
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.agents.role import Role

_KIB: Final = 1024
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorCheck:
    """One thing that was looked at."""

    name: str
    is_ok: bool
    detail: str
    consequence: Hint = ""
    """What follows if it is not well, or what to do."""


def memory_pages(page_bytes: int, huge_bytes: int | None, *, is_usable: bool) -> DoctorCheck:
    """The size of pages, and what follows where the zygote cannot lie in huge ones."""
    huge = "no huge pages" if huge_bytes is None else f"huge pages of {huge_bytes // _MIB} MiB"
    unused = "" if is_usable or huge_bytes is None else ", which are not used"
    return DoctorCheck(
        name="memory pages",
        is_ok=is_usable,
        detail=f"{page_bytes // _KIB} KiB, {huge}{unused}",
        consequence="" if is_usable else "Kernels and branches start a few milliseconds later; nothing else changes.",
    )


def windows_beneath(release: str, *, has_landlock: bool) -> list[DoctorCheck]:
    """What WSL means for the sandbox, from the kernel's release; nothing on any other Linux."""
    if "microsoft" not in release.lower():
        return []
    if "wsl2" not in release.lower():
        # WSL 1 answers as "4.4.0-19041-Microsoft": it imitates system calls, and has none of a cage's.
        cure = "`wsl --set-version DISTRIBUTION 2` in PowerShell turns it into WSL2, which can contain notebooks."
        return [DoctorCheck(name="WSL", is_ok=False, detail=f"WSL 1 ({release}) is no Linux kernel", consequence=cure)]
    detail = f"WSL2, kernel {release} {'with' if has_landlock else 'without'} Landlock"
    cure = "`wsl --update` in PowerShell; and no `kernel=`, nor an `lsm=` without landlock, in .wslconfig."
    return [DoctorCheck(name="WSL", is_ok=has_landlock, detail=detail, consequence="" if has_landlock else cure)]


_MIN_FREE_GB: Final = 2
_KEYS_TIMEOUT_SECONDS: Final = 8
_CONNECT_TIMEOUT_SECONDS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """Everything that was looked at."""

    sandbox: SandboxReport
    checks: tuple[DoctorCheck, ...]
    network: Mapping[str, SourcedValue]
    """Proxies, certificates and indexes in force, without passwords."""

    @property
    def is_ok(self) -> bool:
        """Whether notebooks can run contained."""
        return self.sandbox.tier != "D" and all(check.is_ok for check in self.checks if check.name == "zygote")


async def examine_machine(settings: Settings, *, launch: GatewayLaunch | None = None) -> DoctorReport:
    """Look at Python, marimo, the sandbox, the zygote, the disk, the network's settings and models.

    Takes a second; starts no gateway and connects to nothing outside.
    """
    sandbox = await anyio.to_thread.run_sync(probe)
    found = sorted(settings.sources.found.items())
    network = {name: replace(one, value=masked(name, one.value)) for name, one in found if one.value}
    return DoctorReport(
        sandbox=sandbox,
        network=network,
        checks=(
            DoctorCheck(
                name="python",
                is_ok=True,
                detail=f"{platform.python_version()} on {platform.machine()}, with SQLite {SQLITE_VERSION}",
            ),
            DoctorCheck(name="marimo", is_ok=True, detail=f"{version('marimo')} (pinned)"),
            *_containment(sandbox),
            *_machine(sandbox),
            await _zygote(settings),
            await anyio.to_thread.run_sync(_disk, settings),
            *_network(network, settings.sources),
            *await _models(
                settings, launch or GatewayLaunch(home=settings.home, environment=settings.program_environment)
            ),
        ),
    )


def _containment(sandbox: SandboxReport) -> list[DoctorCheck]:
    """What there is, and why it is no better tier: what is there may still not be enough for a cage."""
    there = [
        DoctorCheck(
            name=f"sandbox: {protection.name}",
            is_ok=protection.present,
            detail=protection.detail,
            consequence=protection.consequence,
        )
        for protection in sandbox.protections
    ]
    return there + [
        DoctorCheck(name=f"sandbox: tier {missed.tier}", is_ok=False, detail=missed.reason, consequence=missed.cure)
        for missed in sandbox.obstacles
    ]


def _machine(sandbox: SandboxReport) -> list[DoctorCheck]:
    huge_bytes = huge_page_bytes()
    pages = memory_pages(os.sysconf("SC_PAGESIZE"), huge_bytes, is_usable=can_gather(huge_bytes))
    has_landlock = any(protection.name == "landlock" and protection.present for protection in sandbox.protections)
    return [pages, *windows_beneath(platform.release(), has_landlock=has_landlock)]


async def _zygote(settings: Settings) -> DoctorCheck:
    began = time.perf_counter()
    try:
        async with Zygote.open(settings.cache / "zygote") as zygote:
            facts = await zygote.warm_up()
    except CellwrightError as error:
        consequence = hint_after("No notebook can run.", error.advice)
        return DoctorCheck(name="zygote", is_ok=False, detail=error.message, consequence=consequence)
    off = [patch["name"] for patch in facts["patches"] if patch["state"] != "PatchApplied"]
    detail = f"warm in {(time.perf_counter() - began) * 1e3:.0f} ms, {facts['threads']} thread"
    if off:
        detail += f"; without the speed patches {', '.join(off)}"
    consequence = "A zygote with threads cannot fork safely."
    return DoctorCheck(name="zygote", is_ok=facts["threads"] == 1, detail=detail, consequence=consequence)


def _disk(settings: Settings) -> DoctorCheck:
    folder = settings.home
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free / 1e9
    detail = f"{free:.1f} GB free at the state directory"
    return DoctorCheck(name="disk", is_ok=free > _MIN_FREE_GB, detail=detail, consequence="Environments may not fit.")


def _network(network: Mapping[str, SourcedValue], sources: NetworkSources) -> list[DoctorCheck]:
    shown = [
        DoctorCheck(name=f"network: {name}", is_ok=not (why := _missing(sources, name)),
              detail=f"{one.value} (from {one.source})", consequence=why)
        for name, one in network.items()
    ]  # fmt: skip
    unread = [
        DoctorCheck(
            name="network", is_ok=False, detail=f"{file} cannot be read", consequence="Nothing in it is in force."
        )
        for file in sources.unreadable
    ]
    direct = DoctorCheck(name="network", is_ok=True, detail="no proxy, certificates or package index are set")
    return [*(shown or [direct]), *unread]


def _missing(sources: NetworkSources, name: str) -> str:
    """What is wrong with a setting that names a file or a folder."""
    is_file = name in {"SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT", "NETRC"}
    return "It is not there, so it is not used." if is_file and not Path(sources.found[name].value).exists() else ""


async def _models(settings: Settings, launch: GatewayLaunch) -> list[DoctorCheck]:
    """Which providers are ready: a gateway that runs is asked, otherwise the stored keys are looked at."""
    try:
        configuration = await anyio.to_thread.run_sync(configuration_at, settings.home)
        sources = await _key_sources(settings, launch)
    except CellwrightError as error:
        return [DoctorCheck(name="models", is_ok=False, detail=error.message, consequence=error.advice)]
    return [
        _keyed(endpoint, sources.get(name)) if endpoint.key == "required" else await _keyless(endpoint)
        for name, endpoint in sorted(configuration.endpoints.items())
    ]


async def _key_sources(settings: Settings, launch: GatewayLaunch) -> Mapping[str, str]:
    """Where each provider's key is; a name is missing if there is none, or if nothing answered in time.

    Without a gateway to ask, by what was kept: no key comes into this process.
    """
    with anyio.move_on_after(_KEYS_TIMEOUT_SECONDS), suppress(Unavailable):
        if await anyio.to_thread.run_sync(running_pid, settings.home) is not None:
            async with Models.open(settings.home, launch=launch) as models:
                providers = (await models.providers()).providers
            return {provider.name: provider.key_from for provider in providers if provider.is_ready}
    return await anyio.to_thread.run_sync(kept_secrets, settings.home)


def _keyed(endpoint: Endpoint, source: str | None) -> DoctorCheck:
    detail = f"key from {source}" if source else "no key"
    return DoctorCheck(
        name=f"models: {endpoint.name}", is_ok=source is not None, detail=detail, consequence=key_remedy(endpoint.name)
    )


async def _keyless(endpoint: Endpoint) -> DoctorCheck:
    """An endpoint on this machine is knocked at; one elsewhere is not."""
    name, url = f"models: {endpoint.name}", urlsplit(endpoint.base_url or "")
    if not endpoint.local or not url.hostname:
        return DoctorCheck(name=name, is_ok=True, detail="needs no key")
    port = url.port or (443 if url.scheme == "https" else 80)
    if await _is_listening(url.hostname, port):
        return DoctorCheck(name=name, is_ok=True, detail=f"listens at {url.hostname}:{port}, needs no key")
    detail = f"nothing listens at {url.hostname}:{port}"
    return DoctorCheck(name=name, is_ok=False, detail=detail, consequence="Start it, or leave it out: it needs no key.")


async def _is_listening(host: str, port: int) -> bool:
    try:
        with anyio.fail_after(_CONNECT_TIMEOUT_SECONDS):
            await (await anyio.connect_tcp(host, port)).aclose()
    except OSError:
        return False
    return True


async def has_model(models: Models, roles: Mapping[str, Role], *, is_private: bool) -> bool:
    """Whether one of these roles would find a model: one that has its key, or one here where somebody listens."""
    tiers = {role.tier for role in roles.values()}
    ready = [
        model
        for model in (await models.listed()).models
        if model.is_ready and tiers & set(model.tiers) and (model.is_local or not is_private)
    ]
    if not ready or any(not model.is_local for model in ready):
        return bool(ready)
    names = {ModelName.parse(model.name).provider for model in ready}
    return any([await _answers(each.base_url) for each in (await models.providers()).providers if each.name in names])


async def _answers(address: str) -> bool:
    """Where there is no address to try, it is taken for there."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return False
    return await _is_listening(host, port) if host and port else not address
