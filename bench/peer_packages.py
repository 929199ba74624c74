"""The peers' own environment: `bench/.peers`, built by uv from hashed requirements when they change."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
from uv import find_uv_bin

from bench.failure import BenchFailed

_HERE = Path(__file__).parent
_REQUIREMENTS = _HERE / "requirements-peers.txt"
_ENVIRONMENT = _HERE / ".peers"
_PYTHON = _ENVIRONMENT / "bin" / "python"
_STAMP = _ENVIRONMENT / ".installed"


async def peers_python() -> Path:
    """The interpreter peers run with, its packages installed and compiled."""
    wanted = hashlib.sha256(_REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()
    if not (_PYTHON.exists() and _STAMP.exists() and _STAMP.read_text() == wanted):
        print("Installing the peers into bench/.peers …", file=sys.stderr)
        shutil.rmtree(_ENVIRONMENT, ignore_errors=True)
        await _uv("venv", "--python", sys.executable, str(_ENVIRONMENT))
        # Compiled: an interpreter that compiles what it imports would make every peer look slow.
        await _uv(
            "pip", "sync", "--python", str(_PYTHON), "--require-hashes", "--only-binary", ":all:", "--compile-bytecode",
            str(_REQUIREMENTS),
        )  # fmt: skip
        _STAMP.write_text(wanted)
    return _PYTHON


async def _uv(*words: str) -> None:
    done = await anyio.run_process(
        [find_uv_bin(), "--quiet", "--system-certs", *words], check=False, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise BenchFailed(f"uv {words[0]} failed:\n{done.stdout.decode(errors='replace').strip()}")
