"""Looking for a secret wherever a process or a file could keep it, in every form it is likely to have there."""

from __future__ import annotations

import base64
import ctypes
import os
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

_PROC: Final = Path("/proc")
_READ_BYTES: Final = 1 << 20
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_IS_THERE: Final = 0xC0
"""Of a page's entry: in memory, or swapped out. Pages never touched are empty, and there are many."""
_PR_SET_CHILD_SUBREAPER: Final = 36
_PROGRAMS: Final = ("/usr/", "/lib", sys.prefix, sys.base_prefix)


def forms_of(secret: str) -> dict[str, bytes]:
    """What to look for: the secret, either half of it, both turned round, and the usual encodings."""
    plain, middle = secret.encode(), len(secret) // 2
    forms = {
        "first half": plain[:middle],
        "second half": plain[middle:],
        "first half, reversed": plain[:middle][::-1],
        "second half, reversed": plain[middle:][::-1],
        "url-encoded": quote(secret, safe="").encode(),
        "hex": plain.hex().encode(),
    }
    for before in range(3):
        # What stands before it shifts its base64; the characters at the seams depend on the neighbours.
        forms[f"base64 after {before} bytes"] = base64.b64encode(b"-" * before + plain)[4:-4]
    return forms


def traces(content: bytes, secrets: Sequence[str]) -> list[str]:
    """In which forms any of the secrets stands in there."""
    # Two or four bytes a character are one each without their zeros; looking for zeros among zeros takes long.
    narrow = content.translate(None, b"\0")
    return [
        *(name for secret in secrets for name, form in forms_of(secret).items() if form in content),
        *("wide characters" for secret in secrets if secret[: len(secret) // 2].encode() in narrow),
    ]


def traces_in_files(folder: Path, secrets: Iterable[str], *, besides: Iterable[Path] = ()) -> dict[str, list[str]]:
    """Files below a folder that hold a secret, or are called after one."""
    secrets, spared = list(secrets), set(besides)
    found: dict[str, list[str]] = {}
    for path in folder.rglob("*"):
        content = str(path).encode()
        if path.is_file() and not path.is_symlink() and path not in spared:
            content += path.read_bytes()
        if told := traces(content, secrets):
            found[str(path)] = told
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a look into processes found."""

    found: dict[str, list[str]]
    """Command lines of processes that hold a secret, and how."""
    seen: dict[int, str]
    """Whose memory was read."""
    closed: dict[int, str]
    """Who lets nobody of this person look in."""


def look_into(processes: Iterable[int], secrets: Iterable[str]) -> Look:
    """Read arguments, environment and memory of processes that run now."""
    look, secrets = Look(found={}, seen={}, closed={}), list(secrets)
    for pid in processes:
        try:
            name = _command(pid)
            told = [f"argument: {form}" for form in traces(_file(pid, "cmdline"), secrets)]
            told += [f"environment: {form}" for form in traces(_file(pid, "environ"), secrets)]
            told += sorted({f"memory: {form}" for part in memory(pid) for form in traces(part, secrets)})
        except PermissionError:
            look.closed[pid] = _command(pid)
            continue
        except (FileNotFoundError, ProcessLookupError):
            continue
        look.seen[pid] = name
        if told:
            look.found[f"{pid} {name}"] = told
    return look


def memory(pid: int) -> Iterator[bytes]:
    """What a process has in its memory, but for the unchangeable parts of installed programs."""
    with (_PROC / str(pid) / "mem").open("rb", 0) as bytes_of, (_PROC / str(pid) / "pagemap").open("rb", 0) as pages_of:
        for line in _file(pid, "maps").decode().splitlines():
            addresses, permissions, _, _, _, *path = line.split(maxsplit=5)
            is_program = "w" not in permissions and bool(path) and path[0].startswith(_PROGRAMS)
            if "r" in permissions and not is_program and path not in (["[vvar]"], ["[vsyscall]"]):
                start, end = (int(address, 16) for address in addresses.split("-"))
                yield from _read(bytes_of.fileno(), pages_of.fileno(), start, end)


def family(pid: int) -> set[int]:
    """A process and everything below it."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    members = [pid]
    for member in members:
        members += children.get(member, [])
    return set(members)


@contextmanager
def adopting() -> Generator[None]:
    """Whoever is orphaned below this process in the meantime becomes its child, so that nobody gets out of sight."""
    library = ctypes.CDLL(None)
    assert library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        library.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _read(bytes_of: int, pages_of: int, start: int, end: int) -> Iterator[bytes]:
    """In pieces that overlap by a page, which is longer than any form."""
    for at in range(start, end, _READ_BYTES):
        length = min(_READ_BYTES + _PAGE_BYTES, end - at)
        try:
            pages = os.pread(pages_of, 8 * -(-length // _PAGE_BYTES), 8 * (at // _PAGE_BYTES))
            if any(byte & _IS_THERE for byte in pages[7::8]):
                yield os.pread(bytes_of, length, at)
        except OSError:
            # Devices and pages past a file's end cannot be read by anyone.
            continue


def _file(pid: int, name: str) -> bytes:
    return (_PROC / str(pid) / name).read_bytes()


def _command(pid: int) -> str:
    return _file(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()[:200]
