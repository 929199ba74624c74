"""A chat request as the OpenAI SDK would write it, without doing again what comes out the same each time.

That is its walk through the types of everything in a request, which turns names and files into what the wire wants: a
chat request of plain values has neither. And the head of the HTTP request, of which only two lines ever change. Any
other request is left to the SDK.
"""

from __future__ import annotations

import marshal
from collections.abc import Awaitable, Callable
from functools import cache, cached_property
from typing import Any, Final

import httpx2

Transform = Callable[[object, object], Awaitable[Any]]
_KEY: Final = "Idempotency-Key"


@cache
def write_quickly() -> None:
    """From now on, in this process. For the SDK's chat completions only: their types rename nothing."""
    from openai._types import NotGiven, Omit
    from openai.resources.chat.completions import completions

    sdk: Any = completions
    thorough: Transform = sdk.async_maybe_transform

    async def transform(data: Any, expected_type: Any) -> Any:
        given = {name: value for name, value in data.items() if not isinstance(value, (Omit, NotGiven))}
        return given if _is_plain(given) else await thorough(data, expected_type)

    sdk.async_maybe_transform = transform


class QuickWriting:
    """To be mixed into OpenAI's client: it writes the head of its requests once and then copies it."""

    @cached_property
    def _heads(self) -> dict[Any, httpx2.Request]:
        return {}

    def _build_request(self, options: Any, *, retries_taken: int = 0) -> httpx2.Request:
        inherited: Any = super()
        known = None if retries_taken else _head_of(options)
        if known is None:
            return inherited._build_request(options, retries_taken=retries_taken)
        if (head := self._heads.get(known)) is None:
            head = self._heads[known] = inherited._build_request(options)
        return _with_body(head, options)


def _head_of(options: Any) -> Any:
    """What the head depends on beside the client itself; None if a request is not one of chat, asked by us."""
    from openai._types import NotGiven

    given = options.headers
    is_ours = (
        options.url == "/chat/completions"
        and isinstance(options.json_data, dict)
        and type(given) is dict
        and _KEY in given
        and options.extra_json is options.content is options.files is None
        and not options.params
        and isinstance(options.timeout, NotGiven)
    )
    return tuple((name, value) for name, value in given.items() if name != _KEY) if is_ours else None


def _with_body(head: httpx2.Request, options: Any) -> httpx2.Request:
    from openai._utils._json import openapi_dumps

    body = openapi_dumps(options.json_data)
    changed = {b"idempotency-key": options.headers[_KEY].encode(), b"content-length": b"%d" % len(body)}
    lines = [(name, changed.get(name.lower(), value)) for name, value in head.headers.raw]
    request = httpx2.Request(
        "POST",
        head.url,
        # Said outright: it would be guessed anew each time that a line is looked up.
        headers=httpx2.Headers(lines, encoding="ascii"),
        stream=httpx2.ByteStream(body),
        extensions=head.extensions,
    )
    request.read()
    return request


def _is_plain(value: Any) -> bool:
    """Whether it is made of dicts, lists, texts and numbers alone; marshal looks at that in C."""
    try:
        marshal.dumps(value)
    except ValueError:
        return False
    return True
