"""The first process of an emulated machine: mounts what a Linux has, runs the program, switches the machine off."""

import ctypes
import os
import runpy
import sys
import traceback
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
MS_BIND, MS_MOVE = 4096, 8192
POWER_OFF = 0x4321FEDC


def mount(source: str, target: str, kind: str | None, flags: int = 0) -> None:
    """mount(2), or an error."""
    kind_bytes = kind.encode() if kind else None
    if LIBC.mount(source.encode(), target.encode(), kind_bytes, ctypes.c_ulong(flags), None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}: {os.strerror(ctypes.get_errno())}")


def leave_first_root() -> None:
    """The kernel's first root cannot be pivoted away from; the same files mounted over it can."""
    mount("/", "/inner", None, MS_BIND)
    os.chdir("/inner")
    mount(".", "/", None, MS_MOVE)
    os.chroot(".")
    os.chdir("/")


def mount_everything() -> None:
    """What systemd would have mounted, control groups of version 2 among it."""
    mount("proc", "/proc", "proc")
    mount("sys", "/sys", "sysfs")
    mount("dev", "/dev", "devtmpfs")
    mount("tmp", "/tmp", "tmpfs")
    Path("/tmp").chmod(0o1777)
    mount("cgroup2", "/sys/fs/cgroup", "cgroup2")
    module = os.open("/overlay.ko", os.O_RDONLY)
    finit_module = {"x86_64": 313, "aarch64": 273}[os.uname().machine]
    if LIBC.syscall(finit_module, module, b"", 0) != 0:
        raise OSError(ctypes.get_errno(), "overlay.ko")


try:
    leave_first_root()
    mount_everything()
    # Our sources lie where they lie on the host; the program's own path says where.
    sys.path.insert(0, Path("/sources").read_text())
    runpy.run_path("/program.py", run_name="__main__")
    sys.stdout.write('cellwright-says "end"\n')
except BaseException:  # noqa: BLE001  the last frame of a machine: the test shows it
    traceback.print_exc()
finally:
    sys.stdout.flush()
    sys.stderr.flush()
    LIBC.reboot(ctypes.c_int(POWER_OFF))
