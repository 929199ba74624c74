"""What a notebook changed in its project, read from the overlay's upper layer.

Every step goes by directory descriptors and follows no link, so a running kernel cannot lead the reader astray.
"""

# Plain paths and descriptors: this runs between a clone and a pivot.
# ruff: noqa: PTH208

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence

from cellwright.sandbox.cage.file_copies import CopyView, RawChange, copy_changes
from cellwright.sandbox.cage.rootfs import LOWER, OverlayView
from cellwright.sandbox.linux.descriptors import DIRECTORY, FILE, closing, open_beneath, opened
from cellwright.sandbox.spec import CageSpec

_EXCHANGED = {errno.ENOENT, errno.ENOTDIR, errno.EINVAL, errno.ELOOP, errno.EISDIR, errno.ENXIO}
_COMPARE_BYTES = 64 * 1024 * 1024
_OPAQUE = "user.overlay.opaque"
_ORIGIN = "user.overlay.origin"


View = OverlayView | CopyView


def changes(views: View, spec: CageSpec) -> Iterator[RawChange]:
    """Every difference from the project as it was, deletions first within a directory."""
    targets = {mount.target for mount in spec.data}
    if isinstance(views, CopyView):
        found, project = copy_changes(views, targets | set(spec.protected)), spec.project
    elif views.upper is not None:
        lowers = [os.dup(lower) for lower in views.lowers]
        found, project = _directory(os.dup(views.upper), lowers, "", targets, _Moves(views)), LOWER
    else:
        return
    yield from _with_left_out(found, set(spec.left_out), project) if spec.left_out else found


def since_the_start(history: Sequence[View], spec: CageSpec) -> Iterator[RawChange]:
    """What a chain of places changed together; `history` is newest first, each relative to the next."""
    if len(history) == 1:
        yield from changes(history[0], spec)
        return
    found: dict[str, RawChange] = {}
    gone: dict[str, RawChange] = {}
    for views in reversed(history):
        for change in changes(views, spec):
            path, earlier = change[0], found.pop(change[0], None)
            if earlier is not None and _is_of_another_kind(earlier, change):
                gone[path], earlier = earlier, None
            if (together := _followed_by(earlier, change)) is not None:
                found[path] = together
    gone |= {path: change for path, change in found.items() if change[1] == "deleted"}
    yield from (gone[path] for path in sorted(gone, reverse=True))
    yield from (found[path] for path in sorted(found) if found[path][1] != "deleted")


def _is_of_another_kind(earlier: RawChange, later: RawChange) -> bool:
    """A directory where a file was deleted, or the other way round: that has to go first."""
    return (earlier[1], later[1]) == ("deleted", "created") and (earlier[2] == "directory") != (later[2] == "directory")


def _followed_by(earlier: RawChange | None, later: RawChange) -> RawChange | None:
    """Two changes of one path as one; None when together they are none."""
    path, kind, what, size, mode = later
    match (earlier[1] if earlier is not None else "", kind):
        case ("created", "deleted"):
            return None
        case ("created", _):
            return (path, "created", what, size, mode)
        case ("deleted", "created"):
            return (path, "modified", what, size, mode)
        case _:
            return later


def open_in_history(history: Sequence[View], path: str) -> tuple[int, int]:
    """An open file of the newest place that changed it, and its size."""
    for views in history[:-1]:
        try:
            return open_changed(views, path)
        except FileNotFoundError:
            continue
    return open_changed(history[-1], path)


def open_changed(views: View, path: str) -> tuple[int, int]:
    """An open file of the upper layer and its size."""
    if views.upper is None:
        raise FileNotFoundError(path)
    *parents, name = path.split("/")
    with closing(open_beneath(views.upper, parents)) as directory:
        descriptor = os.open(name, FILE, dir_fd=directory)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise ValueError(f"{path!r} is not a plain file")
    return descriptor, status.st_size


