"""Bytecode of an environment is that of our own packages, for the very same files and for no others."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from cellwright.kernel.environments.build import lend_bytecode

PACKAGE = "packaging"


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    """An environment with one package that is installed with us, too, as its wheel brought it."""
    found = distribution(PACKAGE)
    for file in found.files or ():
        if file.suffix != ".pyc":
            target = tmp_path / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), target)
    return tmp_path


def imported(site_packages: Path) -> str:
    """What a kernel would do that may write nowhere: whether it compiles, and what the module says."""
    program = "import packaging.version as v; print(v.__cached__, v.Version('1.2').major)"
    environment = {"PYTHONPATH": str(site_packages), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONVERBOSE": "1"}
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    lines = [line for line in ran.stderr.splitlines() if f"{site_packages}/packaging/version.py" in line]
    return "\n".join(lines) + ran.stdout


def test_the_same_files_have_our_bytecode_whatever_their_times(site_packages: Path) -> None:
    for path in site_packages.rglob("*.py"):
        os.utime(path, (1, 1))
    assert lend_bytecode(site_packages) > 10
    said = imported(site_packages)
    assert "version.cpython" in said and "matches" in said
    assert said.endswith(" 1\n")


def test_a_file_that_differs_has_none_and_is_what_runs(site_packages: Path) -> None:
    changed = site_packages / "packaging/version.py"
    changed.write_text(changed.read_text() + "\nVersion.major = property(lambda self: 99)\n")
    lend_bytecode(site_packages)
    assert not Path(importlib.util.cache_from_source(str(changed))).exists()
    assert imported(site_packages).endswith(" 99\n")


def test_another_version_and_a_package_we_do_not_have_are_left_alone(site_packages: Path) -> None:
    (info,) = site_packages.glob("packaging-*.dist-info")
    text = (info / "METADATA").read_text()
    (info / "METADATA").write_text(text.replace(f"Version: {distribution(PACKAGE).version}", "Version: 0.0.1"))
    assert lend_bytecode(site_packages) == 0
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nobody-has-this\nVersion: 1\n")
    assert lend_bytecode(site_packages) == 0
    (info / "METADATA").write_text("nothing of the kind")
    assert lend_bytecode(site_packages) == 0


def test_what_a_wheel_put_in_its_place_is_neither_written_through_nor_followed(site_packages: Path) -> None:
    cached = Path(importlib.util.cache_from_source(str(site_packages / "packaging/version.py")))
    cached.parent.mkdir()
    other = site_packages / "other-name.pyc"
    other.write_bytes(b"of a wheel")
    cached.hardlink_to(other)
    assert lend_bytecode(site_packages) > 10
    assert other.read_bytes() == b"of a wheel"
    assert cached.read_bytes() != b"of a wheel"
    shutil.rmtree(cached.parent)
    outside = site_packages.parent / "outside"
    outside.mkdir()
    cached.parent.symlink_to(outside)
    lend_bytecode(site_packages)
    assert list(outside.iterdir()) == []
