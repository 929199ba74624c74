"""How strong a cage this machine can build, found by trying, and why it gives no better tier.

In words a person can act on, with the setting that would change it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, cast

from cellwright.sandbox.spec import Tier

ProbeResults = Mapping[str, tuple[bool, str]]
"""What `probes` tried, by name: whether it is there, and a detail or what the system said."""

Explanation = tuple[str, str, str]
"""Reason, cure, and what the operating system said."""

_APPARMOR: Final = "kernel.apparmor_restrict_unprivileged_userns"
_SETTINGS: Final = (_APPARMOR, "kernel.unprivileged_userns_clone", "user.max_user_namespaces")
_FILTER: Final = "2"
"""What `Seccomp:` in `/proc/self/status` says of a process under a filter."""

_UNMASK: Final = (
    "Docker: --security-opt systempaths=unconfined. Podman: --security-opt unmask=ALL. "
    "Kubernetes: procMount: Unmasked with hostUsers: false."
)
_PROFILE: Final = (
    "Docker: --security-opt seccomp=PROFILE.json --security-opt systempaths=unconfined. Podman, whose own profile is "
    "enough: --security-opt unmask=ALL. Kubernetes: hostUsers: false, procMount: Unmasked and a Localhost "
    "seccompProfile. docs/sandbox.md has the calls PROFILE.json must allow."
)
_TEMPORARY: Final = "Docker, Podman: --tmpfs /tmp. Kubernetes: an emptyDir mounted at /tmp. TMPDIR is not heard here."


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why one tier is not to be had."""

    tier: Tier
    reason: str
    cure: str
    """What a person can do about it."""
    detail: str
    """What the operating system said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRestrictions:
    """What restricts this process from outside."""

    has_filter: bool = False
    """Whether somebody has put a seccomp filter around us: a container's engine, mostly."""
    settings: Mapping[str, str]
    """Of the operating system, by name; what it does not have is missing."""


def read_host_restrictions() -> HostRestrictions:
    """What holds for this process. Blocking."""
    status = _read("/proc/self/status")
    mode = next((line.split()[1] for line in status.splitlines() if line.startswith("Seccomp:")), "")
    found = {name: _read(f"/proc/sys/{name.replace('.', '/')}").strip() for name in _SETTINGS}
    return HostRestrictions(
        has_filter=mode == _FILTER, settings={name: value for name, value in found.items() if value}
    )


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""


def obstacles(found: ProbeResults, tier: Tier, around: HostRestrictions) -> tuple[Obstacle, ...]:
    """One for every tier better than the one this machine gives, best first."""
    questions: dict[Tier, Callable[[ProbeResults, HostRestrictions], Explanation]]
    questions = {"A": _against_a, "B": _against_b, "C": _against_c}
    return tuple(Obstacle(better, *against(found, around)) for better, against in questions.items() if better < tier)


def _against_a(found: ProbeResults, around: HostRestrictions) -> Explanation:
    if found["control_groups"][0] and not found["tier_B"][0]:
        return _against_b(found, around)
    has_groups, detail = found["control_groups"]
    if has_groups:
        return _as_told(found["tier_A"][1])
    return (
        "There is no control group for memory and processes that we may write.",
        "Start it as root, or with `systemd-run --user --scope -p Delegate=yes`. "
        "In a container: give it a writable control group of its own.",
        detail,
    )


def _against_b(found: ProbeResults, around: HostRestrictions) -> Explanation:
    if not found["namespaces"][0]:
        return _without_namespaces(found["namespaces"][1], around)
    detail = found["tier_B"][1]
    if "mount proc" in detail:
        return "The container's /proc is masked, so a cage cannot have one of its own.", _UNMASK, detail
    if "temporary directory" in detail:
        return _without_temporary(detail)
    if around.settings.get(_APPARMOR) == "1":
        return _restricted_by_apparmor(detail)
    if re.search(r"\[Errno (1|13)\] \w*(mount|open_tree|fsopen|fsconfig|pivot_root)", detail):
        return (
            "User namespaces can be made, but a security module or a profile lets nobody mount anything in them.",
            f"Ubuntu: sysctl -w {_APPARMOR}=0, or an AppArmor profile that allows userns. "
            "Docker: --security-opt apparmor=unconfined --security-opt systempaths=unconfined and a seccomp profile "
            "with the calls that docs/sandbox.md names.",
            detail,
        )
    return _as_told(detail)


