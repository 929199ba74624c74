"""What obstore raises, in words for whoever asked."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from obstore import exceptions

from cellwright.data.worker.source import SourceFailed

_WRONG_KEY: Final = re.compile(
    r"InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|ExpiredToken|AuthenticationFailed|401"
)
_NO_BUCKET: Final = re.compile(r"NoSuchBucket|ContainerNotFound")
_NO_HOST: Final = re.compile(
    r"dns error|error trying to connect|Connection refused|tcp connect|timed out|connect", re.I
)
_TLS: Final = re.compile(r"certificate|tls|ssl", re.I)
_WORDS: Final = 300


@contextmanager
def store_failed(path: str) -> Generator[None]:
    """What goes wrong inside, as `SourceFailed`; that there is no such object is Python's own error."""
    try:
        yield
    except (exceptions.NotFoundError, FileNotFoundError) as problem:
        if _NO_BUCKET.search(str(problem)):
            bucket = path.partition("/")[0]
            raise SourceFailed(
                "statement", f"There is no bucket {bucket[:100]!r} there.", hint="Look at its name, and at the address."
            ) from None
        raise FileNotFoundError from None
    except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as problem:
        raise _refused(path, str(problem)) from None
    except exceptions.BaseError as problem:
        raise _other(str(problem)) from None


def _refused(path: str, text: str) -> SourceFailed:
    if _WRONG_KEY.search(text):
        return SourceFailed("login", "The key is not known there, or its secret is another.")
    return SourceFailed("denied", f"The server does not let this key read {path[:200]!r}.")


def _other(text: str) -> SourceFailed:
    told = _told(text)
    if _WRONG_KEY.search(text):
        return SourceFailed("login", told)
    if _TLS.search(text) and "http://" not in text:
        return SourceFailed("tls", told)
    return SourceFailed("host" if _NO_HOST.search(text) else "other", told)


def _told(text: str) -> str:
    """The innermost reason: obstore tells the whole chain, and a debug print behind it."""
    plain = text.split("\n\nDebug source", 1)[0]
    return " ".join(plain.split())[:_WORDS]
