"""What kind of machine this is, beside its protections: its memory pages, and whether Windows is beneath it."""

from __future__ import annotations

from typing import Final, NamedTuple

_KIB: Final = 1024
_MIB: Final = 1024 * 1024


class Fact(NamedTuple):
    """One line of the doctor, decided from values alone."""

    name: str
    is_ok: bool
    detail: str
    consequence: str = ""


def memory_pages(page_bytes: int, huge_bytes: int | None, *, is_usable: bool) -> Fact:
    """The size of pages, and what follows where the zygote cannot lie in huge ones."""
    huge = "no huge pages" if huge_bytes is None else f"huge pages of {huge_bytes // _MIB} MiB"
    unused = "" if is_usable or huge_bytes is None else ", which are not used"
    return Fact(
        name="memory pages",
        is_ok=is_usable,
        detail=f"{page_bytes // _KIB} KiB, {huge}{unused}",
        consequence="" if is_usable else "Kernels and branches start a few milliseconds later; nothing else changes.",
    )


def windows_beneath(release: str, *, has_landlock: bool) -> list[Fact]:
    """What WSL means for the sandbox, from the kernel's release; nothing on any other Linux."""
    if "microsoft" not in release.lower():
        return []
    if "wsl2" not in release.lower():
        # WSL 1 answers as "4.4.0-19041-Microsoft": it imitates system calls, and has none of a cage's.
        cure = "`wsl --set-version DISTRIBUTION 2` in PowerShell turns it into WSL2, which can contain notebooks."
        return [Fact(name="WSL", is_ok=False, detail=f"WSL 1 ({release}) is no Linux kernel", consequence=cure)]
    detail = f"WSL2, kernel {release} {'with' if has_landlock else 'without'} Landlock"
    cure = "`wsl --update` in PowerShell; and no `kernel=`, nor an `lsm=` without landlock, in .wslconfig."
    return [Fact(name="WSL", is_ok=has_landlock, detail=detail, consequence="" if has_landlock else cure)]
