"""What this machine can do, what it cannot, and what follows from that, for whichever door asks."""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from cellwright.app.machine_facts import memory_pages, windows_beneath
from cellwright.connection import Sources, masked
from cellwright.errors import CellwrightError, Unavailable, UserError
from cellwright.journal.database import SQLITE_VERSION
from cellwright.kernel import Zygote
from cellwright.models.client import Models
from cellwright.models.configuration import Configuration, Endpoint, read_configuration
from cellwright.models.keys import kept_keys, variable_of
from cellwright.models.launching import Launch, running_pid
from cellwright.models.reports import ProvidersReport
from cellwright.sandbox import Report, probe
from cellwright.sandbox.huge_pages import can_gather, huge_page_bytes
from cellwright.settings import Settings

_FREE_GB: Final = 2
_KEYS_SECONDS: Final = 8
_LOCAL_SECONDS: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    is_ok: bool
    detail: str
    consequence: str = ""
    """What follows if it is not well, or what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSetting:
    """A proxy, certificate or index setting in force, without its password."""

    name: str
    value: str
    source: str
    """The variable or file it was set by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Everything that was looked at."""

    sandbox: Report
    checks: tuple[Check, ...]
    network: tuple[ShownSetting, ...] = ()

    @property
    def is_ok(self) -> bool:
        """Whether notebooks can run contained."""
        return self.sandbox.tier != "D" and all(check.is_ok for check in self.checks if check.name == "zygote")


async def examine(settings: Settings, *, launch: Launch | None = None) -> Examination:
    """Look at Python, marimo, the sandbox, the zygote, the disk, the network's settings and models.

    Takes a second; starts no gateway and connects to nothing outside.
    """
    sandbox = await anyio.to_thread.run_sync(probe)
    network = shown_settings(settings.sources)
    return Examination(
        sandbox=sandbox,
        network=network,
        checks=(
            Check(name="python", is_ok=True, detail=_python()),
            Check(name="marimo", is_ok=True, detail=f"{version('marimo')} (pinned)"),
            *_protections(sandbox),
            *_obstacles(sandbox),
            *_machine(sandbox),
            await _zygote(settings),
            await anyio.to_thread.run_sync(_disk, settings),
            *_network(network, settings.sources),
            *await _models(settings, launch or Launch(home=settings.home, environment=settings.program_environment)),
        ),
    )


def _python() -> str:
    return f"{platform.python_version()} on {platform.machine()}, with SQLite {SQLITE_VERSION}"


def _protections(sandbox: Report) -> list[Check]:
    return [
        Check(
            name=f"sandbox: {protection.name}",
            is_ok=protection.present,
            detail=protection.detail,
            consequence=protection.consequence,
        )
        for protection in sandbox.protections
    ]


def _obstacles(sandbox: Report) -> list[Check]:
    """Why it is no better tier, beside what there is: what is there may still not be enough for a cage."""
    return [
        Check(name=f"sandbox: tier {told.tier}", is_ok=False, detail=told.reason, consequence=told.cure)
        for told in sandbox.obstacles
    ]


def _machine(sandbox: Report) -> list[Check]:
    huge_bytes = huge_page_bytes()
    pages = memory_pages(os.sysconf("SC_PAGESIZE"), huge_bytes, is_usable=can_gather(huge_bytes))
    has_landlock = any(protection.name == "landlock" and protection.present for protection in sandbox.protections)
    windows = windows_beneath(platform.release(), has_landlock=has_landlock)
    return [Check(**fact._asdict()) for fact in (pages, *windows)]


async def _zygote(settings: Settings) -> Check:
    began = time.perf_counter()
    try:
        async with Zygote.open(settings.cache / "zygote") as zygote:
            facts = zygote.facts
    except CellwrightError as error:
        consequence = f"No notebook can run. {error.hint}".rstrip()
        return Check(name="zygote", is_ok=False, detail=error.message, consequence=consequence)
    off = [patch["name"] for patch in facts["patches"] if patch["state"] != "Applied"]
    detail = f"warm in {(time.perf_counter() - began) * 1e3:.0f} ms, {facts['threads']} thread"
    if off:
        detail += f"; without the speed patches {', '.join(off)}"
    consequence = "A zygote with threads cannot fork safely."
    return Check(name="zygote", is_ok=facts["threads"] == 1, detail=detail, consequence=consequence)


def _disk(settings: Settings) -> Check:
    place = settings.home
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free / 1e9
    detail = f"{free:.1f} GB free at the state directory"
    return Check(name="disk", is_ok=free > _FREE_GB, detail=detail, consequence="Environments may not fit.")


def shown_settings(sources: Sources) -> tuple[ShownSetting, ...]:
    """What is in force and where it was set, as it may be shown."""
    return tuple(
        ShownSetting(name=name, value=masked(name, found.value), source=found.source)
        for name, found in sorted(sources.found.items())
        if found.value
    )


def _network(network: tuple[ShownSetting, ...], sources: Sources) -> list[Check]:
    shown = [
        Check(name=f"network: {one.name}", is_ok=not (why := _missing(sources, one.name)),
              detail=f"{one.value} (from {one.source})", consequence=why)
        for one in network
    ]  # fmt: skip
    unread = [
        Check(name="network", is_ok=False, detail=f"{file} cannot be read", consequence="Nothing in it is in force.")
        for file in sources.unreadable
    ]
    direct = Check(name="network", is_ok=True, detail="no proxy, certificates or package index are set")
    return [*(shown or [direct]), *unread]


def _missing(sources: Sources, name: str) -> str:
    """What is wrong with a setting that names a file or a folder."""
    if name in {"SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT", "NETRC"}:
        return "" if Path(sources.found[name].value).exists() else "It is not there, so it is not used."
    return ""


async def _models(settings: Settings, launch: Launch) -> list[Check]:
    """Which providers are ready: a gateway that runs is asked, otherwise the stored keys are looked at."""
    try:
        configuration = await anyio.to_thread.run_sync(configuration_at, settings.home)
        sources = await _key_sources(settings, launch)
    except CellwrightError as error:
        return [Check(name="models", is_ok=False, detail=error.message, consequence=error.hint)]
    return [
        _keyed(endpoint, sources.get(name)) if endpoint.key == "required" else await _keyless(endpoint)
        for name, endpoint in sorted(configuration.endpoints.items())
    ]


def configuration_at(home: Path) -> Configuration:
    """What the person's `models.toml` says. Raises `UserError`. Blocking."""
    file = home / "models.toml"
    try:
        return read_configuration(file.read_text("utf-8"), str(file))
    except FileNotFoundError:
        return Configuration()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read {str(file)!r}: {error}.", hint="It must be a TOML file you may read.") from error


