"""The file tree a kernel sees: a small read-only root with the software, a scratch space and the project.

Built by the cage's init, step by step, on top of detached mounts; nothing of the host is left in it afterwards.
"""

# Plain paths and descriptors: this runs between a clone and a pivot.
# ruff: noqa: PTH101, PTH102, PTH103, PTH110, PTH112, PTH114, PTH115, PTH120, PTH211

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from cellwright.sandbox.linux import syscalls
from cellwright.sandbox.linux.descriptors import NEW_FILE, closing, opened
from cellwright.sandbox.spec import BRANCH_SLOTS, CERTIFICATES, CageSpec, Limits

READ_ONLY = syscalls.MOUNT_ATTR_RDONLY | syscalls.MOUNT_ATTR_NOSUID | syscalls.MOUNT_ATTR_NODEV
READ_WRITE = syscalls.MOUNT_ATTR_NOSUID | syscalls.MOUNT_ATTR_NODEV

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = (
    "/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives", "/etc/fonts", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/crypto-policies",
)  # fmt: skip
_DEVICES = ("null", "zero", "full", "random", "urandom")
_PROC_MASKS = ("cmdline", "kallsyms", "kcore", "keys", "key-users", "sysrq-trigger", "timer_list")
_STAGES = ("/tmp", "/mnt", "/srv", "/usr")
_SCRATCH_INODES = 100_000
SCRATCH = (("shm", "dev/shm", 0o1777), ("home", "home/cell", 0o700), ("tmp", "tmp", 0o1777))
"""Parts of the scratch space: name, where it is seen, mode. `tmp` comes last: it covers where the others are made."""
_NOSUID_NODEV_NOEXEC = 0xE

STAGE = "/.stage"
"""Where init reaches the layers below and above the project. Nobody else can: its directory is closed, and the file
system it lies on is read-only, so that it stays closed."""
LOWER = f"{STAGE}/inner/lower"
"""There, the person's own files."""

_GENERATED = {
    "etc/passwd": "cell:x:1000:1000:cell:/home/cell:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "cell:x:1000:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost cell\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "etc/resolv.conf": "",
    "etc/hostname": "cell\n",
}


@dataclass(slots=True)
class DetachedMounts:
    """Detached mounts, opened while we still could; each is used up by attaching it."""

    project: int
    layer: int | None = None
    """A layer above the project with what could not be used in place, made by a zygote that is root."""
    software: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    data: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    volumes: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """What is mounted in the project, where `project` comes without it; the outer first."""

    def descriptors(self) -> set[int]:
        """Everything that is open here."""
        own = {self.project} if self.layer is None else {self.project, self.layer}
        return own | {tree for _, tree in (*self.software, *self.data, *self.volumes)}


@dataclass(frozen=True, slots=True)
class OverlayView:
    """Directories init keeps open to tell what changed."""

    upper: int | None
    lowers: tuple[int, ...]


def open_software(paths: Iterable[str]) -> list[tuple[str, int]]:
    """Detached read-only copies of the given places, under their given and their real names."""
    opened: list[tuple[str, int]] = []
    covered = [path for path in SYSTEM if os.path.isdir(path) and not os.path.islink(path)]
    given = list(paths)
    for path in sorted({*given, *map(os.path.realpath, given)}, key=len):
        if not any(path == other or path.startswith(other + "/") for other in covered):
            opened.append((path, open_read_only(path)))
            covered.append(path)
    return opened


def open_read_only(path: str) -> int:
    """A detached read-only copy of the mount at `path`."""
    tree = syscalls.open_tree(path)
    syscalls.set_mount_attributes(tree, READ_ONLY)
    return tree


def open_system() -> list[tuple[str, int]]:
    """The host's own software and the few settings programs look for."""
    return [
        (path, open_read_only(path))
        for path in (*SYSTEM, *_SETTINGS)
        if os.path.exists(path) and not os.path.islink(path)
    ]


def stage(limits: Limits) -> None:
    """A size-capped tmpfs for everything under construction; it becomes the current directory."""
    place = next(path for path in _STAGES if os.path.isdir(path))
    attach_new("tmpfs", layer_options(limits, "0700"), READ_WRITE, place)
    os.chdir(place)
    for name in ("root", "upper", "work", "lower", "layer", "points", "volumes"):
        os.mkdir(name, 0o755)


def layer_options(limits: Limits, mode: str) -> dict[str, str]:
    """Of a tmpfs for changed files of the project."""
    return {"size": f"{limits.disk_mb}m", "nr_inodes": str(limits.inodes + 16), "mode": mode}


