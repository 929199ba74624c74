"""A fresh kernel's project as its parent left it: written without following anything, and told apart from its own."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from cellwright.app import Files
from cellwright.kernel.branches.fresh_runtime import seed
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.sandbox.host.file_changes import FileChange
from cellwright_guest.host_files import seed_files
from cellwright_guest.transfer_wire import SeedFiles, SeedKind, SeedPiece

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


def piece(path: str, kind: SeedKind = "file", content: bytes = b"", **more: Any) -> SeedPiece:
    return SeedPiece(path=path, kind=kind, content=content, **more)


def seeded(project: Path, *pieces: SeedPiece) -> dict[str, str]:
    return seed_files(SeedFiles(request=1, pieces=list(pieces)), str(project)).refused


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / "folder/inner").mkdir(parents=True)
    (made / "folder/inner/old.txt").write_text("old")
    (made / "kept.txt").write_text("kept")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("secret")
    return made


# ── the guest ──


def test_files_folders_and_links_are_made_with_their_modes(project: Path) -> None:
    refused = seeded(
        project,
        piece("new", "directory", mode=0o750),
        piece("new/run.sh", content=b"#!", mode=0o755),
        piece("kept.txt", content=b"k", mode=0o600),
        piece("link", "symlink", target="new/run.sh"),
        piece("empty"),
    )
    assert refused == {}
    assert (project / "link").read_bytes() == b"#!"
    assert (project / "kept.txt").read_text() == "k"
    assert [stat.S_IMODE((project / name).lstat().st_mode) for name in ("new", "new/run.sh", "kept.txt", "empty")] == [
        0o750,
        0o755,
        0o600,
        0o644,
    ]


def test_a_file_comes_in_several_pieces_also_when_nobody_may_write_it(project: Path) -> None:
    first = piece("big", content=b"a" * 5, mode=0o400)
    assert seeded(project, first) == {}
    assert seeded(project, piece("big", content=b"b" * 3, mode=0o400, offset=5)) == {}
    assert (project / "big").read_bytes() == b"aaaaabbb"
    assert seeded(project, first) == {}
    assert (project / "big").read_bytes() == b"aaaaa"
    assert stat.S_IMODE((project / "big").stat().st_mode) == 0o400


def test_what_was_deleted_is_gone_and_what_never_was_is_no_problem(project: Path) -> None:
    assert seeded(project, piece("folder", "deleted"), piece("kept.txt", "deleted"), piece("a/b", "deleted")) == {}
    assert list(project.iterdir()) == []


def test_one_kind_takes_the_place_of_another(project: Path) -> None:
    refused = seeded(
        project,
        piece("folder", content=b"now a file"),
        piece("kept.txt", "directory", mode=0o755),
        piece("kept.txt/inside", content=b"x"),
    )
    assert refused == {}
    assert (project / "folder").read_text() == "now a file"
    assert (project / "kept.txt/inside").read_text() == "x"


@pytest.mark.parametrize(
    "path", ["../outside/x", "/etc/x", "a/../../x", "", ".", "folder//x", "x\0y", "folder/.", "é" * 200]
)
def test_a_path_that_is_none_is_refused(project: Path, path: str) -> None:
    kinds: list[SeedKind] = ["file", "deleted", "directory", "symlink"]
    for kind in kinds:
        assert seeded(project, piece(path, kind, target="x")) == {path: "not a proper path"}
    assert sorted(entry.name for entry in project.iterdir()) == ["folder", "kept.txt"]


def test_no_link_is_followed(project: Path) -> None:
    (project / "way").symlink_to("../outside")
    (project / "name").symlink_to("../outside/secret.txt")
    refused = seeded(
        project,
        piece("way/x", content=b"x"),
        piece("way/secret.txt", "deleted"),
        piece("name", content=b"mine"),
        piece("way", "deleted"),
    )
    assert refused.keys() == {"way/x", "way/secret.txt"}
    outside = project.parent / "outside"
    assert [entry.name for entry in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret"
    assert (project / "name").read_bytes() == b"mine"
    assert not (project / "name").is_symlink()


def test_the_rest_of_a_file_that_could_not_be_begun_is_not_written(project: Path) -> None:
    refused = seeded(project, piece("kept.txt/x", content=b"a"), piece("kept.txt/x", content=b"b", offset=1))
    assert refused.keys() == {"kept.txt/x"}
    assert seeded(project, piece("nothing", content=b"b", offset=1)) == {"nothing": "its beginning is not there"}


# ── the host ──


class Cage:
    """A cage's changes as values; the notebooks below are real."""

    def __init__(self, *changes: FileChange, **contents: bytes) -> None:
        self._changes = changes
        self._contents = contents

    async def changes(self) -> tuple[FileChange, ...]:
        return self._changes

    async def read(self, path: str) -> AsyncGenerator[bytes]:
        content = self._contents[path]
        for start in range(0, len(content), 1 << 18):
            yield content[start : start + (1 << 18)]


def taking(
    told: list[list[SeedPiece]], **refused: str
) -> Callable[[Sequence[SeedPiece]], Awaitable[Mapping[str, str]]]:
    async def take(pieces: Sequence[SeedPiece]) -> Mapping[str, str]:
        told.append(list(pieces))
        return {path: reason for path, reason in refused.items() if path in {piece.path for piece in pieces}}

    return take