def _directory(upper: int, lowers: list[int], prefix: str, targets: set[str], moves: _Moves) -> Iterator[RawChange]:
    """Owns and closes the descriptors it is given."""
    try:
        for name in sorted(os.listdir(upper)):
            path = f"{prefix}{name}"
            if path in targets:
                continue
            try:
                status = os.stat(name, dir_fd=upper, follow_symlinks=False)
                yield from _entry(upper, lowers, name, path, status, targets, moves)
            except OSError as error:
                if error.errno not in _EXCHANGED:
                    raise
                # The kernel still runs and has just removed it, or put something of another kind in its place.
                continue
    finally:
        os.close(upper)
        for lower in lowers:
            os.close(lower)


def _entry(
    upper: int,
    lowers: list[int],
    name: str,
    path: str,
    status: os.stat_result,
    targets: set[str],
    moves: _Moves,
) -> Iterator[RawChange]:
    mode = stat.S_IMODE(status.st_mode)
    below = _lookup(lowers, name)
    is_directory_below = below is not None and stat.S_ISDIR(below[1].st_mode)
    if stat.S_ISDIR(status.st_mode):
        inner = os.open(name, DIRECTORY, dir_fd=upper)
        inner_lowers = [] if _is_opaque(inner) else _open_all(lowers, name)
        if is_directory_below and not inner_lowers:
            # It was removed and made again: what is not in the new one is gone.
            yield from _gone(_open_all(lowers, name), f"{path}/", targets, kept=set(os.listdir(inner)))
        elif below is not None and not is_directory_below:
            yield (path, "deleted", "file", 0, 0)
        if not is_directory_below:
            yield (path, "created", "directory", 0, mode)
        yield from _directory(inner, inner_lowers, f"{path}/", targets, moves)
        return
    if is_directory_below and below is not None:
        yield from _gone(_open_all(lowers, name), f"{path}/", targets, kept=set())
        yield (path, "deleted", "directory", 0, 0)
        below = None
    if _is_whiteout(status):
        if below is not None:
            yield (path, "deleted", "file", 0, 0)
    elif stat.S_ISLNK(status.st_mode):
        target = os.readlink(name, dir_fd=upper)
        yield (path, "created" if below is None else "modified", f"symlink:{target}", len(os.fsencode(target)), mode)
    elif stat.S_ISREG(status.st_mode):
        if below is None:
            is_gone = status.st_nlink == 1 and _has_origin(upper, name) and not moves.are_possible()
            yield (path, "modified" if is_gone else "created", "file", status.st_size, mode)
        elif not _is_same(upper, below, name, status):
            yield (path, "modified", "file", status.st_size, mode)


def _gone(lowers: list[int], prefix: str, targets: set[str], *, kept: set[str]) -> Iterator[RawChange]:
    """Everything below these directories as deletions, deepest first."""
    seen: set[str] = set(kept)
    try:
        for lower in lowers:
            for name in sorted(os.listdir(lower)):
                path = f"{prefix}{name}"
                if name in seen or path in targets:
                    continue
                seen.add(name)
                status = os.stat(name, dir_fd=lower, follow_symlinks=False)
                if _is_whiteout(status):
                    continue
                if stat.S_ISDIR(status.st_mode):
                    yield from _gone(_open_all(lowers, name), f"{path}/", targets, kept=set())
                    yield (path, "deleted", "directory", 0, 0)
                else:
                    yield (path, "deleted", "file", 0, 0)
    finally:
        for lower in lowers:
            os.close(lower)


def _lookup(lowers: list[int], name: str) -> tuple[int, os.stat_result] | None:
    for lower in lowers:
        try:
            status = os.stat(name, dir_fd=lower, follow_symlinks=False)
        except OSError:
            continue
        return None if _is_whiteout(status) else (lower, status)
    return None


def _open_all(lowers: list[int], name: str) -> list[int]:
    opened: list[int] = []
    for lower in lowers:
        try:
            opened.append(os.open(name, DIRECTORY, dir_fd=lower))
        except FileNotFoundError:
            continue
        except OSError:
            # A layer with something else of this name hides the directories below it.
            break
        if _is_opaque(opened[-1]):
            break
    return opened