async def _key_sources(settings: Settings, launch: Launch) -> Mapping[str, str]:
    """Where each provider's key is; a name is missing if there is none, or if nothing answered in time.

    Without a gateway to ask, by what was kept: no key comes into this process.
    """
    with anyio.move_on_after(_KEYS_SECONDS):
        if (states := await _told_by_gateway(settings, launch)) is not None:
            return {state.name: state.key_from for state in states.providers if state.is_ready}
    return await anyio.to_thread.run_sync(kept_keys, settings.home)


async def _told_by_gateway(settings: Settings, launch: Launch) -> ProvidersReport | None:
    """None if no gateway runs, or none that answers."""
    if await anyio.to_thread.run_sync(running_pid, settings.home) is None:
        return None
    try:
        async with Models.open(settings.home, launch=launch) as models:
            return await models.providers()
    except Unavailable:
        return None


def _keyed(endpoint: Endpoint, source: str | None) -> Check:
    needed = f"`cellwright models set-key {endpoint.name}`, or start with {variable_of(endpoint.name)} set."
    detail = f"key from {source}" if source else "no key"
    return Check(name=f"models: {endpoint.name}", is_ok=source is not None, detail=detail, consequence=needed)


async def _keyless(endpoint: Endpoint) -> Check:
    """An endpoint on this machine is knocked at; one elsewhere is not."""
    name, url = f"models: {endpoint.name}", urlsplit(endpoint.base_url or "")
    if not endpoint.local or not url.hostname:
        return Check(name=name, is_ok=True, detail="needs no key")
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        with anyio.fail_after(_LOCAL_SECONDS):
            await (await anyio.connect_tcp(url.hostname, port)).aclose()
    except OSError:
        detail = f"nothing listens at {url.hostname}:{port}"
        return Check(name=name, is_ok=False, detail=detail, consequence="Start it, or leave it out: it needs no key.")
    return Check(name=name, is_ok=True, detail=f"listens at {url.hostname}:{port}, needs no key")
