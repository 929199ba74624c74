"""Calls as values: what would be sent, and what the answer is read as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter

from cellwright_client.shape import Shape

T_co = TypeVar("T_co", covariant=True)
API = "/api/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What goes over HTTP."""

    method: str
    path: str
    query: Mapping[str, object] = field(default_factory=dict[str, object])
    body: Shape | bytes | None = None

    def sent(self, accept: str) -> dict[str, Any]:
        """As `httpx` takes it; what was not said is left to the server."""
        headers, content = {"accept": accept}, self.body
        if isinstance(content, Shape):
            headers["content-type"] = "application/json"
            content = content.model_dump_json(exclude_unset=True).encode()
        elif content is not None:
            headers["content-type"] = "application/octet-stream"
        said = {name: _word(value) for name, value in self.query.items() if value is not None}
        return {"method": self.method, "url": API + self.path, "params": said, "content": content, "headers": headers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Request, Generic[T_co]):
    """A call whose answer is one of the shapes."""

    shape: type[T_co]

    def read(self, data: bytes) -> T_co:
        """The answer. Raises pydantic's `ValidationError`."""
        return TypeAdapter(self.shape).validate_json(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class File(Request):
    """A call whose answer is a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream(Request):
    """A call whose answer is events, as they happen."""


def _word(value: object) -> str:
    # As JSON has them, not as Python does.
    return str(value).lower() if isinstance(value, bool) else str(value)


def path_of(template: str, *parts: object) -> str:
    """The path with its parts filled in, each as one segment."""
    for part in parts:
        before, _, rest = template.partition("{")
        template = f"{before}{quote(str(part), safe='')}{rest.partition('}')[2]}"
    return template
