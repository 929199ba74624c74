"""What goes wrong, as answers: one shape for all of it, and no word of ours that could hold a secret."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ConfigDict
from starlette.exceptions import HTTPException

from cellwright.errors import CellwrightError, Defect, RefusedByPolicy, Unavailable, UserError
from cellwright.remedies import Remedy
from cellwright.runs.views.branches import NoSuchBranch, NotWaiting
from cellwright.server.http.errors import (
    REPORT_HEADER,
    Conflict,
    NotAdmitted,
    RequestTimedOut,
    ResourceNotFound,
    TooLarge,
    TooMany,
)
from cellwright.server.http.page_remedies import page_hint
from cellwright.server.http.schemas.model import ResponseModel

logger = logging.getLogger(__name__)

_LONGEST_TEXT: Final = 4_000
_SHOWN_MISTAKES: Final = 5


class Problem(ResponseModel):
    """What went wrong."""

    # Told without a remedy where there is none.
    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    kind: str
    """For programs: `user`, `invalid`, `not_found`, `conflict`, `refused`, `not_admitted`, `unavailable` …"""
    message: str
    """For people."""
    hint: str
    """What to do next, in the page's words; may be empty."""
    remedy: Remedy | None = None
    """The same as a value, for an interface with words of its own."""


class ProblemAnswer(ResponseModel):
    """The body of every answer that is not a success."""

    error: Problem


RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    "4XX": {
        "model": ProblemAnswer,
        "description": "400, 404, 409, 413, 422: it cannot be done as it is asked. 401, 403: not with this token, "
        "or a rule is against it. 408, 429: too slow, too often",
    },
    503: {"model": ProblemAnswer, "description": "Something this needs is not there now"},
}
"""What every route may answer besides its own."""

_KINDS: Final[tuple[tuple[type[CellwrightError], int, str], ...]] = (
    (ResourceNotFound, 404, "not_found"),
    (NoSuchBranch, 404, "not_found"),
    (Conflict, 409, "conflict"),
    (NotWaiting, 409, "conflict"),
    (TooLarge, 413, "too_large"),
    (RequestTimedOut, 408, "too_slow"),
    (UserError, 400, "user"),
    (NotAdmitted, 401, "not_admitted"),
    (RefusedByPolicy, 403, "refused"),
    (TooMany, 429, "too_many"),
    (Unavailable, 503, "unavailable"),
)
"""The most particular first."""
_HTTP: Final = {
    404: ("not_found", "There is nothing at this address.", "See /api/v1/openapi.json."),
    405: ("user", "This address does not take this method.", "See /api/v1/openapi.json."),
}
Mask = Callable[[str], str]
"""How a text goes out: without secrets."""


def add_error_handlers(app: FastAPI, mask: Mask) -> None:
    """From now on, whatever a route raises that is meant for people becomes an answer."""

    def on_error(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, CellwrightError)
        return error_response(error, mask)

    def on_invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        # Where the request is wrong and how, without what stands there.
        found = [f"{'.'.join(str(part)[:80] for part in each['loc'][:6])}: {each['msg']}" for each in error.errors()]
        more = f"; and {len(found) - _SHOWN_MISTAKES} more" if len(found) > _SHOWN_MISTAKES else ""
        mistakes = "; ".join(found[:_SHOWN_MISTAKES]) + more
        return _response(422, "invalid", mask(mistakes), "See /api/v1/openapi.json.")

    def on_http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        # FastAPI says "error parsing the body" for whatever happens while one is read.
        if isinstance(error.__cause__, CellwrightError):
            return error_response(error.__cause__, mask)
        if error.status_code == 405 and (methods := _methods(app, request.scope["path"])):
            error.headers = {"allow": ", ".join(methods)}
        kind, message, hint = _HTTP.get(error.status_code, ("user", mask(str(error.detail)), ""))
        return _response(error.status_code, kind, message, hint, error.headers)

    app.add_exception_handler(CellwrightError, on_error)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)


def error_response(error: CellwrightError, mask: Mask) -> JSONResponse:
    """An error of ours as an answer."""
    message, hint = mask(error.message), mask(page_hint(error.advice))
    remedy = None if error.remedy is None else error.remedy.changed(mask)
    for cls, status, kind in _KINDS:
        if isinstance(error, cls):
            return _response(status, kind, message, hint, getattr(error, "headers", None), remedy)
    if isinstance(error, Defect):
        logger.error("defect %s: %s", error.report_id, message)
        return _defect_response(error, message)
    return _response(500, "defect", message, hint, remedy=remedy)


def unknown_error_response(error: Exception) -> JSONResponse:
    """Our own mistake: logged, and told without a detail."""
    defect = Defect("The server failed.")
    logger.error("defect %s", defect.report_id, exc_info=error)
    return _defect_response(defect, defect.message)


def _defect_response(defect: Defect, message: str) -> JSONResponse:
    hint = f"Please report this with its id, {defect.report_id}."
    return _response(500, "defect", message, hint, {REPORT_HEADER: defect.report_id})


def _response(
    status: int,
    kind: str,
    message: str,
    hint: str,
    headers: Mapping[str, str] | None = None,
    remedy: Remedy | None = None,
) -> JSONResponse:
    bounded = None if remedy is None else remedy.changed(_bounded_text)
    problem = Problem(kind=kind, message=_bounded_text(message), hint=_bounded_text(hint), remedy=bounded)
    body = ProblemAnswer(error=problem)
    return JSONResponse(body.model_dump(exclude_none=True), status_code=status, headers=dict(headers or {}))


def _methods(app: FastAPI, path: str) -> list[str]:
    """What the address takes: the framework names only those of the first route that has it."""
    documented: dict[str, dict[str, Any]] = app.openapi()["paths"]
    for template, methods in documented.items():
        if re.fullmatch(re.sub(r"\\{.*?\\}", "[^/]+", re.escape(template)), path):
            return sorted(method.upper() for method in methods)
    return []


def _bounded_text(text: str) -> str:
    """The text with nothing in it that JSON cannot carry, not endless."""
    return text[:_LONGEST_TEXT].encode(errors="replace").decode()
