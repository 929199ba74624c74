"""Whatever a kernel sends, the host gets a message or ends the kernel: never anything else."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import anyio
import anyio.lowlevel
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.kernel.process.link import Link, LinkBroken, LinkCaps, LinkClosed, MarimoNotification
from cellwright_guest import wire

CAPS = LinkCaps(bytes_per_request=1 << 20, burst_frames=100, frames_per_second=1)


@pytest.fixture
def pair() -> Iterator[tuple[Link, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Link(ours, CAPS), theirs


async def heard(data: bytes) -> list[object]:
    """Everything the host makes of these bytes, ending with why it stopped."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(data)
        link, found = Link(ours, CAPS), list[object]()
        with anyio.fail_after(120):
            while True:
                try:
                    found.append(await link.receive())
                except (LinkBroken, LinkClosed) as end:
                    return [*found, end]


@given(st.binary(max_size=2_000))
def test_random_bytes_never_do_anything_but_break_the_link(data: bytes) -> None:
    assert isinstance(anyio.run(heard, data)[-1], LinkBroken | LinkClosed)


_json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(st.sampled_from([0, 1, 2, 255]), _json_like)
def test_well_formed_msgpack_of_the_wrong_shape_is_refused(lane: int, value: object) -> None:
    body = msgspec.msgpack.encode(value)
    *messages, _end = anyio.run(heard, wire.HEADER.pack(len(body), lane) + body)
    assert all(isinstance(message, MarimoNotification) for message in messages)
    assert bool(messages) == (lane == wire.MARIMO)


@given(
    st.sampled_from(["CellFinished", "Console", "Finished", "Ready", "Looked", "Apply"]),
    st.dictionaries(st.text(max_size=8), _json_like),
)
def test_forged_messages_with_our_tags_are_decoded_strictly(tag: str, fields: dict[str, object]) -> None:
    body = msgspec.msgpack.encode({"type": tag, **fields})
    assert isinstance(anyio.run(heard, wire.HEADER.pack(len(body), wire.TYPED) + body)[-1], LinkBroken | LinkClosed)


async def test_a_frame_that_announces_four_gigabytes_breaks_the_link_at_once(pair: tuple[Link, socket.socket]) -> None:
    link, kernel = pair
    kernel.sendall(wire.HEADER.pack(0xFFFFFFFF, wire.TYPED))
    with pytest.raises(LinkBroken, match="a frame of 4,294,967,295 bytes"):
        await link.receive()


async def test_a_deeply_nested_frame_breaks_the_link_and_not_the_host(pair: tuple[Link, socket.socket]) -> None:
    link, kernel = pair
    body = b"\x91" * 200_000 + b"\xc0"
    kernel.sendall(wire.HEADER.pack(len(body), wire.TYPED) + body)
    with pytest.raises(LinkBroken):
        await link.receive()


async def test_more_bytes_than_a_request_may_say_break_the_link() -> None:
    message = wire.encode(wire.Console(request=1, cell="a", stream="stdout", text="x" * 100_000))
    assert "bytes for one request" in str((await heard_slowly(message, 20))[-1])


async def test_more_frames_than_allowed_break_the_link() -> None:
    message = wire.encode(wire.CellStarted(request=1, cell="a"))
    *messages, end = await heard_slowly(message, 500)
    assert len(messages) <= CAPS.burst_frames + 5
    assert str(end) == "too many frames"


async def heard_slowly(frame: bytes, times: int) -> list[object]:
    """Like `heard`, with a sender beside it, for more than a socket buffer holds."""
    ours, theirs = socket.socketpair()
    found: list[object] = []
    with ours, theirs:
        theirs.setblocking(False)
        link = Link(ours, CAPS)

        async def send() -> None:
            for _ in range(times):
                view = memoryview(frame)
                while view:
                    try:
                        view = view[theirs.send(view) :]
                    except BlockingIOError:
                        await anyio.wait_writable(theirs)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            with anyio.fail_after(120):
                while True:
                    try:
                        found.append(await link.receive())
                    except (LinkBroken, LinkClosed) as end:
                        tasks.cancel_scope.cancel()
                        return [*found, end]
    return found


async def test_messages_arrive_whole_however_they_are_cut(pair: tuple[Link, socket.socket]) -> None:
    link, kernel = pair
    message = wire.Console(request=1, cell="a", stream="stdout", text="häppi\n")
    frame = wire.encode(message)

    async def send() -> None:
        for index in range(len(frame)):
            kernel.send(frame[index : index + 1])
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(send)
        assert await link.receive() == message
