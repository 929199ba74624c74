"""How strong a cage this machine can build, found by trying, and what is lost where something is missing.

| tier | what holds |
|---|---|
| A | namespaces, own root, Landlock, seccomp, control groups: everything |
| B | as A without control groups: memory is limited per process, not for all together |
| C | no namespaces: Landlock and seccomp, no sockets, work on a copy; process lists are visible |
| D | neither: limits only. Refused unless a person says so, every time |
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from cellwright.sandbox.obstacles import Obstacle, look_around, obstacles
from cellwright.sandbox.spec import Tier
from cellwright.sandbox.syscalls import MACHINE

_PATIENCE_SECONDS = 60
_PROGRAM = "import sys; sys.path.insert(0, {path!r}); from cellwright.sandbox import probing; probing.main()"

_CONSEQUENCES = {
    "namespaces": "Notebooks see which processes run, use the same disk as they do and work on a copy of the project.",
    "landlock": "One wall less: on tier C there is nothing left that keeps a notebook away from your files.",
    "seccomp": "One wall less: a notebook can use every part of the operating system's interface.",
    "control_groups": "Memory of all processes together is watched, not limited: for a moment it can be more.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """One facility of the operating system."""

    name: str
    present: bool
    consequence: str
    """What its absence means; empty if it is there."""
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What this machine can enforce."""

    tier: Tier
    protections: tuple[Protection, ...]
    obstacles: tuple[Obstacle, ...]
    """Why it is no better tier, and what would change that: one for each better one, best first."""
    untested: tuple[str, ...]
    """What is in use or could be, but was never run by us."""


@cache
def probe() -> Report:
    """Try everything once per process; takes about a quarter of a second, so not in an event loop."""
    found = _try_everything()
    tier = _tier(found)
    told = obstacles(found, tier, look_around())
    return Report(tier=tier, protections=_protections(found, told), obstacles=told, untested=_untested())


def _protections(found: dict[str, tuple[bool, str]], told: tuple[Obstacle, ...]) -> tuple[Protection, ...]:
    protections: list[Protection] = []
    for name, lost in _CONSEQUENCES.items():
        present, detail = found[name]
        against_b = next((obstacle for obstacle in told if obstacle.tier == "B"), None)
        if name == "namespaces" and against_b is not None:
            # Where they can be made and no cage can be built in them, that is as good as none.
            present, detail = False, against_b.reason
        protections.append(Protection(name=name, present=present, consequence="" if present else lost, detail=detail))
    return tuple(protections)


def _try_everything() -> dict[str, tuple[bool, str]]:
    source = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM.format(path=source)]
    try:
        result = subprocess.run(command, env={}, capture_output=True, timeout=_PATIENCE_SECONDS, check=True)
        raw = cast("dict[str, list[object]]", json.loads(result.stdout))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        names = (*_CONSEQUENCES, "tier_A", "tier_B", "tier_C")
        return dict.fromkeys(names, (False, f"could not be tried: {error}"))
    return {name: (bool(value[0]), str(value[1])) for name, value in raw.items()}


def _tier(found: dict[str, tuple[bool, str]]) -> Tier:
    walls = found["landlock"][0] and found["seccomp"][0]
    if found["tier_A"][0] and found["seccomp"][0]:
        return "A"
    if found["tier_B"][0] and found["seccomp"][0]:
        return "B"
    return "C" if found["tier_C"][0] and walls else "D"


def _untested() -> tuple[str, ...]:
    return (f"aarch64 processors ({'this machine is one' if MACHINE == 'aarch64' else 'not this machine'})",)
