"""What obstore raises, in words for whoever asked."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from obstore import exceptions

from cellwright.data.worker.source import SourceFailed

_CODE: Final = re.compile(r"<Code>\s*([A-Za-z]{1,60})\s*</Code>")
_STATUS: Final = re.compile(r"status code: (\d{3})")
_KEY_CODES: Final = frozenset(
    {"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "AuthenticationFailed",
     "AuthorizationFailure", "InvalidAuthenticationInfo", "InvalidClientTokenId"}
)  # fmt: skip
_BUCKET_CODES: Final = frozenset({"NoSuchBucket", "ContainerNotFound"})
_WRONG_KEY: Final = "the key is not known there, or its secret is another"
_NO_NAME: Final = re.compile(r"dns error|failed to lookup|name or service not known|no address", re.IGNORECASE)
_NO_HOST: Final = re.compile(r"error sending request|trying to connect|refused|timed out|connect", re.IGNORECASE)
_TLS: Final = re.compile(r"certificate|UnknownIssuer|handshake|InvalidContentType|tls|ssl", re.IGNORECASE)
_WORDS: Final = 300


@contextmanager
def store_failed(path: str) -> Generator[None]:
    """What goes wrong inside, as `SourceFailed`; that there is no such object is Python's own error."""
    try:
        yield
    except (exceptions.BaseError, FileNotFoundError) as problem:
        failure = _by_answer(path, str(problem))
        if failure is not None:
            raise failure from None
        if isinstance(problem, exceptions.NotFoundError | FileNotFoundError):
            raise FileNotFoundError from None
        # A list is refused in words of its own, which tell the status only.
        is_denied = isinstance(problem, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError)
        if is_denied or "403" in _STATUS.findall(str(problem)):
            raise SourceFailed("denied", f"The server does not let this key read {path[:200]!r}.") from None
        raise _other(str(problem)) from None


def _by_answer(path: str, text: str) -> SourceFailed | None:
    """By what the server answered; obstore has classes for some of it only."""
    codes, statuses = _CODE.findall(text), _STATUS.findall(text)
    code, status = codes[0] if codes else "", statuses[0] if statuses else ""
    if code in _KEY_CODES:
        return SourceFailed("login", f"{_WRONG_KEY} ({code}).")
    if status in {"401", "407"}:
        return SourceFailed("login", f"it answers {status}.")
    if code in _BUCKET_CODES:
        bucket = path.partition("/")[0]
        why = f"There is no bucket {bucket[:100]!r} there." if bucket else "There is no such bucket or container there."
        return SourceFailed("statement", why, hint="Look at its name, and at the address of the server.")
    if status and status not in {"403", "404"}:
        why = " ".join(filter(None, ("The server answers", status, code))) + "."
        return SourceFailed("other", why, hint="Is the address right, and is it a server of this kind?")
    return None


def _other(text: str) -> SourceFailed:
    """Nobody answered, or what they said is none of this."""
    if _NO_NAME.search(text):
        return SourceFailed("host", "no host of this name is known.")
    if _NO_HOST.search(text):
        # Why a connection failed stands only in what is printed behind it for whoever debugs.
        shown = text.partition("Debug source")[2]
        if _TLS.search(shown):
            return SourceFailed("tls", "its certificate is not accepted, or it speaks no TLS.")
        return SourceFailed("host", "nobody answers there.")
    plain = text.partition("\n\nDebug source")[0]
    return SourceFailed("other", " ".join(plain.split())[:_WORDS])
