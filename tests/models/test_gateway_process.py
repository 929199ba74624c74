"""One gateway per state directory, found or started; it keeps to itself and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from cellwright import background
from cellwright.errors import RefusedByPolicy, Unavailable
from cellwright.framing import pack_json, receive_json
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import (
    GatewayLaunch,
    connect,
    connect_or_start,
    gateway_at,
    greet,
    running_pid,
)
from cellwright.testing import Fault
from tests.models.memory_reader import NOBODY
from tests.models.testbed import KEY, ROOT, ModelTestbed, Warm, a_call, eventually

CLIENTS = 8


def environment_of(pid: int) -> dict[str, str]:
    entries = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


def test_clients_that_start_at_once_start_one_gateway(testbed: ModelTestbed) -> None:
    started = testbed.home / "started"
    script = f"echo >> {started}; exec " + " ".join(testbed.warm.command("gateway"))
    launch = GatewayLaunch(home=testbed.home, command=("/bin/sh", "-c", script))
    with ThreadPoolExecutor(CLIENTS) as doors:
        connections = list(doors.map(connect_or_start, [launch] * CLIENTS))
    for connection in connections:
        connection.close()
    assert len(started.read_text().splitlines()) == 1


def test_two_gateways_never_share_a_state_directory(testbed: ModelTestbed) -> None:
    connect_or_start(testbed.launch()).close()
    pid = running_pid(testbed.home)
    with background.sole(gateway_at(testbed.home), wait_seconds=0) as is_sole:
        assert not is_sole
    assert running_pid(testbed.home) == pid


@pytest.mark.slow
async def test_a_gateway_nobody_needs_ends_and_leaves_no_socket(testbed: ModelTestbed) -> None:
    async with Models.open(testbed.home, launch=testbed.launch(idle_seconds=0.2)) as models:
        await models.ask(a_call("hello", id="run/1"))
        assert running_pid(testbed.home) is not None
    eventually(lambda: running_pid(testbed.home) is None)
    assert not (testbed.home / "gateway.sock").exists()
    async with Models.open(testbed.home, launch=testbed.launch(idle_seconds=0.2)) as models:
        await models.ask(a_call("hello", id="run/1"))
        assert len(testbed.provider.charged) == 1


async def test_a_gateway_with_a_client_or_a_call_does_not_end(testbed: ModelTestbed) -> None:
    testbed.provider.script(Fault("slow-first-byte"))
    async with Models.open(testbed.home, launch=testbed.launch(idle_seconds=0.1)) as models:
        pid = (await models.status()).pid
        testbed.kill_asker("run/1", "hello", "asked")
        await testbed.provider.until(lambda provider: provider.silent == 1)
    testbed.provider.release()
    eventually(lambda: len(testbed.provider.charged) == 1 and testbed.provider.charged[0].is_finished)
    async with Models.open(testbed.home, launch=testbed.launch(idle_seconds=60)) as models:
        await models.ask(a_call("hello", id="run/1", stream=True))
        assert len(testbed.provider.charged) == 1
    assert pid


async def test_a_gateway_told_twice_to_stop_ends_at_once(testbed: ModelTestbed) -> None:
    testbed.provider.script(Fault("slow-first-byte"))
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        testbed.kill_asker("run/1", "hello", "asked")
        await testbed.provider.until(lambda provider: provider.silent == 1)
        await models.stop_gateway()
        # Told once it waits for the call that nobody answers.
        assert (await models.status()).calls_in_flight == 1
        assert running_pid(testbed.home) is not None
        await models.stop_gateway()
        eventually(lambda: running_pid(testbed.home) is None)
        assert not any(charge.is_finished for charge in testbed.provider.charged)


async def test_a_gateway_told_to_stop_finishes_what_is_in_flight(testbed: ModelTestbed) -> None:
    testbed.provider.script(Fault("slow-first-byte"))
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        testbed.kill_asker("run/1", "hello", "asked")
        await testbed.provider.until(lambda provider: provider.silent == 1)
        await models.stop_gateway()
        assert (await models.status()).calls_in_flight == 1
        testbed.provider.release()
        eventually(lambda: running_pid(testbed.home) is None)
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        await models.ask(a_call("hello", id="run/1", stream=True))
        assert len(testbed.provider.charged) == 1


@pytest.mark.slow
def test_the_real_gateway_starts_with_a_clean_environment_and_its_files_are_its_owners(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environment = {**os.environ, "OPENAI_API_KEY": KEY, "LANG": "C.UTF-8", "SECRET": KEY, "https_proxy": "http://p:1"}
    launch = GatewayLaunch(home=home, environment=environment, keys={"openai": KEY})
    with connect_or_start(launch) as connection:
        pid = running_pid(home)
        assert pid is not None
        passed_on = environment_of(pid)
        assert passed_on["https_proxy"] == "http://p:1"
        assert set(passed_on) <= {"PATH", "HOME", "LANG", "TZ", "LC_CTYPE", "LC_ALL", "https_proxy", "no_proxy"} | {
            name
            for name in environment
            if name.upper().endswith(("_PROXY", "CERT_FILE", "CERT_DIR", "CA_BUNDLE", "PIP_CERT"))
        } | {"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"}
        assert KEY not in Path(f"/proc/{pid}/cmdline").read_text()
        assert KEY not in Path(f"/proc/{pid}/environ").read_text()
        assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
        assert os.getsid(pid) != os.getsid(0)
        assert {mode & 0o077 for mode in modes_in(home)} == {0}
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        connection.sendall(pack_json({"kind": "query", "number": 1, "question": {"kind": "providers"}}))
        assert KEY not in json.dumps(receive_all(connection))
        os.kill(pid, signal.SIGTERM)
    eventually(lambda: running_pid(home) is None)
    assert not (home / "gateway.sock").exists()


def modes_in(folder: Path) -> Iterator[int]:
    """Of each file there: one that the gateway renames meanwhile is met again by its own name, or was a moment's."""
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            yield stat.S_IMODE(path.stat().st_mode)


