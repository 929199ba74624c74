"""Answers made in the background: asked for once, then fetched by their id until they are there.

A lost connection loses only one look; a crash loses nothing, because the id was told before the first wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import anyio
from pydantic_ai.messages import ModelMessage, ModelResponse

from cellwright.models.calls import Failing
from cellwright.models.failing import failure_of

if TYPE_CHECKING:
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

_PASSING: Final[frozenset[Failing]] = frozenset(
    {"connection", "timed-out", "server-error", "overloaded", "rate-limited"}
)
_FAILED_LOOKS: Final = 5
_FIRST_WAIT_SECONDS: Final = 0.25
_LONGEST_WAIT_SECONDS: Final = 4.0
_CANCEL_SECONDS: Final = 5.0


def pending(model: Model, provider_response_id: str) -> ModelResponse:
    """Stands for an answer that is still being made."""
    return ModelResponse(
        parts=[],
        model_name=model.model_name,
        provider_name=model.system,
        provider_response_id=provider_response_id,
        provider_details={"background": True},
        state="suspended",
    )


async def answer_in_background(
    model: Model,
    messages: list[ModelMessage],
    settings: ModelSettings,
    parameters: ModelRequestParameters,
    response: ModelResponse | None = None,
    on_id: Callable[[str | None], None] | None = None,
) -> ModelResponse:
    """The whole answer: of `response` if it was asked for before. Cancelling stops it at the provider too."""
    if response is None:
        response = await model.request(messages, settings, parameters)
    if on_id is not None:
        on_id(response.provider_response_id)
    try:
        wait_seconds, failed_looks = _FIRST_WAIT_SECONDS, 0
        while response.state == "suspended":
            try:
                response = await model.request([*messages, response], settings, parameters)
                failed_looks = 0
            except Exception as error:
                failed_looks += 1
                if failure_of(error)[0] not in _PASSING or failed_looks > _FAILED_LOOKS:
                    raise
            if response.state == "suspended":
                await anyio.sleep(wait_seconds)
                wait_seconds = min(2 * wait_seconds, _LONGEST_WAIT_SECONDS)
    except BaseException:
        with anyio.move_on_after(_CANCEL_SECONDS, shield=True):
            await _cancel(model, response)
        raise
    return response


async def _cancel(model: Model, response: ModelResponse) -> None:
    try:
        await model.cancel_suspended_response(response)
    except Exception as error:  # noqa: BLE001 - the call has ended already; what it ended with is what counts
        failure_of(error)
