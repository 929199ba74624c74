"""`cellwright mcp install`: our server in the settings of each client, and out of them again."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cellwright.cli.commented_json import read_commented
from cellwright.cli.mcp_clients import CLIENTS, NAME
from tests.cli.in_process import Said, run_here

PLACES = {
    "claude-code": ".claude.json",
    "codex": ".codex/config.toml",
    "opencode": ".config/opencode/opencode.json",
    "vscode": ".config/Code/User/mcp.json",
    "cursor": ".cursor/mcp.json",
    "zed": ".config/zed/settings.json",
}
OWN = {
    False: '// my settings\n{\n  "theme": "dark", // as it should be\n}\n',
    True: '# my settings\nmodel = "one"\n\n[mcp_servers.other]\ncommand = "x" # theirs\n',
}


def install(folder: Path, *words: str, code: int = 0) -> Said:
    own = {"HOME": str(folder), "XDG_CONFIG_HOME": "", "CODEX_HOME": ""}
    return run_here(folder / "state", "mcp", "install", *words, code=code, environment=own)


def entry_in(client: str, path: Path) -> Any:
    text = path.read_text()
    read = tomllib.loads(text) if CLIENTS[client].is_toml else read_commented(text)
    return read.get(CLIENTS[client].section, {}).get(NAME)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_gets_our_server_and_loses_it_and_keeps_all_else(client: str, tmp_path: Path) -> None:
    path, own = tmp_path / PLACES[client], OWN[CLIENTS[client].is_toml]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(own)
    path.chmod(0o600)
    said = json.loads(install(tmp_path, client, "--json").stdout)
    assert (said["path"], said["is_changed"], entry_in(client, path)) == (str(path), True, said["entry"])
    assert "mcp" in str(said["entry"])
    assert json.loads(install(tmp_path, client, "--json").stdout)["is_changed"] is False
    assert path.stat().st_mode & 0o777 == 0o600
    install(tmp_path, client, "--remove")
    assert path.read_text() == own


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_printed_is_what_a_new_file_gets(client: str, tmp_path: Path) -> None:
    printed = install(tmp_path, client, "--print").stdout
    assert not (tmp_path / PLACES[client]).exists()
    install(tmp_path, client)
    written = (tmp_path / PLACES[client]).read_text()
    assert printed.strip() == written.strip()


def test_a_file_that_is_wrong_is_told_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text('{"mcpServers": ')
    assert "was left as it is" in install(tmp_path, "claude-code", code=2).stderr
    assert (tmp_path / ".claude.json").read_text() == '{"mcpServers": '
    assert "Known: claude-code" in install(tmp_path, "emacs", code=2).stderr


def test_a_link_to_settings_kept_elsewhere_stays_a_link(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}")
    (tmp_path / ".claude.json").symlink_to(kept)
    install(tmp_path, "claude-code")
    assert (tmp_path / ".claude.json").is_symlink()
    assert entry_in("claude-code", kept)["type"] == "stdio"
