"""FastAPI dependencies: whose token has the scope of a route, and which run a request means."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Final

from fastapi import Depends, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from cellwright.errors import RefusedByPolicy, UserError
from cellwright.journal.records import RunStatus, known_run
from cellwright.remedies import remedy
from cellwright.runs.views.run_view import RUN_WORKFLOW
from cellwright.server.http.auth.tokens import ApiCaller, Scope
from cellwright.server.http.errors import Conflict, NotAdmitted, ResourceNotFound
from cellwright.server.http.resources import Resources

CALLER: Final = "cellwright.caller"
"""Under this name the middleware leaves, in a request's scope, whose token it bears."""

# What the document of the API says about tokens; the middleware has read the token already.
_Bearer = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(
        HTTPBearer(auto_error=False, scheme_name="token", description="`cw_…`, made by whoever serves the folder.")
    ),
]


def needs(scope: Scope) -> Callable[[Request, _Bearer], Awaitable[ApiCaller]]:
    """A dependency for routes: `caller: Annotated[Caller, Depends(needs("read"))]`.

    Raises `NotAdmitted` without a token that counts, `RefusedByPolicy` for one whose scope is too small.
    """

    async def admitted(request: Request, bearer: _Bearer) -> ApiCaller:
        caller = caller_of(request)
        if caller is None:
            raise NotAdmitted(
                "The token does not count any more." if bearer else "A token is needed.",
                hint=remedy("get_admitted"),
            )
        if not caller.may(scope):
            raise RefusedByPolicy(
                f"This needs the scope {scope!r}; the token has {caller.scope!r}.",
                hint=remedy("create_token", scope=scope),
            )
        return caller

    return admitted


def caller_of(request: Request) -> ApiCaller | None:
    """Whose token this request bears; None: nobody's that counts."""
    found = request.scope.get(CALLER)
    return found if isinstance(found, ApiCaller) else None


RunName = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$", description="A run's name.")]
Reader = Annotated[ApiCaller, Depends(needs("read"))]
Steerer = Annotated[ApiCaller, Depends(needs("steer"))]
Approver = Annotated[ApiCaller, Depends(needs("approve"))]
Admin = Annotated[ApiCaller, Depends(needs("admin"))]


async def check_run(resources: Resources, run: RunName) -> str:
    """The same name. Raises `ResourceNotFound` if there is no such run."""
    try:
        row = await known_run(resources.records, run)
    except UserError as problem:
        raise _no_run(run) from problem
    if row.name != RUN_WORKFLOW:
        raise _no_run(run)
    return run


async def status_of(resources: Resources, run: RunName) -> RunStatus:
    """How a run stands. Raises `ResourceNotFound`."""
    return await resources.records.status(await check_run(resources, run))


async def _active_run(resources: Resources, run: RunName) -> str:
    status = await status_of(resources, run)
    if not status.is_going:
        raise Conflict(f"The run {run!r} is {status.standing} already.", hint="Resume, retry or fork it.")
    return run


# Each raises `ResourceNotFound` for a run that there is not, the last one also `Conflict` for one that has ended.
KnownRun = Annotated[str, Depends(check_run)]
KnownStatus = Annotated[RunStatus, Depends(status_of)]
ActiveRun = Annotated[str, Depends(_active_run)]


def _no_run(run: str) -> ResourceNotFound:
    return ResourceNotFound(f"No run {run!r}.", hint="GET /runs lists them.")
