"""What the analyst knows of the data, the sections it writes, the plan made of them, and the order of the page.

What was found is read first, how it was found last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
from msgspec.structs import replace as with_fields

from cellwright.analyst.answers.answer import Answer, answer_frame, answer_of, needs_screening
from cellwright.analyst.answers.notebook import short_notebook
from cellwright.analyst.answers.overview import screening_code
from cellwright.analyst.drafts import CellDraft, Section, TestRow
from cellwright.analyst.goal.parser import read_goal_words
from cellwright.analyst.goal.question import DeclinedQuestion, Question
from cellwright.analyst.goal.question_reader import read_question
from cellwright.analyst.goal.request import AnalysisRequest, NamedColumn, UnsupportedGoal
from cellwright.analyst.names import NotebookNames, name_tables
from cellwright.analyst.sections.conclusion import conclusion_section
from cellwright.analyst.sections.findings import findings_section
from cellwright.analyst.sections.hypothesis_tests import test_section
from cellwright.analyst.sections.overview import overview_section
from cellwright.analyst.sections.quality import quality_section
from cellwright.analyst.sections.tables import tables_section
from cellwright.data.files import DataFile, place_data
from cellwright.data.remote_paths import RemotePath
from cellwright.errors import Defect, RefusedByPolicy, Unavailable, UserError
from cellwright.kernel.file_profiler import FileProfiler
from cellwright.kernel.profiler import Profiler, merge_profiles
from cellwright.kernel.table_profiler import TableProfiler
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.source_text import literal
from cellwright.profiles.data_search import project_files
from cellwright.profiles.profile import Profile, one_line, profile_json, read_profile
from cellwright.runs.execute.analyst_tables import MOST_FETCHED_ROWS, choose_goal_tables, too_large, without_large
from cellwright.runs.execute.connection_cell import CONNECTIONS_CELL, ConnectionNames
from cellwright.runs.goal.goal import ANALYST, NAME_DATA, OTHER_DATA, AnalysisDepth, Goal
from cellwright.runs.goal.new_notebook import COMMENT, DATA_CELL, data_code, data_variables, goal_data, title_line
from cellwright.runs.plan.plan import Check, Plan, Task, checked
from cellwright.tools.section_cells import SECTIONS, AnalystCell, defined_in

_MOST_FOUND: Final = 12
"""Data files of a project that are looked at when the goal names none."""
_MOST_SAID: Final = 5
_APART: Final = "Files behind connections were looked at by themselves: joins with other data were not looked for."
NO_DATA: Final = "There is no data to look at: none was named, and none is in the project."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystSource:
    """A file or folder, and how the notebook reaches it."""

    shown: str
    """What the profile calls it."""
    variable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOverview:
    """What the analyst knows before it writes anything. Plain values: a step's result."""

    profile: str = ""
    """As JSON."""
    sources: tuple[AnalystSource, ...] = ()
    code: str = ""
    """Of the cell that knows where the files lie; empty: the notebook has it already."""
    taken: tuple[str, ...] = ()
    """Variables and cell names of the notebook before the analyst came."""
    connections_code: str = ""
    """Of the cell through which databases and file servers are asked; empty: there are none, or it is there already."""
    most_rows: int = MOST_FETCHED_ROWS
    """Larger tables of databases cannot be fetched."""
    needs_marimo: bool = False
    """No cell imports marimo yet."""
    notes: tuple[str, ...] = ()
    problem: str = ""
    """Why there is nothing to go on with, in words; then the rest is empty."""

    def read(self) -> Profile:
        """The profile itself."""
        return read_profile(self.profile.encode())

    @property
    def paths(self) -> dict[str, str]:
        """Each file or folder of the profile, and its variable."""
        return {source.shown: source.variable for source in self.sources}

    def first_cells(self) -> tuple[CellDraft, ...]:
        """What every other cell needs, where the notebook does not have it."""
        marimo = (CellDraft(name="imports", code="import marimo as mo"),) if self.needs_marimo else ()
        files = (CellDraft(name=DATA_CELL, code=self.code),) if self.code else ()
        asked = (CellDraft(name=CONNECTIONS_CELL, code=self.connections_code),) if self.connections_code else ()
        return (*marimo, *files, *asked)


