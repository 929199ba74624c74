"""What the type checker says about a program, and which of it is worth stopping for.

Only what would fail for certain: a call that does not fit its tool, an answer nobody awaited, a name nobody defined.
Its taste does not count: programs are short, and the checker knows nothing of what is printed or returned.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

_ABOUT_A_CALL = {
    "invalid-argument-type",
    "unknown-argument",
    "missing-argument",
    "too-many-positional-arguments",
    "parameter-already-assigned",
}
_CERTAIN = {"invalid-key", "unused-awaitable"}
_UNDEFINED = "unresolved-reference"
_NOT_AWAITED = "CoroutineType["
_MOST = 5
_BUILT_IN = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class TypeDiagnostic:
    """One complaint."""

    line: int
    rule: str
    message: str


def find_problems(report: str, tools: Iterable[str]) -> list[TypeDiagnostic]:
    """The complaints that count, from a report in JSON lines."""
    named = [f"`{tool}`" for tool in tools]
    found = [_read(json.loads(line)) for line in report.splitlines() if line.startswith("{")]
    if any(problem.rule == "invalid-syntax" for problem in found):
        # The interpreter says it better, or does not mind: a `return` at the top, for one.
        return []
    return [problem for problem in found if _counts(problem, named)][:_MOST]


def _read(raw: dict[str, Any]) -> TypeDiagnostic:
    place = cast("dict[str, Any]", raw.get("location") or {})
    return TypeDiagnostic(int(place.get("row", 0)), str(raw.get("code")), str(raw.get("message")))


def _counts(problem: TypeDiagnostic, named: list[str]) -> bool:
    if problem.rule in _CERTAIN or _NOT_AWAITED in problem.message:
        return True
    if problem.rule == _UNDEFINED:
        # A built-in the checker does not know is for the interpreter to refuse.
        return not any(f"`{name}`" in problem.message for name in _BUILT_IN)
    return problem.rule in _ABOUT_A_CALL and any(name in problem.message for name in named)
