"""Which pins have a wheel where: asked of the index for machines that need not be this one, installing nothing."""

from __future__ import annotations

import re
import subprocess
import tomllib
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename
from uv import find_uv_bin

_SECONDS: Final = 300
_GLIBC: Final = range(28, 4, -1)
"""Minor versions that wheels are made for, up to that of RHEL 8: who has a Python >= 3.11 has it."""
_OLD_NAMES: Final = ("manylinux2014", "manylinux2010", "manylinux1", "linux")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A kind of machine that Cellwright is to be installed on."""

    processor: str
    python: str

    def __str__(self) -> str:
        return f"{self.processor}, Python {self.python}"

    def tags(self) -> frozenset[Tag]:
        """What a wheel's name must say to be installed there."""
        major, minor = self.python.split(".")
        version, interpreter = (int(major), int(minor)), f"cp{major}{minor}"
        names = chain((f"manylinux_2_{glibc}" for glibc in _GLIBC), _OLD_NAMES)
        platforms = [f"{name}_{self.processor}" for name in names]
        compatible = compatible_tags(version, interpreter, platforms)
        return frozenset(chain(cpython_tags(version, platforms=platforms), compatible))

    def has(self, marker: str) -> bool:
        """Whether a pin with this marker is installed there."""
        there = {
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "platform_machine": self.processor,
            "sys_platform": "linux",
            "platform_python_implementation": "CPython",
            "implementation_name": "cpython",
        }
        return not marker or Marker(marker).evaluate(there)


TARGETS: Final = tuple(
    Target(processor=processor, python=python)
    for processor, python in product(("x86_64", "aarch64"), ("3.11", "3.12", "3.13", "3.14"))
)


def without_wheel(requirements: Path, *options: str) -> dict[Target, list[str]]:
    """For each target, the pins of this file for which no wheel with one of the file's hashes can be installed."""
    hashes = set(re.findall(r"sha256:([0-9a-f]{64})", requirements.read_text(encoding="utf-8")))
    universal = ("--universal", "--no-deps", "--python-version", TARGETS[0].python, "--format", "pylock.toml")
    packages = tomllib.loads(_uv("compile", *universal, str(requirements), *options))["packages"]
    return {
        target: lacking
        for target in TARGETS
        if (lacking := [package["name"] for package in packages if not _is_there(package, target, hashes)])
    }


def _uv(*words: str) -> str:
    command = [find_uv_bin(), "pip", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True).stdout


def _is_there(package: dict[str, Any], target: Target, hashes: set[str]) -> bool:
    if not target.has(package.get("marker", "")):
        return True
    tags = target.tags()
    return any(
        tags & parse_wheel_filename(_file_name(wheel))[3]
        for wheel in package.get("wheels", ())
        if wheel["hashes"]["sha256"] in hashes
    )


def _file_name(wheel: dict[str, Any]) -> str:
    return unquote(PurePosixPath(wheel.get("path") or urlsplit(wheel["url"]).path).name)
