"""The host's end towards a cage that lies, babbles or dies."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.errors import CellwrightError, Unavailable
from cellwright.sandbox import control_frames
from cellwright.sandbox.control_frames import KernelExit
from cellwright.sandbox.host.control import CageControl
from cellwright.sandbox.host.file_changes import ChangeRefused, KeepReport


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


class Liar:
    """The other end of the socket, in our own hands."""

    def __init__(self) -> None:
        ours, self.socket = socket.socketpair()
        self.control = CageControl(ours)

    def say(self, **message: object) -> None:
        self.socket.sendall(control_frames.pack_json(message))

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
    assert await liar.control.wait_kernel() == KernelExit(exit_code=None, signal=9)


async def test_a_cage_that_never_started_is_unavailable(liar: Liar) -> None:
    liar.say(event="failed", reason="no room")
    with pytest.raises(Unavailable, match="no room"):
        await liar.control.wait_started()


async def test_several_may_wait_at_once(liar: Liar) -> None:
    ends: list[KernelExit] = []

    async def wait() -> None:
        ends.append(await liar.control.wait_kernel())

    with anyio.fail_after(120):
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(wait)
            waiting.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            liar.say(event="ended", exit_code=0, signal=None)
    assert ends == [KernelExit(exit_code=0, signal=None)] * 2


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"\x09\x00\x00\x00\x01x",
        b"\x01\xff\xff\xff\xff",
        control_frames.pack(control_frames.JSON, b"not json"),
        control_frames.pack(control_frames.JSON, b"[1]"),
        control_frames.pack(control_frames.JSON, b"[" * 100_000),
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
            liar.answer_with(control_frames.pack_json({"event": "started", "since_ns": 0, "ms": changes}))
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
        liar.answer_with(control_frames.pack_json({"id": 1, "changes": [changes], "more": False}))

    anyio.run(ask)


@pytest.fixture
def layer() -> Iterator[Path]:
    """What a cage hands over: files in memory."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as made:
        (Path(made) / "x").write_text("new")
        yield Path(made)


