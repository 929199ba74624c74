"""What the analyst writes, section by section, and the plan that is made of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as with_fields

from cellwright.analyst.drafts import Section, TestRow
from cellwright.analyst.goal_words import read_goal_words
from cellwright.analyst.names import Names, name_tables
from cellwright.analyst.profile import Profile
from cellwright.analyst.wanted import Unserved, Wanted
from cellwright.analyst.writing.findings import findings_section
from cellwright.analyst.writing.look import look_section
from cellwright.analyst.writing.quality import quality_section
from cellwright.analyst.writing.read import read_section
from cellwright.analyst.writing.tell import tell_section
from cellwright.analyst.writing.test import test_section
from cellwright.errors import Defect, UserError
from cellwright.runs.analyst_data import Data
from cellwright.runs.new_notebook import title_line
from cellwright.runs.plan import Check, Plan, Task, checked
from cellwright.runs.workers import ANALYST
from cellwright.tools.drafted_cells import SECTIONS

_DELIVERABLE = "A first day's work on the data: what it is, how far to trust it, and what can be told from it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """What the analyst knows of the data and wants with it."""

    profile: Profile
    names: Names
    wanted: Wanted

    def without(self, tables: Collection[str], words: str) -> Understanding | None:
        """The same without tables that could not be used; None if none is left."""
        left = with_fields(
            self.profile,
            tables=tuple(table for table in self.profile.tables if table.name not in tables),
            joins=tuple(join for join in self.profile.joins if not {join.left, join.right} & set(tables)),
        )
        names = replace(
            self.names,
            tables=tuple(table for table in self.names.tables if table.name not in tables),
            joined=tuple(joint for joint in self.names.joined if not {joint.left.name, joint.right.name} & set(tables)),
        )
        wanted = read_goal_words(words, left) if names.tables else None
        return Understanding(profile=left, names=names, wanted=wanted) if isinstance(wanted, Wanted) else None


def understand(words: str, data: Data) -> Understanding | Unserved:
    """The goal, read with the data in sight; what cannot be served without a model is said."""
    profile = data.read()
    wanted = read_goal_words(words, profile)
    if isinstance(wanted, Unserved):
        return wanted
    names = name_tables(profile, data.paths, taken=data.taken, wanted=wanted)
    return Understanding(profile=profile, names=names, wanted=wanted)


def write_section(section: str, known: Understanding, tests: Sequence[TestRow]) -> Section:
    """The cells of one section."""
    profile, names, wanted = known.profile, known.names, known.wanted
    match section:
        case "read":
            return read_section(profile=profile, names=names, wanted=wanted)
        case "quality":
            return quality_section(profile=profile, names=names, wanted=wanted)
        case "look":
            return look_section(profile=profile, names=names, wanted=wanted)
        case "test":
            return test_section(profile=profile, names=names, wanted=wanted)
        case "findings":
            return findings_section(profile=profile, names=names, wanted=wanted, tests=tests)
        case "tell":
            return tell_section(profile=profile, names=names, wanted=wanted, tests=tests)
        case _:
            raise Defect(f"The analyst writes no section {section!r}.")


def plan_for(words: str, known: Understanding, notes: Sequence[str] = ()) -> Plan:
    """A task for each section. What findings and telling check is known once the tests are."""
    tasks = [_task(write_section(section, known, ())) for section in SECTIONS]
    assumed = () if known.wanted.is_understood else ("The goal names nothing the data has: an overview was given.",)
    title = title_line(words)
    plan = Plan(title=title, deliverable=_DELIVERABLE, tasks=tuple(tasks), assumptions=(*assumed, *notes))
    try:
        return checked(plan)
    except UserError as problem:
        raise Defect(f"The analyst made a plan that is none: {problem.message}") from problem


def checks_of(section: Section) -> tuple[Check, ...]:
    """What the section's own tests show."""
    return tuple(Check(test=test, says=says) for test, says in section.checks)


def _task(section: Section) -> Task:
    return Task(id=section.id, title=section.title, role=ANALYST, checks=checks_of(section))
