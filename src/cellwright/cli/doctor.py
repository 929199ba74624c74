"""`cellwright doctor`: what this machine can do, what it cannot, and what follows from that."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import anyio
import typer

from cellwright.app.doctor import DoctorReport, examine_machine
from cellwright.cli.render import console
from cellwright.cli.render.remedies import hint_text
from cellwright.settings import Settings

app = typer.Typer()


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False) -> None:
    """Check Python, marimo, sandbox, disk, network settings and models; exit 1 if notebooks cannot run contained."""
    report = _view(anyio.run(examine_machine, Settings.read()))
    console.result(report, as_json, console.doctor_report)
    raise typer.Exit(0 if report["ok"] else 1)


def _view(found: DoctorReport) -> dict[str, Any]:
    sandbox = found.sandbox
    return {
        "ok": found.is_ok,
        "sandbox": {
            "tier": sandbox.tier,
            "protections": [dataclasses.asdict(protection) for protection in sandbox.protections],
            "obstacles": [dataclasses.asdict(obstacle) for obstacle in sandbox.obstacles],
        },
        "checks": [
            {"name": check.name, "ok": check.is_ok, "detail": check.detail, "consequence": hint_text(check.consequence)}
            for check in found.checks
        ],
        "network": [{"name": name, **dataclasses.asdict(setting)} for name, setting in found.network.items()],
    }
