"""Objects read by our own eyes are what git says they are, however they are kept; bombs and damage are refused."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cellwright.sandbox.git.objects import Format, Unsound
from cellwright.sandbox.git.packs import applied, inflate
from cellwright.sandbox.git.store import ObjectStore
from tests.sandbox.git.yard import git, make_repository, write_files

SHA1 = Format("sha1")


def store_of(top: Path, form: Format = SHA1) -> ObjectStore:
    return ObjectStore(top / ".git/objects", form)


def objects_of(top: Path) -> dict[str, str]:
    lines = git(top, "cat-file", "--batch-check", "--batch-all-objects").splitlines()
    return {line.split()[0]: line.split()[1] for line in lines}


def history(top: Path) -> Path:
    """Many versions of a long file: packed, they become chains of deltas."""
    for number in range(12):
        lines = [f"line {line} of {number if line % 7 == 0 else 'all'}" for line in range(400)]
        write_files(top, {"long.txt": "\n".join(lines), f"d{number}/small.txt": str(number)})
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", f"version {number}")
    return top


@pytest.fixture(params=["sha1", "sha256"])
def form(request: pytest.FixtureRequest) -> Iterator[Format]:
    yield Format(request.param)


def test_every_loose_object_is_read_as_git_reads_it(tmp_path: Path, form: Format) -> None:
    top = history(make_repository(tmp_path, {"a": "1"}, f"--object-format={form.name}"))
    _compare(top, form)


def test_every_packed_object_is_read_as_git_reads_it(tmp_path: Path, form: Format) -> None:
    top = history(make_repository(tmp_path, {"a": "1"}, f"--object-format={form.name}"))
    git(top, "-c", "pack.depth=50", "gc", "-q", "--aggressive", "--prune=now")
    assert not list((top / ".git/objects").glob("??"))
    assert "chain length" in git(top, "verify-pack", "-v", *map(str, (top / ".git/objects/pack").glob("*.idx")))
    _compare(top, form)


def test_deltas_that_name_their_base_are_followed(tmp_path: Path) -> None:
    top = history(make_repository(tmp_path, {"a": "1"}))
    git(top, "-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-a", "-d", "-f")
    git(top, "prune-packed")
    _compare(top, SHA1)


def _compare(top: Path, form: Format) -> None:
    store = store_of(top, form)
    found = objects_of(top)
    assert len(found) > 30
    for name, kind in found.items():
        assert store.kind_of(name) == kind
        read_kind, data = store.read(name)
        assert read_kind == kind
        assert form.name_of(read_kind, data) == name
    store.close()


def test_what_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    store = store_of(make_repository(tmp_path, {"a": "1"}))
    assert store.kind_of("0" * 40) is None
    with pytest.raises(Unsound, match="not in the repository"):
        store.read("0" * 40)
    assert store.read(SHA1.empty_tree) == ("tree", b"")


def _put_loose(top: Path, name: str, compressed: bytes) -> None:
    folder = top / ".git/objects" / name[:2]
    folder.mkdir(exist_ok=True)
    (folder / name[2:]).write_bytes(compressed)


@pytest.mark.slow
def test_an_object_that_unpacks_to_gigabytes_is_not_unpacked(tmp_path: Path) -> None:
    top = make_repository(tmp_path, {"a": "1"})
    bomb = zlib.compressobj(9)
    head = bomb.compress(b"blob 10\0")
    _put_loose(top, "ab" * 20, head + b"".join(bomb.compress(bytes(1 << 20)) for _ in range(300)) + bomb.flush())
    with pytest.raises(Unsound, match="longer than"):
        store_of(top).read("ab" * 20)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (zlib.compress(b"blob 3\0abc"), "damaged"),
        (zlib.compress(b"blob 9\0abc"), "damaged"),
        (zlib.compress(b"spell 3\0abc"), "kind"),
        (zlib.compress(b"blob 3\0abc")[:-4], "cut off"),
        (b"no zlib at all", "damaged"),
    ],
)
def test_a_damaged_object_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    top = make_repository(tmp_path, {"a": "1"})
    _put_loose(top, "ab" * 20, content)
    with pytest.raises(Unsound, match=complaint):
        store_of(top).read("ab" * 20)


def test_a_link_in_place_of_an_object_is_not_followed(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "p", {"a": "1"})
    (tmp_path / "outside").write_bytes(zlib.compress(b"blob 3\0abc"))
    (top / ".git/objects/ab").mkdir()
    (top / ".git/objects/ab" / ("ab" * 19)).symlink_to(tmp_path / "outside")
    with pytest.raises(Unsound, match="symbolic link"):
        store_of(top).read("ab" * 20)


def test_a_linked_directory_of_packs_is_not_followed(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "p", {"a": "1"})
    (top / ".git/objects/pack").rename(tmp_path / "packs")
    (top / ".git/objects/pack").symlink_to(tmp_path / "packs")
    with pytest.raises(Unsound, match="symbolic link"):
        store_of(top).read("ab" * 20)


@pytest.mark.parametrize("cut", [10, 1000, 1200, -30])
def test_a_pack_or_index_that_was_tampered_with_is_refused(tmp_path: Path, cut: int) -> None:
    top = history(make_repository(tmp_path, {"a": "1"}))
    git(top, "gc", "-q", "--prune=now")
    names = list(objects_of(top))
    for path in (top / ".git/objects/pack").glob("*.idx"):
        path.chmod(0o600)
        os.truncate(path, cut if cut > 0 else path.stat().st_size + cut - len(names) * 4)
    with pytest.raises(Unsound):
        for name in names:
            store_of(top).read(name)


def test_a_pack_with_flipped_bytes_gives_no_wrong_object(tmp_path: Path) -> None:
    top = history(make_repository(tmp_path, {"a": "1"}))
    git(top, "gc", "-q", "--prune=now")
    names = list(objects_of(top))
    [pack] = (top / ".git/objects/pack").glob("*.pack")
    pack.chmod(0o600)
    sound = pack.read_bytes()
    refused = 0
    for at in range(12, len(sound) - 20, max(1, len(sound) // 60)):
        pack.write_bytes(sound[:at] + bytes([sound[at] ^ 0xFF]) + sound[at + 1 :])
        store = store_of(top)
        for name in names:
            try:
                kind, data = store.read(name)
            except Unsound:
                refused += 1
            else:
                assert SHA1.name_of(kind, data) == name
        store.close()
    assert refused


@pytest.mark.parametrize(
    "delta",
    [
        b"",
        b"\x03",
        b"\x03\x05\x00",
        b"\x03\x05\x91\x02\x05",
        b"\x04\x03\x90\x03",
        b"\x03\x05\x90\x03",
        b"\x80" * 40,
        b"\x03\xff\xff\xff\xff\x7f",
    ],
)
def test_a_change_that_reaches_past_its_base_is_refused(delta: bytes) -> None:
    with pytest.raises(Unsound):
        applied(delta, b"abc", 1 << 20)


def test_what_is_longer_than_allowed_is_not_inflated() -> None:
    assert inflate(zlib.compress(b"abc"), 3) == b"abc"
    with pytest.raises(Unsound, match="longer"):
        inflate(zlib.compress(b"abcd"), 3)


def test_a_delta_that_rests_on_itself_ends(tmp_path: Path) -> None:
    top = make_repository(tmp_path, {"a": "1"})
    name = bytes.fromhex("ab" * 20)
    body = zlib.compress(b"\x03\x03\x90\x03")
    pack = b"PACK" + struct.pack(">II", 2, 1) + bytes([(7 << 4) | 4]) + name + body
    fanout = struct.pack(">256I", *(0 if first < 0xAB else 1 for first in range(256)))
    index = b"\xfftOc\0\0\0\x02" + fanout + name + bytes(4) + struct.pack(">I", 12) + bytes(40)
    (top / ".git/objects/pack/pack-x.pack").write_bytes(pack + bytes(20))
    (top / ".git/objects/pack/pack-x.idx").write_bytes(index)
    for look in (store_of(top).read, store_of(top).kind_of):
        with pytest.raises(Unsound, match="too many"):
            look("ab" * 20)
