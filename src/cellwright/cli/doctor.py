"""`cellwright doctor`: what this machine can do, what it cannot, and what follows from that."""

from __future__ import annotations

import dataclasses
import platform
import shutil
import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import typer

from cellwright.cli import render
from cellwright.cli.gateway import running_models
from cellwright.cli.models import configuration_at
from cellwright.errors import CellwrightError, Unavailable
from cellwright.kernel import Zygote
from cellwright.models.configuration import Endpoint
from cellwright.models.keys import kept_keys, variable_of
from cellwright.models.reports import ProvidersReport
from cellwright.sandbox import Report, probe
from cellwright.settings import Settings

_FREE_GB = 2
_KEYS_SECONDS = 8
_LOCAL_SECONDS = 1

app = typer.Typer()


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False) -> None:
    """Check Python, marimo, the sandbox, the zygote, the disk and models; exit 1 if notebooks cannot run contained."""
    report = anyio.run(_examine)
    if as_json:
        render.as_json(report)
    else:
        render.doctor_report(report)
    raise typer.Exit(0 if report["ok"] else 1)


async def _examine() -> dict[str, Any]:
    sandbox = probe()
    checks = [
        _check("python", True, f"{platform.python_version()} on {platform.machine()}"),
        _check("marimo", True, f"{version('marimo')} (pinned)"),
        *_protections(sandbox),
        await _zygote(),
        _disk(Settings.read()),
        *await _models(Settings.read()),
    ]
    return {
        "ok": sandbox.tier != "D" and all(check["ok"] for check in checks if check["name"] == "zygote"),
        "sandbox": {
            "tier": sandbox.tier,
            "protections": [dataclasses.asdict(protection) for protection in sandbox.protections],
            "untested": list(sandbox.untested),
        },
        "checks": checks,
    }


def _check(name: str, ok: bool, detail: str, consequence: str = "") -> dict[str, Any]:
    return {"name": name, "ok": ok, "detail": detail, "consequence": consequence}


def _protections(sandbox: Report) -> list[dict[str, Any]]:
    return [
        _check(f"sandbox: {protection.name}", protection.present, protection.detail, protection.consequence)
        for protection in sandbox.protections
    ]


async def _zygote() -> dict[str, Any]:
    began = time.perf_counter()
    try:
        async with Zygote.open(Settings.read().cache / "zygote") as zygote:
            facts = zygote.facts
            off = [patch["name"] for patch in facts["patches"] if patch["state"] != "Applied"]
            detail = f"warm in {(time.perf_counter() - began) * 1e3:.0f} ms, {facts['threads']} thread"
            if off:
                detail += f"; without the speed patches {', '.join(off)}"
            return _check("zygote", facts["threads"] == 1, detail, "A zygote with threads cannot fork safely.")
    except CellwrightError as error:
        return _check("zygote", False, error.message, "No notebook can run.")


def _disk(settings: Settings) -> dict[str, Any]:
    place = settings.home
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free / 1e9
    return _check("disk", free > _FREE_GB, f"{free:.1f} GB free at the state directory", "Environments may not fit.")


async def _models(settings: Settings) -> list[dict[str, Any]]:
    """Which providers are ready. Starts no gateway: one that runs is asked, otherwise the stored keys are looked at."""
    try:
        configuration = configuration_at(settings.home)
        sources = await _key_sources(settings)
    except CellwrightError as error:
        return [_check("models", False, error.message, error.hint)]
    return [
        _keyed(endpoint, sources.get(name)) if _needs_key(endpoint) else await _keyless(endpoint)
        for name, endpoint in sorted(configuration.endpoints.items())
    ]


def _needs_key(endpoint: Endpoint) -> bool:
    return endpoint.key == "required"


async def _key_sources(settings: Settings) -> Mapping[str, str]:
    """Where each provider's key is; a name is missing if there is none, or if nothing answered in time.

    Without a gateway to ask, by what was kept: no key comes into this process.
    """
    with anyio.move_on_after(_KEYS_SECONDS):
        if (states := await _told_by_gateway()) is not None:
            return {state.name: state.key_from for state in states.providers if state.is_ready}
    return await anyio.to_thread.run_sync(kept_keys, settings.home)


async def _told_by_gateway() -> ProvidersReport | None:
    """None if no gateway runs, or none that answers."""
    told = None
    try:
        async with running_models() as models:
            told = None if models is None else await models.providers()
    except* Unavailable:
        pass
    return told


def _keyed(endpoint: Endpoint, source: str | None) -> dict[str, Any]:
    needed = f"`cellwright models set-key {endpoint.name}`, or start with {variable_of(endpoint.name)} set."
    return _check(f"models: {endpoint.name}", source is not None, f"key from {source}" if source else "no key", needed)


async def _keyless(endpoint: Endpoint) -> dict[str, Any]:
    """An endpoint on this machine is knocked at; one elsewhere is not."""
    url = urlsplit(endpoint.base_url or "")
    if not endpoint.local or not url.hostname:
        return _check(f"models: {endpoint.name}", True, "needs no key")
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        with anyio.fail_after(_LOCAL_SECONDS):
            await (await anyio.connect_tcp(url.hostname, port)).aclose()
    except (OSError, TimeoutError):
        detail = f"nothing listens at {url.hostname}:{port}"
        return _check(f"models: {endpoint.name}", False, detail, "Start it, or leave it out: it needs no key.")
    return _check(f"models: {endpoint.name}", True, f"listens at {url.hostname}:{port}, needs no key")
