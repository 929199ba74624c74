"""Where a program stands: paused at tool calls, finished, failed, or lost with its worker. And what it may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
FailureKind = Literal["error", "syntax", "unsupported", "types", "limit", "state", "crash"]
LimitName = Literal[
    "seconds", "sleep_seconds", "memory", "output_bytes", "tool_calls", "argument_bytes", "value_bytes", "state_bytes",
    "program_bytes", "recursion", "lookups",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    """What one program may use, from its start to its end, over all its pauses."""

    seconds: float = 10
    """Time its own code runs; waiting for tools does not count."""
    sleep_seconds: float = 10
    """All its `sleep` calls together."""
    memory_mb: int = 64
    """What its values take."""
    output_bytes: int = 65_536
    """What it prints."""
    tool_calls: int = 200
    argument_bytes: int = 1 << 20
    """Of one call, as JSON."""
    value_bytes: int = 1 << 20
    """Of its result, as JSON."""
    state_bytes: int = 16 << 20
    """What is written down at each pause."""
    program_bytes: int = 262_144


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool the program wants called. The id stays the same wherever the program is continued."""

    id: int
    name: str
    arguments: Mapping[str, Json]
    """By the parameters' names, however the program wrote them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A tool's answer that is raised in the program, where it can be caught."""

    message: str
    type: str = "RuntimeError"
    """A built-in exception; any other name becomes part of the message of a `RuntimeError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """Waits for the answers to at least one of these calls."""

    calls: tuple[ToolCall, ...]
    """Every call without an answer, those of an earlier pause included."""
    state: bytes
    """The program as it stands, for `ActionWorker.load`. Opaque: it is only ever opened in a cage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Ran to its end."""

    value: Json
    """Of its last expression."""
    output: str
    """What it printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Stopped before its end, through its own doing; written so that a model can mend it."""

    kind: FailureKind
    type: str
    """The exception's name."""
    message: str
    line: int | None = None
    hint: str = ""
    """What to write instead, where that is known."""
    limit: LimitName | None = None
    """Which one, if it was a limit."""
    output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The worker ended under it. Nothing is wrong with the program: load its state, or start it again."""

    reason: str
    state: bytes | None
    """Where it last paused; None if it never did."""


Step = Paused | Finished | Failed | Lost
