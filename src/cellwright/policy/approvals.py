"""Questions to a person and their answers, as values. A pure state machine; the journal keeps it.

An answer counts only if a person gave it at an interface, and only for what that person was shown. What runs in a
kernel and what a model wrote can ask, never answer: `answer` refuses every origin but a `Person`, and only it makes an
`Answered`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal, NewType, assert_never

from cellwright.errors import Defect
from cellwright.policy.actions import (
    Action,
    CallServerTool,
    ChangeAttached,
    Fingerprint,
    QueryConnection,
    Spend,
    fingerprint,
    fingerprint_of,
)
from cellwright.policy.display_text import shown
from cellwright.policy.envelope import Envelope
from cellwright.policy.targets import Malformed, Scope, scope_of

QuestionId = NewType("QuestionId", str)

Interface = Literal["cli", "web", "http", "mcp", "mcp-elicitation", "acp", "acp-permission"]
"""Where a person can answer. An MCP or ACP client counts only through the dialogue it shows its person."""

Reach = Literal["once", "run", "always"]
"""For exactly this action, for its scope until the run ends, or for its scope in this project until it expires."""

LONGEST_ALWAYS: Final = timedelta(days=365)
USUAL_ALWAYS: Final = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person whom an interface has recognised. The only origin whose answers count."""

    name: str
    door: Interface


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelOrigin:
    """Something that runs in a cage."""

    kernel: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOrigin:
    """Something a model wrote, an agent's tool call included."""

    agent: str


Origin = Person | KernelOrigin | ModelOrigin


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalQuestion:
    """What a person is asked. Whoever draws it shows `describe`, and sends back `fingerprint` with the answer."""

    id: QuestionId
    run: str
    project: str
    about: Action | Envelope
    reason: str
    """Why it asks, with the rule that decided."""
    asked_at: datetime
    expires_at: datetime | None = None
    masked_from: Fingerprint | None = None
    """What it is really about, if secrets were taken out of `about` before it was kept and shown."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Names exactly what is asked about: what is shown and, if that is masked, what stands behind it."""
        shown_about = about_fingerprint(self.about)
        return shown_about if self.masked_from is None else fingerprint_of((shown_about, self.masked_from))

    @property
    def offers(self) -> tuple[Reach, ...]:
        """How far a yes may reach. Money is agreed once, or as a budget; a change in a database or at a tool server
        once; an envelope holds for its run.

        A lasting yes would keep what it covers, so something with a secret in it is allowed once.
        """
        match self.about:
            case Envelope():
                return ("run",)
            case about if is_allowed_once(about):
                return ("once",)
            case _ if self.masked_from is not None:
                return ("once",)
            case ChangeAttached():
                # Nothing contains it: a yes is never for good.
                return ("once", "run")
            case _:
                return ("once", "run", "always")

    @property
    def scope(self) -> Scope | None:
        """What a lasting yes would cover; None when there is none."""
        if isinstance(self.about, Envelope):
            return None
        scope = scope_of(self.about, self.project)
        return None if isinstance(scope, Malformed) else scope

    def describe(self) -> str:
        """Everything the person must see: what will happen, why it asks, and how far each yes reaches."""
        lines = [self.about.describe(), f"Asked because: {shown(self.reason)}"]
        if self.scope is not None and "run" in self.offers:
            reach = "for this run or always" if "always" in self.offers else "for this run"
            lines.append(f"A yes {reach} would cover: {self.scope.describe()}")
        if self.masked_from is not None:
            lines.append("Secrets in it are masked.")
        return "\n".join(lines)


def is_allowed_once(about: Action) -> bool:
    """Whether no yes to such an action reaches further than this one."""
    match about:
        case Spend() | QueryConnection(access="write") | CallServerTool(may_change=True):
            return True
        case QueryConnection():
            return about.is_costly
        case _:
            return False


def about_fingerprint(about: Action | Envelope) -> Fingerprint:
    """Names exactly what a question can be about."""
    return about.fingerprint if isinstance(about, Envelope) else fingerprint(about)


