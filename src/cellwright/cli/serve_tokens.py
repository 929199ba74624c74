"""`cellwright serve tokens [create|revoke]`: who may call the web server."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.text import Text

from cellwright.background import current_person
from cellwright.cli.journal_options import JsonOption
from cellwright.cli.render import console
from cellwright.errors import UserError
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.server.http.auth.tokens import Scope, TokenStore

app = typer.Typer(help="Tokens for programs and other people.", invoke_without_command=True)

_DAY_SECONDS: Final = 86_400


@app.callback()
def tokens(context: typer.Context, as_json: JsonOption = False) -> None:
    """List every token that counts; none is ever shown again."""
    if context.invoked_subcommand is None:
        list_tokens(as_json)


@app.command("list")
def list_tokens(as_json: JsonOption = False) -> None:
    """List every token that counts; none is ever shown again."""
    views = [token.json() for token in _tokens().all()]
    if as_json:
        console.as_json({"tokens": views})
    elif views:
        table = console.table("id", "name", "person", "scope", "expires", "last used", whole=("id",))
        for view in views:
            table.add_row(
                *(Text(str(view[name])) for name in ("id", "name", "person", "scope")),
                _day(view["expires_ms"], "never"),
                _day(view["last_used_ms"], "–"),
            )
        console.results.print(table)
    else:
        console.note("There are no tokens; `cellwright serve tokens create NAME` makes one.")


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[
        str, typer.Option("--scope", help="read, steer, approve or admin: each may what those before it may.")
    ] = "read",
    person: Annotated[str, typer.Option("--person", help="Who bears it; else you.")] = "",
    days: Annotated[int, typer.Option("--days", min=0, max=3650, help="How long it counts; 0: until revoked.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """Make a token, shown this once."""
    created = _tokens().create(
        name=name, person=person or current_person(), scope=_scope(scope), seconds=days * _DAY_SECONDS if days else None
    )
    if as_json:
        console.as_json({"token": created.secret, **created.token.json()})
    else:
        console.line(created.secret)
        console.note("Keep it: it is not shown again. Send it as `Authorization: Bearer …`.")


@app.command()
def revoke(
    id: Annotated[str, typer.Argument(help="As `cellwright serve tokens` shows it.")], as_json: JsonOption = False
) -> None:
    """Let a token not count any more, in a running daemon too."""
    token = _tokens().revoke(id)
    console.result(token.json(), as_json, f"The token {token.name!r} does not count any more.")


def _tokens() -> TokenStore:
    # `serve status` and `serve stop` do not pay for what only tokens need.
    from cellwright.server.http.auth.tokens import TokenStore

    return TokenStore(Settings.read().ready_home())


def _scope(text: str) -> Scope:
    from cellwright.server.http.auth.tokens import SCOPES

    if text in SCOPES:
        return text
    raise UserError(f"There is no scope {text!r}.", hint=f"Known: {', '.join(SCOPES)}.")


def _day(at_ms: int | None, otherwise: str) -> str:
    if at_ms is None:
        return otherwise
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
