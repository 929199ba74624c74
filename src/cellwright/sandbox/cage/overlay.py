"""The project inside the cage: what is writable, what is read-only, what is hidden.

In `keep` and `drop` an overlay catches every change in a capped layer; in `direct` the real files are written.

A file system that is mounted in the project, such as a container's volume, is no part of an overlay of the project. It
gets one of its own in its place, whose changes go into the same layer: `upper/data` for what is mounted on `data`.
"""

# Plain paths and descriptors: this runs between a clone and a pivot.
# ruff: noqa: PTH101, PTH102, PTH112, PTH114, PTH116, PTH120

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence

from cellwright.sandbox.cage import rootfs
from cellwright.sandbox.cage.rootfs import DetachedMounts, OverlayView
from cellwright.sandbox.linux import syscalls
from cellwright.sandbox.linux.descriptors import DIRECTORY, closing
from cellwright.sandbox.spec import CageSpec

PROJECT = "root/project"
_MASKS = "root/.mask"


def mount_project(spec: CageSpec, sources: DetachedMounts) -> None:
    """Mount the project below the staged root."""
    if spec.files == "direct":
        syscalls.set_mount_attributes(sources.project, rootfs.READ_WRITE)
        syscalls.attach(sources.project, PROJECT)
        for path, tree in sources.volumes:
            _refuse_links(f"{PROJECT}/{path}")
            syscalls.set_mount_attributes(tree, rootfs.READ_WRITE)
            syscalls.attach(tree, f"{PROJECT}/{path}")
        _make_mount_points(spec, sources)
    else:
        _overlay(spec, sources)
    cover(spec, PROJECT, _MASKS, lower="lower")
    for target, tree in sources.data:
        syscalls.attach(tree, f"{PROJECT}/{target}")
        os.close(tree)


def views(spec: CageSpec, sources: DetachedMounts) -> OverlayView:
    """The layers, after the pivot: before it, they would lose what is mounted in them together with the host's root."""
    if spec.files == "direct":
        return OverlayView(upper=None, lowers=())
    names = ["layer"] if spec.is_copied else ["lower"] if sources.layer is None else ["layer", "lower"]
    upper, *lowers = (os.open(f"{rootfs.STAGE}/inner/{name}", DIRECTORY) for name in ("upper", *names))
    return OverlayView(upper=upper, lowers=tuple(lowers))


def cover(spec: CageSpec, project: str, masks: str, *, lower: str, data_from: str | None = None) -> None:
    """What is not to be changed or not to be read in a mounted project; and, in a branch's, the data of its parent."""
    if spec.files != "direct":
        for path in spec.mounted_files:
            _read_only(f"{lower}/{path}", f"{project}/{path}")
    for path in spec.protected:
        _read_only(f"{lower if spec.is_copied else project}/{path}", f"{project}/{path}")
    for path in spec.hidden:
        _refuse_links(os.path.dirname(f"{project}/{path}"))
        rootfs.mask(f"{project}/{path}", masks)
    for mount in spec.data if data_from is not None else ():
        rootfs.bind(f"{data_from}/{mount.target}", f"{project}/{mount.target}")


def bottoms(spec: CageSpec) -> tuple[str, ...]:
    """What lies below everything a notebook changed, for whoever mounts the project once more after the pivot."""
    if spec.files == "direct":
        return ("/project",)
    points = (f"{rootfs.STAGE}/inner/points",) if spec.data else ()
    return (*points, f"{rootfs.STAGE}/inner/layer", *(() if spec.is_copied else (rootfs.LOWER,)))


def _overlay(spec: CageSpec, sources: DetachedMounts) -> None:
    syscalls.attach(sources.project, "lower")
    if sources.layer is not None:
        syscalls.attach(sources.layer, "layer")
    for path, tree in sources.volumes:
        # A copy that root made of the project has no place for it below.
        base = "lower" if os.path.lexists(f"lower/{path}") else "layer"
        _make_mount_point(f"{base}/{path}", tree)
        syscalls.attach(tree, f"{base}/{path}")
    if spec.is_copied:
        _complete_copy(spec)
    for target, tree in sources.data:
        _make_mount_point(f"points/{target}", tree)
    lowers = [
        *(["points"] if sources.data else []),
        *(["layer"] if sources.layer is not None else []),
        *([] if spec.is_copied else ["lower"]),
    ]
    os.chmod("upper", stat.S_IMODE(os.stat("lower").st_mode) | 0o700)
    lay(spec, PROJECT, ".", lowers)


