"""`/session` and `/tokens`: how a browser becomes somebody, and who else may come in."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request
from pydantic import Field

from cellwright.background import current_person
from cellwright.remedies import remedy
from cellwright.server.http.auth.dependencies import Admin, Reader
from cellwright.server.http.auth.tokens import Scope, Token, TokenStore
from cellwright.server.http.errors import NotAdmitted
from cellwright.server.http.resources import ApiRouter
from cellwright.server.http.schemas.model import RequestModel


async def _token_store(request: Request) -> TokenStore:
    return request.app.state.tokens


router = ApiRouter()
Tokens = Annotated[TokenStore, Depends(_token_store)]
_DAY_SECONDS = 86_400
Text = Annotated[str, Field(min_length=1, max_length=200)]
TokenId = Annotated[str, Path(min_length=1, max_length=64, pattern=r"^[0-9a-f]+$")]


class StartSession(RequestModel):
    """What a browser brings."""

    one_time: Text
    """The code of the address that `cellwright serve` printed."""


class Session(RequestModel):
    """Who a browser is."""

    token_id: str
    person: str
    scope: Scope
    expires_ms: int | None
    """None: when it is revoked."""


class NewSession(Session):
    """The same, and what to send from now on."""

    token: str
    """As `Authorization: Bearer …`."""


class TokenLine(RequestModel):
    """A token, without itself."""

    id: str
    name: str
    person: str
    scope: Scope
    created_ms: int
    expires_ms: int | None
    last_used_ms: int | None
    """To the minute."""
    is_own: bool
    """Whether this very request bears it."""


class TokenList(RequestModel):
    """Every token that counts."""

    tokens: list[TokenLine]


class NewToken(RequestModel):
    """What a token is to be."""

    name: Text
    """What it is for."""
    scope: Scope
    person: Text | None = None
    """Who bears it; None: whoever makes it."""
    days: Annotated[int, Field(ge=1, le=3650)] | None = 30
    """None: until it is revoked."""


class CreatedToken(RequestModel):
    """A new token, this once."""

    id: str
    token: str
    scope: Scope
    expires_ms: int | None


class RevokedToken(RequestModel):
    """A token that does not count any more."""

    id: str


@router.post("/session", tags=["session"])
def start_session(body: StartSession, tokens: Tokens) -> NewSession:
    """A token for a start code."""
    created = tokens.start_session(body.one_time, person=current_person())
    if created is None:
        raise NotAdmitted("This address was used already, or is too old.", hint=remedy("get_address"))
    return NewSession(token=created.secret, **_session(created.token).model_dump())


@router.get("/session", tags=["session"])
def read_session(caller: Reader, tokens: Tokens) -> Session:
    """Who asks."""
    found = next((token for token in tokens.all() if token.id == caller.token), None)
    if found is None:
        raise NotAdmitted("The token does not count any more.")
    return _session(found)


@router.delete("/session", tags=["session"])
def end_session(caller: Reader, tokens: Tokens) -> RevokedToken:
    """Revoke the token that asks."""
    return RevokedToken(id=tokens.revoke(caller.token).id)


@router.get("/tokens", tags=["tokens"])
def list_tokens(caller: Admin, tokens: Tokens) -> TokenList:
    """Every token that counts."""
    return TokenList(tokens=[TokenLine(**token.json(), is_own=token.id == caller.token) for token in tokens.all()])


@router.post("/tokens", tags=["tokens"])
def create_token(caller: Admin, tokens: Tokens, body: NewToken) -> CreatedToken:
    """A new token, shown once."""
    created = tokens.create(
        name=body.name,
        person=body.person or caller.person,
        scope=body.scope,
        seconds=None if body.days is None else body.days * _DAY_SECONDS,
    )
    token = created.token
    return CreatedToken(id=token.id, token=created.secret, scope=token.scope, expires_ms=token.expires_ms)


@router.delete("/tokens/{id}", tags=["tokens"])
def revoke_token(_: Admin, tokens: Tokens, id: TokenId) -> RevokedToken:
    """Let a token not count."""
    return RevokedToken(id=tokens.revoke(id).id)


def _session(token: Token) -> Session:
    return Session(token_id=token.id, person=token.person, scope=token.scope, expires_ms=token.expires_ms)
