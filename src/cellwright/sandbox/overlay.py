"""The project inside the cage: what is writable, what is read-only, what is hidden.

In `keep` and `drop` an overlay catches every change in a capped layer; in `direct` the real files are written.
"""

# Plain paths and descriptors: this runs between a clone and a pivot.
# ruff: noqa: PTH101, PTH102, PTH112, PTH114, PTH116, PTH120

from __future__ import annotations

import os
import stat

from cellwright.sandbox import linux, root
from cellwright.sandbox.root import Sources, Views
from cellwright.sandbox.spec import CageSpec

PROJECT = "root/project"
_MASKS = "root/.mask"


def mount_project(spec: CageSpec, sources: Sources) -> tuple[Views, list[str]]:
    """Mount the project below the staged root; also says which placeholders it had to make on the host."""
    if spec.files == "direct":
        linux.set_mount_attributes(sources.project, root.READ_WRITE)
        linux.attach(sources.project, PROJECT)
        made = _placeholders(spec, sources)
        views = Views(upper=None, lowers=())
    else:
        views = _overlay(spec, sources)
        made = []
    cover(spec, PROJECT, _MASKS)
    for target, tree in sources.data:
        linux.attach(tree, f"{PROJECT}/{target}")
        os.close(tree)
    return views, made


def cover(spec: CageSpec, project: str, masks: str, data_from: str | None = None) -> None:
    """What is not to be changed or not to be read in a mounted project; and, in a branch's, the data of its parent."""
    for path in spec.protected:
        _read_only(f"{project}/{path}")
    for path in spec.hidden:
        _refuse_links(os.path.dirname(f"{project}/{path}"))
        root.mask(f"{project}/{path}", masks)
    for mount in spec.data if data_from is not None else ():
        tree = linux.open_tree(f"{data_from}/{mount.target}", recursive=False)
        linux.attach(tree, f"{project}/{mount.target}")
        os.close(tree)


def bottoms(spec: CageSpec) -> tuple[str, ...]:
    """What lies below everything a notebook changed, for whoever mounts the project once more after the pivot."""
    if spec.files == "direct":
        return ("/project",)
    places = (f"{root.STAGE}/inner/places",) if spec.data else ()
    return (*places, f"{root.STAGE}/inner/layer", f"{root.STAGE}/inner/lower")


def _overlay(spec: CageSpec, sources: Sources) -> Views:
    linux.attach(sources.project, "lower")
    if sources.layer is not None:
        linux.attach(sources.layer, "layer")
    for target, tree in sources.data:
        _make_place(f"places/{target}", tree)
    lowers = ["lower"] if sources.layer is None else ["layer", "lower"]
    stack = ["places", *lowers] if sources.data else lowers
    options = f"lowerdir={':'.join(stack)},upperdir=upper,workdir=work,userxattr"
    os.chmod("upper", stat.S_IMODE(os.stat("lower").st_mode) | 0o700)
    linux.mount("overlay", PROJECT, "overlay", 0x6, options)
    return Views(upper=_open("upper"), lowers=tuple(_open(lower) for lower in lowers))


def _open(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _make_place(path: str, tree: int) -> list[str]:
    """An empty file or directory to mount `tree` on; returns what had to be made, outermost first."""
    made: list[str] = []
    _refuse_links(path)
    parent = os.path.dirname(path)
    missing: list[str] = []
    while not os.path.isdir(parent):
        missing.append(parent)
        parent = os.path.dirname(parent)
    for directory in reversed(missing):
        os.mkdir(directory, 0o755)
        made.append(directory)
    if not os.path.lexists(path):
        if stat.S_ISDIR(os.fstat(tree).st_mode):
            os.mkdir(path, 0o755)
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
        made.append(path)
    return made


def _refuse_links(path: str) -> None:
    """No part of the way may be a symbolic link: before the pivot it would lead to the host."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        if os.path.islink("/".join(parts[:end])):
            raise OSError(40, f"{'/'.join(parts[:end]).removeprefix(PROJECT + '/')} is a symbolic link")


def _placeholders(spec: CageSpec, sources: Sources) -> list[str]:
    """Direct mode: mount points that do not exist must be made on the host, and are removed at the end."""
    made: list[str] = []
    for path in spec.protected:
        place = f"{PROJECT}/{path}"
        if not os.path.lexists(place) and "/" not in path:
            os.mkdir(place, 0o755)
            made.append(place)
    for target, tree in sources.data:
        made += _make_place(f"{PROJECT}/{target}", tree)
    return [path.removeprefix(f"{PROJECT}/") for path in made]


def _read_only(path: str) -> None:
    if os.path.lexists(path) and not os.path.islink(path):
        tree = linux.open_tree(path)
        linux.set_mount_attributes(tree, root.READ_ONLY)
        linux.attach(tree, path)
        os.close(tree)
