"""A chat request as the OpenAI SDK would write it, without its walk through the types of everything in it.

The walk turns names and files into what the wire wants. A chat request of plain values has neither; any other is left
to the SDK.
"""

from __future__ import annotations

import marshal
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

Transform = Callable[[object, object], Awaitable[Any]]


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


def _is_plain(value: Any) -> bool:
    """Whether it is made of dicts, lists, texts and numbers alone; marshal looks at that in C."""
    try:
        marshal.dumps(value)
    except ValueError:
        return False
    return True
