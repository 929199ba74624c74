"""Where one run works: its notebook, live, and everything its agents work with. Opened anew in each process.

Agents are workflows of their own: after a crash one may be taken up before its run is. It waits here until the run has
come to the point where it lets that agent in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field, replace

import anyio

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.project_additions import Addition
from cellwright.agents.trust_store import TrustStore
from cellwright.data.remote_paths import RemotePath
from cellwright.kernel.documents import DocumentReader
from cellwright.kernel.file_profiler import FileProfiler
from cellwright.kernel.profiler import Profiler
from cellwright.kernel.table_profiler import TableProfiler
from cellwright.policy.approvals import AgreedEnvelope
from cellwright.policy.masking.masker import Masker
from cellwright.policy.rules import Rules
from cellwright.remedies import Hint
from cellwright.runs.deliver.delivery import CheckNotebook
from cellwright.runs.deliver.report.report import DrawCharts
from cellwright.runs.execute.slots import RunSlots
from cellwright.runs.goal.goal import Approve, Goal
from cellwright.tools.evidence.library import Library
from cellwright.tools.evidence.web_search import AskConnection, PostToConnection
from cellwright.tools.mcp.tool_servers import ToolServers
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.parallel_branches import ParallelBranch
from cellwright.tools.tool import Tool
from cellwright.tools.web_tools import EgressFetch


async def _models_answer(_: Goal) -> bool:
    return True


async def _nobody_draws(specs: Sequence[str]) -> tuple[str | None, ...]:
    return (None,) * len(specs)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchWorkspace:
    """Where one agent builds a part beside others: a parallel branch of the notebook, with a context of its own."""

    branch: ParallelBranch
    context: AgentContext


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAccess:
    """The ways to other machines that a workspace has, each judged before it is taken."""

    fetch: EgressFetch
    ask: AskConnection
    post: PostToConnection
    servers: ToolServers | None = None
    """The tool servers that were named for the work; None: there are none."""


OpenBranchWorkspace = Callable[[str], AbstractAsyncContextManager[BranchWorkspace]]
"""For the part of this name; the second time, as it was left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Where one run works, live."""

    editor: NotebookEditor
    context: AgentContext
    rules: Rules
    profiler: Profiler | None = None
    """None: data cannot be looked at."""
    tables: TableProfiler | None = None
    """Looks at tables of connections; None: they cannot be looked at."""
    files: FileProfiler | None = None
    """Looks at files behind connections."""
    remote: tuple[RemotePath, ...] = ()
    """Files and folders behind connections that the goal names."""
    documents: DocumentReader | None = None
    """Reads documents, each in a cage; None: they cannot be read."""
    has_model: Callable[[Goal], Awaitable[bool]] = _models_answer
    """Whether a model would answer whoever works on this goal."""
    draw: DrawCharts = _nobody_draws
    """Draws the charts of the report."""
    open_branch: OpenBranchWorkspace | None = None
    """None: parallel tasks are built one after another."""
    library: Library | None = None
    """The documents of a research; None: the goal has none."""
    web_access: WebAccess | None = None
    """None: there is no network."""
    web: tuple[Tool, ...] = ()
    """What readers search and read the web with; none: they do not."""
    caveats: tuple[Hint, ...] = ()
    """What a delivery says of how the run began."""

    def context_under(
        self, envelope: AgreedEnvelope | None, approve: Approve, context: AgentContext | None = None
    ) -> AgentContext:
        """The context, or that of a parallel branch, as agents find it once this was agreed to."""
        context = context or self.context
        return replace(context, guard=replace(context.guard, envelope=envelope, asks=approve == "ask"))


OpenWorkspace = Callable[[str, Goal, Sequence[Addition]], AbstractAsyncContextManager[Workspace]]
"""For a run of this name with this goal, with these roles and skills of its project."""


def with_tool(tools: Sequence[Tool], *others: Tool) -> list[Tool]:
    """The tools, with those of the same names replaced where they stand."""
    new = {other.name: other for other in others}
    return [*(new.pop(each.name, each) for each in tools), *new.values()]


@dataclass(slots=True)
class ContextRegistry:
    """Lets agents into the places of their runs."""

    _let_in: dict[str, AgentContext] = field(default_factory=dict[str, AgentContext])
    _changed: anyio.Event = field(default_factory=anyio.Event)

    @contextmanager
    def let_in(self, agent: str, context: AgentContext) -> Generator[None]:
        """While the block lasts, the agent of this workflow finds this context."""
        self._let_in[agent] = context
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        try:
            yield
        finally:
            del self._let_in[agent]

    async def context_of(self, agent: str) -> AgentContext:
        """The agent's context, once its run lets it in."""
        while agent not in self._let_in:
            await self._changed.wait()
        return self._let_in[agent]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResources:
    """What runs of this process work with."""

    open_workspace: OpenWorkspace
    contexts: ContextRegistry
    turns: RunSlots
    check: CheckNotebook
    trust: TrustStore
    masker: Masker
    """For what people are asked before there is a workspace."""