def _without_namespaces(detail: str, around: HostRestrictions) -> Explanation:
    limit = around.settings.get("user.max_user_namespaces")
    if "[Errno 28]" in detail or limit == "0":
        return (
            f"User namespaces are {'switched off' if limit == '0' else 'used up'} (user.max_user_namespaces).",
            "sysctl -w user.max_user_namespaces=15000, as root of the machine.",
            detail,
        )
    if around.settings.get("kernel.unprivileged_userns_clone") == "0":
        cure = "sysctl -w kernel.unprivileged_userns_clone=1, as root of the machine."
        return "User namespaces are for root alone (kernel.unprivileged_userns_clone is 0).", cure, detail
    if around.has_filter:
        return "The container's seccomp profile refuses user namespaces.", _PROFILE, detail
    if around.settings.get(_APPARMOR) == "1":
        return _restricted_by_apparmor(detail)
    return _as_told(detail)


def _restricted_by_apparmor(detail: str) -> Explanation:
    return (
        f"AppArmor restricts user namespaces ({_APPARMOR} is 1).",
        f"sysctl -w {_APPARMOR}=0, or an AppArmor profile that allows userns for this Python.",
        detail,
    )


def _against_c(found: ProbeResults, around: HostRestrictions) -> Explanation:
    if not found["landlock"][0]:
        return (
            "There is no Landlock, so nothing would keep a notebook away from files.",
            "Linux 5.13 or newer with landlock among its security modules (lsm=landlock,… at boot). "
            "gVisor has none: run Cellwright beside it, on a Linux kernel.",
            found["landlock"][1],
        )
    if not found["seccomp"][0]:
        return "System calls cannot be filtered.", "A Linux kernel with CONFIG_SECCOMP_FILTER.", found["seccomp"][1]
    detail = found["tier_C"][1]
    if "temporary directory" in detail:
        return _without_temporary(detail)
    if "Operation not permitted" in detail:
        return (
            "We are root without the right to become another user, and kernels never run as root.",
            "Run as somebody else (Docker, Podman: --user 1000:1000; Kubernetes: runAsUser: 1000), "
            "or add the capabilities CHOWN, SETUID and SETGID.",
            detail,
        )
    return _as_told(detail)


def _without_temporary(detail: str) -> Explanation:
    return "/tmp cannot be written to.", _TEMPORARY, detail


def _as_told(detail: str) -> Explanation:
    return f"The operating system refused: {detail}.", "docs/sandbox.md says what a tier needs.", detail


_PROBE_TIMEOUT_SECONDS = 60
_PROGRAM = "import sys; sys.path.insert(0, {path!r}); from cellwright.sandbox.host import probes; probes.main()"

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
class SandboxReport:
    """What this machine can enforce."""

    tier: Tier
    protections: tuple[Protection, ...]
    obstacles: tuple[Obstacle, ...]
    """Why it is no better tier, and what would change that: one for each better one, best first."""


@cache
def probe() -> SandboxReport:
    """Try everything once per process; takes about a quarter of a second, so not in an event loop."""
    found = _try_everything()
    tier = _tier(found)
    told = obstacles(found, tier, read_host_restrictions())
    return SandboxReport(
        tier=tier,
        protections=_protections(found, told),
        obstacles=told,
    )


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
    source = str(Path(__file__).resolve().parents[3])
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM.format(path=source)]
    try:
        result = subprocess.run(command, env={}, capture_output=True, timeout=_PROBE_TIMEOUT_SECONDS, check=True)
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
