"""What the analyst's strict reading of a goal comes to, computed from the raw files in a fresh kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import isfinite
from typing import Any, Final

from cellwright.analyst.answers.answer import Answer, answer_of
from cellwright.analyst.answers.frames import doubts, judged_repairs, switch_name
from cellwright.analyst.answers.notebook import REPAIRS, short_notebook
from cellwright.analyst.answers.story import measure_of
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.question import Aggregate, Question
from cellwright.analyst.goal.question_reader import read_question
from cellwright.analyst.names import NotebookNames, name_tables
from cellwright.data.files import DataFile
from cellwright.ids import CellId
from cellwright.kernel.profiler import Profiler
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.source_text import literal, variable_name
from cellwright.profiles.profile import Profile
from cellwright.runs.review.fresh_computation import compute_fresh
from cellwright.runs.review.question_words import QuestionWords, question_words
from cellwright.runs.review.units import unit_in_name, unit_of

_KINDS: Final = frozenset({"figure", "share", "ranking", "groups", "trend", "relation"})
_COURSES: Final = ("trend", "relation")
_MOST_SWITCHES: Final = 4
_MOST_LABELS: Final = 60
_PROGRAM: Final = """
import warnings as _warnings
from types import SimpleNamespace as _Namespace

_warnings.simplefilter("ignore")


class _Widgets:
    # Widgets nobody turns: each has the value it begins with.

    def dictionary(self, elements):
        return _Namespace(value={_name: _element.value for _name, _element in elements.items()})

    def date_range(self, value, **_options):
        return _Namespace(value=value)


computed = []
for _paths, _cells, _switches, _of in [
CASES]:
    _names = {"mo": _Namespace(ui=_Widgets()), "folder": folder, "REPAIRS": _Namespace(value=_switches)}
    for _cell in (_paths, *_cells):
        exec(_cell, _names)
    _result = _names["result"]
    _found = {"figure": None, "labels": [], "p": None, "course": None, "step": ""}
    if "is_certain" in _of:
        # Two columns of labels go together in no direction.
        _of_labels = [0.0, 0.0] if hasattr(_result, "columns") else [0.0, _result]
        _halves = [_names["first"], _names["second"]] if "first" in _names else _of_labels
        _found["course"] = [bool(_names["is_certain"]), *map(float, _halves)]
        if _names.get("step_at") is not None and _names["_test"] is _names["_step"]:
            _found["step"] = _names["step_at"].strftime("%Y-%m-%d")
    elif hasattr(_result, "items"):
        _found["labels"] = [[str(_label), float(_value)] for _label, _value in _result.items()][:MOST_LABELS]
        if _of:
            from scipy import stats as _stats

            _rows = _names["selected"].dropna(subset=_of)
            _groups = [_part for _, _part in _rows.groupby(_of[0])[_of[1]] if len(_part) > 2]
            _found["p"] = float(_stats.kruskal(*_groups).pvalue) if len(_groups) > 1 else None
    else:
        _found["figure"] = float(_result)
    computed.append(_found)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureReading:
    """What one reading of goal and data comes to."""

    condition: str = ""
    """`duplicate rows are left out`; empty: the default reading."""
    how: str = ""
    """The aggregate."""
    figure: float | None = None
    labels: tuple[tuple[str, float], ...] = ()
    """Groups, the greatest first."""
    p: float | None = None
    """Of a difference between the groups; None: not tested."""
    course: tuple[bool, float, float] | None = None
    """Of a trend: whether it is certain, and the means of the first and the second half of the time. Of a relation:
    whether it is certain, 0, and which way it goes."""
    step: str = ""
    """Of a trend that is one step: the day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondFigure:
    """The goal as it was read, and what came of it."""

    words: QuestionWords
    question: Question
    readings: tuple[FigureReading, ...]
    """The default first."""
    unit: str = ""
    """Of the figures; empty: not known."""
    computed_as: str = ""
    """`the sum of revenue`."""
    files: tuple[str, ...] = ()
    is_repeated: bool = False
    """The rows are several of the same things, so that a plain test finds too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotComputed:
    """There is no second figure."""

    why: str


