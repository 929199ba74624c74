"""Whether a connection's server answers, and what is wrong if it does not: in words for a person."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from cellwright.data.exchanges.api_rules import ApiRules
from cellwright.data.exchanges.requests import CellRequest, RefusedRequest, SentRequest
from cellwright.data.exchanges.s3_rules import S3Rules
from cellwright.data.exchanges.signing import canonical_query
from cellwright.data.web_worker.upstream import Upstream, UpstreamFailed, telling_failures

_MAX_BODY: Final = 1 << 16
_SECONDS: Final = 20.0
_CODE: Final = re.compile(rb"<Code>([A-Za-z]{1,60})</Code>")
_LOOK_AT_IT: Final = "Is the address right: https:// or http://, host and port?"
_KEY_CODES: Final = frozenset(
    {"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "InvalidClientTokenId"}
)


class TrialFailed(Exception):
    """What is wrong: `kind` is a worker's word for it, `hint` what to do."""

    def __init__(self, kind: str, why: str, hint: str = "") -> None:
        self.kind, self.why, self.hint = kind, why, hint
        super().__init__(why)


async def try_s3(rules: S3Rules, upstream: Upstream) -> str:
    """List one object of the first bucket; what the server calls itself. Raises `TrialFailed`."""
    first = rules.buckets[0]
    query = canonical_query([("list-type", "2"), ("max-keys", "1"), ("prefix", first.prefix)])
    status, server, body = await _ask(rules, upstream, "GET", f"/{first.bucket}?{query}", ())
    found = _CODE.search(body)
    code = found[1].decode() if found is not None else ""
    if status == 200:
        return server or "S3"
    if code in _KEY_CODES:
        raise TrialFailed("login", f"the key or its secret is wrong ({code})")
    if code == "AccessDenied" or status in {401, 403}:
        raise TrialFailed(
            "statement", f"The key may not list the bucket {first.bucket!r} ({code or status}).",
            "It needs s3:ListBucket and s3:GetObject there; or it is another's bucket.",
        )  # fmt: skip
    if code == "NoSuchBucket" or status == 404:
        raise TrialFailed(
            "statement", f"There is no bucket {first.bucket!r}.", "Look at `buckets` and `endpoint` of the connection."
        )
    if status in {301, 307, 400}:
        raise TrialFailed(
            "statement", f"The bucket {first.bucket!r} is not served here ({code or status}).",
            "Look at `region` and `endpoint` of the connection.",
        )  # fmt: skip
    raise TrialFailed("other", f"The server answers {status} {code}.".replace(" .", "."))


async def try_api(rules: ApiRules, upstream: Upstream) -> str:
    """Ask for the first allowed path; what the server calls itself. Raises `TrialFailed`."""
    path = f"{rules.address.base}{rules.paths[0] if rules.paths else ''}" or "/"
    headers = ((rules.header, rules.stand_in),) if rules.secret else ()
    methods = [method for method in ("HEAD", "GET") if method in rules.methods]
    status, server = 0, ""
    for method in methods:
        status, server, _ = await _ask(rules, upstream, method, path, headers)
        if status not in {405, 501}:
            break
    if status in {401, 407} or (status == 403 and rules.secret):
        raise TrialFailed("login", f"it answers {status}")
    if status >= 500:
        raise TrialFailed("other", f"The server answers {status}.")
    return " ".join(filter(None, (server, f"(answers {status} to {path})" if status else "")))


async def _ask(
    rules: S3Rules | ApiRules, upstream: Upstream, method: str, target: str, headers: tuple[tuple[str, str], ...]
) -> tuple[int, str, bytes]:
    """Status, `Server`, and the beginning of the body."""
    request = rules.complete(CellRequest(method=method, target=target, headers=headers), datetime.now(UTC))
    if isinstance(request, RefusedRequest):
        raise TrialFailed("statement", f"It cannot be tried: {request.why}.", "Look at what the connection allows.")
    try:
        return await _answer(request, upstream)
    except UpstreamFailed as failed:
        raise TrialFailed(failed.kind, failed.why, _LOOK_AT_IT if failed.kind == "other" else "") from None


async def _answer(request: SentRequest, upstream: Upstream) -> tuple[int, str, bytes]:
    body = b""
    async with upstream.answer(request, None, _SECONDS) as response:
        with telling_failures():
            async for piece in response.aiter_stream():
                body += piece
                if len(body) > _MAX_BODY:
                    break
        names = {name.lower(): value for name, value in response.headers}
        server = names.get(b"server", b"").decode("latin-1")
    return response.status, " ".join(server.split())[:100], body[:_MAX_BODY]
