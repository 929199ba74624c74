"""Which systems Cellwright runs on: asked first of all, before anything is imported that only Linux has."""

from __future__ import annotations

from cellwright.errors import UserError

_ELSEWHERE = {
    "darwin": ("macOS", "a Linux virtual machine or a Linux container"),
    "win32": ("Windows", "WSL2, a Linux virtual machine or a Linux container"),
    "cygwin": ("Windows", "WSL2, a Linux virtual machine or a Linux container"),
}


def check_platform(system: str) -> None:
    """Raises `UserError` unless `system`, as `sys.platform` names it, is Linux."""
    if system != "linux":
        name, cure = _ELSEWHERE.get(system, (system, "a Linux virtual machine or a Linux container"))
        raise UserError(f"Cellwright contains notebooks with Linux, which {name} is not: use {cure}.")