async def keep_lie(
    liar: Liar, project: Path, layer: Path, changes: list[list[object]], *, since_ns: int | None = None, count: int = 1
) -> KeepReport:
    """What the host keeps when the cage hands this over and claims these changes."""
    liar.say(event="started", since_ns=time.time_ns() if since_ns is None else since_ns, ms={})
    await liar.control.wait_started()

    async def play() -> None:
        await anyio.wait_readable(liar.socket)
        liar.socket.recv(4096)
        descriptor = os.open(layer, os.O_RDONLY)
        socket.send_fds(liar.socket, [control_frames.pack_json({"id": 1, "layers": count})], [descriptor])
        os.close(descriptor)
        await anyio.wait_readable(liar.socket)
        liar.socket.recv(4096)
        liar.answer_with(control_frames.pack_json({"id": 3, "changes": changes, "more": False}))

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
async def test_no_path_leads_out_of_the_project_or_into_its_keep(
    liar: Liar, tmp_path: Path, layer: Path, path: str
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    report = await keep_lie(liar, project, layer, [[path, "created", "file", 1, 0o644]])
    assert report.kept == ()
    assert [refused for refused, _ in report.refused] == [path]
    assert names(tmp_path) == ["project"]
    assert names(project) == []


async def test_links_in_the_project_are_not_followed(liar: Liar, tmp_path: Path, layer: Path) -> None:
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
    report = await keep_lie(liar, project, layer, changes)
    assert (report.kept, len(report.refused)) == ((), 4)
    assert names(tmp_path / "outside") == []


async def read_lie(liar: Liar, *sent: bytes) -> bytes:
    """What the host reads of a file when the cage sends this."""
    liar.answer_with(*sent)
    with anyio.fail_after(120):
        async with aclosing(liar.control.read("x")) as chunks:
            return b"".join([chunk async for chunk in chunks])


async def test_more_data_than_announced_ends_the_cage(liar: Liar) -> None:
    with pytest.raises(Unavailable, match="more data"):
        await read_lie(liar, control_frames.pack_json({"id": 1, "bytes": 3}), control_frames.pack_data(1, b"four"))


async def test_a_file_that_ends_early_is_refused(liar: Liar) -> None:
    begun = control_frames.pack_json({"id": 1, "bytes": 9}) + control_frames.pack_data(1, b"four")
    with pytest.raises(ChangeRefused, match="gone"):
        await read_lie(liar, begun, control_frames.pack_json({"id": 1, "error": "gone"}))


async def test_data_of_another_request_is_ignored(liar: Liar) -> None:
    sent = (
        control_frames.pack_data(3, b"old")
        + control_frames.pack_json({"id": 1, "bytes": 3})
        + control_frames.pack_data(2, b"bad")
        + control_frames.pack_data(1, b"new")
    )
    assert await read_lie(liar, sent) == b"new"


async def test_a_special_mode_is_reduced(liar: Liar, tmp_path: Path, layer: Path) -> None:
    report = await keep_lie(liar, tmp_path, layer, [["x", "created", "file", 0, 0o106777]])
    assert report.kept == ("x",)
    assert (tmp_path / "x").read_text() == "new"
    assert (tmp_path / "x").stat().st_mode & 0o7777 == 0o777


async def test_what_is_not_in_memory_is_no_layer_of_a_cage(liar: Liar, tmp_path: Path) -> None:
    with pytest.raises(BaseExceptionGroup) as raised:
        await keep_lie(liar, tmp_path, Path("/proc/self"), [["x", "created", "file", 1, 0o644]])
    assert raised.group_contains(Unavailable, match="not its own")
    assert names(tmp_path) == []


async def test_a_cage_that_hands_over_less_than_it_says_is_ended(liar: Liar, tmp_path: Path, layer: Path) -> None:
    with pytest.raises(BaseExceptionGroup) as raised:
        await keep_lie(liar, tmp_path, layer, [], count=2)
    assert raised.group_contains(Unavailable, match="did not hand over")


async def test_no_link_and_no_mount_leads_out_of_a_layer(liar: Liar, tmp_path: Path, layer: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (layer / "link").symlink_to(tmp_path / "secret")
    (layer / "folder").symlink_to(tmp_path)
    os.mkfifo(layer / "pipe")
    project = tmp_path / "project"
    (project / "folder").mkdir(parents=True)
    claimed: list[list[object]] = [
        [path, "created", "file", 1, 0o644] for path in ("link", "folder/secret", "pipe", "y")
    ]
    report = await keep_lie(liar, project, layer, claimed)
    assert report.kept == ()
    assert [path for path, _ in report.refused] == ["link", "folder/secret", "pipe", "y"]
    assert names(project) == ["folder"]
    assert names(project / "folder") == []


async def test_a_cage_cannot_claim_that_it_started_later_to_overwrite_newer_files(
    liar: Liar, tmp_path: Path, layer: Path
) -> None:
    liar.say(event="started", since_ns=1 << 62, ms={})
    await liar.control.wait_started()
    (tmp_path / "x").write_text("person")
    report = await keep_lie(liar, tmp_path, layer, [["x", "modified", "file", 0, 0o644]], since_ns=1 << 62)
    assert report == KeepReport(kept=(), refused=(("x", "conflict: it was changed on the host meanwhile"),))


def test_messages_survive_packing() -> None:
    unpacker = control_frames.ControlUnpacker()
    data = control_frames.pack_json({"a": 1}) + control_frames.pack_data(7, b"x")
    for byte in data:
        unpacker.feed(bytes([byte]))
    first, second = unpacker.next(), unpacker.next()
    assert first is not None and second is not None
    assert json.loads(first[1]) == {"a": 1}
    assert (second[0], control_frames.request_of(second[1]), second[1][4:]) == (control_frames.DATA, 7, b"x")
    assert unpacker.next() is None