async def test_a_large_file_comes_in_portions_and_stops_when_it_is_refused() -> None:
    content = os.urandom(9 << 20)
    parent = Cage(FileChange(path="big", kind="created", bytes=len(content)), big=content)
    told: list[list[SeedPiece]] = []
    baseline = await seed(parent, taking(told))
    assert b"".join(piece.content for portion in told for piece in portion) == content
    assert [piece.offset for portion in told for piece in portion] == list(range(0, len(content), 1 << 18))
    assert all(sum(len(piece.content) for piece in portion) <= 4 << 20 for portion in told)
    assert baseline.refused == ()
    told.clear()
    baseline = await seed(parent, taking(told, big="no room"))
    assert len(told) == 1
    assert (baseline.refused, baseline.seeds) == ((("big", "no room"),), {})


async def test_own_changes_are_told_against_what_was_seeded() -> None:
    began = [
        FileChange(path="same", kind="modified", bytes=1),
        FileChange(path="other", kind="created", bytes=1),
        FileChange(path="removed", kind="modified", bytes=1),
        FileChange(path="back", kind="modified", bytes=1),
        FileChange(path="gone", kind="created", bytes=1),
        FileChange(path="absent", kind="deleted", bytes=0),
        FileChange(path="returned", kind="deleted", bytes=0),
        FileChange(path="put_back", kind="deleted", bytes=0),
        FileChange(path="mode", kind="created", bytes=1),
    ]
    contents = dict.fromkeys(("same", "other", "removed", "back", "gone", "mode"), b"a")
    baseline = await seed(Cage(*began, **contents), taking([]))
    now = [
        FileChange(path="same", kind="modified", bytes=1),
        FileChange(path="other", kind="created", bytes=1),
        FileChange(path="removed", kind="deleted", bytes=0),
        FileChange(path="absent", kind="deleted", bytes=0),
        FileChange(path="returned", kind="modified", bytes=2),
        FileChange(path="mode", kind="created", bytes=1, mode=0o755),
        FileChange(path="new", kind="created", bytes=3),
    ]
    own = await baseline.own_changes(Cage(*now, same=b"a", other=b"b", mode=b"a"))
    assert {change.path: change.kind for change in own} == {
        "other": "modified",
        "removed": "deleted",
        "returned": "created",
        "mode": "modified",
        "new": "created",
        "back": "modified",
        "gone": "deleted",
        "put_back": "created",
    }


WRITES = """
import os as _os, pathlib as _pathlib
_path = _pathlib.Path
_path('made/deep').mkdir(parents=True)
_path('made/deep/data.bin').write_bytes(bytes(range(256)) * 20_000)
_path('made/run.sh').write_text('#!')
_path('made/run.sh').chmod(0o755)
_path('changed.txt').write_text('changed')
_path('removed.txt').unlink()
_path('link').symlink_to('made/run.sh')
_path('folder/one.txt').unlink()
_path('folder').rmdir()
_path('folder').write_text('a file now')
"""
TAKES = """
import base64 as _base64, msgspec as _msgspec
from cellwright_guest import transfer_wire as _wire, host_files as _files
_asked = _msgspec.msgpack.decode(_base64.b85decode({asked!r}), type=_wire.SeedFiles)
{answer} = _files.seed_files(_asked).refused
"""
LOOKS = """
import os as _os, pathlib as _pathlib, hashlib as _hashlib
seen = sorted(
    (str(_p), oct(_p.lstat().st_mode), _os.readlink(_p) if _p.is_symlink()
     else _hashlib.sha256(_p.read_bytes()).hexdigest() if _p.is_file() else '')
    for _p in _pathlib.Path('/project').rglob('*')
)
"""


@pytest.mark.slow
async def test_a_real_kernel_sees_what_its_parent_left_and_has_changed_nothing_itself(
    opened: Opener, write_notebook: Callable[..., Path]
) -> None:
    path = write_notebook("import os")
    (path.parent / "folder").mkdir()
    for name in ("changed.txt", "removed.txt", "folder/one.txt"):
        (path.parent / name).write_text("before")
    async with (
        opened(path=path, files=Files(mode="drop")) as parent,
        opened(path=path, files=Files(mode="drop")) as fresh,
    ):
        assert (await parent.apply([CreateCell(code=WRITES)])).is_ok
        assert (await parent.apply([CreateCell(code=LOOKS)])).is_ok

        async def take(pieces: Sequence[SeedPiece]) -> Mapping[str, str]:
            asked = base64.b85encode(msgspec.msgpack.encode(SeedFiles(request=1, pieces=list(pieces)))).decode()
            answer = f"refused_{len(fresh.document.cells)}"
            observation = await fresh.apply([CreateCell(code=TAKES.format(asked=asked, answer=answer))])
            assert observation.is_ok, observation
            return cast("dict[str, str]", (await fresh.values([answer]))[answer].json)

        assert parent.live.kernel is not None
        await fresh.start()
        assert fresh.live.kernel is not None
        baseline = await seed(parent.live.kernel.control, take)
        assert baseline.refused == ()
        assert (await fresh.apply([CreateCell(code=LOOKS)])).is_ok
        theirs, ours = await parent.values(["seen"]), await fresh.values(["seen"])
        assert ours["seen"].json == theirs["seen"].json
        assert await baseline.own_changes(fresh.live.kernel.control) == ()
        edit = "open('changed.txt', 'w').write('CHANGED')\nopen('mine.txt', 'w').write('m')"
        assert (await fresh.apply([CreateCell(code=edit)])).is_ok
        own = await baseline.own_changes(fresh.live.kernel.control)
        assert sorted((change.path, change.kind, change.bytes) for change in own) == [
            ("changed.txt", "modified", 7),
            ("mine.txt", "created", 1),
        ]
        assert (path.parent / "changed.txt").read_text() == "before"
