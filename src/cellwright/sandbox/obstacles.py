"""Why this machine gives no better tier, in words a person can act on, and the setting that would change it.

The operating system says `EPERM` for a dozen reasons. Which one it was follows from the step that was refused and from
the settings around us; where it does not, what the system said is told as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cellwright.sandbox.spec import Tier

Found = Mapping[str, tuple[bool, str]]
"""What `probing` tried, by name: whether it is there, and a detail or what the system said."""

Told = tuple[str, str, str]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why one tier is not to be had."""

    tier: Tier
    reason: str
    cure: str
    """What a person can do about it."""
    detail: str
    """What the operating system said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What restricts this process from outside."""

    has_filter: bool = False
    """Whether somebody has put a seccomp filter around us: a container's engine, mostly."""
    settings: Mapping[str, str]
    """Of the operating system, by name; what it does not have is missing."""


def look_around() -> Surroundings:
    """What holds for this process. Blocking."""
    status = _read("/proc/self/status")
    mode = next((line.split()[1] for line in status.splitlines() if line.startswith("Seccomp:")), "")
    found = {name: _read(f"/proc/sys/{name.replace('.', '/')}").strip() for name in _SETTINGS}
    return Surroundings(has_filter=mode == _FILTER, settings={name: value for name, value in found.items() if value})


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""


def obstacles(found: Found, tier: Tier, around: Surroundings) -> tuple[Obstacle, ...]:
    """One for every tier better than the one this machine gives, best first."""
    questions: tuple[tuple[Tier, Callable[[Found, Surroundings], Told]], ...]
    questions = (("A", _against_a), ("B", _against_b), ("C", _against_c))
    told: list[Obstacle] = []
    for better, reason_against in questions:
        if better < tier:
            reason, cure, detail = reason_against(found, around)
            told.append(Obstacle(tier=better, reason=reason, cure=cure, detail=detail))
    return tuple(told)


def _against_a(found: Found, around: Surroundings) -> Told:
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


def _against_b(found: Found, around: Surroundings) -> Told:
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


def _without_namespaces(detail: str, around: Surroundings) -> Told:
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


def _restricted_by_apparmor(detail: str) -> Told:
    return (
        f"AppArmor restricts user namespaces ({_APPARMOR} is 1).",
        f"sysctl -w {_APPARMOR}=0, or an AppArmor profile that allows userns for this Python.",
        detail,
    )


def _against_c(found: Found, around: Surroundings) -> Told:
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


def _without_temporary(detail: str) -> Told:
    return "/tmp cannot be written to.", _TEMPORARY, detail


def _as_told(detail: str) -> Told:
    return f"The operating system refused: {detail}.", "docs/sandbox.md says what a tier needs.", detail
