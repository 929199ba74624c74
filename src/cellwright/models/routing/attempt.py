"""One try at one model: put the request, hear the answer to its end, its failure or its deadline."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import anyio
from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent

from cellwright.models.calls import FailureKind, Piece, TokenUsage

AnswerStream = AbstractAsyncContextManager[AsyncIterator[ModelResponseStreamEvent | ModelResponse]]
"""Pieces, if streaming, then the whole response. A response followed by an error only tells what was used."""


AskModel = Callable[..., AnswerStream]
"""Puts a request to one model, as `ModelRegistry.ask` does: asked for on entering, the connection closed on leaving."""
Explain = Callable[[BaseException], tuple[FailureKind, str, float | None]]
"""What an error of a provider means: the kind, a short text, and after how many seconds it said to come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """How long a model may be silent. A deadline too short pays twice, so these are generous."""

    first_piece_seconds: float = 180
    """Until the first piece of a stream. Models that reason before they speak are silent for minutes."""
    next_piece_seconds: float = 60
    """Between two pieces of a stream: longer is a stall."""
    answer_seconds: float = 600
    """Until the whole answer, where it comes in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailure:
    """The try gave no answer."""

    failing: FailureKind
    detail: str
    retry_after_seconds: float | None = None
    usage: TokenUsage | None = None
    """What the provider says was used all the same."""
    has_emitted: bool = False
    """Pieces of this try were emitted: they are void."""


async def receive_answer(
    answer: AnswerStream,
    *,
    stream: bool,
    deadlines: Deadlines,
    seconds_left: float,
    emit: Callable[[Piece], None],
    explain: Explain,
) -> ModelResponse | AttemptFailure:
    """The whole response, with its pieces emitted as they come; or why there is none."""
    now = anyio.current_time()
    ends_at = now + seconds_left
    silence = deadlines.first_piece_seconds if stream else deadlines.answer_seconds
    response: ModelResponse | None = None
    explained: tuple[FailureKind, str, float | None] | None = None
    has_emitted = is_whole = False
    with anyio.CancelScope(deadline=min(now + silence, ends_at)) as scope:
        try:
            async with answer as events:
                async for event in events:
                    if isinstance(event, ModelResponse):
                        response = event
                    else:
                        emit(Piece(event=event))
                        has_emitted = True
                        silence = deadlines.next_piece_seconds
                    now = anyio.current_time()
                    # Moving it costs more than the piece, so it is set a little further and moved seldom.
                    if not now + silence <= scope.deadline <= now + 1.25 * silence:
                        scope.deadline = min(now + 1.25 * silence, ends_at)
                is_whole = True
        except Exception as error:  # noqa: BLE001 - SDKs raise whatever they like; `explain` knows what it means
            # An error raised while a deadline breaks in says only that it did.
            explained = None if scope.cancel_called else explain(error)
    if is_whole and response is not None:
        return response
    if scope.cancel_called:
        why = "within the call's deadline" if anyio.current_time() >= ends_at else f"for {silence:g} s"
        explained = ("timed-out", f"silent {why}" if has_emitted else f"no answer {why}", None)
    failing, detail, retry_after_seconds = explained or ("broken-answer", "it ended without an answer", None)
    return AttemptFailure(
        failing=failing,
        detail=detail,
        retry_after_seconds=retry_after_seconds,
        usage=None if response is None else usage_of(response),
        has_emitted=has_emitted,
    )


def usage_of(response: ModelResponse) -> TokenUsage | None:
    """What the provider counted; None where it counted nothing, which is unknown, not zero."""
    usage = response.usage
    used = TokenUsage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return used if used.tokens else None
