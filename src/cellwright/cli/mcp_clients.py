"""Programs that can use our MCP server: where each keeps its settings, and how ours stand in them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from cellwright.cli.commented_json import with_member, without_member
from cellwright.errors import UserError
from cellwright.notebook.atomic_write import write_atomically
from cellwright.settings import Settings

NAME: Final = "cellwright"
_WORKSPACE: Final = "${workspaceFolder}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCommand:
    """How a client starts our server."""

    command: str
    arguments: tuple[str, ...]
    variables: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpClient:
    """One of them."""

    place: Callable[[Settings], Path]
    """Its settings file."""
    section: str
    """Where servers stand in it."""
    entry: Callable[[ServerCommand], dict[str, Any]]
    is_toml: bool = False
    starts_elsewhere: bool = False
    """Whether it starts servers in another folder than the one it works in, and has to be told to say which."""


def _usual(server: ServerCommand) -> dict[str, Any]:
    more = {"env": server.variables} if server.variables else {}
    return {"command": server.command, "args": list(server.arguments), **more}


def _of_opencode(server: ServerCommand) -> dict[str, Any]:
    more = {"environment": server.variables} if server.variables else {}
    return {"type": "local", "command": [server.command, *server.arguments], "enabled": True, **more}


def _config(settings: Settings) -> Path:
    own = settings.environment.get("XDG_CONFIG_HOME")
    return Path(own) if own else settings.user_home / ".config"


def _codex(settings: Settings) -> Path:
    own = settings.environment.get("CODEX_HOME")
    return (Path(own) if own else settings.user_home / ".codex") / "config.toml"


CLIENTS: Final = {
    "claude-code": McpClient(
        place=lambda settings: settings.user_home / ".claude.json",
        section="mcpServers",
        entry=lambda server: {"type": "stdio", **_usual(server)},
    ),
    "codex": McpClient(place=_codex, section="mcp_servers", entry=_usual, is_toml=True),
    "opencode": McpClient(
        place=lambda settings: _config(settings) / "opencode/opencode.json", section="mcp", entry=_of_opencode
    ),
    "vscode": McpClient(
        place=lambda settings: _config(settings) / "Code/User/mcp.json",
        section="servers",
        entry=lambda server: {"type": "stdio", **_usual(server)},
        starts_elsewhere=True,
    ),
    "cursor": McpClient(
        place=lambda settings: settings.user_home / ".cursor/mcp.json",
        section="mcpServers",
        entry=_usual,
        starts_elsewhere=True,
    ),
    "zed": McpClient(
        place=lambda settings: _config(settings) / "zed/settings.json",
        section="context_servers",
        entry=lambda server: {"source": "custom", **_usual(server)},
    ),
}


def entry_for(client: McpClient, settings: Settings) -> dict[str, Any]:
    """What stands in its settings."""
    # By its whole path: a program with a window does not have the PATH of a terminal.
    found = shutil.which(Path(sys.executable).with_name(NAME)) or shutil.which(NAME)
    if found is None:
        raise UserError("The command `cellwright` was not found.", hint="Call this as it was installed.")
    home = settings.environment.get("CELLWRIGHT_HOME")
    return client.entry(
        ServerCommand(
            command=str(Path(found).absolute()),
            arguments=("mcp", "--folder", _WORKSPACE) if client.starts_elsewhere else ("mcp",),
            variables={"CELLWRIGHT_HOME": home} if home else {},
        )
    )


def shown_entry(client: McpClient, entry: dict[str, Any]) -> str:
    """As it would stand in an empty file."""
    if client.is_toml:
        return tomlkit.dumps({client.section: {NAME: entry}})
    return json.dumps({client.section: {NAME: entry}}, indent=2, ensure_ascii=False) + "\n"


def change_settings(client: McpClient, path: Path, entry: dict[str, Any] | None) -> bool:
    """Put our entry into its settings, or with None take it out; all else stays. Whether anything changed.

    Raises `UserError` for a file that cannot be read or changed: it is left alone.
    """
    # A link to where somebody keeps their settings stays one.
    path = path.resolve()
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        after = _changed(client, before, entry)
        if after == before:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, after.encode())
        return True
    except (UserError, TOMLKitError, UnicodeDecodeError, OSError) as problem:
        why = problem.message if isinstance(problem, UserError) else f"{type(problem).__name__}: {problem}"
        raise UserError(
            f"{str(path)!r} was left as it is. {why}",
            hint="`cellwright mcp install … --print` shows what to put there.",
        ) from problem


def _changed(client: McpClient, text: str, entry: dict[str, Any] | None) -> str:
    if client.is_toml:
        return _changed_toml(client, text, entry)
    if entry is None:
        return without_member(text, client.section, NAME)
    return with_member(text, client.section, NAME, entry)


def _changed_toml(client: McpClient, text: str, entry: dict[str, Any] | None) -> str:
    document = tomlkit.parse(text)
    section = document.get(client.section)
    if section is not None and not isinstance(section, dict):
        raise UserError(f"{client.section} is not a table.")
    if entry is None:
        if section is None or NAME not in section:
            return text
        del section[NAME]
        if not section:
            del document[client.section]
        return tomlkit.dumps(document).rstrip("\n") + "\n"
    if section is None:
        # Only the entry gets a head of its own.
        document[client.section] = tomlkit.table(is_super_table=True)
        document[client.section][NAME] = entry
    else:
        section[NAME] = entry
    return tomlkit.dumps(document)