def build(spec: CageSpec, sources: DetachedMounts, system: list[tuple[str, int]]) -> None:
    """Fill `root`: software, devices, scratch space, processes, a few settings."""
    attach_new("tmpfs", {"size": "4m", "nr_inodes": "4096", "mode": "0755"}, READ_WRITE, "root")
    os.chdir("root")
    _make_directories()
    _scratch(spec.limits)
    for path in (*SYSTEM, *_SETTINGS):
        if os.path.islink(path):
            _make_parent(path[1:])
            os.symlink(os.readlink(path), path[1:])
    for path, tree in (*system, *sources.software):
        attach_at(tree, path[1:])
    for name in _DEVICES:
        attach_at(syscalls.open_tree(f"/dev/{name}"), f"dev/{name}")
    _processes()
    for path, content in _GENERATED.items():
        _write(path, content)
    if spec.certificates:
        _make_parent(CERTIFICATES[1:])
        _write(CERTIFICATES[1:], spec.certificates)
    os.chdir("..")


def _make_directories() -> None:
    for name in ("dev", "dev/shm", "etc", "home", "home/cell", "proc", "project", "branches", "tmp", ".mask"):
        os.mkdir(name, 0o755)
    for number in range(1, BRANCH_SLOTS + 1):
        os.mkdir(f"branches/{number}", 0o755)
    os.mkdir(STAGE[1:], 0o700)
    for name in ("inner", *map(str, range(1, BRANCH_SLOTS + 1))):
        os.mkdir(f"{STAGE[1:]}/{name}", 0o700)
    os.mkdir(".mask/directory", 0)
    _write(".mask/file", "", mode=0)
    for name, target in (("fd", "self/fd"), ("stdin", "self/fd/0"), ("stdout", "self/fd/1"), ("stderr", "self/fd/2")):
        os.symlink(f"/proc/{target}", f"dev/{name}")


def keep_stage() -> None:
    """The layers stay within init's reach after the pivot: branches are built from them."""
    place = f"root{STAGE}"
    for source, target in ((".", "inner"), ("lower", "inner/lower"), ("layer", "inner/layer")):
        # With the volumes in them, which may not be taken off; but not with all else that is mounted here.
        bind(source, f"{place}/{target}", recursive=source != ".")
    os.chmod(place, 0)
    # Whoever is in a place must not get out of it by going up: a directory nobody may search is in between.
    os.chmod("root/branches", 0)


def _scratch(limits: Limits) -> None:
    """One capped filesystem, seen at three places."""
    options = {"size": f"{limits.tmp_mb}m", "nr_inodes": str(_SCRATCH_INODES), "mode": "0755"}
    attach_new("tmpfs", options, READ_WRITE, "tmp")
    for name, seen_at, mode in SCRATCH:
        os.mkdir(f"tmp/{name}", mode)
        os.chmod(f"tmp/{name}", mode)
        attach_at(syscalls.open_tree(f"tmp/{name}"), seen_at)


def _processes() -> None:
    # The operating system refuses a fresh one (EPERM) where the container's own is masked. Then there is no cage of
    # this kind: the guest reads /proc/self, and tier B's meters count the processes they find there.
    syscalls.mount("proc", "proc", "proc", _NOSUID_NODEV_NOEXEC)
    for name in _PROC_MASKS:
        mask(f"proc/{name}", ".mask")


def mask(path: str, masks: str) -> None:
    """Cover an existing file or directory with an empty one nobody can read."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISLNK(mode):
        syscalls.attach(open_read_only(f"{masks}/directory" if stat.S_ISDIR(mode) else f"{masks}/file"), path)


def bind(source: str, target: str, *, recursive: bool = False) -> None:
    """What is mounted at one place, at another too."""
    with closing(syscalls.open_tree(source, recursive=recursive)) as tree:
        syscalls.attach(tree, target)


def attach_at(tree: int, path: str) -> None:
    """Attach a detached mount at `path`, making the mount point for it, and close it."""
    make_mount_point(path, tree)
    syscalls.attach(tree, path)
    os.close(tree)


def make_mount_point(path: str, tree: int) -> None:
    """An empty file or directory to mount `tree` on, unless something is there."""
    _make_parent(path)
    if not os.path.lexists(path):
        if stat.S_ISDIR(os.fstat(tree).st_mode):
            os.mkdir(path, 0o755)
        else:
            os.close(os.open(path, NEW_FILE, 0o644))


def enter() -> None:
    """Close the root for changes, make it the only one there is, forget the host's."""
    os.chdir("root")
    with opened(".") as here:
        syscalls.set_mount_attributes(here, READ_ONLY, recursive=False)
    syscalls.pivot_root_here()


def attach_new(kind: str, options: dict[str, str], attributes: int, place: str) -> None:
    """A fresh filesystem at `place`."""
    with closing(syscalls.new_filesystem(kind, options, attributes)) as tree:
        syscalls.attach(tree, place)


def _make_parent(path: str) -> None:
    parent = os.path.dirname(path)
    if parent and not os.path.isdir(parent):
        os.makedirs(parent, 0o755, exist_ok=True)


def _write(path: str, content: str, mode: int = 0o644) -> None:
    with closing(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)) as descriptor:
        os.write(descriptor, content.encode())
