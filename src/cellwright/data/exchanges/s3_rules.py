"""What an S3 connection allows: objects below its prefixes, and lists of them; all of it signed anew.

Only what is known is let through: an operation of S3 is told by query and headers, and new ones come every year.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import unquote_to_bytes

from cellwright.data.connection_options import (
    DEFAULT_REGION,
    S3_METHODS,
    BucketPrefix,
    WebAddress,
    read_address,
    read_buckets,
    read_methods,
)
from cellwright.data.exchanges.requests import CellRequest, Headers, RefusedRequest, SentRequest, read_target
from cellwright.data.exchanges.signing import SigningKey, canonical_path, canonical_query, signed_headers

_PRESIGNED: Final = frozenset(
    {"x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-signedheaders", "x-amz-signature",
     "x-amz-security-token", "x-amz-content-sha256", "awsaccesskeyid", "signature", "expires"}
)  # fmt: skip
"""Of the client's own signature in a query: dropped."""
_LIST: Final = frozenset(
    {"list-type", "prefix", "delimiter", "continuation-token", "start-after", "max-keys", "encoding-type",
     "fetch-owner", "marker", "x-id"}
)  # fmt: skip
_OBJECT: Final[Mapping[str, frozenset[str]]] = {
    "GET": frozenset(
        {"versionId", "partNumber", "x-id", "response-content-type", "response-content-encoding",
         "response-content-disposition", "response-content-language", "response-cache-control", "response-expires"}
    ),
    "HEAD": frozenset({"versionId", "partNumber"}),
    "PUT": frozenset({"partNumber", "uploadId", "x-id"}),
    "POST": frozenset({"uploads", "uploadId", "x-id"}),
    "DELETE": frozenset({"uploadId", "versionId", "x-id"}),
}  # fmt: skip
_REPLACED: Final = frozenset(
    {"x-amz-content-sha256", "x-amz-date", "x-amz-security-token", "x-amz-decoded-content-length", "x-amz-trailer",
     "x-amz-te", "x-amz-user-agent", "x-amz-sdk-checksum-algorithm"}
)  # fmt: skip
"""Of the client's own signature and of how it sends its body: what is needed of it is written anew."""
_SIGNED_ALONG: Final = frozenset(
    {"x-amz-checksum-mode", "x-amz-expected-bucket-owner", "x-amz-request-payer", "x-amz-storage-class",
     "x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id",
     "x-amz-server-side-encryption-customer-algorithm", "x-amz-server-side-encryption-customer-key",
     "x-amz-server-side-encryption-customer-key-md5"}
)  # fmt: skip
_SIGNED_FAMILIES: Final = ("x-amz-meta-", "x-amz-checksum-")
_PASSED: Final = frozenset(
    {"range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "accept",
     "accept-encoding", "cache-control", "content-type", "content-md5", "content-disposition", "content-language",
     "content-encoding", "expires", "user-agent"}
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Rules:
    """One connection's rules, with its key."""

    address: WebAddress
    key: SigningKey
    methods: tuple[str, ...]
    buckets: tuple[BucketPrefix, ...]

    @classmethod
    def of(cls, options: Mapping[str, str], secret: str) -> S3Rules:
        """From a connection's options. Raises `UserError`."""
        region = options.get("region", DEFAULT_REGION)
        endpoint = options.get("endpoint") or f"https://s3.{region}.amazonaws.com"
        return cls(
            address=read_address(endpoint, tls=options.get("tls", "")),
            key=SigningKey(access_key_id=options["access_key_id"], secret=secret, region=region),
            methods=read_methods(options, S3_METHODS),
            buckets=read_buckets(options["buckets"]),
        )

    @property
    def hidden(self) -> tuple[str, ...]:
        """What no answer shows."""
        return self.key.secret, self.key.access_key_id

    def complete(self, request: CellRequest, now: datetime) -> SentRequest | RefusedRequest:
        """The request with the connection's signature, or why it is not sent."""
        target = read_target(request.target)
        if isinstance(target, RefusedRequest):
            return target
        if request.method not in self.methods:
            allowed = ", ".join(self.methods)
            return RefusedRequest(why=f"{request.method[:20]} is not allowed: this connection takes {allowed}")
        query = tuple((name, value) for name, value in target.query if name.lower() not in _PRESIGNED)
        bucket, _, raw_key = target.path[1:].partition("/")
        try:
            key = unquote_to_bytes(raw_key).decode()
        except UnicodeDecodeError:
            return RefusedRequest(why="the key is no UTF-8")
        why = self._why_not(request, bucket, key, raw_key, query)
        extra, passed = _signed_along(request.headers), _passed(request.headers)
        if why or isinstance(extra, RefusedRequest):
            return RefusedRequest(why=why) if isinstance(extra, tuple) else extra
        # What was judged is written anew: it is signed and sent as it was understood, not as it came.
        shown_path = f"/{bucket}/{canonical_path(key)}" if key else f"/{bucket}"
        path, text = f"{self.address.base}{shown_path}", canonical_query(query)
        signed = signed_headers(self.key, request.method, path, text, self.address.authority, extra, now)
        tail = f"?{text}" if text else ""
        is_chunked = "aws-chunked" in (request.header("content-encoding") or "").lower()
        length = request.header("x-amz-decoded-content-length" if is_chunked else "content-length")
        if request.has_body and not (length or "").isdecimal():
            return RefusedRequest(why="S3 wants to know how long a body is")
        lengths: Headers = (("content-length", length),) if length and (request.has_body or length == "0") else ()
        return SentRequest(
            method=request.method,
            target=f"{path}{tail}",
            headers=(*signed, *passed, *lengths),
            shown=f"{request.method} {shown_path}{tail}",
            is_aws_chunked=is_chunked,
        )

    def _why_not(
        self, request: CellRequest, bucket: str, key: str, raw_key: str, query: tuple[tuple[str, str], ...]
    ) -> str:
        """Empty: nothing speaks against it."""
        if not bucket:
            return "buckets are not listed: name one of the connection's"
        allowed = [each.prefix for each in self.buckets if each.bucket == bucket]
        if not allowed:
            return f"the bucket {bucket[:80]!r} is none of this connection's"
        names = [name for name, _ in query]
        if len(names) != len(set(names)):
            return "a parameter of the query is there twice"
        if not key:
            return _why_not_bucket(request.method, dict(query), allowed)
        if "%2f" in raw_key.lower() or "%5c" in raw_key.lower() or "\\" in key:
            return "the key has an encoded slash in it"
        if not any(key.startswith(prefix) for prefix in allowed):
            return f"the key is outside of {_listed(bucket, allowed)}"
        if unknown := sorted(set(names) - _OBJECT[request.method]):
            return f"{unknown[0][:40]!r} is nothing that is done here with an object"
        if request.method == "POST" and not {"uploads", "uploadId"} & set(names):
            return "POST is for uploads in parts only"
        return ""


def _why_not_bucket(method: str, query: Mapping[str, str], allowed: list[str]) -> str:
    if method == "HEAD" and not query:
        return ""
    if method != "GET":
        return f"{method} is nothing that is done here with a bucket; objects are changed one at a time"
    if set(query) == {"location"}:
        return ""
    if unknown := sorted(set(query) - _LIST):
        return f"{unknown[0][:40]!r} is nothing that is asked here of a bucket"
    prefix = query.get("prefix", "")
    if not any(prefix.startswith(each) for each in allowed):
        return f"only what is below {', '.join(allowed)} is listed: give that as the prefix"
    return ""


def _signed_along(headers: Headers) -> Headers | RefusedRequest:
    """The request's own `x-amz-*` headers; one that nobody knows could copy, publish or unlock what is not meant."""
    kept = list[tuple[str, str]]()
    for name, value in headers:
        if not name.startswith("x-amz-") or name in _REPLACED:
            continue
        if name not in _SIGNED_ALONG and not name.startswith(_SIGNED_FAMILIES):
            return RefusedRequest(why=f"the header {name[:60]} is not allowed here")
        kept.append((name, value))
    if len({name for name, _ in kept}) != len(kept):
        return RefusedRequest(why="a header is there twice")
    return tuple(kept)


def _passed(headers: Headers) -> Headers:
    kept = ((name, value) for name, value in headers if name in _PASSED)
    bare = ((name, _not_chunked(value) if name == "content-encoding" else value) for name, value in kept)
    return tuple((name, value) for name, value in bare if value)


def _not_chunked(encodings: str) -> str:
    """How it is sent is not how it is kept."""
    words = [word.strip() for word in encodings.split(",")]
    return ", ".join(word for word in words if word and word.lower() != "aws-chunked")


def _listed(bucket: str, prefixes: list[str]) -> str:
    return " and ".join(f"{bucket}/{prefix}" for prefix in prefixes)
