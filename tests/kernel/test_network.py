"""A notebook's way to the network, through the public door: what was approved works, and nothing else does."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from dirty_equals import IsPositiveFloat, IsPositiveInt

from cellwright.errors import RefusedByPolicy
from cellwright.kernel.observation import CellOutcome
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.sandbox.egress import AllowedHost, Egress, EgressCaps, EgressRecord
from cellwright.sandbox.spec import PROXY_PORT
from tests.sampling import every
from tests.sandbox.egress import attacks
from tests.sandbox.egress.naive_proxy import naive_proxy
from tests.sandbox.egress.world import HOST, LONG, SECRET, World, world

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

CLIENTS = {
    "read_csv": "import pandas as pd\nprint(len(pd.read_csv(URL)), 'birds')",
    "urllib": "import urllib.request\nprint(len(urllib.request.urlopen(URL).readlines()) - 1, 'birds')",
    "requests": "import requests\nr = requests.get(URL)\nr.raise_for_status()\nprint(len(r.text.split()) - 1, 'birds')",
    "httpx": "import httpx\nprint(len(httpx.get(URL).raise_for_status().text.split()) - 1, 'birds')",
}
ATTACKS = re.findall(r"^def (\w+)\(targets: Targets\)", inspect.getsource(attacks), re.MULTILINE)
PATIENCE_SECONDS = 240
UPLOAD_CAP = EgressCaps(bytes_out_per_host=1 << 20)


@pytest.fixture
def internet(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def approved(internet: World) -> AllowedHost:
    return AllowedHost(name=HOST, ports=(internet.http_port, internet.https_port), has_private_addresses=True)


def egress_to(internet: World, *allowed: AllowedHost, **options: Any) -> Egress:
    return Egress(allowed=allowed, resolve=internet.resolve, certificates=internet.authority, **options)


async def run_cell(notebook: OpenNotebook, code: str) -> CellOutcome:
    """Run code as a cell that defines nothing."""
    body = "".join(f"    {line}\n" for line in code.splitlines())
    observation = await notebook.apply([CreateCell(code=f"def _():\n{body}\n_()")])
    return observation.cells[-1]


@pytest.mark.slow
@pytest.mark.parametrize("client", every(CLIENTS, 2))
async def test_a_host_can_be_read_as_soon_as_it_is_approved_and_not_before(
    opened: Opener, internet: World, client: str
) -> None:
    telling, told = anyio.create_memory_object_stream[EgressRecord](100)
    egress = egress_to(internet, on_visit=telling.send_nowait)
    async with telling, told, opened("kept = 'still here'", egress=egress) as notebook:
        await notebook.run("all")
        kernel = notebook.live.kernel
        urls = (internet.url("/birds.csv"), internet.secure_url("/birds.csv"))
        codes = [f"URL = {url!r}\n{CLIENTS[client]}" for url in urls]
        for code in codes:
            outcome = await run_cell(notebook, code)
            assert outcome.error is not None
            assert "403" in outcome.error.message
            assert f"host '{HOST}' is not approved for this notebook" in outcome.error.message
        assert internet.asked == []
        egress.allow(approved(internet))
        for code in codes:
            assert (await run_cell(notebook, code)).console == "2 birds\n"
        with anyio.fail_after(PATIENCE_SECONDS):
            assert [(await told.receive()).verdict for _ in range(4)] == ["denied", "denied", "allowed", "allowed"]
        egress.revoke(HOST)
        assert (await run_cell(notebook, codes[0])).status == "failed"
        assert notebook.live.kernel is kernel
    measured: dict[str, Any] = {
        "bytes_out": IsPositiveInt(),
        "bytes_in": IsPositiveInt(),
        "milliseconds": IsPositiveFloat(),
    }
    assert egress.visits[2] == EgressRecord(
        host=HOST,
        port=internet.http_port,
        address="127.0.0.1",
        verdict="allowed",
        **measured,
    )


@pytest.mark.slow
async def test_many_notebooks_with_a_way_out_are_opened_at_the_same_moment(
    opened: Opener, write_notebook: Callable[..., Path], pool: KernelPool, internet: World
) -> None:
    """Each sends the zygote more than fits into its socket: the authorities it is to trust."""
    zygote = await pool.zygote()
    ran: list[str] = []

    async def open_one(number: int) -> None:
        path = write_notebook(f"own = {number}", name=f"project{number}/notebook.py")
        async with opened(path=path, egress=egress_to(internet)) as notebook:
            ran.extend(cell.variables[0].text for cell in (await notebook.run("all")).cells)

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(open_one, number)
    assert sorted(ran) == [str(number) for number in range(8)]
    assert (await pool.zygote()) is zygote


async def test_without_egress_nothing_is_different(opened: Opener, internet: World) -> None:
    async with opened() as notebook:
        outcome = await run_cell(notebook, "import os\nprint([name for name in os.environ if 'prox' in name.lower()])")
        assert outcome.console == "[]\n"
        outcome = await run_cell(notebook, "import socket\nsocket.socket()")
        assert outcome.error is not None
        assert outcome.error.type == "PermissionError"


async def test_whoever_decides_is_asked_about_hosts_that_are_not_on_the_list(opened: Opener, internet: World) -> None:
    from cellwright.sandbox.egress import Allowed, Denied, Verdict

    asked: list[tuple[str, int]] = []

    def decide(host: str, port: int) -> Verdict:
        asked.append((host, port))
        return Allowed(has_private_addresses=True) if host == HOST else Denied(why="ask Ada first")

    told: list[EgressRecord] = []
    egress = Egress(decide=decide, resolve=internet.resolve, on_visit=told.append)
    async with opened(egress=egress) as notebook:
        assert (await run_cell(notebook, f"URL = {internet.url('/birds.csv')!r}\n{CLIENTS['requests']}")).status == "ok"
        elsewhere = internet.url("/birds.csv", host="other.example")
        outcome = await run_cell(notebook, f"URL = {elsewhere!r}\n{CLIENTS['requests']}")
        assert outcome.error is not None
        assert "403 Client Error: ask Ada first" in outcome.error.message
    assert asked == [(HOST, internet.http_port), ("other.example", internet.http_port)]
    assert [visit.why for visit in told] == ["", "ask Ada first"]


async def test_a_host_that_cannot_be_reached_says_why(opened: Opener, internet: World) -> None:
    egress = egress_to(internet, AllowedHost(name="gone.example"))
    async with opened(egress=egress) as notebook:
        outcome = await run_cell(notebook, f"URL = 'https://gone.example/'\n{CLIENTS['urllib']}")
        assert outcome.error is not None
        assert "502 host 'gone.example' was not found: Name or service not known" in outcome.error.message
    assert egress.visits[0].verdict == "failed"


@pytest.mark.slow
async def test_much_can_be_read_at_once_from_several_threads_and_processes(opened: Opener, internet: World) -> None:
    code = f"""
