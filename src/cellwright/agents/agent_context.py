"""Everything agents of one run work with. Opened anew in each process, never kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from cellwright.agents.catalogue import PROGRAM, others, use_tool
from cellwright.agents.drafts import Drafts
from cellwright.agents.prompt.context_providers import ContextProvider
from cellwright.agents.readings import ASK, readings_tool
from cellwright.agents.repair.choices import FailureContext
from cellwright.agents.role import Role, built_in_roles
from cellwright.agents.skills import Skill
from cellwright.agents.styles import READINGS
from cellwright.models.calls import ModelCall, OnUpdate, Outcome
from cellwright.models.config.names import CallId
from cellwright.models.reports import ModelsReport
from cellwright.policy.actions import Action
from cellwright.policy.audit import Actor
from cellwright.policy.masking.masker import Masker
from cellwright.tools.alternatives_tool import decided_by_checks
from cellwright.tools.approval.guard import Guard
from cellwright.tools.callers import GuardedCaller, standard
from cellwright.tools.notebook_tools import TRY
from cellwright.tools.text_store import TextStore
from cellwright.tools.tool import Tool, Toolset


class ModelAccess(Protocol):
    """Where models are asked."""

    async def ask(self, call: ModelCall, on_update: OnUpdate | None = None) -> Outcome:
        """How the call ends; `on_update` hears what is emitted until then."""

    async def cancel(self, call: CallId) -> bool:
        """Let a call in flight end now; False if there is none."""

    async def listed(self) -> ModelsReport:
        """Which models there are."""


InspectFailure = Callable[[Sequence[str]], Awaitable[FailureContext]]
"""The notebook around a failure; it gets the keys of the calls with which the agent changed it."""
PutIntoEffect = Callable[[Action], Awaitable[None]]
"""Makes a permission for the notebook's code count in this process: a host it may reach. Twice is as good as once."""
MakeProgram = Callable[[GuardedCaller], Tool]
"""The tool that runs programs over a caller's tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """What agents of one run work with."""

    models: ModelAccess
    tools: Sequence[Tool]
    """All there are; a role names those it has."""
    guard: Guard
    masker: Masker
    kept: TextStore
    """Where contexts, documents and overlong answers are kept."""
    person: str
    """For whom they work."""
    drafts: Drafts = field(default_factory=Drafts)
    """Where answers are seen while they are made."""
    roles: Mapping[str, Role] = field(default_factory=built_in_roles)
    skills: Sequence[Skill] = ()
    context_providers: Sequence[ContextProvider] = ()
    limits_text: str = ""
    """What the notebook's code may use, in words."""
    survey: InspectFailure | None = None
    """Where failures are repaired; without it only with words."""
    put_into_effect: PutIntoEffect | None = None
    program: MakeProgram | None = None

    def toolset(self, role: Role) -> Toolset:
        """The tools this role has. Who may change cells and run them may try code without leaving a cell."""
        all_tools = Toolset(self.tools)
        if "*" in role.tools:
            return all_tools
        return all_tools.only({*role.tools, *([TRY] if "apply" in role.tools else [])})

    def caller(self, role: Role, agent: str, *, is_attended: bool = True, goal: str = "") -> GuardedCaller:
        """Who makes this agent's calls: judged, recorded, masked, bounded.

        A role that has them gets the tools that are made of others: comparing readings, and programs. Where nobody is
        there, what would be asked is refused, and a tool that could only be refused is not offered.
        """
        context = self if is_attended else replace(self, guard=replace(self.guard, asks=False))
        return context._caller(role, agent, is_attended=is_attended, goal=goal)

    def _caller(self, role: Role, agent: str, *, is_attended: bool, goal: str) -> GuardedCaller:
        toolset = self.toolset(role)
        if not is_attended:
            refused = [each.name for each in toolset if each.needs and not self.guard.may_permit(each.needs)]
            toolset = decided_by_checks(toolset).without({ASK, *refused})
        caller = self._over(toolset, role, agent)
        # Readings are tried in cells, and asked about.
        is_compared = TRY in toolset and (not is_attended or ASK in toolset)
        if READINGS not in toolset and is_compared and {"*", READINGS} & set(role.tools):
            readings = readings_tool(caller, attended=is_attended, goal=goal)
            caller = self._over(Toolset([*caller.toolset, readings]), role, agent)
        made = [] if self.program is None or PROGRAM in caller.toolset else [self.program(caller)]
        made += [use_tool(caller)] if others(caller.toolset).names else []
        return self._over(Toolset([*caller.toolset, *made]), role, agent) if made else caller

    def _over(self, toolset: Toolset, role: Role, agent: str) -> GuardedCaller:
        who = self.actor(role, agent)
        return standard(toolset, guard=self.guard, masker=self.masker, who=who, kept=self.kept)

    def actor(self, role: Role, agent: str) -> Actor:
        """Who acts, for the audit trail."""
        return Actor(person=self.person, agent=agent, role=role.name)
