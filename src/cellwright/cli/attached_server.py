"""Which server of somebody's own marimo is meant, and its token: typed unseen, read from a file, or kept before."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from cellwright.app.attached_goals import with_kept_token
from cellwright.app.attached_notebooks import server_with
from cellwright.cli.secret_input import secret_from_person
from cellwright.errors import UserError
from cellwright.kernel.attached.marimo_server import ServerAddress
from cellwright.settings import Settings

_MOST_TOKEN: Final = 10_000


def given_token(file: Path | None, *, ask_token: bool = False) -> str:
    """What the person gave; empty: nothing. Raises `UserError`."""
    if file is None:
        return secret_from_person("The server's token").strip() if ask_token else ""
    try:
        with file.open(encoding="utf-8") as opened:
            token = opened.read(_MOST_TOKEN).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"The token file {str(file)!r} cannot be read.", hint="Write the token alone into it."
        ) from error
    if not token or not token.isascii() or not token.isprintable():
        raise UserError(f"The token file {str(file)!r} holds no token.", hint="Write the token alone into it.")
    return token


async def meant_server(url: str | None, file: str, token: str, settings: Settings) -> ServerAddress:
    """The server of this address, or the one that has this file open. Raises `UserError`."""
    if url:
        return await with_kept_token(ServerAddress.parse(url, token), settings)
    if not file:
        raise UserError("Which notebook?", hint="Give a server's address or --file; `--list` shows what there is.")
    return await server_with(settings, file)