import requests, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
URL = {internet.secure_url("/long")!r}
with ThreadPoolExecutor(8) as pool:
    print(sum(len(text) for text in pool.map(lambda _: requests.get(URL).text, range(24))))
program = "import sys, urllib.request; print(len(urllib.request.urlopen(sys.argv[1]).read()))"
print(subprocess.run([sys.executable, "-c", program, URL], capture_output=True, text=True, check=True).stdout)
"""
    async with opened(egress=egress_to(internet, approved(internet))) as notebook:
        outcome = await run_cell(notebook, code)
    assert outcome.console.split() == [str(24 * len(LONG)), str(len(LONG))]


@pytest.mark.slow
@pytest.mark.parametrize("tier", [None, "B"])
async def test_a_restarted_kernel_has_the_same_way_out(opened: Opener, internet: World, tier: str | None) -> None:
    async with opened(egress=egress_to(internet, approved(internet)), tier=tier) as notebook:
        code = f"URL = {internet.url('/birds.csv')!r}\n{CLIENTS['urllib']}"
        assert (await run_cell(notebook, code)).console == "2 birds\n"
        await notebook.restart()
        assert (await run_cell(notebook, code)).console == "2 birds\n"


@pytest.mark.parametrize("tier", ["C", "D"])
async def test_where_there_is_no_network_namespace_egress_is_refused(
    opened: Opener, internet: World, tier: str
) -> None:
    with pytest.raises(RefusedByPolicy, match="no network namespace"):
        async with opened(egress=egress_to(internet), tier=tier, allow_uncontained=True):
            pass


@pytest.mark.slow
async def test_nothing_is_left_when_the_notebook_closes_in_the_middle_of_a_request(
    opened: Opener, internet: World
) -> None:
    egress = egress_to(internet, approved(internet))
    async with opened(egress=egress) as notebook:
        code = f"import urllib.request\nurllib.request.urlopen({internet.url('/silent')!r})"
        observation = await notebook.apply([CreateCell(code=code)], detach_after=0.01)
        assert observation.is_running
        await anyio.to_thread.run_sync(internet.http.arrived.acquire, True, PATIENCE_SECONDS)
        assert internet.open_ends(PROXY_PORT) == 3
    assert [visit.verdict for visit in egress.visits] == ["cut"]
    assert internet.open_ends(PROXY_PORT) == 0


# ── attacks ──


def source_of(attack: str, internet: World) -> str:
    targets: dict[str, Any] = {
        "secret": SECRET,
        "http_port": internet.http_port,
        "https_port": internet.https_port,
        "closed_port": internet.closed_port,
        "udp_port": internet.udp_port,
    }
    return f"{inspect.getsource(attacks)}\nrun_attack({attack}, {targets!r})\n"


@pytest.mark.slow
@pytest.mark.parametrize("attack", every(ATTACKS, 4))
def test_the_attack_is_live_where_nothing_stops_it(internet: World, attack: str) -> None:
    with naive_proxy() as proxy:
        environment = dict.fromkeys(["HTTP_PROXY", "http_proxy", "https_proxy"], proxy)
        ran = subprocess.run(
            [sys.executable, "-c", source_of(attack, internet)],
            env=environment,
            capture_output=True,
            check=True,
            timeout=300,
        )
    assert json.loads(ran.stdout)["leak"], ran.stdout


@pytest.mark.slow
@pytest.mark.sampled(5)
@pytest.mark.parametrize("attack", every(ATTACKS, 2))
async def test_the_attack_is_refused_in_a_notebook_with_an_approved_host(
    opened: Opener, internet: World, attack: str
) -> None:
    ports = (internet.http_port, internet.https_port)
    rebound = AllowedHost(name="rebound.example", ports=ports)
    egress = egress_to(internet, approved(internet), rebound, caps=UPLOAD_CAP)
    async with opened(egress=egress) as notebook:
        code = f"exec(compile({source_of(attack, internet)!r}, 'attack', 'exec'), {{'__name__': 'attack'}})"
        outcome = await run_cell(notebook, code)
        assert outcome.status == "ok"
        sighting = json.loads(outcome.console)
        assert not sighting["leak"], sighting
        well = await run_cell(notebook, f"URL = {internet.url('/birds.csv')!r}\n{CLIENTS['urllib']}")
        assert well.console == "2 birds\n"
    asked = [path for heard in (internet.http, internet.https) for _, _, path in heard.requests]
    assert not [path for path in asked if "/secret" in path and "/redirect" not in path]
    assert SECRET not in str(egress.visits)
