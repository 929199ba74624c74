"""Where a figure comes from: an aggregate of raw rows that is what was answered only with a known trap still in it.

No goal need be understood for it: whoever answers the mean with the -999 in it has not left them out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from cellwright.analyst.answers.frames import Frame, conversion_functions, frame_cells
from cellwright.analyst.names import NotebookNames, name_tables
from cellwright.analyst.sections.readers import imports_of
from cellwright.data.files import DataFile
from cellwright.kernel.profiler import Profiler
from cellwright.notebook.source_text import literal, variable_name
from cellwright.profiles.profile import Profile, TableProfile
from cellwright.runs.review import aggregate_search
from cellwright.runs.review.answer_figures import MEANINGFUL_DIGITS, AnswerFigure, AnswerText, comparing_code
from cellwright.runs.review.figure_traps import FigureTrap, figure_traps
from cellwright.runs.review.findings import Finding
from cellwright.runs.review.fresh_computation import compute_fresh
from cellwright.runs.review.spoken_names import aggregates_in, is_spoken, moments_in, spoken_labels

_MAX_LABELS: Final = 400
_MAX_SHARES: Final = 6
_NUMBERS: Final = ("integer", "number")
_DATES: Final = ("date", "datetime")
_HOWS: Final = ("sum", "mean", "median", "min", "max", "count")
_SHAPES: Final = ("%Y-%m-%d", "%Y-%m", "%Y")
_LINE: Final = re.compile(r"\b(?:slope|line|regress\w*|fit)\b", re.IGNORECASE)
_PROGRAM: Final = """
import warnings as _warnings
from collections import defaultdict as _defaultdict
from types import SimpleNamespace as _Namespace

_warnings.simplefilter("ignore")


def _table(cells, variable, as_read, is_on, scaled, dates, others=()):
    names = {"mo": mo, "folder": folder, "repairs": _Namespace(value=_defaultdict(lambda: is_on))}
    for cell in cells:
        exec(cell, names)
    rows = names[variable]
    if others:
        rows = names["pd"].concat([rows, *(names[other] for other in others)], ignore_index=True)
    for column in dates:
        pandas, read = names["pd"], names[as_read]
        moments = pandas.to_datetime(read[column].str.strip(), format="mixed", dayfirst=False, errors="coerce")
        rows = rows.assign(**{column: moments.reindex(rows.index)})
    for column, unit_column, by_unit in scaled:
        rows = rows.assign(**{column: rows[column] * rows[unit_column].astype(str).str.strip().map(by_unit)})
    return rows


computed = []
for _number, _naive, _clean, _names, _wanted in [
CASES]:
    try:
        _first = aggregates(_table(_naive[0], *_names, False, [], _naive[1]), _wanted, {}, "")
        _whole = _table(_clean[0], *_names, _clean[1], _clean[2], [], _clean[5])
        _second = aggregates(_whole, _wanted, _clean[3], _clean[4])
        computed += [{"trap": _number, **_each} for _each in find_origins(_first, _second, _wanted["figures"])]
    except Exception as _error:
        computed.append({"trap": _number, "failed": repr(_error)[:200]})
