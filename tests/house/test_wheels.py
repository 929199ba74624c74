"""Everything we pin can be installed on both processors and every Python we run on, without a compiler."""

from __future__ import annotations

import hashlib
import re
import zipfile
from pathlib import Path

import pytest

from tests.house.places import ROOT
from tests.house.wheels import TARGETS, Target, why_not

FILES = sorted([*ROOT.glob("requirements/*.txt"), *ROOT.glob("bench/requirements-*.txt")])
OPTIONAL = "requirements-profile-peer.txt"
"""A peer of one benchmark, which does without it where it is not to be had."""
HAS_PEER = tuple(target for target in TARGETS if target.processor == "x86_64" and target.python != "3.14")


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_pin_has_a_wheel_on_every_machine(file: Path, tmp_path: Path) -> None:
    targets = HAS_PEER if file.name == OPTIONAL else TARGETS
    missing = {str(target): why for target in targets if (why := why_not(file, target, tmp_path))}
    assert missing == {}


@pytest.mark.slow
def test_a_published_package_that_lacks_wheels_is_found(tmp_path: Path) -> None:
    # What the journal's tests had before: it stopped every newcomer with an ARM processor.
    pin = "pgserver==0.1.4 --hash=sha256:1a5d07c61d51f2abfef4ef61e2ef5cd014b994f7e09de8d3c140d2cf370e84a8\n"
    (requirements := tmp_path / "pins.txt").write_text(pin)
    missing = [target for target in TARGETS if why_not(requirements, target, tmp_path)]
    assert len(missing) >= 7


def test_a_pin_without_a_wheel_somewhere_is_found(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path / "index", "cp311-cp311-manylinux_2_28_x86_64")
    (requirements := tmp_path / "pins.txt").write_text(f"lonely==1.0 --hash=sha256:{wheel}\n")
    offline = ("--offline", "--no-index", "--find-links", str(tmp_path / "index"))
    sample = [
        Target(processor=processor, python=python)
        for processor, python in (("x86_64", "3.11"), ("aarch64", "3.11"), ("x86_64", "3.14"))
    ]
    told = {str(target): why_not(requirements, target, tmp_path, *offline) for target in sample}
    assert {target: bool(re.search(r"lonely.+no wheels", why.replace("\n", " "))) for target, why in told.items()} == {
        "x86_64, Python 3.11": False,
        "aarch64, Python 3.11": True,
        "x86_64, Python 3.14": True,
    }


def test_the_targets_are_what_the_project_says_it_runs_on() -> None:
    assert len(set(TARGETS)) == 8
    said = re.findall(r'Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert said == sorted({target.python for target in TARGETS}, key=lambda python: int(python.partition(".")[2]))


def _wheel(folder: Path, tag: str) -> str:
    """A wheel for one machine only; its hash."""
    folder.mkdir()
    path = folder / f"lonely-1.0-{tag}.whl"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("lonely-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: lonely\nVersion: 1.0\n")
        packed.writestr("lonely-1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n")
        packed.writestr("lonely-1.0.dist-info/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()
