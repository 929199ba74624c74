"""`/settings`, `/roles`, `/skills`, `/rules`: how this server is set up, and why something would be asked."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Literal

import anyio.to_thread
from pydantic import ConfigDict

from cellwright.agents.project_additions import Addition, roles_with, skills_of
from cellwright.agents.role import built_in_roles
from cellwright.agents.trust_store import TrustStore
from cellwright.models.config.names import Tier
from cellwright.policy.actions import Kind
from cellwright.policy.judgement import judge
from cellwright.policy.rules import Layer, RuleEffect
from cellwright.policy.serialization import parse_action
from cellwright.sandbox.host.tiers import probe
from cellwright.server.http.auth.dependencies import Reader
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources
from cellwright.server.http.schemas.model import RequestModel, ResponseModel
from cellwright.tools.approval.approval_questions import read_grants
from cellwright.tools.approval.rule_files import rules_view, standing_rules

router = ApiRouter(tags=["settings"])


class SettingsShape(ResponseModel):
    """Where things are, and how well code is contained; nothing secret."""

    version: str
    folder: str
    """What is served."""
    state_directory: str
    cache: str
    team_rules: str | None
    private_hosts: list[str]
    """May lead into the private network once they are approved."""
    git_name: str
    git_email: str
    tier: Literal["A", "B", "C", "D"]
    """How well notebooks are contained here: A best, D not at all."""


class RoleShape(ResponseModel):
    """One kind of agent."""

    name: str
    description: str
    prompt: str
    tools: list[str]
    tier: Tier
    style: str
    steps: int
    tokens: int
    context_tokens: int
    temperature: float | None
    is_own: bool
    """The folder's own, rather than one that comes with Cellwright."""


class Roles(ResponseModel):
    """Every role there is here."""

    roles: list[RoleShape]


class SkillShape(ResponseModel):
    """Something the folder has written down how to do."""

    name: str
    description: str
    body: str


class Skills(ResponseModel):
    """Every skill there is here."""

    skills: list[SkillShape]


class LayerShape(ResponseModel):
    """Where the rules of a layer stand."""

    layer: Layer
    file: str
    is_there: bool


class RuleShape(ResponseModel):
    """One rule."""

    layer: Layer
    says: RuleEffect
    actions: list[Kind]
    where: str
    """File and line."""
    reason: str


class LimitShape(ResponseModel):
    """One limit."""

    limit: str
    where: str


class RulesShape(ResponseModel):
    """Every rule and limit that holds here."""

    project: str
    layers: list[LayerShape]
    rules: list[RuleShape]
    limits: list[LimitShape]


class WantedAction(RequestModel):
    """An action as an agent would want it, e.g. `{"action": "use-network", "host": "example.org", "port": 443}`."""

    model_config = ConfigDict(frozen=True, extra="allow")

    action: Kind


class Why(ResponseModel):
    """What would be said to an action, and what decides."""

    verdict: RuleEffect
    basis: str
    says: str
    describes: str
    """What would happen, as a person would be asked."""


@router.get("/settings")
async def read_settings(_: Reader, resources: Resources) -> SettingsShape:
    """Where things are and how code is contained."""
    settings, report = resources.settings, await anyio.to_thread.run_sync(probe)
    return SettingsShape(
        version=version("cellwright"),
        folder=str(resources.folder),
        state_directory=str(settings.home),
        cache=str(settings.cache),
        team_rules=None if settings.team_rules is None else str(settings.team_rules),
        private_hosts=sorted(settings.private_hosts),
        git_name=settings.git_name,
        git_email=settings.git_email,
        tier=report.tier,
    )


@router.get("/roles")
async def list_roles(_: Reader, resources: Resources) -> Roles:
    """What kinds of agents there are here: ours, and those of the folder that a person has accepted."""
    return Roles(roles=await anyio.to_thread.run_sync(_roles, resources))


@router.get("/skills")
async def list_skills(_: Reader, resources: Resources) -> Skills:
    """What the folder has written down how to do, as far as a person has accepted it."""
    accepted, mask = await anyio.to_thread.run_sync(_accepted, resources), resources.masker.mask
    return Skills(
        skills=[
            SkillShape(name=skill.name, description=skill.description, body=mask(skill.body).text)
            for skill in skills_of(accepted)
        ]
    )


def _accepted(resources: ApiResources) -> tuple[Addition, ...]:
    return TrustStore(resources.settings.home).look_at(resources.folder).accepted


def _roles(resources: ApiResources) -> list[RoleShape]:
    ours = built_in_roles()
    return [
        RoleShape.model_validate(
            asdict(role) | {"prompt": resources.masker.mask(role.prompt).text, "is_own": ours.get(role.name) != role}
        )
        for role in roles_with(_accepted(resources)).values()
    ]


@router.get("/rules")
async def list_rules(_: Reader, resources: Resources) -> RulesShape:
    """Every rule and limit that holds here."""
    return RulesShape(**await anyio.to_thread.run_sync(lambda: rules_view(**_locations(resources))))


@router.post("/rules/why")
async def explain_rules(_: Reader, resources: Resources, body: WantedAction) -> Why:
    """What would be said to an action, and why."""
    action = parse_action(body.model_dump())
    rules = await anyio.to_thread.run_sync(lambda: standing_rules(**_locations(resources)))
    grants = await read_grants(resources.records.log.read_all)
    verdict = judge(action, rules, None, [*grants.values()], run="", now=datetime.now(UTC))
    return Why(
        verdict=verdict.says,
        basis=str(verdict.basis),
        says=verdict.reason,
        describes=resources.masker.mask(action.describe()).text,
    )


def _locations(resources: ApiResources) -> dict[str, Any]:
    """Whose rules hold here."""
    settings = resources.settings
    return {
        "state": settings.home,
        "project": resources.folder,
        "home": settings.user_home,
        "team": settings.team_rules,
    }
