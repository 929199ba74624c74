"""Questions to models whose answers are JSON of a given shape, outside any agent's loop; paid once, come what may."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import ModelRequest, SystemPromptPart, TextPart, UserPromptPart

from cellwright.agents.agent_context import ModelAccess
from cellwright.agents.model_call import AnswerReceived, ModelOutcome, NoModel, model_outcome, read_response
from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.models import calls
from cellwright.models.config.names import ModelName, Tier
from cellwright.policy.budgets import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredQuestion:
    """What is asked, of whom, and on whose account."""

    run: str
    step: str
    """Names this question among those of its run: asked again under it, the answer is the same and paid once."""
    role: str
    person: str
    system: str
    text: str
    name: str
    """Of the shape."""
    schema: Mapping[str, Any]
    models: tuple[str, ...] = ()
    tier: Tier = "fast"
    is_private: bool = False
    limits: tuple[Limit, ...] = ()


async def ask_structured(models: ModelAccess, question: StructuredQuestion) -> ModelOutcome:
    """How the question ended; `json_of` reads the answer. Inside a journal step."""
    request = calls.Request(
        messages=[ModelRequest(parts=[SystemPromptPart(question.system), UserPromptPart(question.text)])],
        output=calls.OutputSchema(name=question.name, schema=dict(question.schema)),
    )
    call = calls.ModelCall(
        id=calls.call_id(run=question.run, step=question.step, request=request),
        request=request,
        choice=calls.Choice(
            models=tuple(ModelName.parse(name) for name in question.models),
            tier=question.tier,
            private=question.is_private,
        ),
        payer=calls.Payer(
            run=question.run.partition("/")[0], step=question.step, role=question.role, person=question.person
        ),
        limits=question.limits,
        # What it costs is bounded by the limits; that nobody knows whether it was paid must not end a long work.
        if_unknown="again",
    )
    try:
        return model_outcome(call, await models.ask(call), "")
    except (Unavailable, UserError, RefusedByPolicy) as problem:
        return NoModel(message=f"{problem.message} {problem.hint}".rstrip())


def json_of(answer: AnswerReceived) -> Any:
    """The answer's JSON; None if it is none."""
    text = "".join(part.content for part in read_response(answer).parts if isinstance(part, TextPart)).strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