def _complete_copy(spec: CageSpec) -> None:
    """The volumes in their places in the copy, and places for what is covered with the originals."""
    for path in (*spec.volumes, *spec.mounted_files, *spec.protected):
        if os.path.lexists(f"lower/{path}") and not os.path.islink(f"lower/{path}"):
            with closing(syscalls.open_tree(f"lower/{path}")) as tree:
                _make_mount_point(f"layer/{path}", tree)
                if path in spec.volumes:
                    syscalls.attach(tree, f"layer/{path}")


def lay(spec: CageSpec, project: str, stage: str, lowers: Sequence[str]) -> None:
    """Mount the project: these layers, the first on top, below `upper` of the stage; its volumes likewise."""
    # The inner before the outer: an overlay whose upper layer lies in that of another is warned about in the log.
    volumes = [
        (path, _open_volume(path, number, stage, [f"{lower}/{path}" for lower in lowers]))
        for number, path in enumerate(reversed(spec.volumes))
    ]
    _mount(project, lowers, f"{stage}/upper", f"{stage}/work")
    for path, tree in reversed(volumes):
        syscalls.attach(tree, f"{project}/{path}")
        os.close(tree)


def _open_volume(path: str, number: int, stage: str, layers: list[str]) -> int:
    """A detached mount of what is in a volume; changes go where those of the project go."""
    lowers = [layer for layer in layers if os.path.isdir(layer)]
    upper, point, work = f"{stage}/upper/{path}", f"{stage}/volumes/{number}", f"{stage}/volumes/{number}.work"
    _make_like(f"{stage}/upper", path, layers)
    os.mkdir(point, 0o755)
    os.mkdir(work, 0o755)
    try:
        _mount(point, lowers, upper, work)
    except OSError:
        # Not every file system can be a layer of an overlay; an overlay on an overlay is the most there can be.
        return rootfs.open_read_only(lowers[-1])
    tree = syscalls.open_tree(point, recursive=False)
    syscalls.detach(point)
    return tree


def _make_like(upper: str, path: str, layers: list[str]) -> None:
    """The directories on the way to a volume in an upper layer, with the modes they have below."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        directory, above = f"{upper}/{'/'.join(parts[:end])}", "/.." * (len(parts) - end)
        if not os.path.lexists(directory):
            below = next(f"{layer}{above}" for layer in reversed(layers) if os.path.isdir(layer))
            os.mkdir(directory, 0o700)
            os.chmod(directory, stat.S_IMODE(os.stat(below).st_mode) | 0o700)


def _mount(target: str, lowers: Sequence[str], upper: str, work: str) -> None:
    layers = ":".join(_escaped(lower) for lower in lowers)
    options = f"lowerdir={layers},upperdir={_escaped(upper)},workdir={work},userxattr"
    syscalls.mount("overlay", target, "overlay", 0x6, options)


def _escaped(path: str) -> str:
    """A path among the options of an overlay, which are parted by commas and colons."""
    return re.sub(r"([\\,:])", r"\\\1", path)


def _make_mount_point(path: str, tree: int) -> None:
    _refuse_links(path)
    rootfs.make_mount_point(path, tree)


def _refuse_links(path: str) -> None:
    """No part of the way may be a symbolic link: before the pivot it would lead to the host."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        if os.path.islink("/".join(parts[:end])):
            raise OSError(40, f"{'/'.join(parts[:end]).removeprefix(PROJECT + '/')} is a symbolic link")


def _make_mount_points(spec: CageSpec, sources: DetachedMounts) -> None:
    """Direct mode: mount points that do not exist must be made on the host; `prepare` removes them at the end."""
    for path in spec.protected:
        point = f"{PROJECT}/{path}"
        if not os.path.lexists(point) and "/" not in path:
            os.mkdir(point, 0o755)
    for target, tree in sources.data:
        _make_mount_point(f"{PROJECT}/{target}", tree)


def _read_only(source: str, target: str) -> None:
    if os.path.lexists(source) and not os.path.islink(source):
        with closing(rootfs.open_read_only(source)) as tree:
            syscalls.attach(tree, target)