async def read_data_overview(
    goal: Goal,
    profiler: Profiler | None,
    tables: TableProfiler | None,
    document: Document,
    *,
    files_behind: FileProfiler | None = None,
    remote: Sequence[RemotePath] = (),
) -> DataOverview:
    """The data of the goal, or of its project; expected failures are said in `problem`."""
    if profiler is None or (goal.connections and tables is None):
        return DataOverview(problem="Data cannot be looked at here. Work with a model.")
    try:
        files, notes = await anyio.to_thread.run_sync(_files, goal)
        if not files and not goal.connections:
            return DataOverview(problem=f"{NO_DATA} {NAME_DATA.sentence}")
        # It is stored: no path in it may lead out of a folder, as one that code writes may.
        placed, most_rows = [replace(file, place=file.target) for file in files], MOST_FETCHED_ROWS
        profiles, stores = list[Profile](), {each.connection for each in remote}
        databases = tuple(name for name in goal.connections if name not in stores)
        if databases and tables is not None:
            chosen = await choose_goal_tables(goal.words, databases, tables.source)
            profiles.append(await tables.profile_tables(chosen.tables, files=placed, is_counted=True))
            notes, most_rows = (*notes, *chosen.notes), chosen.most_rows
        elif placed:
            profiles.append(await profiler.profile(placed))
        if remote and files_behind is not None:
            profiles.append(await files_behind.profile(remote))
            notes = (*notes, *profiles[-1].notes, *([_APART] if len(profiles) > 1 else []))
    except (UserError, RefusedByPolicy, Unavailable) as problem:
        return DataOverview(problem=f"{problem.message} {problem.hint}".rstrip())
    profile = profiles[0] if len(profiles) == 1 else merge_profiles(profiles)
    if not any(table.columns and table.looked_at for table in profile.tables):
        return DataOverview(problem=_unreadable(profile))
    names = partial(ConnectionNames.of, databases, remote, single=_single_files(profile))
    return replace(_overview(goal, files, names, profile, document), notes=notes, most_rows=most_rows)


def _single_files(profile: Profile) -> frozenset[str]:
    return frozenset(path for table in profile.tables for path in (table.reading.path, *table.files))


def _overview(
    goal: Goal,
    files: Sequence[DataFile],
    name_connections: Callable[[Collection[str]], ConnectionNames],
    profile: Profile,
    document: Document,
) -> DataOverview:
    is_known = any(cell.code.strip() == data_code(files).strip() for cell in document.cells)
    # An earlier run of its own is taken up: the names it gave are not somebody else's.
    defined = defined_in(document.cells) if not goal.continues else frozenset[str]()
    cells = document.cells if not goal.continues else ()
    variables = data_variables(files, () if is_known else defined)
    places = dict(zip((file.target for file in files), variables, strict=True))
    plain = name_connections(variables)
    is_asked = any(cell.code.strip() == plain.code(has_import=False) for cell in document.cells)
    asked = plain if is_asked else name_connections({*defined, *variables})
    return DataOverview(
        profile=profile_json(profile).decode(),
        sources=tuple(AnalystSource(shown=shown, variable=name) for shown, name in (places | asked.sources).items()),
        code="" if is_known or not files else _code(files, variables),
        connections_code="" if is_asked else asked.code(has_import="cellwright" in defined_in(document.cells)),
        taken=tuple(sorted(defined | {cell.name for cell in cells})),
        needs_marimo="mo" not in defined_in(document.cells),
    )


def _files(goal: Goal) -> tuple[tuple[DataFile, ...], tuple[str, ...]]:
    """Those the goal names, or those of the project that it speaks of first; and what to say of that. Blocking."""
    if goal.data or goal.connections:
        return goal_data(goal), ()
    notebook, project, said = Path(goal.notebook), Path(goal.project).resolve(), goal.words.casefold().replace("_", " ")
    found = [project / path for path in project_files(project)[0]]
    found.sort(key=lambda path: path.stem.casefold().replace("_", " ") not in said)
    files = tuple(place_data(path, path.name, notebook=notebook, project=project) for path in found[:_MOST_FOUND])
    if len(files) == len(found):
        return files, ()
    return files, (f"Of the {len(found)} data files of the project {len(files)} were looked at.",)


