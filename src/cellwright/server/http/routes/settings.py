"""`/settings`, `/roles`, `/skills`, `/rules`: how this house is set up, and why something would be asked."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from typing import Literal

import anyio.to_thread
from fastapi import APIRouter
from pydantic import ConfigDict

from cellwright.agents import read_roles
from cellwright.agents.role import built_in_roles
from cellwright.agents.skills import read_skills
from cellwright.models.config.names import Tier
from cellwright.policy.actions import Kind
from cellwright.policy.judgement import judge
from cellwright.policy.rules import Layer, RuleEffect, Rules
from cellwright.policy.serialization import parse_action
from cellwright.sandbox.host.tiers import probe
from cellwright.server.http.auth.dependencies import Reader
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.schemas.model import RequestModel, ResponseModel
from cellwright.tools import standing_rules
from cellwright.tools.approval.approval_questions import read_grants
from cellwright.tools.approval.rule_files import rule_files


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


def settings_routes(house: ApiResources) -> APIRouter:
    """Settings, roles, skills and rules."""
    router = APIRouter(tags=["settings"])
    _add_settings(router, house)
    _add_rules(router, house)
    return router


def _add_settings(router: APIRouter, house: ApiResources) -> None:
    @router.get("/settings", operation_id="read_settings", summary="Where things are and how code is contained")
    async def read_settings(_: Reader) -> SettingsShape:
        settings, report = house.settings, await anyio.to_thread.run_sync(probe)
        return SettingsShape(
            version=version("cellwright"),
            folder=str(house.folder),
            state_directory=str(settings.home),
            cache=str(settings.cache),
            team_rules=None if settings.team_rules is None else str(settings.team_rules),
            private_hosts=sorted(settings.private_hosts),
            git_name=settings.git_name,
            git_email=settings.git_email,
            tier=report.tier,
        )

    @router.get("/roles", operation_id="list_roles", summary="What kinds of agents there are here")
    async def list_roles(_: Reader) -> Roles:
        return Roles(roles=await anyio.to_thread.run_sync(_roles, house))

    @router.get("/skills", operation_id="list_skills", summary="What the folder has written down how to do")
    async def list_skills(_: Reader) -> Skills:
        found = await anyio.to_thread.run_sync(read_skills, house.folder)
        return Skills(
            skills=[
                SkillShape(name=skill.name, description=skill.description, body=house.masker.mask(skill.body).text)
                for skill in found
            ]
        )


def _roles(house: ApiResources) -> list[RoleShape]:
    ours = built_in_roles()
    return [
        RoleShape(
            name=role.name,
            description=role.description,
            prompt=house.masker.mask(role.prompt).text,
            tools=[*role.tools],
            tier=role.tier,
            style=role.style,
            steps=role.steps,
            tokens=role.tokens,
            context_tokens=role.context_tokens,
            temperature=role.temperature,
            is_own=ours.get(role.name) != role,
        )
        for role in read_roles(house.folder).values()
    ]


def _add_rules(router: APIRouter, house: ApiResources) -> None:
    @router.get("/rules", operation_id="list_rules", summary="Every rule and limit that holds here")
    async def list_rules(_: Reader) -> RulesShape:
        return await anyio.to_thread.run_sync(_rules_shape, house)

    @router.post("/rules/why", operation_id="explain_rules", summary="What would be said to an action, and why")
    async def explain_rules(_: Reader, body: WantedAction) -> Why:
        action = parse_action(body.model_dump())
        rules = await anyio.to_thread.run_sync(_rules, house)
        grants = await read_grants(house.live.records.log.read_all)
        verdict = judge(action, rules, None, [*grants.values()], run="", now=datetime.now(UTC))
        return Why(
            verdict=verdict.says,
            basis=str(verdict.basis),
            says=verdict.reason,
            describes=house.masker.mask(action.describe()).text,
        )


def _rules(house: ApiResources) -> Rules:
    settings = house.settings
    return standing_rules(state=settings.home, project=house.folder, home=settings.user_home, team=settings.team_rules)


def _rules_shape(house: ApiResources) -> RulesShape:
    rules, settings = _rules(house), house.settings
    files = rule_files(state=settings.home, project=house.folder, team=settings.team_rules)
    return RulesShape(
        project=str(house.folder),
        layers=[LayerShape(layer=layer, file=str(path), is_there=path.exists()) for layer, path in files],
        rules=[
            RuleShape(
                layer=rule.layer, says=rule.says, actions=sorted(rule.kinds), where=rule.where, reason=rule.reason
            )
            for rule in rules.rules
        ],
        limits=[LimitShape(limit=limit.describe(), where=limit.where) for limit in rules.limits],
    )
