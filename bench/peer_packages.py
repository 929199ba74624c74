"""The peers' own environments: `bench/.peers…`, each built by uv from hashed requirements when they change."""

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


async def peers_python() -> Path:
    """The interpreter peers run with, its packages installed and compiled."""
    return await _environment(_HERE / "requirements-peers.txt", _HERE / ".peers")


async def profile_peer_python() -> Path:
    """The same for the peer of `profile`, which wants older packages than the others."""
    return await _environment(_HERE / "requirements-profile-peer.txt", _HERE / ".peers-profile")


async def _environment(requirements: Path, place: Path) -> Path:
    python, stamp = place / "bin" / "python", place / ".installed"
    wanted = _digest(requirements)
    if not (python.exists() and stamp.exists() and stamp.read_text() == wanted):
        print(f"Installing {requirements.stem} into bench/{place.name} …", file=sys.stderr)
        shutil.rmtree(place, ignore_errors=True)
        await _uv("venv", "--python", sys.executable, str(place))
        # Compiled: an interpreter that compiles what it imports would make every peer look slow.
        await _uv(
            "pip", "sync", "--python", str(python), "--require-hashes", "--only-binary", ":all:", "--compile-bytecode",
            str(requirements),
        )  # fmt: skip
        stamp.write_text(wanted)
    return python


def _digest(requirements: Path) -> str:
    return hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()


async def _uv(*words: str) -> None:
    done = await anyio.run_process(
        [find_uv_bin(), "--quiet", "--system-certs", *words], check=False, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise BenchFailed(f"uv {words[0]} failed:\n{done.stdout.decode(errors='replace').strip()}")
