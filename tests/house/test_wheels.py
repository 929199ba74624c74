"""Everything we pin can be installed on both processors and every Python we run on, without a compiler."""

from __future__ import annotations

import hashlib
import re
import zipfile
from pathlib import Path

import pytest

from tests.house.places import ROOT
from tests.house.wheels import TARGETS, without_wheel

FILES = sorted([*ROOT.glob("requirements/*.txt"), *ROOT.glob("bench/requirements-*.txt")])
OPTIONAL = "requirements-profile-peer.txt"
"""A peer of one benchmark, which says so where it is not to be had: on ARM, and on Python 3.14."""


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_pin_has_a_wheel_on_every_machine(file: Path) -> None:
    lacking = {str(target): names for target, names in without_wheel(file).items()}
    if file.name == OPTIONAL:
        assert not lacking.keys() & {f"x86_64, Python 3.{minor}" for minor in (11, 12, 13)}
    else:
        assert lacking == {}


@pytest.mark.slow
def test_a_published_package_that_lacks_wheels_is_found(tmp_path: Path) -> None:
    # What the journal's tests had before, with the hash of its wheel for Python 3.12 only.
    pin = "pgserver==0.1.4 --hash=sha256:1a5d07c61d51f2abfef4ef61e2ef5cd014b994f7e09de8d3c140d2cf370e84a8\n"
    (requirements := tmp_path / "pins.txt").write_text(pin)
    assert len(without_wheel(requirements)) >= 7


def test_a_pin_without_a_wheel_somewhere_is_found(tmp_path: Path) -> None:
    one = _wheel(tmp_path / "index", "lonely", "cp311-cp311-manylinux_2_28_x86_64")
    any_machine = _wheel(tmp_path / "index", "friendly", "py3-none-any")
    other = _wheel(tmp_path / "index", "changed", "py3-none-any")[::-1]
    offline = ("--offline", "--no-index", "--find-links", str(tmp_path / "index"))
    lines = [
        f"lonely==1.0 --hash=sha256:{one}",
        f"friendly==1.0 --hash=sha256:{any_machine}",
        f"changed==1.0 ; python_full_version < '3.12' --hash=sha256:{other}",
    ]
    (requirements := tmp_path / "pins.txt").write_text("\n".join(lines))
    assert {str(target): names for target, names in without_wheel(requirements, *offline).items()} == {
        "x86_64, Python 3.11": ["changed"],
        "x86_64, Python 3.12": ["lonely"],
        "x86_64, Python 3.13": ["lonely"],
        "x86_64, Python 3.14": ["lonely"],
        "aarch64, Python 3.11": ["changed", "lonely"],
        "aarch64, Python 3.12": ["lonely"],
        "aarch64, Python 3.13": ["lonely"],
        "aarch64, Python 3.14": ["lonely"],
    }


def test_the_targets_are_what_the_project_says_it_runs_on() -> None:
    said = re.findall(r'Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert [(target.processor, target.python) for target in TARGETS] == [
        (processor, python) for processor in ("x86_64", "aarch64") for python in said
    ]


def _wheel(folder: Path, name: str, tag: str) -> str:
    """A wheel with nothing in it; its hash."""
    folder.mkdir(exist_ok=True)
    path, told = folder / f"{name}-1.0-{tag}.whl", f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(f"{told}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        packed.writestr(f"{told}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n")
        packed.writestr(f"{told}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()