@dataclass(frozen=True, slots=True, kw_only=True)
class Yes:
    """Go ahead, this far."""

    reach: Reach
    lasts: timedelta = USUAL_ALWAYS
    """How long `always` lasts; at most a year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class No:
    """Do not, and what to tell the agent."""

    feedback: str = ""


Reply = Yes | No


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Nobody has answered yet."""

    question: ApprovalQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A person has answered. Made only by `answer`."""

    question: ApprovalQuestion
    reply: Reply
    by: Person
    at: datetime


QuestionState = Pending | Answered


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRefused:
    """Why an answer did not count; the question stands as it was."""

    why: Literal["not-a-person", "not-what-was-shown", "already-answered", "lapsed", "not-offered", "too-long"]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a yes to an action allows, until it is used, revoked or expired."""

    id: QuestionId
    reach: Reach
    run: str
    project: str
    scope: Scope
    action: Fingerprint
    """For `once`: exactly this action."""
    by: Person
    at: datetime
    expires_at: datetime | None = None
    used_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_active(self, now: datetime) -> bool:
        """Whether it still allows anything."""
        is_over = self.expires_at is not None and now >= self.expires_at
        return self.used_at is None and self.revoked_at is None and not is_over

    def allows(self, action: Action, *, project: str, run: str, now: datetime) -> bool:
        """Whether it allows this action, here and now."""
        if not self.is_active(now) or project != self.project:
            return False
        if self.reach != "once" and is_allowed_once(action):
            return False
        match self.reach:
            case "once":
                return run == self.run and fingerprint(action) == self.action
            case "run":
                return run == self.run and scope_of(action, project) == self.scope
            case "always":
                return scope_of(action, project) == self.scope
            case _:
                assert_never(self.reach)

    def describe(self) -> str:
        """One line for the list of grants."""
        until = f", until {self.expires_at.isoformat()}" if self.expires_at else ""
        over = ", revoked" if self.revoked_at else ", used" if self.used_at else ""
        how_far = {"once": "once", "run": f"in run {shown(self.run)}", "always": "always"}[self.reach]
        return (
            f"{self.id}: {self.scope.describe()}, {how_far}{until}{over}, said {shown(self.by.name)} at {self.by.door}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedEnvelope:
    """An envelope a person said yes to, for one run."""

    envelope: Envelope
    run: str
    by: Person
    at: datetime


def answer(
    state: QuestionState, reply: Reply, *, origin: Origin, shown_fingerprint: str, now: datetime
) -> Answered | AnswerRefused:
    """The question answered, or why this does not count as an answer.

    The first answer stands. `shown_fingerprint` is the fingerprint the person's screen was drawn from.
    """
    # An exact type: a subclass made elsewhere proves nothing about who speaks.
    if type(origin) is not Person:
        return AnswerRefused(why="not-a-person", message="Only a person at an interface can answer.")
    match state:
        case Answered():
            return AnswerRefused(why="already-answered", message=f"{shown(state.by.name)} has already answered.")
        case Pending(question=question):
            refused = _check(question, reply, shown_fingerprint, now)
            return refused or Answered(question=question, reply=reply, by=origin, at=now)
        case _:
            assert_never(state)


def _check(question: ApprovalQuestion, reply: Reply, shown_fingerprint: str, now: datetime) -> AnswerRefused | None:
    if question.expires_at is not None and now >= question.expires_at:
        return AnswerRefused(why="lapsed", message="The question has expired.")
    if shown_fingerprint != question.fingerprint:
        return AnswerRefused(why="not-what-was-shown", message="The answer is about something else than was shown.")
    if isinstance(reply, No):
        return None
    if reply.reach not in question.offers:
        return AnswerRefused(why="not-offered", message=f"Possible here: {', '.join(question.offers)}.")
    if reply.reach == "always" and not timedelta(0) < reply.lasts <= LONGEST_ALWAYS:
        return AnswerRefused(why="too-long", message=f"`always` lasts at most {LONGEST_ALWAYS.days} days.")
    return None


def grant_of(answered: Answered) -> Grant | None:
    """What a yes to an action allows; None for a no and for envelopes."""
    question, reply = answered.question, answered.reply
    if isinstance(reply, No) or isinstance(question.about, Envelope):
        return None
    if question.scope is None:
        raise Defect(f"Question {question.id!r} is about an action nobody can judge.")
    return Grant(
        id=question.id,
        reach=reply.reach,
        run=question.run,
        project=question.project,
        scope=question.scope,
        action=question.fingerprint,
        by=answered.by,
        at=answered.at,
        expires_at=answered.at + reply.lasts if reply.reach == "always" else None,
    )


def envelope_agreed(answered: Answered) -> AgreedEnvelope | None:
    """The envelope a person agreed to; None for a no and for actions."""
    question = answered.question
    if isinstance(answered.reply, No) or not isinstance(question.about, Envelope):
        return None
    return AgreedEnvelope(envelope=question.about, run=question.run, by=answered.by, at=answered.at)


def use(grant: Grant, now: datetime) -> Grant:
    """The grant after an action it allowed: one for once is then used up."""
    return replace(grant, used_at=now) if grant.reach == "once" and grant.used_at is None else grant


def revoke(grant: Grant, now: datetime) -> Grant:
    """The grant taken back; it allows nothing from now on."""
    return grant if grant.revoked_at is not None else replace(grant, revoked_at=now)


def active(grants: Iterable[Grant], now: datetime) -> tuple[Grant, ...]:
    """The grants that still allow something, for the list a person revokes from."""
    return tuple(grant for grant in grants if grant.is_active(now))
