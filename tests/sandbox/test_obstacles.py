"""Why a machine gives no better tier, told from what was refused and from the settings around us."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cellwright.sandbox.host.tiers import HostRestrictions, obstacles, read_host_restrictions
from cellwright.sandbox.spec import Tier
from tests.sandbox.conftest import SOURCE

WELL: dict[str, tuple[bool, str]] = dict.fromkeys(
    ("namespaces", "landlock", "seccomp", "control_groups", "tier_A", "tier_B", "tier_C"), (True, "")
)
ALONE = HostRestrictions(settings={})
APPARMOR = HostRestrictions(settings={"kernel.apparmor_restrict_unprivileged_userns": "1"})
CLOSED = HostRestrictions(settings={"user.max_user_namespaces": "0"})
ROOT_ONLY = HostRestrictions(settings={"kernel.unprivileged_userns_clone": "0"})
FILTERED = HostRestrictions(settings={}, has_filter=True)
NO_CLONE = {"namespaces": (False, "[Errno 1] clone: Operation not permitted"), "tier_B": (False, "the same")}
NO_MOUNT = {"tier_B": (False, "PermissionError: [Errno 13] mount flags on /: Permission denied")}
NO_PROC = {"tier_B": (False, "PermissionError: [Errno 1] mount proc on proc: Operation not permitted")}
NO_TMP = {"tier_B": (False, "[Errno 2] No usable temporary directory found in ['/tmp']")}
ODD = {"tier_B": (False, "[Errno 5] fsmount: Input/output error")}


@pytest.mark.parametrize(
    ("found", "around", "reason", "cure"),
    [
        (NO_CLONE, FILTERED, "seccomp profile refuses user namespaces", "--security-opt seccomp=PROFILE.json"),
        (NO_CLONE, CLOSED, "switched off", "sysctl -w user.max_user_namespaces="),
        (NO_CLONE, ROOT_ONLY, "for root alone", "sysctl -w kernel.unprivileged_userns_clone=1"),
        (NO_CLONE, APPARMOR, "AppArmor restricts", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
        (NO_CLONE, ALONE, "clone: Operation not permitted", "docs/sandbox.md"),
        (NO_MOUNT, APPARMOR, "AppArmor restricts", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
        (NO_MOUNT, ALONE, "lets nobody mount", "kernel.apparmor_restrict_unprivileged_userns=0"),
        (NO_PROC, FILTERED, "/proc is masked", "Podman: --security-opt unmask=ALL. Kubernetes: procMount: Unmasked"),
        (NO_TMP, ALONE, "/tmp cannot be written to", "emptyDir mounted at /tmp"),
        (ODD, ALONE, "fsmount: Input/output error", "docs/sandbox.md"),
    ],
)  # fmt: skip
def test_what_was_refused_has_a_reason_and_a_cure(
    found: dict[str, tuple[bool, str]], around: HostRestrictions, reason: str, cure: str
) -> None:
    told = obstacles(WELL | found, "C", around)[-1]
    assert told.tier == "B"
    assert reason in told.reason and cure in told.cure and told.detail


@pytest.mark.parametrize("tier", ["A", "B", "C", "D"])
def test_every_better_tier_has_its_obstacle_whatever_was_found(tier: Tier) -> None:
    untried: dict[str, tuple[bool, str]] = dict.fromkeys(WELL, (False, "could not be tried: no time"))
    for found in (WELL, untried):
        told = obstacles(found, tier, ALONE)
        assert [obstacle.tier for obstacle in told] == [better for better in "ABC" if better < tier]
        assert all(obstacle.reason and obstacle.cure for obstacle in told)


def test_a_seccomp_filter_around_us_is_noticed() -> None:
    program = f"""
import sys, json
sys.path.insert(0, {SOURCE!r})
from cellwright.sandbox.host import tiers
from cellwright.sandbox.linux import seccomp, syscalls
before = tiers.read_host_restrictions().has_filter
syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
syscalls.seccomp_load(seccomp.program(has_private_network=False, has_memory_group=True))
report = tiers.probe()
print(json.dumps([before, report.tier, report.obstacles[-1].tier, report.obstacles[-1].reason]))
"""
    command = [sys.executable, "-I", "-S", "-c", program]
    said = subprocess.run(command, env={}, capture_output=True, timeout=120, check=True).stdout
    before, tier, against, reason = json.loads(said)
    assert before is read_host_restrictions().has_filter
    # Our own filter refuses what Docker's does.
    assert (tier, against) == ("C", "B")
    assert reason == "The container's seccomp profile refuses user namespaces."
