"""What code alone can say of a notebook and its answer: findings, questions of the data, a second opinion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cellwright.data.files import DataFile
from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.kernel.profiler import Profiler
from cellwright.profiles.profile import Profile
from cellwright.runs.review.answer_figures import AnswerText, read_answer
from cellwright.runs.review.figure_origins import find_figure_origins
from cellwright.runs.review.findings import Finding, JudgedFinding, ReviewQuestion
from cellwright.runs.review.judging import condition_of, judge_findings
from cellwright.runs.review.merge_calls import merge_findings
from cellwright.runs.review.profile_questions import asks_about_quality, quality_finding, questions_from_profile
from cellwright.runs.review.second_figure import NotComputed, SecondFigure, compute_second_figure
from cellwright.runs.review.second_opinion import SecondOpinion, second_opinion
from cellwright.tools.notebook.editor import NotebookEditor, json_cell_code, read_live_json


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeReview:
    """What was found without any model."""

    judged: tuple[JudgedFinding, ...] = ()
    """Their code fails in the notebook as it is: each was tried."""
    questions: tuple[ReviewQuestion, ...] = ()
    second: SecondOpinion

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is shown."""
        return tuple(each.finding for each in self.judged)


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
    second: SecondFigure | NotComputed = NotComputed(
        why="The data could not be looked at." if said.text.strip() else "No answer was given."
    )
    origins: tuple[Finding, ...] = ()
    if profile is not None and profiler is not None and said.text.strip():
        second = await compute_second_figure(goal, profile, files, profiler)
        if asks_about_quality(goal, profile):
            quality = quality_finding(profile, said)
            origins = (quality,) if quality is not None else ()
        else:
            exact = await _with_values(editor, said)
            origins = await find_figure_origins(goal, exact, profile, files, profiler)
    opinion = second_opinion(said, second)
    own = (opinion.finding,) if opinion.finding is not None else ()
    judged = await _shown(editor, [*own, *origins, *merge_findings(document)])
    return CodeReview(
        judged=judged,
        questions=questions_from_profile(goal, profile, document) if profile is not None else (),
        second=_settled(opinion, judged, said),
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


async def _shown(editor: NotebookEditor, findings: Sequence[Finding]) -> tuple[JudgedFinding, ...]:
    """Those whose code fails in the notebook; of several that assert the same, the last says most."""
    told = {condition_of(finding.shows): finding for finding in findings}
    return tuple(each for each in await judge_findings(editor, [*told.values()]) if each.standing == "shown")


def _settled(opinion: SecondOpinion, shown: Sequence[JudgedFinding], answer: AnswerText) -> SecondOpinion:
    """A difference that the notebook does not show is none: then its variables are not what the answer says."""
    conditions = {condition_of(each.finding.shows) for each in shown}
    if opinion.finding is None or condition_of(opinion.finding.shows) in conditions:
        return opinion
    why = f"Not computed twice: the notebook's variables are not what the answer says ({answer.text.strip()[:80]})."
    return SecondOpinion(status="not computed", says=why)