def _code(files: Sequence[DataFile], variables: Sequence[str]) -> str:
    places = zip(files, variables, strict=True)
    return "\n".join([COMMENT, *(f"{name} = mo.notebook_dir() / {literal(file.place)}" for file, name in places)])


def _unreadable(profile: Profile) -> str:
    why = [f"{one_line(each.path, 200)}: {each.why}" for each in profile.skipped[:_MOST_SAID]]
    for table in profile.tables[:_MOST_SAID]:
        lack = "it has names of columns, but no rows" if table.columns else "it has no columns"
        why.append(f"{one_line(table.name, 200)}: {lack}")
    said = "; ".join(why) or "it is empty"
    return f"None of the data can be used: {said}. {OTHER_DATA.sentence}"


_DELIVERABLE = "A first day's work on the data: what it is, how far to trust it, and what can be told from it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """What the analyst knows of the data and wants with it."""

    profile: Profile
    names: NotebookNames
    wanted: AnalysisRequest
    question: Question | None = None
    """What a short notebook answers; None: a full one is wanted."""

    @property
    def screening(self) -> str:
        """Code that makes every comparison the answer chooses from; empty: it needs none."""
        if self.question is None or not needs_screening(self.question):
            return ""
        frame = answer_frame(self.question, self.profile, self.names)
        return screening_code(frame) if frame else ""

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
        if not names.tables:
            return None
        if self.question is not None:
            known = replace(self, profile=left, names=names)
            question = read_question(words, left)
            is_answered = isinstance(question, Question) and isinstance(answer_of(question, left, names), Answer)
            return replace(known, question=question) if isinstance(question, Question) and is_answered else None
        wanted = read_goal_words(words, left)
        return Understanding(profile=left, names=names, wanted=wanted) if isinstance(wanted, AnalysisRequest) else None


def understand(words: str, data: DataOverview, depth: AnalysisDepth) -> Understanding | UnsupportedGoal:
    """The goal, read with the data in sight; what cannot be served without a model is said."""
    profile = data.read()
    if depth == "answer":
        return _understand_question(words, data, profile)
    profile, large = without_large(profile, data.most_rows)
    if large is not None:
        return large
    wanted = read_goal_words(words, profile)
    if isinstance(wanted, UnsupportedGoal):
        return wanted
    names = name_tables(profile, data.paths, taken=data.taken, wanted=wanted)
    return Understanding(profile=profile, names=names, wanted=wanted)


def _understand_question(words: str, data: DataOverview, profile: Profile) -> Understanding | UnsupportedGoal:
    question = read_question(words, profile)
    if isinstance(question, DeclinedQuestion):
        return _unsupported(question)
    asked = AnalysisRequest(purpose="overview", measures=_named_measures(question), groups=question.by)
    names = name_tables(profile, data.paths, taken=data.taken, wanted=asked)
    answer = answer_of(question, profile, names)
    if isinstance(answer, DeclinedQuestion):
        return _unsupported(answer)
    if (large := too_large(answer.frame.tables, data.most_rows)) is not None:
        return large
    return Understanding(profile=profile, names=names, wanted=asked, question=question)


def _unsupported(declined: DeclinedQuestion) -> UnsupportedGoal:
    return UnsupportedGoal(why=declined_words(declined), needs_model=bool(declined.model_would))


def _named_measures(question: Question) -> tuple[NamedColumn, ...]:
    quantity = question.quantity
    return (quantity.column,) if quantity is not None and quantity.column is not None else ()


def declined_words(declined: DeclinedQuestion) -> str:
    """Why there is no answer, what is nearest to it, and what a model would add."""
    nearest = [f"“{one_line(each, 120)}”" for each in declined.nearest[:3]]
    near = f" Nearest to it, this can be asked: {', '.join(nearest)}." if nearest else ""
    more = f" {declined.model_would}" if declined.model_would else ""
    return f"{declined.why}{near}{more}"


_OF_DATA: Final = {
    "read": tables_section,
    "quality": quality_section,
    "look": overview_section,
    "test": test_section,
}
_OF_TESTS: Final = {"findings": findings_section, "tell": conclusion_section}


def write_section(section: str, known: Understanding, tests: Sequence[TestRow]) -> Section:
    """The cells of one section."""
    if known.question is not None:
        return _short_section(section, known, known.question, tests)
    if section in _OF_TESTS:
        return _OF_TESTS[section](profile=known.profile, names=known.names, wanted=known.wanted, tests=tests)
    if section in _OF_DATA:
        return _OF_DATA[section](profile=known.profile, names=known.names, wanted=known.wanted)
    raise Defect(f"The analyst writes no section {section!r}.")


_SHORT: Final = {"read": "Read the data", "answer": "Answer the question"}


def _short_section(section: str, known: Understanding, question: Question, tests: Sequence[TestRow]) -> Section:
    answer = answer_of(question, known.profile, known.names, tests)
    if section not in _SHORT or isinstance(answer, DeclinedQuestion):
        raise Defect(f"The analyst writes no section {section!r} of this answer.")
    made = short_notebook(answer.story, answer.frame, known.names, known.profile)
    if section == "read":
        return Section(id=section, title=_SHORT[section], cells=made.data, caveats=made.caveats)
    return Section(id=section, title=_SHORT[section], cells=made.answer)


def plan_for(words: str, known: Understanding, notes: Sequence[str] = ()) -> Plan:
    """A task for each section. What findings and telling check is known once the tests are."""
    sections = tuple(_SHORT) if known.question is not None else SECTIONS[:-1]
    written = [write_section(section, known, ()) for section in sections]
    tasks = [Task(id=each.id, title=each.title, role=ANALYST, checks=checks_of(each)) for each in written]
    is_understood = known.question.is_understood if known.question else known.wanted.is_understood
    assumed = () if is_understood else ("The goal names nothing the data has: an overview was given.",)
    title = title_line(words) or "What the data is"
    deliverable = "The answer first, then what it rests on." if known.question else _DELIVERABLE
    plan = Plan(title=title, deliverable=deliverable, tasks=tuple(tasks), assumptions=(*assumed, *notes))
    try:
        return checked(plan)
    except UserError as problem:
        raise Defect(f"The analyst made a plan that is none: {problem.message}") from problem


def checks_of(section: Section) -> tuple[Check, ...]:
    """What the section's own tests show."""
    return tuple(Check(test=test, says=says) for test, says in section.checks)


