"""The kernels of Jupyter that are installed here, as their kernelspecs tell: read, never run, outside a cage."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

_MOST_BYTES: Final = 100_000
_MOST_SPECS: Final = 200
_SYSTEM: Final = ("/usr/local/share/jupyter", "/usr/share/jupyter")
_BESIDE: Final = ("/etc/R", "/etc/julia")
"""What interpreters of the system read besides their own folders."""


class _SpecFile(msgspec.Struct):
    argv: tuple[str, ...]
    display_name: str = ""
    language: str = ""
    env: dict[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernelspec:
    """A kernel that can be started."""

    name: str
    title: str
    language: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    software: tuple[str, ...]
    """Folders its cage must see."""


def find_kernelspecs(home: Path, jupyter_path: str = "", path: str = os.defpath) -> dict[str, Kernelspec]:
    """By name, where Jupyter looks for them, the person's own first. Blocking.

    `jupyter_path` is `JUPYTER_PATH`, and `path` is where programs are found.
    """
    own = [str(home / ".local" / "share" / "jupyter"), f"{sys.prefix}/share/jupyter"]
    found: dict[str, Kernelspec] = {}
    for folder in (*filter(None, jupyter_path.split(os.pathsep)), *own, *_SYSTEM):
        for file in sorted(Path(folder, "kernels").glob("*/kernel.json"))[:_MOST_SPECS]:
            spec = _read(file, path)
            if spec is not None:
                found.setdefault(spec.name, spec)
    return found


def _read(file: Path, path: str) -> Kernelspec | None:
    """None for one that cannot be read, or whose program is not here."""
    try:
        with file.open("rb") as opened:
            said = msgspec.json.decode(opened.read(_MOST_BYTES), type=_SpecFile)
    except (OSError, msgspec.MsgspecError):
        return None
    program = _program(said.argv, path)
    if program is None or not any("{connection_file}" in word for word in said.argv):
        return None
    folder = str(file.parent)
    argv = tuple(word.replace("{resource_dir}", folder) for word in (program, *said.argv[1:]))
    return Kernelspec(
        name=file.parent.name.lower()[:100],
        title=(said.display_name or file.parent.name)[:200],
        language=said.language[:100],
        argv=argv,
        env={key: value for key, value in said.env.items() if "\0" not in f"{key}{value}"},
        software=_software(program, folder),
    )


def _program(argv: Sequence[str], path: str) -> str | None:
    if not argv:
        return None
    if argv[0] in {"python", "python3"}:
        return sys.executable
    return shutil.which(argv[0], path=path)


def _software(program: str, folder: str) -> tuple[str, ...]:
    """The folders that hold a program, followed through its links; those of the system are there anyway."""
    places = {Path(program).parent.parent, Path(program).resolve().parent.parent}
    outside = [str(place) for place in sorted(places) if not str(place).startswith("/usr") and len(place.parts) > 2]
    return tuple(dict.fromkeys([*outside, folder, *(each for each in _BESIDE if Path(each).is_dir())]))
