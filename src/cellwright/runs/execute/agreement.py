"""Agree: everything a plan will touch becomes one envelope. Inside the standing rules there is no stop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from cellwright.journal.flow import Flow
from cellwright.kernel.environments.packages import is_there
from cellwright.policy.actions import Action, EditCells, InstallPackage, RunCode, UseNetwork
from cellwright.policy.approvals import AgreedEnvelope, No, envelope_agreed
from cellwright.policy.envelope import Envelope, envelope_of
from cellwright.policy.judgement import judge_plan
from cellwright.policy.masking.masker import Masker
from cellwright.policy.money import Money
from cellwright.policy.rules import Rules
from cellwright.policy.serialization import action_json, parse_action
from cellwright.policy.targets import Malformed
from cellwright.runs.deliver.delivery import RunEnd
from cellwright.runs.goal.goal import Goal
from cellwright.runs.plan.plan import Plan
from cellwright.tools.approval.approval_questions import ask_approval, read_grants

_HTTPS: Final = 443


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedPlan:
    """Go ahead."""

    envelope: AgreedEnvelope | None
    allowed: tuple[Action, ...]
    """What the plan touches and may."""
    denied: tuple[str, ...]
    """What the plan must do without, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlanJudgement:
    """What the rules say to a plan, as a step keeps it."""

    denied: tuple[str, ...]
    asking: tuple[object, ...]
    """Actions, as JSON."""


Installed = Callable[[], Awaitable[Mapping[str, str]]]
"""The packages the notebook has, name → version."""


def actions_of(plan: Plan, goal: Goal) -> tuple[Action, ...]:
    """What the plan will touch, as far as it says so."""
    notebook = [EditCells(notebook=goal.notebook, diff=""), RunCode(notebook=goal.notebook, code="")]
    return (
        *notebook,
        *(_network(host) for host in plan.hosts),
        *(InstallPackage(requirement=package) for package in plan.packages),
    )


def _network(said: str) -> UseNetwork:
    # A planner may write an address where a host was asked for.
    host = said.partition("://")[2] or said
    host = host.partition("/")[0]
    name, colon, port = host.rpartition(":")
    if colon and port.isdigit() and not name.endswith(":"):
        return UseNetwork(host=name, port=int(port))
    return UseNetwork(host=host, port=80 if said.startswith("http://") else _HTTPS)


async def agree(
    flow: Flow, plan: Plan, goal: Goal, *, rules: Rules, masker: Masker, installed: Installed, number: int
) -> AgreedPlan | RunEnd:
    """Whether the plan may be carried out: by the rules, or because a person agrees to it; or the end.

    Where nobody may be asked it is carried out without what would be asked.
    """
    actions = actions_of(plan, goal)

    async def judge() -> _PlanJudgement:
        grants = tuple((await read_grants(flow.read)).values())
        there = await installed()
        lacked = [one for one in actions if not isinstance(one, InstallPackage) or not is_there(one.requirement, there)]
        verdict = judge_plan(lacked, rules, grants, run=flow.run, now=datetime.now(UTC))
        return _PlanJudgement(
            denied=tuple(f"{_line(action)}: {deny.reason}" for action, deny in verdict.denied),
            asking=tuple(action_json(action) for action, _ in verdict.asking),
        )

    judged = await flow.step(f"judge the plan {number}", judge, returns=_PlanJudgement)
    asking = [parse_action(each) for each in judged.asking]
    denied = judged.denied
    if goal.approve == "never":
        denied += tuple(f"{_line(each)}: nobody may be asked in this run." for each in asking)
    allowed = tuple(each for each in actions if not any(line.startswith(_line(each)) for line in denied))
    if not asking or goal.approve == "never":
        return AgreedPlan(envelope=None, allowed=allowed, denied=denied)
    envelope = _envelope(asking, rules.project, goal.budget_usd)
    reason = f"The plan {plan.title!r} needs this."
    answered = await ask_approval(flow, envelope, reason=reason, project=rules.project, masker=masker)
    if isinstance(answered.reply, No):
        why = f"{answered.by.name} said no to the plan. {answered.reply.feedback}".rstrip()
        return RunEnd(status="refused", why=why)
    return AgreedPlan(envelope=envelope_agreed(answered), allowed=allowed, denied=denied)


def _envelope(asking: Sequence[Action], project: str, budget: Decimal | None) -> Envelope:
    money = None if budget is None else Money(amount=budget, currency="USD")
    made = envelope_of(asking, project=project, money=money)
    # What cannot be read as an action was denied before.
    assert not isinstance(made, Malformed)
    return made


def _line(action: Action) -> str:
    return action.describe().split("\n", 1)[0].rstrip(":")