async def compute_second_figure(
    goal: str, profile: Profile, data: Sequence[DataFile], profiler: Profiler
) -> SecondFigure | NotComputed:
    """The figure, or the groups in order. `profile` names files by their targets."""
    read = read_for_second(goal, profile, data)
    if isinstance(read, NotComputed):
        return read
    came = await compute_fresh(profiler, data, read.program)
    if not isinstance(came, list) or len(came) != len(read.cases):
        return NotComputed(why=f"Computing it failed: {came if isinstance(came, str) else 'nothing came of it'}.")
    readings = tuple(_reading(case, found) for case, found in zip(read.cases, came, strict=True))
    if any(reading.figure is not None and not isfinite(reading.figure) for reading in readings[:1]):
        return NotComputed(why="The data gives no figure for it.")
    return SecondFigure(
        words=read.words,
        question=read.question,
        readings=readings,
        unit=read.unit,
        computed_as=read.computed_as,
        files=read.files,
        is_repeated=read.is_repeated,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One reading to be computed."""

    cells: tuple[str, ...]
    switches: Mapping[str, bool]
    columns: tuple[str, ...]
    """What else is wanted: `is_certain`, or the group's and the measure's column for a test."""
    condition: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadGoal:
    """A goal as the analyst reads it, and the program that computes it."""

    words: QuestionWords
    question: Question
    cases: tuple[_Case, ...]
    program: str
    unit: str
    computed_as: str
    files: tuple[str, ...]
    is_repeated: bool


def read_for_second(goal: str, profile: Profile, data: Sequence[DataFile]) -> ReadGoal | NotComputed:
    """The goal read strictly: whatever is left unread, or only guessed, is declined."""
    words = question_words(goal)
    if words.unread:
        return NotComputed(why="The goal says more than the analyst reads strictly.")
    question = read_question(words.words, profile)
    if not isinstance(question, Question):
        return NotComputed(why=question.why)
    if question.kind not in _KINDS or not question.is_understood or question.quantity is None:
        return NotComputed(why="The goal asks for no single figure and no leader.")
    if question.notes:
        return NotComputed(why=question.notes[0])
    paths = _paths(data)
    names = name_tables(profile, {file.target: variable for file, variable in paths})
    cases: list[_Case] = []
    frame = None
    for variant in _variants(question):
        answer = answer_of(variant, profile, names)
        if not isinstance(answer, Answer):
            if variant is question:
                return NotComputed(why=answer.why)
            continue
        frame = frame or answer.frame
        cases += _cases(variant, answer, profile, names)
    if frame is None or not cases:
        return NotComputed(why="The goal asks for no single figure and no leader.")
    if frame.is_sampled:
        return NotComputed(why="Only a sample of the data would be read.")
    measure = measure_of(question, frame)
    assert measure is not None
    record = measure.record
    if words.currency and record and record.unit and record.unit != words.currency:
        return NotComputed(why=f"The data is in {record.unit}, and the goal asks for {words.currency}.")
    unit = (unit_of(record.unit) or unit_in_name(record.name)) if record else ""
    return ReadGoal(
        words=words,
        question=question,
        cases=tuple(cases),
        program=_program(paths, cases),
        unit=unit if question.quantity.how not in ("count", "distinct") else "",
        computed_as=measure.how_words,
        files=tuple(table.reading.path for table in frame.tables),
        is_repeated=any(
            column.meaning == "id" and 1 < column.distinct < frame.table.looked_at / 2 for column in frame.table.columns
        ),
    )


def _variants(question: Question) -> Iterator[Question]:
    """The reading, and where groups are compared by no named figure, those it could be as well."""
    yield question
    others: tuple[Aggregate, ...] = ("sum", "mean", "median")
    if question.kind == "groups" and question.quantity and question.quantity.how in others:
        for how in others:
            if how != question.quantity.how:
                yield replace(question, quantity=replace(question.quantity, how=how))


def _cases(question: Question, answer: Answer, profile: Profile, names: NotebookNames) -> Iterator[_Case]:
    notebook = short_notebook(answer.story, answer.frame, names, profile)
    is_course = question.kind in _COURSES
    cells = _needed([*notebook.data, *notebook.answer], ("result", "is_certain") if is_course else ("result",))
    if not cells:
        return
    judged = judged_repairs(answer.frame, answer.story.columns)
    switches = [switch_name(table, repair, answer.frame) for table, repair in judged]
    said = doubts(answer.frame, answer.story.columns)
    columns = ("is_certain",) if is_course else _tested(question, answer)
    for chosen in _choices(switches):
        yield _Case(
            cells=cells,
            switches={switch: switch in chosen for switch in switches},
            columns=columns,
            condition=" and ".join(f"{said.get(switch, switch)} are left out or changed" for switch in chosen),
            how=question.quantity.how if question.quantity else "",
        )


def _choices(switches: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """None of them first, then each, then those together, as far as they are few."""
    if len(switches) <= _MOST_SWITCHES:
        yield from chain.from_iterable(combinations(switches, size) for size in range(len(switches) + 1))
        return
    yield ()
    yield from ((switch,) for switch in switches)


def _tested(question: Question, answer: Answer) -> tuple[str, ...]:
    """The group's and the measure's column, where a difference between groups can be tested."""
    measure = measure_of(question, answer.frame)
    found = answer.frame.find(question.by[0]) if len(question.by) == 1 else None
    if question.kind != "groups" or measure is None or not measure.column or found is None:
        return ()
    return (found[0], measure.column)


def _needed(cells: Sequence[CellDraft], targets: Sequence[str]) -> tuple[str, ...]:
    """The code of the cells that these variables need, in an order in which they can run; none where one is missing."""
    kept = [cell for cell in cells if not cell.at_start and not cell.shows and cell.name != REPAIRS]
    document = Document(cells=tuple(Cell(id=CellId(f"c{at}"), code=cell.code) for at, cell in enumerate(kept)))
    nodes = graph(document).nodes
    owner = {name: cell for cell, node in nodes.items() for name in node.defs}
    ordered: list[CellId] = []
    if not owner.keys() >= set(targets):
        return ()

    def add(cell: CellId) -> None:
        if cell in ordered:
            return
        for name in sorted(nodes[cell].refs):
            if name in owner and owner[name] != cell:
                add(owner[name])
        if cell not in ordered:
            ordered.append(cell)

    for target in targets:
        add(owner[target])
    codes = {cell.id: cell.code for cell in document.cells}
    return tuple(codes[cell] for cell in ordered)


def _paths(data: Sequence[DataFile]) -> list[tuple[DataFile, str]]:
    taken, paths = set[str](), list[tuple[DataFile, str]]()
    for file in data:
        variable = variable_name(file.name, is_folder=file.is_folder, taken=taken)
        taken.add(variable)
        paths.append((file, variable))
    return paths


def _program(paths: Sequence[tuple[DataFile, str]], cases: Sequence[_Case]) -> str:
    places = "\n".join(f"{variable} = folder / {literal(file.target)}" for file, variable in paths)
    lines = [f"    ({places!r}, {case.cells!r}, {dict(case.switches)!r}, {list(case.columns)!r}),\n" for case in cases]
    program = _PROGRAM.replace("MOST_LABELS", str(_MOST_LABELS)).replace("REPAIRS", REPAIRS)
    return program.replace("CASES", "".join(lines), 1)


def _reading(case: _Case, found: Any) -> FigureReading:
    labels = tuple((str(label), float(value)) for label, value in found["labels"])
    course = found["course"]
    return FigureReading(
        condition=case.condition,
        how=case.how,
        figure=found["figure"],
        labels=labels,
        p=found["p"],
        course=(bool(course[0]), float(course[1]), float(course[2])) if course else None,
        step=str(found["step"]),
    )
