"""The judgement: an action becomes Allow, Deny or Ask, with the reason and what decided. Total and pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final

from cellwright.policy.actions import Action, Kind, QueryConnection
from cellwright.policy.approvals import AgreedEnvelope, Grant, QuestionId
from cellwright.policy.built_in import default_for
from cellwright.policy.envelope import covers
from cellwright.policy.rules import LAYERS, STRICTNESS, Rule, RuleEffect, Rules
from cellwright.policy.targets import Malformed, Target, target_of

MALFORMED: Final = "malformed action"
"""What decides where nobody can tell what an action means."""


def by_answer(question: QuestionId) -> str:
    """What decides where a person said so."""
    return f"answer to question {question}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    """Go ahead."""

    says: ClassVar[RuleEffect] = "allow"
    reason: str
    basis: str
    """The rule's file and line, the default, the envelope or the answer that decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deny:
    """No. Neither an answer nor an envelope changes it, only whoever owns the rule."""

    says: ClassVar[RuleEffect] = "deny"
    reason: str
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A person must answer first."""

    says: ClassVar[RuleEffect] = "ask"
    reason: str
    basis: str


Verdict = Allow | Deny | Ask
_COSTLY = "It reads more than the connection lets pass unasked (`ask_above_rows`, `ask_above_megabytes`)."
_VERDICTS: dict[RuleEffect, type[Verdict]] = {kind.says: kind for kind in (Allow, Deny, Ask)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanVerdict:
    """What a whole plan needs before it starts."""

    denied: tuple[tuple[Action, Deny], ...]
    """The plan must do without these."""
    asking: tuple[tuple[Action, Ask], ...]
    """What one envelope must hold before the plan starts; empty when nothing asks."""


def judge(
    action: Action,
    rules: Rules,
    envelope: AgreedEnvelope | None = None,
    grants: Sequence[Grant] = (),
    *,
    run: str,
    now: datetime,
) -> Verdict:
    """Whether the action may happen. Never raises; what nobody can judge is denied.

    Rules decide first. Only what they would ask about is then looked up in the run's agreed envelope and in earlier
    answers, so neither can turn a no into a yes.
    """
    target = target_of(action, rules.project)
    if isinstance(target, Malformed):
        return Deny(reason=target.reason, basis=MALFORMED)
    verdict = _by_rules(action.kind, target, rules)
    is_costly = isinstance(action, QueryConnection) and action.is_costly
    if is_costly and isinstance(verdict, Allow):
        # Leave to read a connection was given before anybody knew how much.
        verdict = Ask(reason=_COSTLY, basis=verdict.basis)
    if not isinstance(verdict, Ask):
        return verdict
    if (
        not is_costly
        and envelope is not None
        and envelope.run == run
        and envelope.envelope.project == rules.project
        and covers(envelope.envelope, action)
    ):
        return Allow(reason=f"{envelope.by.name} agreed to the plan.", basis=f"agreed envelope of run {run}")
    for grant in grants:
        if grant.allows(action, project=rules.project, run=run, now=now):
            return Allow(reason=f"{grant.by.name} allowed it.", basis=by_answer(grant.id))
    return verdict


def judge_plan(
    actions: Iterable[Action], rules: Rules, grants: Sequence[Grant] = (), *, run: str, now: datetime
) -> PlanVerdict:
    """One verdict for all planned actions: what is denied, and what would ask."""
    judged = [(action, judge(action, rules, None, grants, run=run, now=now)) for action in actions]
    return PlanVerdict(
        denied=tuple((action, verdict) for action, verdict in judged if isinstance(verdict, Deny)),
        asking=tuple((action, verdict) for action, verdict in judged if isinstance(verdict, Ask)),
    )


def _by_rules(kind: Kind, target: Target, rules: Rules) -> Verdict:
    own = rules.strictest("user", kind, target)
    says: RuleEffect = own.says if own else default_for(kind, target, rules.project)
    decisive, overruled = own, None
    for layer in LAYERS[1:]:
        rule = rules.strictest(layer, kind, target)
        if rule and STRICTNESS[rule.says] > STRICTNESS[says]:
            says, decisive = rule.says, rule
        elif rule and STRICTNESS[rule.says] < STRICTNESS[says]:
            overruled = overruled or rule
    return _verdict(says, kind, decisive, overruled)


def _verdict(says: RuleEffect, kind: Kind, rule: Rule | None, overruled: Rule | None) -> Verdict:
    basis = rule.where if rule else f"default for {kind}"
    reason = f"{basis} says {says}" if rule else f"No rule of yours speaks of it; the {basis} is {says}"
    reason += f": {rule.reason}" if rule and rule.reason else "."
    if overruled and overruled.says == "allow":
        reason += f" ({overruled.where} would allow it, but {overruled.layer} rules can only tighten.)"
    return _VERDICTS[says](reason=reason, basis=basis)
