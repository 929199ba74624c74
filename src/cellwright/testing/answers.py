"""What the server can be told to answer: words, calls of tools, JSON, and every way a provider goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, Literal, get_args

Stop = Literal["end", "length", "refused"]

FaultKind = Literal[
    "bad-request", "unauthorised", "not-found", "context-too-long", "rate-limited", "server-error", "overloaded",
    "slow-first-byte", "stall", "drop", "truncated-stream", "bad-json", "error-event", "wrong-usage", "huge",
    "split-tool-call", "cut-unicode",
]  # fmt: skip
"""Every way to go wrong. Those up to `overloaded` are refusals: an error status, nothing charged."""

FAULTS: Final[tuple[FaultKind, ...]] = get_args(FaultKind)

_STRICT: Final = {"extra": "forbid"}
"""For scripts that are read from JSON: a misspelled word is a mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What one answer costs. Cached tokens are part of the input."""

    __pydantic_config__ = _STRICT
    input_tokens: int = 10
    output_tokens: int = 5
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    __pydantic_config__ = _STRICT
    tokens: Tokens = field(default_factory=Tokens)
    chunk_seconds: float = 0
    """A wait before each piece; before a whole answer, once."""


@dataclass(frozen=True, slots=True)
class Say(_Told):
    """Text."""

    text: str
    _: KW_ONLY
    does: Literal["say"] = field(default="say", repr=False)
    chunks: int | None = None
    """Into how many pieces a stream cuts it; by default one per word."""
    thinking: str = ""
    """Reasoning told before the text, by the wire formats that have it."""
    stop: Stop = "end"


@dataclass(frozen=True, slots=True)
class CallTool(_Told):
    """A call of one tool. Arguments given as text are sent as they are, broken JSON included."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    _: KW_ONLY
    does: Literal["call-tool"] = field(default="call-tool", repr=False)
    id: str | None = None
    """The call's id; by default one made from the request."""
    text: str = ""
    """Said before the call."""
    chunks: int | None = None
    """Into how many pieces a stream cuts the arguments; by default three."""


@dataclass(frozen=True, slots=True)
class CallTools(_Told):
    """Calls of several tools in one answer."""

    calls: tuple[CallTool, ...]
    _: KW_ONLY
    does: Literal["call-tools"] = field(default="call-tools", repr=False)
    text: str = ""


@dataclass(frozen=True, slots=True)
class SayJson(_Told):
    """A JSON value: as text, or as the arguments of the tool the request forces the model to call."""

    value: Any
    _: KW_ONLY
    does: Literal["say-json"] = field(default="say-json", repr=False)
    chunks: int | None = None


Spoken = Say | CallTool | CallTools | SayJson


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to go wrong, around the answer that would have been right.

    | kind | streamed | not streamed |
    |---|---|---|
    | refusals | error status and the provider's error body | the same |
    | `slow-first-byte` | no byte for `seconds`, or until released | the same |
    | `stall` | silence after `after_chunks`, for `seconds` or until released | silence in the middle of the body |
    | `drop` | connection reset after `after_chunks` | connection reset before a byte |
    | `truncated-stream` | a clean end after `after_chunks`, no final events | body shorter than promised |
    | `bad-json` | an event that is no JSON after `after_chunks` | a body that is no JSON |
    | `error-event` | the provider's error event after `after_chunks` | status 200 with an error as body |
    | `wrong-usage` | the usage told is `reported`, or absent, not what was charged | the same |
    | `huge` | `characters` of text | the same |
    | `split-tool-call` | a tool call's arguments one character at a time | the body in scraps |
    | `cut-unicode` | characters cut in two between writes | the same |
    """

    __pydantic_config__ = _STRICT
    kind: FaultKind
    _: KW_ONLY
    does: Literal["fault"] = field(default="fault", repr=False)
    answer: Spoken = Say("one two three four five")
    after_chunks: int = 2
    """How many pieces of the answer come through first."""
    retry_after_seconds: float | None = None
    """Told with a refusal."""
    status: int | None = None
    """Another error status than the provider's usual one."""
    message: str | None = None
    """Another error message than the provider's usual one."""
    seconds: float | None = None
    """How long to be silent; None is until `release()` or until the client goes away."""
    reported: Tokens | None = None
    """What `wrong-usage` tells; None tells nothing."""
    characters: int = 1_000_000


Answer = Spoken | Fault
"""What the server does with one request."""
