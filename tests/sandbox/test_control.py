"""The host's end towards a cage that lies, babbles or dies."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.errors import CellwrightError, Unavailable
from cellwright.sandbox import frames
from cellwright.sandbox.control import CageControl, KernelEnd
from cellwright.sandbox.keep import KeepReport


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


class Liar:
    """The other end of the socket, in our own hands."""

    def __init__(self) -> None:
        ours, self.socket = socket.socketpair()
        self.control = CageControl(ours)

    def say(self, **message: object) -> None:
        self.socket.sendall(frames.pack_json(message))

    def answer_with(self, *messages: bytes) -> None:
        self.socket.sendall(b"".join(messages))

    def close(self) -> None:
        self.socket.close()
        self.control.close()


@pytest.fixture
def liar() -> Iterator[Liar]:
    made = Liar()
    yield made
    made.close()


async def test_a_cage_that_vanishes_counts_as_killed(liar: Liar) -> None:
    liar.say(event="started", since_ns=1, ms={})
    liar.socket.close()
    assert await liar.control.wait_kernel() == KernelEnd(exit_code=None, signal=9)


async def test_a_cage_that_never_started_is_unavailable(liar: Liar) -> None:
    liar.say(event="failed", reason="no room")
    with pytest.raises(Unavailable, match="no room"):
        await liar.control.wait_started()


async def test_several_may_wait_at_once(liar: Liar) -> None:
    ends: list[KernelEnd] = []

    async def wait() -> None:
        ends.append(await liar.control.wait_kernel())

    with anyio.fail_after(120):
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(wait)
            waiting.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            liar.say(event="ended", exit_code=0, signal=None)
    assert ends == [KernelEnd(exit_code=0, signal=None)] * 2


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"\x09\x00\x00\x00\x01x",
        b"\x01\xff\xff\xff\xff",
        frames.pack(frames.JSON, b"not json"),
        frames.pack(frames.JSON, b"[1]"),
        frames.pack(frames.JSON, b"[" * 100_000),
    ],
)
async def test_a_babbling_cage_is_ended(liar: Liar, bytes_sent: bytes) -> None:
    liar.answer_with(bytes_sent)
    with anyio.fail_after(120), pytest.raises(Unavailable, match="broke off"):
        await liar.control.wait_kernel()


@given(st.binary(max_size=200))
def test_no_bytes_whatsoever_break_the_host(data: bytes) -> None:
    async def listen() -> None:
        liar = Liar()
        try:
            liar.answer_with(data)
            liar.socket.close()
            with anyio.fail_after(120):
                await liar.control.wait_started()
        except CellwrightError:
            pass
        finally:
            liar.close()

    anyio.run(listen)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=5),
        max_leaves=12,
    )
)
def test_no_list_of_changes_breaks_the_host(changes: object) -> None:
    async def ask() -> None:
        liar = Liar()
        try:
            liar.answer_with(frames.pack_json({"event": "started", "since_ns": 0, "ms": changes}))
            async with anyio.create_task_group() as both:
                both.start_soon(answer, liar)
                found = await liar.control.changes()
                assert all(isinstance(change.path, str) for change in found)
        except* CellwrightError:
            pass
        finally:
            liar.close()

    async def answer(liar: Liar) -> None:
        await anyio.wait_readable(liar.socket)
        liar.socket.recv(4096)
        liar.answer_with(frames.pack_json({"id": 1, "changes": [changes], "more": False}))

    anyio.run(ask)


async def keep_lie(
    liar: Liar, project: Path, changes: list[list[object]], *answers: bytes, since_ns: int | None = None
) -> KeepReport:
    """What the host keeps when the cage claims these changes and then sends these bytes for its files."""
    liar.say(event="started", since_ns=time.time_ns() if since_ns is None else since_ns, ms={})
    await liar.control.wait_started()

    async def play() -> None:
        for number, sent in enumerate([frames.pack_json({"id": 1, "changes": changes, "more": False}), *answers]):
            await anyio.wait_readable(liar.socket)
            liar.socket.recv(4096)
            assert number >= 0
            liar.answer_with(sent)

    reports: list[KeepReport] = []
    with anyio.fail_after(120):
        async with anyio.create_task_group() as both:
            both.start_soon(play)
            reports.append(await liar.control.keep(project, hidden=(".env",)))
            both.cancel_scope.cancel()
    return reports[0]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/x",
        "../x",
        "a/../../x",
        "a//b",
        "",
        ".",
        "..",
        "a/./b",
        "x\0y",
        ".git/hooks/x",
        ".GIT/x",
        "a/.Git/x",
        ".cellwright/x",
        ".env",
        ".ENV/x",
        "n" * 300,
    ],
)
async def test_no_path_leads_out_of_the_project_or_into_its_keep(liar: Liar, tmp_path: Path, path: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    report = await keep_lie(liar, project, [[path, "created", "file", 1, 0o644]])
    assert report.kept == ()
    assert [refused for refused, _ in report.refused] == [path]
    assert names(tmp_path) == ["project"]
    assert names(project) == []


async def test_links_in_the_project_are_not_followed(liar: Liar, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / "link").symlink_to(tmp_path / "outside")
    (project / "inner").symlink_to(".")
    changes: list[list[object]] = [
        ["link/x", "created", "file", 1, 0o644],
        ["inner/x", "created", "file", 1, 0o644],
        ["link/y", "created", "directory", 0, 0o755],
        ["link/z", "deleted", "file", 0, 0],
    ]
    report = await keep_lie(liar, project, changes)
    assert (report.kept, len(report.refused)) == ((), 4)
    assert names(tmp_path / "outside") == []


async def test_more_data_than_announced_ends_the_cage(liar: Liar, tmp_path: Path) -> None:
    header = frames.pack_json({"id": 3, "bytes": 3}) + frames.pack_data(3, b"four")
    with pytest.raises(BaseExceptionGroup) as raised:
        await keep_lie(liar, tmp_path, [["x", "created", "file", 3, 0o644]], header)
    assert raised.group_contains(Unavailable, match="more data")
    assert names(tmp_path) == []


async def test_a_file_that_ends_early_is_not_kept(liar: Liar, tmp_path: Path) -> None:
    header = (
        frames.pack_json({"id": 3, "bytes": 9})
        + frames.pack_data(3, b"four")
        + frames.pack_json({"id": 3, "error": "gone"})
    )
    report = await keep_lie(liar, tmp_path, [["x", "created", "file", 9, 0o644]], header)
    assert report == KeepReport(kept=(), refused=(("x", "gone"),))
    assert names(tmp_path) == []


async def test_data_of_another_request_is_ignored(liar: Liar, tmp_path: Path) -> None:
    sent = (
        frames.pack_data(1, b"old")
        + frames.pack_json({"id": 3, "bytes": 3})
        + frames.pack_data(2, b"bad")
        + frames.pack_data(3, b"new")
    )
    report = await keep_lie(liar, tmp_path, [["x", "created", "file", 3, 0o644]], sent)
    assert report.kept == ("x",)
    assert (tmp_path / "x").read_bytes() == b"new"


async def test_a_special_mode_is_reduced(liar: Liar, tmp_path: Path) -> None:
    report = await keep_lie(
        liar, tmp_path, [["x", "created", "file", 0, 0o106777]], frames.pack_json({"id": 3, "bytes": 0})
    )
    assert report.kept == ("x",)
    assert (tmp_path / "x").stat().st_mode & 0o7777 == 0o777


async def test_a_cage_cannot_claim_that_it_started_later_to_overwrite_newer_files(liar: Liar, tmp_path: Path) -> None:
    liar.say(event="started", since_ns=1 << 62, ms={})
    await liar.control.wait_started()
    (tmp_path / "x").write_text("person")
    report = await keep_lie(liar, tmp_path, [["x", "modified", "file", 0, 0o644]], since_ns=1 << 62)
    assert report == KeepReport(kept=(), refused=(("x", "conflict: it was changed on the host meanwhile"),))


def test_messages_survive_packing() -> None:
    unpacker = frames.Unpacker()
    data = frames.pack_json({"a": 1}) + frames.pack_data(7, b"x")
    for byte in data:
        unpacker.feed(bytes([byte]))
    first, second = unpacker.next(), unpacker.next()
    assert first is not None and second is not None
    assert json.loads(first[1]) == {"a": 1}
    assert (second[0], frames.request_of(second[1]), second[1][4:]) == (frames.DATA, 7, b"x")
    assert unpacker.next() is None
