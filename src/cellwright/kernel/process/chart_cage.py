"""Charts as pictures: drawn by a program in a cage that has nothing but their specifications."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from cellwright.errors import Unavailable
from cellwright.kernel.process.one_shot import run_one_shot
from cellwright.kernel.process.provisioner import CAGE_UID
from cellwright.kernel.process.zygote import Zygote
from cellwright.sandbox.private_directory import private_directory
from cellwright.sandbox.spec import CageSpec, Limits, Tier
from cellwright_guest import wire

_PROGRAM: Final = Path(wire.__file__).with_name("chart_main.py")
_LIMITS: Final = Limits(memory_mb=1024, cpu_seconds=120, processes=512, open_files=512, disk_mb=1, inodes=64, tmp_mb=8)
_ADDRESS_SPACE_MB: Final = 80 << 10
"""V8 reserves 66 GB when it starts, and uses a hundred MB. Before it is given a specification it is held to what it has
then, and 2 GB more."""
_CHART_SECONDS: Final = 10.0
_SECONDS: Final = 60.0
"""For all charts of one report."""
_GRACE_SECONDS: Final = 30.0
_MOST_BYTES: Final = 64 << 20
_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartCage:
    """Where charts are drawn: one cage for all of a report."""

    zygote: Zygote
    tier: Tier = "A"
    limits: Limits = _LIMITS
    chart_seconds: float = _CHART_SECONDS
    seconds: float = _SECONDS

    async def draw(self, specs: Sequence[str]) -> tuple[str | None, ...]:
        """Each specification of Vega-Lite or Vega, as JSON, as an SVG; None for those that cannot be drawn.

        Nothing is fetched. An SVG is a stranger's: it may be shown as an image, where nothing in it runs.
        `Unavailable` if there is no cage to be had.
        """
        python = str(getattr(sys, "_base_executable", sys.executable))
        asked = json.dumps({"specs": list(specs), "chart_seconds": self.chart_seconds, "seconds": self.seconds})
        with private_directory("charts") as nowhere:
            data = await run_one_shot(
                self.zygote,
                self._spec(nowhere),
                [python, "-I", "-S", "-B", str(_PROGRAM), str(_package("vl_convert")), str(_fonts())],
                asked.encode(),
                most_bytes=_MOST_BYTES,
                seconds=self.seconds + _GRACE_SECONDS,
            )
        return _read(data, len(specs))

    def _spec(self, nowhere: Path) -> CageSpec:
        """An interpreter, one package, the fonts of another, and nothing else."""
        return CageSpec(
            name=f"cellwright-charts-{os.getpid()}",
            tier=self.tier,
            project=str(nowhere),
            files="drop",
            software=(sys.base_prefix, str(_PROGRAM), str(_package("vl_convert")), str(_fonts())),
            limits=self.limits,
            address_space_mb=_ADDRESS_SPACE_MB,
            uid=CAGE_UID,
            environment=_ENVIRONMENT,
            cwd="/tmp",
            protected=(),
        )


def _fonts() -> Path:
    return _package("matplotlib") / "mpl-data" / "fonts" / "ttf"


@cache
def _package(name: str) -> Path:
    """Where it lies. Nothing of it is imported here."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise Unavailable(f"{name} is not installed.", hint="Install Cellwright again: it is one of its packages.")
    return Path(found.origin).resolve().parent


def _read(data: bytes, number: int) -> tuple[str | None, ...]:
    try:
        pictures = msgspec.json.decode(data, type=tuple[str | None, ...])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unavailable("What drew the charts answered with something else than pictures.") from error
    if len(pictures) != number:
        raise Unavailable(f"{len(pictures)} pictures came back for {number} charts.")
    return pictures
