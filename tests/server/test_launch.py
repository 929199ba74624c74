"""A daemon is told everything it needs and nothing it must not know."""

from __future__ import annotations

import json
import math
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.models.client.gateway_process import MARKER
from cellwright.server import DaemonLaunch, WebOptions, connect
from cellwright.server.daemon.launch import DaemonStart, daemon_environment, read_start, start_message
from cellwright.settings import Settings
from tests.server.daemon_testbed import DaemonTestbed
from tests.server.warm import ROOT

KEY = "sk-daemon-q7Xm2f9Kd4Lw8Rz1"
PERSONS = {
    "PATH": os.defpath,
    "HOME": "/home/ada",
    "LANG": "C.UTF-8",
    "LC_TIME": "C",
    "https_proxy": "http://proxy:1",
    "UV_INDEX_URL": "https://index.example/simple",
    "PIP_INDEX_URL": "https://index.example/simple",
    "XDG_CACHE_HOME": "/home/ada/.cache",
    "CELLWRIGHT_PRIVATE_HOSTS": "db.example",
    "GIT_AUTHOR_NAME": "Ada",
}
SECRETS = {
    "OPENAI_API_KEY": KEY,
    "ANTHROPIC_API_KEY": KEY,
    "CELLWRIGHT_KEY_NEAR": KEY,
    "UV_PUBLISH_TOKEN": KEY,
    "DATABASE_PASSWORD": KEY,
    "AWS_SECRET_ACCESS_KEY": KEY,
    "PYTHONPATH": KEY,
    MARKER: "1",
}


def test_of_the_persons_environment_it_gets_what_it_needs_and_no_key() -> None:
    assert daemon_environment(Settings.read(PERSONS | SECRETS)) == PERSONS


def test_what_it_is_told_is_what_it_reads(tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path / "home",
        cache=tmp_path / "cache",
        team_rules=tmp_path / "team.toml",
        user_home=Path("/home/ada"),
        private_hosts=frozenset({"db.example"}),
        certificates=tmp_path / "cert.pem",
        git_name="Ada",
        git_email="ada@example.org",
        environment=PERSONS | SECRETS,
    )
    for idle_seconds in (5.0, math.inf):
        start = DaemonStart(settings=settings, idle_seconds=idle_seconds, web=WebOptions(folder="/project"), url_to=7)
        plain = json.loads(json.dumps(start_message(start)))
        assert KEY not in json.dumps(plain)
        own = Settings.read(PERSONS)
        expected = replace(settings, environment=own.environment, sources=own.sources, connection=own.connection)
        assert read_start(plain, own) == replace(start, settings=expected)


@pytest.mark.slow
async def test_no_key_is_in_a_daemons_environment_or_arguments(testbed: DaemonTestbed) -> None:
    begin = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.server.a_daemon import start; start(sys.argv[1:])"
    )
    command = (sys.executable, "-I", "-c", begin, str(testbed.folder), "1.0", "1")
    settings = replace(testbed.settings, environment=PERSONS | SECRETS)
    async with connect(settings, launch=DaemonLaunch(command=command, version="1.0")) as daemon:
        pid = (await daemon.status()).pid
        process = Path(f"/proc/{pid}")
        environment = dict(line.split("=", 1) for line in (process / "environ").read_text().split("\0") if line)
        assert environment == PERSONS
        assert KEY not in (process / "cmdline").read_text()
        assert (process / "cwd").readlink() == Path("/")
        assert os.getsid(pid) != os.getsid(0)
        assert {(process / "fd" / number).readlink() for number in "01"} == {Path("/dev/null")}
        assert (process / "fd" / "2").readlink() == testbed.home / "daemon.log"
        await daemon.stop()
    testbed.until_ended()
