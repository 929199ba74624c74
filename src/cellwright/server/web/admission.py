"""Who is let in to a route: whoever's token has its scope."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Final

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from cellwright.errors import RefusedByPolicy
from cellwright.server.web.callers import Caller, Scope
from cellwright.server.web.problems import NotAdmitted

CALLER: Final = "cellwright.caller"
"""Under this name the gates leave, in a request's scope, whose token it bears."""

# What the document of the API says about tokens; the gates have read the token already.
_Bearer = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, scheme_name="token", description="`cw_…`, see `cellwright serve tokens`.")),
]


def needs(scope: Scope) -> Callable[[Request, _Bearer], Awaitable[Caller]]:
    """A dependency for routes: `caller: Annotated[Caller, Depends(needs("read"))]`.

    Raises `NotAdmitted` without a token that counts, `RefusedByPolicy` for one whose scope is too small.
    """

    async def admitted(request: Request, bearer: _Bearer) -> Caller:
        caller = caller_of(request)
        if caller is None:
            raise NotAdmitted(
                "The token does not count any more." if bearer else "A token is needed.",
                hint="`cellwright serve url` gives a fresh address, `cellwright serve tokens create` a token.",
            )
        if not caller.may(scope):
            raise RefusedByPolicy(
                f"This needs the scope {scope!r}; the token has {caller.scope!r}.",
                hint=f"`cellwright serve tokens create --scope {scope}` makes one that may.",
            )
        return caller

    return admitted


def caller_of(request: Request) -> Caller | None:
    """Whose token this request bears; None: nobody's that counts."""
    found = request.scope.get(CALLER)
    return found if isinstance(found, Caller) else None