"""


async def find_figure_origins(
    goal: str, answer: AnswerText, profile: Profile, data: Sequence[DataFile], profiler: Profiler
) -> tuple[Finding, ...]:
    """Findings on figures of the answer. `profile` names files by their targets."""
    figures = _claimed(answer.figures)
    traps = list(figure_traps(goal, figures, profile))
    if not figures or not traps:
        return ()
    came = await compute_fresh(profiler, data, _program(goal, answer, profile, data, figures, traps))
    if not isinstance(came, list):
        return ()
    findings: dict[str, Finding] = {}
    for found in came:
        # An answer that tells the right figure too knows the difference.
        if "failed" not in found and not any(each.agrees_with(float(found["clean"])) for each in answer.figures):
            trap, figure = traps[found["trap"]], figures[found["figure"]]
            findings.setdefault(figure.text, _finding(trap, figure, found, answer))
    return tuple(findings.values())


def _claimed(figures: Sequence[AnswerFigure]) -> list[AnswerFigure]:
    """Those of the first sentence with one that means something: later ones may tell what is wrong with the data."""
    telling = [figure for figure in figures if figure.digits >= MEANINGFUL_DIGITS or _is_exact(figure)]
    return [figure for figure in telling if figure.sentence == telling[0].sentence]


def _is_exact(figure: AnswerFigure) -> bool:
    """Whether so much of it is known that no other aggregate meets it by chance."""
    return figure.exact is not None and abs(figure.exact - round(figure.exact, 3)) > 1e-7


def _value(figure: AnswerFigure) -> float:
    return figure.value if figure.exact is None else figure.exact


def _reach(figure: AnswerFigure) -> float:
    """How far an aggregate may lie off and still be what the notebook has."""
    return figure.half_unit if figure.exact is None else max(1e-9 * abs(figure.exact), 1e-12)


def _finding(trap: FigureTrap, figure: AnswerFigure, found: Any, answer: AnswerText) -> Finding:
    clean = float(found["clean"])
    instead = f"{clean:,.10g}"
    says = (
        f"{figure.text} is the {found['name']} in {trap.table.reading.path} {trap.says}; without that it is {instead}."
    )
    return Finding(
        claim=answer.claim,
        found=says,
        shows=comparing_code([figure], clean, says, answer),
        by="code",
        kind=trap.kind,
        is_of_words=not answer.is_of_notebook,
    )


# ── the program ──


def _program(
    goal: str,
    answer: AnswerText,
    profile: Profile,
    data: Sequence[DataFile],
    figures: Sequence[AnswerFigure],
    traps: Sequence[FigureTrap],
) -> str:
    taken, paths = set[str](), dict[str, str]()
    for file in data:
        paths[file.target] = variable_name(file.name, is_folder=file.is_folder, taken=taken)
        taken.add(paths[file.target])
    names = name_tables(profile, paths)
    places = "\n".join(f"{variable} = folder / {literal(target)}" for target, variable in paths.items())
    lines: list[str] = []
    for number, trap in enumerate(traps):
        if not names.is_read(trap.table.name):
            continue
        wanted = _wanted(f"{goal} {answer.text}", goal, trap, is_wide=all(map(_is_exact, figures)))
        wanted["figures"] = [[_value(each), _reach(each), each.half_unit] for each in figures]
        naive = ([places, *_cells(trap.naive, names)], list(trap.dates))
        others = [each for each in trap.others if names.is_read(each.name)]
        cells = [places, *_cells(trap.clean, names), *(code for each in others for code in _cells(each, names))]
        more = [names.of(each.name).table for each in others]
        clean = (cells, trap.is_on, list(trap.scaled), trap.factors, trap.weight, more)
        own = names.of(trap.table.name)
        lines.append(f"    ({number}, {naive!r}, {clean!r}, {(own.table, own.as_read)!r}, {wanted!r}),\n")
    source = Path(aggregate_search.__file__).read_text(encoding="utf-8")
    functions = source.partition("from typing import Any\n")[2]
    return f"from typing import Any\n{functions}\n{_PROGRAM.replace('CASES', ''.join(lines), 1)}"


def _cells(table: TableProfile, names: NotebookNames) -> list[str]:
    frame = Frame(table=table, names=names.of(table.name))
    used = [column.name for column in table.columns]
    libraries = ["import numpy as np", "import pandas as pd", *imports_of(table).values()]
    functions = [cell.code for cell in conversion_functions(frame, used)]
    return [
        "\n".join(libraries),
        *functions,
        *(cell.code for cell in frame_cells(frame, names, used, "repairs", reads_all=True)),
    ]


def _wanted(words: str, goal: str, trap: FigureTrap, *, is_wide: bool) -> dict[str, Any]:
    """Which aggregates the goal could mean: columns, labels and groups it speaks of, and how it wants them told.

    Where the notebook has the figure to its last digit, every column, group and way will do.
    """
    table = trap.table
    numbers = [each for each in table.columns if each.kind in _NUMBERS]
    measures = [each.name for each in numbers if each.meaning in ("measure", "currency")]
    measures = measures or [each.name for each in numbers if each.meaning != "id"]
    spoken = [name for name in measures if is_spoken(name, goal)]
    groups = [each for each in table.columns if each.kind not in _DATES and each.name not in measures]
    groups = [each for each in groups if each.distinct <= _MAX_LABELS]
    dates = [each.name for each in table.columns if each.kind in _DATES]
    shapes = _SHAPES if is_wide else moments_in(goal)
    return {
        "columns": measures if is_wide else spoken or measures,
        "hows": list(_HOWS) if is_wide else aggregates_in(goal),
        "labels": [(each.name, label) for each in groups for label in spoken_labels(each, words)],
        "keys": [each.name for each in groups if is_wide or is_spoken(each.name, goal)],
        "moments": [(name, shape) for name in dates for shape in shapes],
        "pairs": measures[:6] if is_wide or _LINE.search(goal) else [],
        "shares": [
            (each.name, label.value.strip())
            for each in groups
            if each.distinct <= _MAX_SHARES
            for label in each.common
            if trap.weight
        ],
    }
