"""Which answers may answer again: exactly equal requests only, and only where caller and settings both ask for it."""

from __future__ import annotations

from typing import Final

from cellwright.models.calls import Answered

_WHOLE: Final = (None, "stop", "tool_call")


def is_worth_keeping(answer: Answered, first_model: str) -> bool:
    """Whether an equal request that would go to `first_model` may get this answer too.

    Not the answer of a fallback, which would outlive the fault it stood in for; not one cut short or withheld.
    """
    is_whole = answer.response.finish_reason in _WHOLE and bool(answer.response.parts)
    return is_whole and answer.model == first_model and answer.source == "provider"
