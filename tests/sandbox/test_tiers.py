"""The tier is found by trying, and what is missing is told with its consequence."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cellwright.sandbox.host import tiers
from tests.sandbox.conftest import SOURCE, USERS, User, command_as

PROGRAM = """
import sys, json, dataclasses
sys.path.insert(0, {source!r})
from cellwright.sandbox.host import tiers
print(json.dumps(dataclasses.asdict(tiers.probe())))
"""


def probe_as(user: User) -> dict[str, object]:
    command = command_as(user, [sys.executable, "-I", "-S", "-c", PROGRAM.format(source=SOURCE)])
    result = subprocess.run(command, env={}, capture_output=True, timeout=300, check=True)
    return json.loads(result.stdout)


def presence(report: dict[str, object]) -> dict[str, bool]:
    protections = report["protections"]
    assert isinstance(protections, list)
    return {protection["name"]: protection["present"] for protection in protections}


EXPECTED: dict[User, tuple[str, dict[str, bool]]] = {
    "root": ("A", {"namespaces": True, "landlock": True, "seccomp": True, "control_groups": True}),
    "plain": ("B", {"namespaces": True, "landlock": True, "seccomp": True, "control_groups": False}),
    "plain without namespaces": (
        "C",
        {"namespaces": False, "landlock": True, "seccomp": True, "control_groups": False},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("user", [*USERS, "plain without namespaces"])
def test_the_tier_fits_what_the_machine_gives_this_user(user: User) -> None:
    report = probe_as(user)
    assert (report["tier"], presence(report)) == EXPECTED[user]


def test_every_missing_protection_has_a_consequence_and_a_reason() -> None:
    protections = probe_as("plain without namespaces")["protections"]
    assert isinstance(protections, list)
    for protection in protections:
        assert bool(protection["consequence"]) is not protection["present"]
        assert protection["detail"]


def test_a_probe_is_made_once_per_process() -> None:
    assert tiers.probe() is tiers.probe()
