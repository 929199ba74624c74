"""A studio's way out: whom a yes means, what is remembered of it, and what of it is told."""

from __future__ import annotations

import subprocess
import sys
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest

from cellwright.app.run_network import Network, NetworkPolicy, open_network_access
from cellwright.errors import Defect
from cellwright.journal.records import Records
from cellwright.policy.actions import RunCode, UseNetwork
from cellwright.policy.built_in import BUILT_IN_RULES
from cellwright.policy.rule_file import read_rules
from cellwright.runs.events import EVENT_TYPES, HostVisited
from cellwright.sandbox.egress import AllowedHost
from cellwright.settings import Settings
from cellwright.tools.tool import ToolError
from cellwright.tools.web_tools import FetchedPage
from tests.agents.driver import KEY
from tests.app.pages import site

AGREED = NetworkPolicy(rules=read_rules([BUILT_IN_RULES], project="/home/ada/birds"), envelope=None, run="r")


def test_what_the_settings_say_about_the_network(tmp_path: Path) -> None:
    bundle = tmp_path / "company.pem"
    bundle.touch()
    variables = {
        "HOME": "/home/ada",
        "CELLWRIGHT_PRIVATE_HOSTS": "Data.intra, wiki.intra",
        "SSL_CERT_FILE": str(bundle),
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
    }
    settings = Settings.read(variables)
    assert Network.of(settings) == Network(
        private_hosts=frozenset({"data.intra", "wiki.intra"}), certificates=bundle, connection=settings.connection
    )
    assert settings.connection.variables["SSL_CERT_FILE"] == str(bundle)
    assert (settings.user_home, settings.git_name) == (Path("/home/ada"), "Ada")
    nothing = Settings.read({"SSL_CERT_FILE": str(tmp_path / "gone.pem")})
    assert Network.of(nothing) == Network(connection=nothing.connection)


@pytest.mark.parametrize(
    ("host", "is_private"),
    [
        ("data.intra", True),
        ("below.data.intra", False),
        ("data.example", False),
        ("localhost", True),
        ("api.localhost", True),
        ("notlocalhost", False),
        ("10.0.0.7", True),
        ("[::1]", True),
    ],
)
def test_a_yes_means_the_private_network_only_where_the_name_says_so(host: str, is_private: bool) -> None:
    assert Network(private_hosts=frozenset({"data.intra"})).may_be_private(host) is is_private


async def test_permission_is_remembered_with_its_ports_and_nothing_else_is(where: Path, tmp_path: Path) -> None:
    kept = tmp_path / "state" / "leave.json"
    async with Records.open(where, chain_key=KEY, types=EVENT_TYPES) as records:
        async with open_network_access(Network(), AGREED, kept=kept, records=records) as access:
            await access.grant(UseNetwork(host="Data.example", port=443))
            await access.grant(UseNetwork(host="data.example", port=8080))
            await access.grant(UseNetwork(host="data.example", port=443))
            await access.grant(RunCode(notebook="/home/ada/birds/n.py", code="1"))
            allowed = access.egress.allowed
        assert allowed == (AllowedHost(name="data.example", ports=(443, 8080)),)
        async with open_network_access(Network(), AGREED, kept=kept, records=records) as again:
            assert again.egress.allowed == allowed
        kept.write_text("{")
        with pytest.raises(Defect, match=r"leave\.json"):
            async with open_network_access(Network(), AGREED, kept=kept, records=records):
                raise AssertionError("opened")


async def resolve(_: str) -> list[IPv4Address | IPv6Address]:
    return [IPv4Address("127.0.0.1")]


async def test_every_visit_is_told_in_the_runs_stream(where: Path, tmp_path: Path) -> None:
    network = Network(private_hosts=frozenset({"data.example"}), resolve=resolve)
    async with Records.open(where, chain_key=KEY, types=EVENT_TYPES) as records:
        with site() as web:
            web.pages["/wren"] = "<p>It sings.</p>"
            async with open_network_access(network, AGREED, kept=tmp_path / "leave.json", records=records) as access:
                assert isinstance(await access.fetch.get(web.url("/wren", "data.example")), FetchedPage)
                assert isinstance(await access.fetch.get(web.url("/wren", "other.example")), ToolError)
        told = [recorded.event async for recorded in records.log.read_all("run:r")]
        visits = [event for event in told if isinstance(event, HostVisited)]
    assert [visit.host for visit in visits] == [f"data.example:{web.port}", f"other.example:{web.port}"]
    assert visits[0].verdict == "allowed at 127.0.0.1"
    assert visits[0].bytes_in > len("<p>It sings.</p>")
    assert visits[1].verdict.startswith("denied")
    assert "which was not approved" in visits[1].verdict
    assert web.came == [("data.example", "/wren")]


@pytest.mark.slow
def test_whoever_only_opens_notebooks_does_not_wait_for_agents() -> None:
    look = "import sys, cellwright.app; print([name for name in ('pydantic_ai', 'dbos') if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", look], check=True, capture_output=True, text=True)
    assert said.stdout == "[]\n"
