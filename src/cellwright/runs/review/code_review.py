"""What code alone can say of a notebook and its answer: findings, questions of the data, a second opinion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cellwright.analyst.profile import Profile
from cellwright.data.files import DataFile
from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.kernel.profiler import Profiler
from cellwright.runs.review.answer_figures import AnswerText, read_answer
from cellwright.runs.review.figure_origins import find_figure_origins
from cellwright.runs.review.findings import Finding, ReviewQuestion
from cellwright.runs.review.merge_calls import merge_findings
from cellwright.runs.review.profile_questions import quality_finding, questions_from_profile
from cellwright.runs.review.second_figure import NotComputed, SecondFigure, compute_second_figure
from cellwright.runs.review.second_opinion import SecondOpinion, second_opinion
from cellwright.tools.notebook.editor import NotebookEditor, json_cell_code, read_live_json

_TRIAL_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeReview:
    """What was found without any model."""

    findings: tuple[Finding, ...] = ()
    """Their code fails in the notebook as it is: each was tried."""
    questions: tuple[ReviewQuestion, ...] = ()
    second: SecondOpinion


async def review_by_code(
    editor: NotebookEditor,
    *,
    goal: str,
    data: Sequence[DataFile],
    answer: str,
    template: str,
    profiler: Profiler | None,
) -> CodeReview:
    """Look at the live notebook, its answer and its data. It changes nothing; every failure to look is a value."""
    document, said = editor.notebook.document, read_answer(answer, template)
    files = [replace(file, place=file.target) for file in data]
    profile = await _profile(files, profiler)
    second: SecondFigure | NotComputed = NotComputed(why="The data could not be looked at.")
    origins: tuple[Finding, ...] = ()
    if profile is not None and profiler is not None:
        second = await compute_second_figure(goal, profile, files, profiler)
        exact = await _with_values(editor, said)
        origins = await find_figure_origins(goal, exact, profile, files, profiler)
        quality = quality_finding(goal, profile, said)
        origins = (*origins, quality) if quality is not None else origins
    opinion = second_opinion(said, second)
    own = (opinion.finding,) if opinion.finding is not None else ()
    findings = await _shown(editor, [*own, *origins, *merge_findings(document)])
    return CodeReview(
        findings=findings,
        questions=questions_from_profile(goal, profile, document) if profile is not None else (),
        second=_settled(opinion, findings, said),
    )


async def _profile(files: Sequence[DataFile], profiler: Profiler | None) -> Profile | None:
    if profiler is None or not files:
        return None
    try:
        return await profiler.profile(files)
    except (UserError, RefusedByPolicy, Unavailable):
        return None


async def _with_values(editor: NotebookEditor, answer: AnswerText) -> AnswerText:
    """The answer with the notebook's own values, to their last digit."""
    known = [figure.expression for figure in answer.figures if figure.expression]
    body = f"import json\nreturn json.dumps([{', '.join(known)}])"
    try:
        values = await read_live_json(editor, json_cell_code(body)) if known else []
    except UserError:
        return answer
    left = iter(values)
    figures = (replace(each, exact=_finite(next(left, None))) if each.expression else each for each in answer.figures)
    return replace(answer, figures=tuple(figures))


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


async def _shown(editor: NotebookEditor, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those whose code raises an assertion's error in the notebook."""
    shown: list[Finding] = []
    for finding in findings:
        tried = (await editor.try_out(finding.shows, seconds=_TRIAL_SECONDS)).observation
        if any(cell.error is not None and cell.error.type == "AssertionError" for cell in tried.cells):
            shown.append(finding)
    return tuple(shown)


def _settled(opinion: SecondOpinion, shown: Sequence[Finding], answer: AnswerText) -> SecondOpinion:
    """A difference that the notebook does not show is none: then its variables are not what the answer says."""
    if opinion.finding is None or opinion.finding in shown:
        return opinion
    why = f"Not computed twice: the notebook's variables are not what the answer says ({answer.text.strip()[:80]})."
    return SecondOpinion(status="not computed", says=why)
