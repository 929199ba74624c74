"""`cellwright doctor`: what this machine can do, what it cannot, and what follows from that."""

from __future__ import annotations

import dataclasses
import platform
import shutil
import time
from importlib.metadata import version
from typing import Annotated, Any

import anyio
import typer

from cellwright.cli import render
from cellwright.errors import CellwrightError
from cellwright.kernel import Zygote
from cellwright.sandbox import Report, probe
from cellwright.settings import Settings

_FREE_GB = 2

app = typer.Typer()


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False) -> None:
    """Check Python, marimo, the sandbox, the zygote and the disk; exit 1 if notebooks cannot run contained."""
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
