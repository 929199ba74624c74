"""Why an attempt failed: every exception of pydantic-ai, an SDK or the network becomes one word of `FailureKind`."""

from __future__ import annotations

import json
import secrets
from functools import cache
from typing import Any, Final, cast

from pydantic import ValidationError
from pydantic_ai import exceptions
from pydantic_ai.exceptions import ModelAPIError, ModelConnectionError, ModelHTTPError, UnexpectedModelBehavior

from cellwright.errors import CellwrightError, Unavailable
from cellwright.models.calls import FailureKind
from cellwright.policy.masking.masker import Masker

LONGEST_DETAIL: Final = 200
_BY_STATUS: Final[dict[int, FailureKind]] = {
    401: "unauthorised",
    403: "unauthorised",
    404: "not-found",
    408: "timed-out",
    413: "context-too-long",
    429: "rate-limited",
    503: "overloaded",
    504: "timed-out",
    529: "overloaded",
}
_BY_TYPE: Final[tuple[tuple[type[ModelAPIError], FailureKind], ...]] = (
    (exceptions.ModelContextWindowExceededError, "context-too-long"),
    (exceptions.ModelAuthenticationError, "unauthorised"),
    (exceptions.ModelNotFoundError, "not-found"),
    (exceptions.ModelRateLimitError, "rate-limited"),
    # Waiting does not fill an account: to be treated like a request that is refused.
    (exceptions.ModelQuotaExceededError, "rejected"),
    (exceptions.ModelRequestRejectedError, "rejected"),
    (exceptions.ModelUnavailableError, "overloaded"),
    (exceptions.ModelTimeoutError, "timed-out"),
    (exceptions.ModelRequestTimeout, "timed-out"),
    (ModelConnectionError, "connection"),
)
"""What pydantic-ai's own exceptions say, the most particular first."""
_BY_NAME: Final[tuple[tuple[FailureKind, tuple[str, ...]], ...]] = (
    ("timed-out", ("Timeout",)),
    ("broken-answer", ("Decod", "JSON", "StreamConsumed")),
    ("connection", ("StreamClosed", "Connect", "Transport", "Protocol", "Network", "Read", "Write", "Proxy")),
    ("broken-answer", ("ResponseValidation",)),
)
"""What a part of an exception's name says, for those of SDKs that must not be imported to be recognised."""
_LIBRARIES: Final = frozenset(
    {
        "httpx", "httpx2", "httpcore", "httpcore2", "h11",
        "pydantic_ai", "openai", "anthropic", "groq", "mistralai", "google",
    }
)  # fmt: skip


class BrokenAnswer(Exception):
    """The model answered, but not with something that can be used."""


def failure_of(error: BaseException) -> tuple[FailureKind, str, float | None]:
    """Why, in short and masked words, and how many seconds the provider asked to wait.

    Raises the error itself if it is none of a provider, an SDK or the network: that is a defect, not a failure.
    """
    failing = _failing(error)
    if failing is None:
        raise error
    retry_after = error.retry_after if isinstance(error, ModelAPIError) else None
    return failing, _detail(error, failing), retry_after


def _failing(error: BaseException) -> FailureKind | None:
    match error:
        case BaseExceptionGroup():
            found: list[FailureKind | None] = [_failing(inner) for inner in error.exceptions]
            return None if None in found else found[0]
        case ModelAPIError():
            return _of_api(error)
        case BrokenAnswer() | UnexpectedModelBehavior():
            return "rejected" if isinstance(error, exceptions.ContentFilterError) else "broken-answer"
        case exceptions.SuspendedResponseExpired():
            return "not-found"
        case Unavailable():
            return "not-ready"
        case CellwrightError() | exceptions.UserError():
            return "rejected"
        case json.JSONDecodeError() | ValidationError() | UnicodeDecodeError():
            return "broken-answer"
        case TimeoutError():
            return "timed-out"
        case OSError() | EOFError():
            return "connection"
        case _:
            return _of_library(error)


def _of_api(error: ModelAPIError) -> FailureKind:
    for kind, failing in _BY_TYPE:
        if isinstance(error, kind):
            return "connection" if failing == "timed-out" and getattr(error, "phase", "") == "connect" else failing
    if isinstance(error, ModelHTTPError):
        return _of_status(error.status_code)
    has_said = error.in_stream or error.body is not None or error.provider_error_code is not None
    # Without a word of the provider it is pydantic-ai that could not read the answer, or not to its end.
    is_unread = error.__cause__ is not None or "without a `finish_reason`" in error.message
    return "broken-answer" if is_unread and not has_said else "server-error"


def _of_status(status: int) -> FailureKind:
    return _BY_STATUS.get(status, "rejected" if 400 <= status < 500 else "server-error")


def _of_library(error: BaseException) -> FailureKind | None:
    if type(error).__module__.partition(".")[0] not in _LIBRARIES:
        # Adapters trip over answers that lack what every answer has.
        return "broken-answer" if _raised_in(error) in _LIBRARIES else None
    for attribute in ("status_code", "code"):
        status = getattr(error, attribute, None)
        if isinstance(status, int) and 400 <= status < 600:
            return _of_status(status)
    names = " ".join(kind.__name__ for kind in type(error).__mro__)
    return next((failing for failing, parts in _BY_NAME if any(part in names for part in parts)), "server-error")


def _raised_in(error: BaseException) -> str:
    """The library whose code raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0] if trace else ""


def _detail(error: BaseException, failing: FailureKind) -> str:
    status = getattr(error, "status_code", None)
    prefix = f"HTTP {status}" if isinstance(status, int) else ""
    if failing == "unauthorised":
        # What providers say here often quotes the key.
        return f"{prefix or 'the provider'}: the key was refused"
    said = _said(error)
    text = f"{prefix}: {said}" if prefix and said else prefix or said or type(error).__name__
    return _masker().mask(" ".join(text[: 10 * LONGEST_DETAIL].split())).text[:LONGEST_DETAIL]


def _said(error: BaseException) -> str:
    """The message in a provider's error body, or the exception's own; never a whole body."""
    if isinstance(error, BaseExceptionGroup):
        return _said(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    if isinstance(error, ModelHTTPError):
        return _message_of(error.body)
    if isinstance(error, CellwrightError):
        return error.message
    if isinstance(error, ModelConnectionError) and error.__cause__ is not None:
        inner = error.__cause__.__cause__ or error.__cause__
        return str(inner) or type(inner).__name__
    if isinstance(error, ValidationError):
        return f"{error.error_count()} fields of the answer are not as they should be"
    text = error.message if isinstance(error, UnexpectedModelBehavior) else str(error)
    # pydantic quotes what it could not read.
    return text.partition("[type=")[0].partition("input_value=")[0]


def _message_of(body: object) -> str:
    """The `message` of `{"message": …}` or `{"error": {"message": …}}`."""
    for _ in range(3):
        if isinstance(body, str):
            return body if not body.lstrip().startswith(("{", "[", "<")) else ""
        if not isinstance(body, dict):
            return ""
        found = cast("dict[str, Any]", body)
        body = found.get("message") or found.get("error") or found.get("detail")
    return body if isinstance(body, str) else ""


@cache
def _masker() -> Masker:
    return Masker.of(salt=secrets.token_bytes(16))
