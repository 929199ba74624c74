"""The way out as the cage has it: one port of its own loopback, held by the host, and no other socket."""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import pytest

from cellwright.errors import Unavailable, UserError
from cellwright.sandbox import control_frames
from cellwright.sandbox.host.control import CageControl
from cellwright.sandbox.linux import proxy_listener
from cellwright.sandbox.spec import CERTIFICATES, PROXY_PORT, CageSpec

if TYPE_CHECKING:
    from tests.sandbox.conftest import CageStarter

SAY = """
import json, socket
def attempt(action):
    try:
        return action() or "done"
    except OSError as error:
        return error.errno
"""


async def answer_one(listener: socket.socket) -> None:
    """Accept one connection and say hello."""
    listener.settimeout(20)
    connection, _ = await anyio.to_thread.run_sync(listener.accept)
    with connection:
        connection.sendall(b"hello from the host")


async def test_the_kernel_can_connect_to_the_host_and_to_nothing_else(starter: CageStarter) -> None:
    program = f"""{SAY}
def talk(port, address="127.0.0.1"):
    with socket.create_connection((address, port), timeout=300) as stream:
        return stream.recv(100).decode()
def serve():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
print(json.dumps({{
    "proxy": attempt(lambda: talk({PROXY_PORT})),
    "other port": attempt(lambda: talk({PROXY_PORT + 1})),
    "bind": attempt(serve),
    "interfaces": [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]],
}}))"""
    async with starter.zygote.cage(replace(starter.spec, proxy_port=PROXY_PORT), program) as cage:
        with await cage.control.listener() as listener:
            await answer_one(listener)
            found = json.loads(await cage.output())
    assert found["proxy"] == "hello from the host"
    assert found["other port"] in (errno.EACCES, errno.ECONNREFUSED)
    assert found["bind"] == errno.EACCES
    assert set(found["interfaces"]) - {"sit0", "tunl0", "ip6tnl0", "gre0", "gretap0", "erspan0"} == {"lo"}


async def test_only_plain_tcp_and_local_sockets_can_be_made(starter: CageStarter) -> None:
    program = f"""{SAY}
def make(*kind):
    socket.socket(*kind).close()
def layer():
    with socket.socket() as stream:
        stream.setsockopt(socket.IPPROTO_TCP, 31, b"tls")
kinds = {{
    "tcp": (2, 1, 0), "tcp by number": (2, 1 | socket.SOCK_CLOEXEC, 6), "unix": (1, 2, 0),
    "udp": (2, 2, 0), "ping": (2, 2, 1), "raw": (2, 3, 1), "sctp": (2, 1, 132), "mptcp": (2, 1, 262),
    "ipv6": (10, 1, 0), "netlink": (16, 3, 0), "packet": (17, 3, 0), "vsock": (40, 1, 0), "smc": (43, 1, 0),
}}
found = {{name: attempt(lambda: make(*kind)) for name, kind in kinds.items()}}
print(json.dumps({{**found, "kernel tls": attempt(layer)}}))"""
    async with starter.zygote.cage(replace(starter.spec, proxy_port=PROXY_PORT), program) as cage:
        (await cage.control.listener()).close()
        found = json.loads(await cage.output())
    allowed = {name for name, result in found.items() if result == "done"}
    assert allowed == {"tcp", "tcp by number", "unix"}
    assert {found[name] for name in found.keys() - allowed} == {errno.EACCES}


async def test_without_a_port_there_is_no_loopback_and_no_listener(starter: CageStarter) -> None:
    program = f"{SAY}\nprint(json.dumps([attempt(socket.socket), attempt(lambda: socket.socket(2, 2))]))"
    assert json.loads(await starter.run(program)) == [errno.EACCES, errno.EACCES]


async def test_certificates_are_readable_and_cannot_be_changed(starter: CageStarter) -> None:
    program = f"""{SAY}
print(json.dumps([open({CERTIFICATES!r}).read(), attempt(lambda: open({CERTIFICATES!r}, "w"))]))"""
    found = json.loads(await starter.run(program, certificates="trust me"))
    assert found[0] == "trust me"
    assert found[1] in (errno.EACCES, errno.EROFS)


@pytest.mark.parametrize("tier", ["C", "D"])
def test_a_tier_without_a_network_namespace_refuses(tier: Any) -> None:
    spec = CageSpec(name="x", tier=tier, project="/p", environment={}, proxy_port=PROXY_PORT)
    with pytest.raises(UserError, match="needs a network namespace"):
        spec.check()


# ── a cage that lies ──


@contextmanager
def liar(*, proxy_port: int | None) -> Generator[tuple[CageControl, socket.socket]]:
    ours, theirs = socket.socketpair()
    control = CageControl(ours, proxy_port=proxy_port)
    with theirs:
        yield control, theirs
    control.close()


def hand_over(sock: socket.socket, *descriptors: int, **message: object) -> None:
    socket.send_fds(sock, [control_frames.pack_json({"event": "listening", **message})], descriptors)


def descriptor_count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def false_listeners(kind: str) -> Generator[list[int]]:
    with socket.socket() as plain, socket.socket(socket.AF_UNIX) as local, socket.socket() as ours:
        with suppress(OSError):
            # A listener at the right port, but of the host's own network; another program may have it already.
            ours.bind((proxy_listener.ADDRESS, PROXY_PORT))
        ours.listen()
        with Path("/dev/null").open() as null:
            yield {
                "nothing": [],
                "a file": [null.fileno()],
                "a socket nobody listens at": [plain.fileno()],
                "a local socket": [local.fileno()],
                "a listener of our own network": [ours.fileno()],
            }[kind]


@pytest.mark.parametrize(
    "kind",
    ["nothing", "a file", "a socket nobody listens at", "a local socket", "a listener of our own network"],
)
async def test_what_is_no_listener_of_the_cage_ends_it(kind: str) -> None:
    before = descriptor_count()
    with false_listeners(kind) as descriptors, liar(proxy_port=PROXY_PORT) as (control, theirs):
        hand_over(theirs, *descriptors)
        with anyio.fail_after(120), pytest.raises(Unavailable, match="no listening socket of its own"):
            await control.listener()
    assert descriptor_count() == before


async def test_descriptors_nobody_asked_for_are_not_taken() -> None:
    before = descriptor_count()
    with liar(proxy_port=None) as (control, theirs):
        hand_over(theirs, *[theirs.fileno()] * 50)
        theirs.sendall(control_frames.pack_json({"event": "started", "since_ns": 1, "ms": {}}))
        with anyio.fail_after(120):
            await control.wait_started()
        assert descriptor_count() == before + 2
    assert descriptor_count() == before


async def test_more_descriptors_than_one_are_not_kept() -> None:
    before = descriptor_count()
    with liar(proxy_port=PROXY_PORT) as (control, theirs):
        for _ in range(3):
            socket.send_fds(theirs, [control_frames.pack_json({"event": "noise"})], [theirs.fileno()] * 5)
        theirs.sendall(control_frames.pack_json({"event": "started", "since_ns": 1, "ms": {}}))
        with anyio.fail_after(120):
            await control.wait_started()
    assert descriptor_count() == before


def test_a_listener_of_this_network_is_never_one_of_a_cage() -> None:
    with socket.create_server((proxy_listener.ADDRESS, 0)) as listener:
        assert not proxy_listener.is_listener(listener, listener.getsockname()[1])