_METHODS: Final = ("about_the_methods", "method_", "define_", "answer_sentences")
_CHECKS: Final = "check_"
_FOUND, _TOLD, _DATA, _ANSWERED, _MADE_WITH, _CHECKED = range(1, 7)


def page_moves(document: Document, ours: Sequence[AnalystCell]) -> tuple[dict[str, Any], ...]:
    """The moves that bring the page into order, as the tool `apply` takes them; none if it is.

    The answer, the findings and what to keep in mind; then the data as it was read, repaired, looked at and tested;
    functions and checks at the end. Cells of others stay where they are among the data.
    """
    known = {cell.id: cell for cell in ours}
    places = [_section_rank(cell, known) for cell in document.cells]
    if places == sorted(places):
        return ()
    top = next((cell.id for cell in reversed(document.cells) if _section_rank(cell, known) == 0), None)
    story = [cell for place in (_FOUND, _TOLD) for cell in _at(document, known, place)]
    behind: dict[str, str] = {"after": top} if top is not None else {"at": "start"}
    # Each goes right behind the same cell: so the last comes first.
    moves = [_move(cell, behind) for cell in reversed(story)]
    end = [cell for place in (_MADE_WITH, _CHECKED) for cell in _at(document, known, place)]
    return (*moves, *(_move(cell, {"at": "end"}) for cell in end))


def _at(document: Document, known: dict[str, AnalystCell], place: int) -> list[Cell]:
    return [cell for cell in document.cells if _section_rank(cell, known) == place]


def _section_rank(cell: Cell, known: dict[str, AnalystCell]) -> int:
    ours = known.get(cell.id)
    if ours is None:
        return _DATA
    if ours.is_at_start:
        return 0
    if ours.draft.startswith(_METHODS):
        return _MADE_WITH
    if ours.draft.startswith(_CHECKS):
        return _CHECKED
    return {"findings": _FOUND, "tell": _TOLD, "answer": _ANSWERED}.get(ours.section, _DATA)


def _move(cell: Cell, where: dict[str, str]) -> dict[str, Any]:
    return {"op": "move", "cell": cell.id, "base_version": cell.version, **where}
