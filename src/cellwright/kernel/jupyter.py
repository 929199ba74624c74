"""Notebooks of Jupyter, read, converted and run in cages: of the file the host knows its bytes and nothing else."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from cellwright.errors import Unavailable
from cellwright.kernel.process.one_shot import run_one_shot_in_nothing
from cellwright.kernel.process.provisioner import KernelProvisioner
from cellwright.kernel.process.zygote import Zygote
from cellwright.kernel.process.zygote_process import package_paths
from cellwright.notebook.document import Document
from cellwright.sandbox.spec import Limits, Tier
from cellwright_guest import wire
from cellwright_guest.jupyter.records import (
    ConvertedCell,
    JupyterOutput,
    NotebookConversion,
    OriginalCell,
    OriginalRun,
    ShownValue,
)

__all__ = [
    "ConvertedCell", "JupyterOutput", "NotebookConversion", "OriginalCell", "OriginalRun", "ShownValue",
    "convert_notebook", "digest_code", "has_jupyter", "run_original",
]  # fmt: skip

_PROGRAMS: Final = Path(wire.__file__).with_name("jupyter")
_LIMITS: Final = Limits(memory_mb=1024, cpu_seconds=60, processes=64, disk_mb=1, inodes=64, tmp_mb=16)
_CONVERT_SECONDS: Final = 60.0
_GRACE_SECONDS: Final = 60.0
_MOST_BYTES: Final = 64 << 20
_NEEDED: Final = ("ipykernel", "jupyter_client", "zmq")
_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8"}
_Answer = TypeVar("_Answer")


def has_jupyter() -> bool:
    """Whether what runs a notebook as Jupyter does is installed. None of it is imported."""
    return all(importlib.util.find_spec(name) is not None for name in _NEEDED)


def digest_code() -> str:
    """The cell that tells what a notebook shows and holds; Jupyter's kernel runs the same text."""
    return (_PROGRAMS / "value_digest.py").read_text("utf-8").rstrip()


async def convert_notebook(zygote: Zygote, tier: Tier, text: str) -> NotebookConversion:
    """The cells of a new notebook. `Unavailable` if there is no cage, or the program in it does not answer."""
    python = str(getattr(sys, "_base_executable", sys.executable))
    data = await run_one_shot_in_nothing(
        zygote,
        "jupyter",
        [python, "-I", "-S", "-B", str(_PROGRAMS / "convert_main.py"), *package_paths()],
        text.encode(),
        most_bytes=_MOST_BYTES,
        seconds=_CONVERT_SECONDS,
        tier=tier,
        software=tuple(dict.fromkeys([sys.base_prefix, sys.prefix, *package_paths()])),
        limits=_LIMITS,
        environment=_ENVIRONMENT,
        cwd="/tmp",
    )
    return _read(data, NotebookConversion)


async def run_original(
    provisioner: KernelProvisioner, document: Document, text: str, *, seconds: float, keep_outputs: bool = False
) -> OriginalRun:
    """What the notebook did where Jupyter ran it: in a cage like that of the new one, with the same files and packages.

    `document` is the new notebook: its header says which packages those are.
    """
    ours, theirs = provisioner.options.pythons.ours.version, await _python_of(provisioner, document)
    if ours.split(".")[:2] != theirs.split(".")[:2]:
        raise Unavailable(f"Its packages are for Python {theirs}, and what runs it as Jupyter does here for {ours}.")
    question = msgspec.json.encode({"notebook": text, "seconds": seconds, "keep_outputs": keep_outputs})
    data = await provisioner.run_program(
        document, _PROGRAMS / "run_main.py", question, most_bytes=_MOST_BYTES, seconds=seconds + _GRACE_SECONDS
    )
    return _read(data, OriginalRun)


async def _python_of(provisioner: KernelProvisioner, document: Document) -> str:
    environment = await provisioner.build(document)
    return environment.interpreter.version if environment is not None else provisioner.options.pythons.ours.version


def _read(data: bytes, kind: type[_Answer]) -> _Answer:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unavailable("What read the notebook in the cage answered with something else.") from error