def receive_all(connection: socket.socket) -> object:
    length = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
    return json.loads(connection.recv(length, socket.MSG_WAITALL))


def test_no_other_process_of_the_person_can_look_into_the_gateway(warm: Warm) -> None:
    def peeped_at(pid: int) -> list[str]:
        ran = subprocess.run(warm.command("memory_reader", str(pid)), capture_output=True, text=True, check=True)
        return ran.stdout.split()

    with subprocess.Popen(warm.command("open"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert "environ" in peeped_at(int(process.stdout.readline()))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if os.getuid() == 0:
            os.chown(home, NOBODY, NOBODY)
        launch = GatewayLaunch(home=home, command=warm.command("gateway-of-somebody"))
        # Its socket belongs to somebody else, where we are root: it is started, and then not spoken to.
        with suppress(RefusedByPolicy):
            connect_or_start(launch).close()
        pid = running_pid(home)
        assert pid is not None
        limits = Path(f"/proc/{pid}/limits").read_text()
        (core,) = [line for line in limits.splitlines() if line.startswith("Max core file size")]
        assert core.split()[4:6] == ["0", "0"]
        assert peeped_at(pid) == ["status"]
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: running_pid(home) is None)


def test_a_state_directory_may_lie_deeper_than_a_socket_address_is_long(testbed: ModelTestbed, tmp_path: Path) -> None:
    home = tmp_path / ("deep" * 20) / ("deeper" * 20)
    launch = GatewayLaunch(home=home, command=testbed.warm.command("gateway"))
    with connect_or_start(launch):
        pid = running_pid(home)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: running_pid(home) is None)


def test_what_a_killed_gateway_left_behind_is_replaced(testbed: ModelTestbed) -> None:
    connect_or_start(testbed.launch()).close()
    testbed.kill_gateway()
    assert (testbed.home / "gateway.sock").exists()
    assert connect(testbed.home) is None
    connect_or_start(testbed.launch()).close()


@pytest.mark.parametrize("command", [("/bin/false",), (sys.executable, "-c", "raise SystemExit('no luck today')")])
def test_a_gateway_that_cannot_start_says_why(tmp_path: Path, command: tuple[str, ...]) -> None:
    with pytest.raises(Unavailable) as problem:
        connect_or_start(GatewayLaunch(home=tmp_path / "home", command=command))
    assert ("no luck today" in problem.value.hint) == (command[0] == sys.executable)


@pytest.mark.slow
def test_a_gateway_that_never_gets_ready_is_ended(tmp_path: Path) -> None:
    home = tmp_path / "home"
    script = f"echo $$ > {tmp_path}/pid; sleep 1000 & wait"
    with pytest.raises(Unavailable):
        connect_or_start(GatewayLaunch(home=home, command=("/bin/sh", "-c", script), start_seconds=1))
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_a_socket_of_another_user_is_not_spoken_to(tmp_path: Path) -> None:
    with background.listen(gateway_at(tmp_path)) as listener, socket.socket(socket.AF_UNIX) as door:
        door.connect(str(tmp_path / "gateway.sock"))
        with pytest.raises(RefusedByPolicy):
            greet(door, os.getuid() + 1)
        listener.setblocking(True)
        at_the_other_end, _ = listener.accept()
        with at_the_other_end:
            door.close()
            assert at_the_other_end.recv(100) == b""


def test_a_gateway_of_another_version_is_not_spoken_to(testbed: ModelTestbed) -> None:
    connect_or_start(testbed.launch()).close()
    with socket.socket(socket.AF_UNIX) as door:
        door.connect(str(testbed.home / "gateway.sock"))
        door.sendall(pack_json({"kind": "hello", "version": 99}))
        assert receive_json(door)["kind"] == "failed"
        assert door.recv(1) == b""


def test_launching_needs_nothing_but_the_standard_library() -> None:
    script = (
        "import sys, types, cellwright; room = types.ModuleType('cellwright.models');"
        "room.__path__ = [cellwright.__path__[0] + '/models']; sys.modules['cellwright.models'] = room;"
        "import cellwright.models.client.gateway_process;"
        "print(*sorted(name for name in sys.modules if name.split('.')[0] in"
        " ('pydantic', 'pydantic_ai', 'anyio', 'keyring', 'openai')))"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""
