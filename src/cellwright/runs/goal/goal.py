"""A goal: what the person asks for, in words, with data, a budget and how much may be asked; and who works on it.

It is a run's argument. Agents that ask models work on it, or the analyst, who needs none: decided once, at the brief.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

from pydantic import TypeAdapter, ValidationError

from cellwright.errors import UserError
from cellwright.remedies import Remedy, remedy
from cellwright.runs.goal.extraction_order import ExtractionOrder
from cellwright.runs.plan.plan import Plan, first_mistake

CONFIGURE: Final = remedy("configure_model")
NAME_DATA: Final = remedy("add_data", what="files or folders")
OTHER_DATA: Final = remedy("add_data", what="other files")
NEW_NOTEBOOK: Final = remedy("name_notebook", what="a new notebook")
WRITTEN: Final[tuple[Remedy, ...]] = (CONFIGURE, NAME_DATA, OTHER_DATA, NEW_NOTEBOOK)
"""Remedies whose sentence runs write into what they store: notes, tasks and the reason a run ended. The text says them
for every reader; an interface that knows these values can say them in its own words."""

Approve = Literal["ask", "envelope", "never"]
"""ask: whatever the rules leave open is asked. envelope: only the plan as a whole is; what lies outside it is refused.
never: nobody is asked; what would be asked is refused."""


AnalysisDepth = Literal["answer", "full"]
"""answer: the question, in a short notebook. full: every column looked at and every test made, in a long one."""


Effort = Literal["quick", "normal", "thorough"]
"""How far it is looked over before it is handed over. quick: by code alone. normal: by a reviewer too, where there is
reason to. thorough: tests are written before anything is built, and a reviewer looks, twice if need be."""


GoalKind = Literal["answer", "review", "document", "research"]
"""answer: the words are answered by a notebook. review: a notebook that is there is looked over, and not changed.
research: they are answered out of documents, by quotes. document: names and words are put into it, and no code that
computes is changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One goal, as an interface took it."""

    words: str
    notebook: str
    """Where the notebook is or will be: an absolute path."""
    project: str
    """The directory the notebook's code may read and change: an absolute path."""
    person: str
    data: tuple[str, ...] = ()
    """Files and folders, absolute, or `NAME=PATH`."""
    connections: tuple[str, ...] = ()
    """Databases and file servers it may read, by their names."""
    files: tuple[str, ...] = ()
    """Files and folders behind connections, `NAME:path` each."""
    tools: tuple[str, ...] = ()
    """Servers whose tools agents may call, by their names."""
    context: tuple[str, ...] = ()
    """What servers let one read that agents see, `SERVER:address` each."""
    kernels: tuple[str, ...] = ()
    """Kernels of Jupyter that agents may run code in, by their names."""
    attach: str = ""
    """The marimo server, not ours, that has the notebook open which is to be changed; `notebook` is a copy of it."""
    attach_file: str = ""
    """That notebook's file, on the server's machine; empty: the one that is open there."""
    models: tuple[str, ...] = ()
    """`provider:model`, instead of each role's tier."""
    budget_usd: Decimal | None = None
    approve: Approve = "ask"
    is_private: bool = False
    """Nothing may leave this machine."""
    priority: int = 0
    """Higher comes first."""
    plan: Plan | None = None
    """What to do, when that is agreed already: nothing is planned again."""
    python: Literal["header", "ours"] = "header"
    """ours: on Cellwright's own Python, whatever the header of a notebook that is there asks for."""
    limits: tuple[str, ...] = ()
    """What its notebook may use, as `--limit` takes it: `memory=2g`."""
    continues: str = ""
    """The run this one takes up."""
    depth: AnalysisDepth = "answer"
    """How far the analyst goes, where it works."""
    wants: GoalKind = "answer"
    sources: tuple[str, ...] = ()
    """Documents and folders of them that a research reads, absolute."""
    uses_web: bool = False
    """A research may also search the web and read pages."""
    search: str = ""
    """The engine: `searxng:https://…`, `brave:CONNECTION`, `tavily:CONNECTION` or `mcp:SERVER/TOOL`."""
    form: str = "report"
    """What a research is written as: report, brief, slides, blog or template."""
    template: str = ""
    """The text of a person's own form."""
    rejected: tuple[str, ...] = ()
    """Evidence cards that a person does not accept."""
    answer: str = ""
    """What a notebook that is looked over was taken to say; its variables in braces are filled in."""
    is_reviewed: bool = True
    """Whether it is looked over before it is handed over: runs of the version before were not."""
    effort: Effort = "normal"
    """What is done to find out whether it is right."""
    extraction: ExtractionOrder | None = None
    """What is to be extracted from which documents: then no agent works on it, and nothing is planned."""
    begins: Literal["planner", "agent"] = "agent"
    """Who reads it first: an agent that can act and may plan; in runs of the version before, a planner who may not."""

    @property
    def is_attended(self) -> bool:
        """Whether somebody may be asked while it works."""
        return self.approve == "ask"


_GOAL: Final = TypeAdapter(Goal)


def goal_json(goal: Goal) -> Any:
    """As a workflow's argument."""
    return _GOAL.dump_python(goal, mode="json")


def parse_goal(value: Any) -> Goal:
    """The goal of such an argument. Raises `UserError`."""
    # One that does not say who reads it, how far the analyst goes or who looks it over is of a version before.
    given = (
        {"begins": "planner", "depth": "full", "effort": "quick", "is_reviewed": False} | value
        if isinstance(value, dict)
        else value
    )
    try:
        return _GOAL.validate_python(given)
    except ValidationError as error:
        hint = "It needs words, notebook, project, person."
        raise UserError(f"No goal: {first_mistake(error)}.", hint=hint) from error


ANALYST: Final = "analyst"
"""Named as a goal's only model it means the analyst; it is the role of its tasks, too."""
_NOBODY: Final = "No model is configured, so the built-in analyst works on it."
_NOBODY_HERE: Final = "Nothing may leave this machine and no model on it answers, so the built-in analyst works on it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """Who works, and what to say about it."""

    who: Literal["models", "analyst"]
    why: str = ""
    """Why the analyst works although nobody named it, and what to do about that; empty: it was named."""


def named_worker(goal: Goal) -> Worker | None:
    """Whoever the goal names; None: whoever can work is to be found out."""
    if goal.plan is not None:
        is_ours = any(task.role == ANALYST for task in goal.plan.tasks)
        return Worker(who="analyst" if is_ours else "models")
    if goal.models == (ANALYST,):
        return Worker(who="analyst")
    return Worker(who="models") if goal.models else None


def found_worker(goal: Goal, *, has_model: bool) -> Worker:
    """Models where one would answer, else the analyst."""
    if has_model:
        return Worker(who="models")
    return Worker(who="analyst", why=f"{_NOBODY_HERE if goal.is_private else _NOBODY} {CONFIGURE.sentence}")
