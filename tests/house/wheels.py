"""Which pins have a wheel where, as uv finds it: asked for a machine that need not be this one, installing nothing."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

from uv import find_uv_bin


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A kind of machine that Cellwright is to be installed on."""

    processor: str
    python: str

    def __str__(self) -> str:
        return f"{self.processor}, Python {self.python}"


TARGETS: Final = tuple(
    Target(processor=processor, python=python)
    for processor, python in product(("x86_64", "aarch64"), ("3.11", "3.12", "3.13", "3.14"))
)
_GLIBC: Final = "manylinux_2_28"
"""Of Debian 10, Ubuntu 20.04 and RHEL 8: nobody with a Python >= 3.11 from a distribution has an older one."""
_SECONDS: Final = 300


def why_not(requirements: Path, target: Target, nowhere: Path, *options: str) -> str:
    """Why these pins cannot be installed there from wheels with these hashes; nothing if they can."""
    # Into a folder of its own: what this environment has must not count.
    place = ("--dry-run", "--target", nowhere, "--python-platform", f"{target.processor}-{_GLIBC}")
    pins = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirements", requirements)
    command = [find_uv_bin(), "pip", "install", *place, "--python-version", target.python, *pins, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    return done.stderr if done.returncode else ""
