"""A run connects as the command that started it, whoever started the daemon; no journal knows its passwords."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from cellwright.app.run_network import store_network_variables, stored_network_variables
from cellwright.network import NetworkSettings
from cellwright.server import connect
from cellwright.settings import Settings
from tests.server.daemon_testbed import DaemonTestbed, a_goal, lines
from tests.walled_network import PASSWORD

ASKED = {"HTTPS_PROXY": f"http://ada:{PASSWORD}@proxy.example:3128", "UV_OFFLINE": "1"}


async def test_a_daemon_started_from_another_shell_is_told_how_this_run_connects(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as first:
        await first.start(a_goal(), run="plain")
        pid = (await first.status()).pid
        here = replace(testbed.settings, connection=NetworkSettings.of(ASKED))
        async with connect(here, launch=testbed.launch()) as second:
            await second.start(a_goal(), run="proxied")
            assert (await second.status()).pid == pid
        await testbed.until("plain", "done")
        await testbed.until("proxied", "done")
        assert [json.loads(line) for line in lines(testbed.folder / "connections.txt")] == [{}, ASKED]
        assert PASSWORD not in await anyio.Path(f"/proc/{pid}/environ").read_text()
        await first.stop()
    testbed.until_ended()
    kept = [path for path in testbed.home.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert kept == [], "the journal, the log and everything else"


def test_what_a_run_was_started_with_is_kept_for_its_owner_alone_and_the_first_word_counts(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "r"
    assert stored_network_variables(folder) is None
    store_network_variables(folder, ASKED)
    store_network_variables(folder, {})
    assert stored_network_variables(folder) == ASKED
    [file] = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("own", "proxy"),
    [("", ASKED["HTTPS_PROXY"]), ('https_proxy = "http://set.example:1"\n', "http://set.example:1")],
)
def test_settings_win_over_the_command_and_the_command_over_the_daemon(tmp_path: Path, own: str, proxy: str) -> None:
    (tmp_path / "network.toml").write_text(own)
    daemon = {"CELLWRIGHT_HOME": str(tmp_path), "HTTPS_PROXY": "http://daemon.example:2", "HTTP_PROXY": "http://d:3"}
    settings = Settings.read(daemon).for_command(ASKED)
    assert settings.connection.variables == ASKED | {"HTTPS_PROXY": proxy}
