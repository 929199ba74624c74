"""Questions, answers and standing grants as they go over HTTP."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from cellwright.policy.approvals import Reach
from cellwright.server.http.schemas.model import RequestModel, ResponseModel


class AskedQuestion(ResponseModel):
    """What a run asks."""

    id: str
    run: str
    topic: str
    """`approval`, `budget`, `paused`, or what kind of plain question it is."""
    what: str
    """Everything the person must see."""
    offers: list[str]
    """The answers that are possible; none: any words."""
    fingerprint: str = ""
    """Names exactly what is asked about; goes back with the answer. Empty where none is needed."""
    asked_ms: int
    answer_with: str
    """The command that answers it at a terminal."""


class AskedQuestions(ResponseModel):
    """What waits for an answer, oldest first."""

    questions: list[AskedQuestion]


class AnswerBody(RequestModel):
    """A person's answer."""

    answer: Annotated[str, StringConstraints(min_length=1, max_length=8_000)]
    """`yes` or `no`; for a budget `raise 2.50`, `price 0.10`, `uncounted` or `no`; `resume`; or a choice, or words."""
    reach: Reach | None = None
    """With `yes`: how far it reaches; null: no further than it must."""
    fingerprint: Annotated[str, StringConstraints(max_length=200)] = ""
    """Of what the person was shown."""
    feedback: Annotated[str, StringConstraints(max_length=8_000)] = ""
    """With `no`: for the agent."""


class AnswerTaken(ResponseModel):
    """The answer counts."""

    id: str
    says: str


class GrantShape(ResponseModel):
    """A yes that lasts."""

    id: str
    covers: str
    project: str
    reach: Reach
    run: str
    by: str
    door: str
    at_ms: int
    expires_ms: int | None


class GrantList(ResponseModel):
    """Every yes that still allows something."""

    grants: list[GrantShape]
