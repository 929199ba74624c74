"""What a cage is asked to be: tier, project, what is hidden, what may be used.

Plain values that travel as JSON from the host to the zygote; nothing here acts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from cellwright.errors import UserError
from cellwright.remedies import remedy

Tier = Literal["A", "B", "C", "D"]
FilesMode = Literal["keep", "drop", "direct"]

DEFAULT_UID = 54321
"""The host's user id for kernels that root starts, unless the spec names one."""

PROXY_PORT = 3128
"""Where the host's proxy is found inside a cage that may use the network; its loopback has nothing else."""

CERTIFICATES = "/etc/cellwright/certificates.pem"
"""Where a cage finds whom to trust, if the spec says so."""

BRANCH_SLOTS = 24
"""Limit of branches and checkpoints of a kernel in one cage."""

PROTECTED = (".git", ".cellwright")
"""Directories of a project that a notebook may read but never change."""

MEGABYTE = 1024**2

_SIZE_UNITS = {"": MEGABYTE, "k": 1024, "m": MEGABYTE, "g": 1024**3, "t": 1024**4}
_DURATION_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What everything in one cage may use together."""

    memory_mb: int = 4096
    """Hard cap. Files the notebook writes live in memory and count too."""
    cpu_seconds: float | None = None
    """CPU time of all processes together."""
    wall_seconds: float | None = None
    """Time from the first cell on; enforced by whoever runs the notebook."""
    processes: int = 256
    """Processes and threads."""
    open_files: int = 1024
    """Per process."""
    disk_mb: int = 2048
    """New and changed files of the project."""
    inodes: int = 200_000
    """New and changed files of the project, by number."""
    tmp_mb: int = 512
    """`/tmp`, the home directory and `/dev/shm` together."""
    output_mb: int = 64
    """What the notebook may print and show; enforced by whoever reads it."""
    kept_files: int = 10_000
    """Changed files of the project that are kept unasked; of more, none is kept unless a person says so."""
    kept_mb: int = 1024
    """The same in bytes."""
    keep_seconds: float = 120.0
    """Keeping them may take so long; after that none is kept."""

    @classmethod
    def parse(cls, words: Sequence[str]) -> Limits:
        """Limits from `memory=2g`, `wall=20s`, `processes=64` …; later words win."""
        limits = cls()
        for word in words:
            name, equals, value = word.partition("=")
            reader = _READERS.get(name.strip().lower())
            if reader is None or not equals:
                known = ", ".join(_READERS)
                raise UserError(f"Unknown limit {word!r}.", hint=f"Write NAME=VALUE with one of: {known}.")
            field, read = reader
            limits = replace(limits, **{field: read(name, value.strip().lower())})
        return limits

    def as_dict(self) -> dict[str, int | float | None]:
        """Every limit by name, as it stands in results."""
        return asdict(self)


def _size_mb(name: str, value: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", value)
    size = float(match[1]) * _SIZE_UNITS[match[2]] if match else 0
    if size < MEGABYTE:
        raise UserError(f"{value!r} is no size for the limit {name!r}.", hint="At least 1m; for example 512m or 2g.")
    return int(size // MEGABYTE)


def _seconds(name: str, value: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|)", value)
    seconds = float(match[1]) * _DURATION_UNITS[match[2]] if match else 0
    if seconds <= 0:
        raise UserError(f"{value!r} is no duration for the limit {name!r}.", hint="For example 20s, 5m or 1h.")
    return seconds


def _count(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 10**9:
        raise UserError(f"{value!r} is no number for the limit {name!r}.", hint="A whole number from 1 on.")
    return int(value)


_READERS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "memory": ("memory_mb", _size_mb),
    "cpu": ("cpu_seconds", _seconds),
    "wall": ("wall_seconds", _seconds),
    "processes": ("processes", _count),
    "open_files": ("open_files", _count),
    "disk": ("disk_mb", _size_mb),
    "inodes": ("inodes", _count),
    "tmp": ("tmp_mb", _size_mb),
    "output": ("output_mb", _size_mb),
    "kept_files": ("kept_files", _count),
    "kept_size": ("kept_mb", _size_mb),
    "keep_time": ("keep_seconds", _seconds),
}


def _is_inside(path: str) -> bool:
    return all(part not in {"", ".", ".."} and "\0" not in part for part in path.split("/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DataMount:
    """A file or directory from elsewhere, readable at a place inside the project."""

    source: str
    """Absolute path on the host."""
    target: str
    """Relative to the project, for example `data/sales.csv`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CageSpec:
    """Everything `cage.start` needs to know."""

    name: str
    """Shown in process lists and used for the control group; letters, digits, dashes."""
    tier: Tier
    project: str
    """Absolute path on the host; `/project` inside."""
    files: FilesMode = "keep"
    hidden: tuple[str, ...] = ()
    """Paths relative to the project that exist but cannot be read inside."""
    left_out: tuple[str, ...] = ()
    """Paths relative to the project that are not copied where the kernel works on a copy."""
    data: tuple[DataMount, ...] = ()
    software: tuple[str, ...] = ()
    """Absolute paths that are readable and executable inside, at the same place."""
    limits: Limits = Limits()
    address_space_mb: int | None = None
    """What each process may reserve where no control group counts what it uses; None: a multiple of its memory."""
    uid: int | None = None
    """The host's user id for the kernel when started by root; 54321 if not given."""
    environment: dict[str, str]
    cwd: str = "/project"
    """Where the kernel starts, as seen inside."""
    protected: tuple[str, ...] = PROTECTED
    """Paths relative to the project that are read-only inside and never kept."""
    volumes: tuple[str, ...] = ()
    """Directories of the project on which something of its own is mounted; found by whoever starts the cage."""
    mounted_files: tuple[str, ...] = ()
    """Single files of the project that are mounted there, read-only inside; found like those."""
    is_copied: bool = False
    """Whether a copy stands for the project, but for its volumes: the system does not let us lay anything over it."""
    proxy_port: int | None = None
    """The one TCP port of its own loopback that the kernel may connect to; the host listens there."""
    certificates: str = ""
    """Certificates in PEM form, readable at `CERTIFICATES`."""

    def check(self) -> None:
        """`UserError` for a spec whose paths would lead out of the project, or that asks for what its tier lacks."""
        if self.proxy_port is not None and self.tier in {"C", "D"}:
            raise UserError(
                f"Network access needs a network namespace, which tier {self.tier} does not have.",
                hint=remedy("see_doctor", says="says what is missing"),
            )
        for path in (*self.hidden, *self.left_out, *self.protected, *(mount.target for mount in self.data)):
            if not _is_inside(path):
                raise UserError(f"{path!r} is not a path inside the project.", hint="Give it relative, without '..'.")
        for mount in self.data:
            if mount.target.split("/")[0] in self.protected:
                raise UserError(f"Data cannot be placed at {mount.target!r}.", hint="Choose another place for it.")
        for path in (self.project, *self.software, *(mount.source for mount in self.data)):
            if not path.startswith("/"):
                raise UserError(f"{path!r} is not an absolute path.", hint="Give it from the root on.")

    @classmethod
    def of(cls, raw: dict[str, Any]) -> CageSpec:
        """The spec of what `asdict` and JSON made of it."""
        plain: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()
        }
        data = tuple(DataMount(**mount) for mount in raw["data"])
        return cls(**plain | {"limits": Limits(**raw["limits"]), "data": data})