def _is_whiteout(status: os.stat_result) -> bool:
    """The overlay's mark for what is no longer there."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _is_opaque(directory: int) -> bool:
    return _mark(directory, _OPAQUE) == b"y"


def _mark(descriptor: int, name: str) -> bytes | None:
    try:
        return os.getxattr(descriptor, name)
    except OSError:
        return None


def _has_origin(upper: int, name: str) -> bool:
    """Whether the overlay copied the file from below."""
    with opened(name, FILE, within=upper) as descriptor:
        return _mark(descriptor, _ORIGIN) is not None


class _Moves:
    """Whether a file from below may have another name now.

    A copy of a file from below that is not below any more was moved here, or somebody deleted it on the host. Which of
    them the overlay does not say; but whoever moves a file leaves its old name behind. In doubt it was moved: then
    nothing is lost.
    """

    def __init__(self, views: OverlayView) -> None:
        self._views = views
        self._are_possible: bool | None = None

    def are_possible(self) -> bool:
        """Looked for when it is first asked, which is rare."""
        if self._are_possible is None:
            assert self._views.upper is not None
            lowers = [os.dup(lower) for lower in self._views.lowers]
            self._are_possible = _hides_a_file(os.dup(self._views.upper), lowers)
        return self._are_possible


def _hides_a_file(upper: int | None, lowers: list[int]) -> bool:
    """Whether some file below is hidden and not by its own copy; without an upper one, whether there is any.

    Owns and closes the descriptors it is given.
    """
    try:
        names = os.listdir(upper) if upper is not None else {name for lower in lowers for name in os.listdir(lower)}
        return any(_is_hidden(upper, lowers, name) for name in names)
    finally:
        for descriptor in (*lowers, *([upper] if upper is not None else [])):
            os.close(descriptor)


def _is_hidden(upper: int | None, lowers: list[int], name: str) -> bool:
    below = _lookup(lowers, name)
    if below is None:
        return False
    if stat.S_ISDIR(below[1].st_mode):
        return _hides_a_file(_open_merged(upper, name), _open_all(lowers, name))
    try:
        return upper is None or not _has_origin(upper, name)
    except OSError:
        return True


def _open_merged(upper: int | None, name: str) -> int | None:
    """The directory of the upper layer through which that below is seen; None if it is not seen."""
    try:
        inner = os.open(name, DIRECTORY, dir_fd=upper) if upper is not None else None
    except OSError:
        return None
    if inner is not None and _is_opaque(inner):
        os.close(inner)
        return None
    return inner


def _is_same(upper: int, below: tuple[int, os.stat_result], name: str, status: os.stat_result) -> bool:
    """Opened for writing but left as it was: not a change."""
    lower, before = below
    if before.st_size != status.st_size or not stat.S_ISREG(before.st_mode) or status.st_size > _COMPARE_BYTES:
        return False
    if stat.S_IMODE(before.st_mode) != stat.S_IMODE(status.st_mode):
        return False
    with opened(name, FILE, within=upper) as new:
        try:
            old = os.open(name, FILE, dir_fd=lower)
        except OSError:
            return False
        with closing(old):
            while chunk := os.read(new, 1 << 16):
                if chunk != os.read(old, len(chunk)):
                    return False
            return True


def _with_left_out(changes: Iterator[RawChange], left_out: set[str], project: str) -> Iterator[RawChange]:
    """What a copy does not have of the project: a notebook that makes it anew changes the one that is there."""
    for path, kind, what, size, mode in changes:
        parts = path.split("/")
        is_below = any("/".join(parts[:end]) in left_out for end in range(1, len(parts) + 1))
        if kind == "created" and is_below and os.path.lexists(f"{project}/{path}"):
            if what == "directory":
                continue
            kind = "modified"
        yield path, kind, what, size, mode
