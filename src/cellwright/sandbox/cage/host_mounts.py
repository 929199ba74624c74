"""What is prepared for a cage on the host: mounts under root's rights, copies of a project, mount points."""

# Plain paths and descriptors: this runs in the zygote, as root.
# ruff: noqa: PTH106, PTH108, PTH116, PTH118, PTH208

from __future__ import annotations

import errno
import os
import signal
import stat
from functools import cache

from cellwright.errors import UserError
from cellwright.remedies import remedy
from cellwright.sandbox.cage import rootfs
from cellwright.sandbox.cage.file_copies import Copier, CopyBudget, ForeignCopier
from cellwright.sandbox.cage.rootfs import DetachedMounts
from cellwright.sandbox.linux import cgroups, syscalls
from cellwright.sandbox.linux.descriptors import GIVEN_DIRECTORY, closing, opened
from cellwright.sandbox.spec import CageSpec


def sources_as_root(spec: CageSpec, uid: int) -> DetachedMounts:
    """The project as if it belonged to `uid`, and software and data wherever they are."""
    sources = _project_as_root(spec, uid)
    try:
        sources.software = rootfs.open_software(spec.software)
        for mount in spec.data:
            # Root may read it, so the notebook root started may: as if it belonged to `uid`, where that can be done.
            sources.data.append((mount.target, _as_if_owned(rootfs.open_read_only(mount.source), uid)))
        for path in sorted((*spec.volumes, *spec.mounted_files)):
            # Without what is mounted in it: that is opened for itself, and may belong to somebody else.
            sources.volumes.append(
                (path, _as_if_owned(syscalls.open_tree(f"{spec.project}/{path}", recursive=False), uid))
            )
    except OSError:
        for descriptor in sources.descriptors():
            os.close(descriptor)
        raise
    return sources


def _project_as_root(spec: CageSpec, uid: int) -> DetachedMounts:
    owner = os.stat(spec.project)
    project = syscalls.open_tree(spec.project, recursive=False)
    try:
        if owner.st_uid != uid:
            namespace = _mapping(owner.st_uid, owner.st_gid, uid)
            syscalls.set_mount_attributes(project, syscalls.MOUNT_ATTR_IDMAP, userns_fd=namespace, recursive=False)
    except OSError as error:
        os.close(project)
        if error.errno != errno.EINVAL:
            raise
        return _copied_project(spec, uid)
    layer = None if spec.files == "direct" else _foreign_layer(spec, owner, uid)
    return DetachedMounts(project=project, layer=layer)


def _as_if_owned(tree: int, uid: int) -> int:
    """What belongs to the owner of a detached mount belongs to `uid`, where the file system can do that."""
    owner = os.fstat(tree)
    if owner.st_uid != uid:
        try:
            namespace = _mapping(owner.st_uid, owner.st_gid, uid)
            syscalls.set_mount_attributes(tree, syscalls.MOUNT_ATTR_IDMAP, userns_fd=namespace)
        except OSError as error:
            if error.errno != errno.EINVAL:
                os.close(tree)
                raise
    return tree


def _copied_project(spec: CageSpec, uid: int) -> DetachedMounts:
    """The file system knows no id-mapped mounts: the cage works on a copy below its overlay."""
    if spec.files == "direct":
        raise UserError(
            f"Direct file access is not possible on the file system of {spec.project!r} when started as root.",
            hint=remedy("keep_files", lead="Run as the owner of the project, or"),
        )
    layer = copied_layer(spec, uid)
    return DetachedMounts(project=syscalls.new_filesystem("tmpfs", {"size": "4k"}, rootfs.READ_ONLY), layer=layer)


def copied_layer(spec: CageSpec, uid: int | None) -> int:
    """A copy of the project, but for what is mounted in it; for `uid`, or for whoever we are."""
    layer, root = _new_layer(spec, uid)
    try:
        with closing(root), opened(spec.project, GIVEN_DIRECTORY) as source:
            _copier(spec, uid).copy_all(source, root)
    except OSError as error:
        os.close(layer)
        if error.errno not in {errno.EFBIG, errno.ENOSPC}:
            raise
        raise UserError(
            f"The project {spec.project!r} is too big to be copied for its notebook.",
            hint=remedy("raise_limit", lead="Run as the owner of the project, or", limits="disk inodes"),
        ) from None
    return layer


def _foreign_layer(spec: CageSpec, owner: os.stat_result, uid: int) -> int | None:
    """A layer above the project with the files that belong to somebody else, now editable."""
    layer, root = _new_layer(spec, uid)
    try:
        with closing(root), opened(spec.project, GIVEN_DIRECTORY) as source:
            ForeignCopier(_copier(spec, uid), owner).copy(source, root)
            if os.listdir(root):
                return layer
    except OSError:
        os.close(layer)
        raise
    os.close(layer)
    return None


def _new_layer(spec: CageSpec, uid: int | None) -> tuple[int, int]:
    """A capped, detached file system owned by the cage, and its opened root."""
    options = rootfs.layer_options(spec.limits, "0755")
    if uid is not None:
        options |= {"uid": str(uid), "gid": str(uid)}
    layer = syscalls.new_filesystem("tmpfs", options, rootfs.READ_WRITE)
    return layer, os.open(".", GIVEN_DIRECTORY, dir_fd=layer)


def _copier(spec: CageSpec, uid: int | None) -> Copier:
    leave_out = {*spec.hidden, *spec.left_out, *spec.protected, *spec.volumes, *spec.mounted_files}
    owner = None if uid is None else (uid, uid)
    return Copier(leave_out=leave_out, owner=owner, budget=CopyBudget.of(spec.limits))


@cache
def _mapping(owner_uid: int, owner_gid: int, uid: int) -> int:
    """A user namespace whose only use is to say: what belongs to the owner belongs to `uid`."""
    pid = syscalls.clone(syscalls.CLONE_NEWUSER)
    if pid == 0:
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        while True:
            signal.pause()
    try:
        for name, owner in (("uid_map", owner_uid), ("gid_map", owner_gid)):
            cgroups.write(f"/proc/{pid}/{name}", f"{owner} {uid} 1")
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def missing_mount_points(spec: CageSpec) -> tuple[str, ...]:
    """Direct mode: the mount points that will be made on the host, deepest first."""
    if spec.files != "direct":
        return ()
    missing: list[str] = []
    for path in (*spec.protected, *(mount.target for mount in spec.data)):
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            point = os.path.join(spec.project, *parts[:end])
            if not os.path.lexists(point) and point not in missing:
                missing.append(point)
    return tuple(sorted(missing, key=len, reverse=True))


def remove_mount_points(points: tuple[str, ...]) -> None:
    """Take the mount points away again, as long as nobody has put anything there."""
    for point in points:
        try:
            status = os.lstat(point)
            if stat.S_ISDIR(status.st_mode):
                os.rmdir(point)
            elif stat.S_ISREG(status.st_mode) and status.st_size == 0:
                os.unlink(point)
        except OSError:
            continue
