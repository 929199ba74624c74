"""A machine of its own in QEMU: a kernel, and this Python with our sources in memory. No disk, no network, no KVM.

Whatever runs in it is one program, which prints lines of JSON to the serial console. The kernel is Debian's, unpacked
by `make emulator` into `.emulator/`.
"""

from __future__ import annotations

import json
import lzma
import os
import platform
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, BinaryIO

ROOT = Path(__file__).parents[3]
KERNELS = ROOT / ".emulator"
BOOT_SECONDS = 1800
_MARK = "cellwright-says "
SOURCES = ROOT / "src"
_FOLDERS = ["dev", "proc", "sys", "tmp", "etc", "root", "home", "mnt", "srv", "run", "var", "usr/local", "inner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulator:
    """How QEMU is asked for a machine of one processor."""

    command: tuple[str, ...]
    console: str


EMULATORS = {
    "x86_64": Emulator(command=("qemu-system-x86_64", "-machine", "q35", "-cpu", "qemu64,+rdrand"), console="ttyS0"),
    "aarch64": Emulator(
        command=("qemu-system-aarch64", "-machine", "virt", "-cpu", "max,pauth-impdef=on"), console="ttyAMA0"
    ),
}


def run(program: Path, folder: Path) -> list[Any]:
    """What the program printed as JSON, one object a line, in a machine made for it."""
    emulator = EMULATORS[platform.machine()]
    [kernel] = KERNELS.glob("boot/vmlinuz-*")
    image = folder / "initramfs"
    with image.open("wb") as out:
        _write_archive(out, program)
    ended = subprocess.run(
        [
            *(*emulator.command, "-m", "1600", "-smp", "1", "-nographic", "-no-reboot", "-nic", "none"),
            # Time inside goes by instructions, not by our clock: a busy host makes no deadline inside pass.
            *("-icount", "shift=0,sleep=off"),
            *("-kernel", str(kernel), "-initrd", str(image)),
            *("-append", f"console={emulator.console} quiet panic=-1 mitigations=off random.trust_cpu=on"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=BOOT_SECONDS,
        check=True,
    )
    said = ended.stdout.decode(errors="replace")
    lines = [line.partition(_MARK)[2] for line in said.splitlines() if _MARK in line]
    assert lines and json.loads(lines[-1]) == "end", said[-6000:]
    return [json.loads(line) for line in lines[:-1]]


def _write_archive(out: BinaryIO, program: Path) -> None:
    """An initramfs in the "newc" form of cpio, which is all a kernel reads."""
    seen: set[str] = set()
    for folder in _FOLDERS:
        _add_folders(out, f"{folder}/x", seen)
    for source, target in _files(program):
        _add_folders(out, target, seen)
        if target not in seen:
            seen.add(target)
            data = source if isinstance(source, bytes) else source.read_bytes()
            is_program = isinstance(source, bytes) or os.access(source, os.X_OK)
            _add(out, target, stat.S_IFREG | (0o755 if is_program else 0o644), data)
    _add(out, "dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    _add(out, "TRAILER!!!", 0)


def _files(program: Path) -> Iterator[tuple[Path | bytes, str]]:
    python = Path(sys.executable).resolve()
    modules = _loaded_modules(python, program)
    compiled = [Path(cache_from_source(str(file))) for file in modules if file.suffix == ".py"]
    for file in (python, *modules, *filter(Path.exists, compiled), *_shared_libraries([python, *modules])):
        yield file.resolve(), str(file).lstrip("/")
    [overlay] = KERNELS.glob("lib/modules/*/kernel/fs/overlayfs/overlay.ko*")
    yield (lzma.decompress(overlay.read_bytes()) if overlay.suffix == ".xz" else overlay), "overlay.ko"
    yield b"root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home:/bin/sh\n", "etc/passwd"
    yield program, "program.py"
    yield str(SOURCES).encode(), "sources"
    # "-I -S": nothing but the standard library and what the program puts on its path.
    yield f"#!{python} -IS\n".encode() + (Path(__file__).parent / "first_process.py").read_bytes(), "init"


def _loaded_modules(python: Path, program: Path) -> list[Path]:
    """What the program imports, and all codecs: unpacking a whole Python takes a minute under emulation."""
    look = f"import sys, runpy, encodings.aliases, encodings.idna; sys.path.insert(0, {str(SOURCES)!r})\n"
    look += f"runpy.run_path({str(program)!r})\nfrom cellwright.sandbox.host import probes\n"
    look += "print(*{m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)}, sep='\\n')"
    told = subprocess.run([python, "-IS", "-c", look], capture_output=True, text=True, check=True).stdout
    return [Path(line) for line in told.splitlines()]


def _shared_libraries(binaries: list[Path]) -> set[Path]:
    native = [str(file) for file in binaries if file.suffix != ".py"]
    told = subprocess.run(["ldd", *native], capture_output=True, text=True, check=True).stdout
    return {Path(word) for word in told.split() if word.startswith("/") and not word.endswith(":")}


def _add_folders(out: BinaryIO, path: str, seen: set[str]) -> None:
    for parent in reversed(Path(path).parents[:-1]):
        if str(parent) not in seen:
            seen.add(str(parent))
            _add(out, str(parent), stat.S_IFDIR | 0o755)


def _add(out: BinaryIO, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
    title = name.encode() + b"\0"
    numbers = (out.tell(), mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(title), 0)
    head = b"070701" + b"".join(b"%08X" % number for number in numbers)
    out.write(head + title + bytes(-(len(head) + len(title)) % 4) + data + bytes(-len(data) % 4))
