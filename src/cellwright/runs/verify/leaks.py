"""What a notebook must not carry: secrets, and paths that mean something on this machine only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from cellwright.policy.masking import Masker
from cellwright.runs.verify.reasons import MachinePathFound, Place, SecretFound

Where = Literal["code", "output", "console"]

_CANDIDATES: Final = 2_000
_EACH: Final = 5
"""Findings told per text; the first ones are enough to act on."""
_PATH: Final = re.compile(r"(?:(?<![\w/:.+~%@&?#\\-])|(?<=file://)|(?<=\\[nrt]))/[\w.+@~%-][\w.+@~%/-]{0,1000}")
_BINARY: Final = re.compile(r"data:[\w/+.-]{1,100};base64,[A-Za-z0-9+/=]+")
_CELL: Final = re.compile(r"/tmp/marimo_\d+/__marimo__cell_\w+\.py")
"""What marimo calls a cell's source, in warnings and tracebacks: a name, no file."""
_EVERYWHERE: Final = tuple(
    PurePosixPath(path)
    for path in (
        *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys"),
        *("/usr/bin", "/usr/include", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/sbin", "/usr/share"),
        *("/usr/local/bin", "/usr/local/lib", "/project", "/home/cell"),
    )
)
"""In every Linux, or in every cage: naming them ties a notebook to no machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The places of this machine that a notebook must not name."""

    home: Path
    state: Path
    temporary: Path
    project: Path
    cache: Path
    """Where environments are built."""

    @property
    def _own(self) -> tuple[PurePosixPath, ...]:
        places = (self.home, self.state, self.temporary, self.project, self.cache)
        both = [PurePosixPath(form) for place in places for form in (place.absolute(), place.resolve())]
        return tuple(place for place in both if place != PurePosixPath("/"))

    def paths_in(self, text: str) -> Iterator[str]:
        """Each path of this machine in a text, once."""
        own, seen = self._own, set[str]()
        for match in _PATH.finditer(text):
            word = match[0].rstrip("./-%~")
            if word in seen:
                continue
            seen.add(word)
            if len(seen) > _CANDIDATES:
                return
            if word and not _CELL.fullmatch(word) and _is_of_this_machine(PurePosixPath(word), own):
                yield word


def _is_of_this_machine(path: PurePosixPath, own: Sequence[PurePosixPath]) -> bool:
    if len(path.parts) < 3:
        # `/tmp`, `/home`, `/data`: a word as often as a place.
        return False
    if any(path.is_relative_to(place) for place in own):
        return True
    if any(path.is_relative_to(place) for place in _EVERYWHERE):
        return False
    try:
        return os.path.lexists(path)
    except ValueError:
        return False


def leaks_in(
    text: str, *, place: Place | None, where: Where, masker: Masker, machine: Machine
) -> list[SecretFound | MachinePathFound]:
    """What stands in this text and should not. Pictures and other binary data in it are not looked at."""
    plain = _BINARY.sub("", text)
    named = dict.fromkeys(finding.name for finding in masker.find(plain))
    found: list[SecretFound | MachinePathFound] = [
        SecretFound(place=place, where=where, looks_like=name) for name in list(named)[:_EACH]
    ]
    paths = [path for path, _ in zip(machine.paths_in(plain), range(_EACH), strict=False)]
    # A path may hold what looks like a secret.
    return found + [MachinePathFound(place=place, where=where, path=masker.mask(path).text) for path in paths]
