"""Amazon's Signature Version 4 for S3, with the body unsigned: it is passed on as it comes."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from cellwright.data.exchanges.requests import Headers

UNSIGNED: Final = "UNSIGNED-PAYLOAD"
_ALGORITHM: Final = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """Whose signature it is, and where it holds."""

    access_key_id: str
    secret: str = field(repr=False)
    region: str


def canonical_path(key: str) -> str:
    """A path as it is signed and sent: everything but plain characters and slashes encoded, once."""
    return quote(key, safe="/-_.~")


def canonical_query(pairs: Iterable[tuple[str, str]]) -> str:
    """A query as it is signed and sent."""
    encoded = sorted((_encoded(name), _encoded(value)) for name, value in pairs)
    return "&".join(f"{name}={value}" for name, value in encoded)


def signed_headers(
    key: SigningKey, method: str, path: str, query: str, host: str, extra: Headers, now: datetime
) -> Headers:
    """All headers that sign a request: `extra` are its own `x-amz-*` ones, which are signed, too."""
    stamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{key.region}/s3/aws4_request"
    headers = dict(sorted((("host", host), *extra, ("x-amz-content-sha256", UNSIGNED), ("x-amz-date", stamp))))
    names = ";".join(headers)
    lines = "".join(f"{name}:{' '.join(value.split())}\n" for name, value in headers.items())
    request = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{UNSIGNED}"
    text = f"{_ALGORITHM}\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    signature = hmac.new(_derived(key, stamp[:8]), text.encode(), hashlib.sha256).hexdigest()
    credential = f"{_ALGORITHM} Credential={key.access_key_id}/{scope},SignedHeaders={names},Signature={signature}"
    return (*headers.items(), ("authorization", credential))


def _derived(key: SigningKey, date: str) -> bytes:
    derived = f"AWS4{key.secret}".encode()
    for part in (date, key.region, "s3", "aws4_request"):
        derived = hmac.new(derived, part.encode(), hashlib.sha256).digest()
    return derived


def _encoded(text: str) -> str:
    return quote(text, safe="-_.~")
