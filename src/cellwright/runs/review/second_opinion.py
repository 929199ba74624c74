"""A second opinion on an answer: computed another way, it is the same, or it is not, or nobody could say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from cellwright.notebook.source_text import literal
from cellwright.runs.review.answer_figures import AnswerFigure, AnswerText, comparing_code
from cellwright.runs.review.findings import Finding
from cellwright.runs.review.second_figure import FigureReading, NotComputed, SecondFigure
from cellwright.runs.review.units import factor

KIND: Final = "second-opinion"
_CERTAIN: Final = 0.001
"""From here on groups that an answer does not even name are missed."""

_PLAIN: Final = 1e-6
"""From here on nobody may say that groups do not differ."""
_STEP_DAYS: Final = 45
"""So far off the day of a step may be told: a month's name stands for its first day."""
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_SUPERLATIVE: Final = re.compile(
    r"\b(?:most|highest|largest|greatest|best|longest|tallest|dearest|biggest|more|higher|larger|longer|first|leads?)\b",
    re.IGNORECASE,
)
_INFERIOR: Final = re.compile(
    r"\b(?:less|least|lower|lowest|fewer|fewest|smaller|smallest|shorter|shortest|worse|worst|behind|below)\b",
    re.IGNORECASE,
)
_NONE: Final = re.compile(
    r"\b(?:no|not|without|nor|cannot)\b[^.;]{0,60}\b(?:trend|change|differen|differ|relat|correlat|connect|together)",
    re.IGNORECASE,
)
_RISE: Final = re.compile(r"\b(?:ris(?:es?|ing|en)|rose|increas\w+|gr(?:ow\w*|ew)|climb\w*)\b", re.IGNORECASE)
_FALL: Final = re.compile(
    r"\b(?:fall(?:s|ing|en)?|fell|decreas\w+|declin\w+|drop(?:s|ped)?|shr[aiu]nk\w*)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondOpinion:
    """Whether an answer was computed twice, and what came of it."""

    status: Literal["agrees", "differs", "not computed"]
    says: str
    """In a sentence, for the proof and the report."""
    finding: Finding | None = None


def second_opinion(answer: AnswerText, second: SecondFigure | NotComputed) -> SecondOpinion:
    """The answer held against the second figure. Pure."""
    if isinstance(second, NotComputed):
        return SecondOpinion(status="not computed", says=f"Not computed twice: {second.why}")
    default = second.readings[0]
    if default.course is not None:
        return _of_course(answer, second, default.course)
    if default.figure is not None:
        return _of_figure(answer, second)
    return _of_leader(answer, second)


# ── one figure ──


def _of_figure(answer: AnswerText, second: SecondFigure) -> SecondOpinion:
    if not answer.figures:
        return _not_computed("the answer prints no figure")
    for reading in second.readings:
        if _agreeing(answer.figures, second, reading.figure or 0.0):
            return _agrees(second, reading, _shown(reading.figure or 0.0))
    figure = second.readings[0].figure or 0.0
    if second.words.unit and not second.unit:
        return _not_computed(
            f"in which unit the data has it is not known; computed as it stands it is {_shown(figure)}"
        )
    expected, figures = _comparable(answer.figures, second, figure)
    if expected is None:
        return _not_computed("the answer is in a unit that the data is not in")
    return _differs(
        answer, second, _shown(expected), comparing_code(figures, expected, _message(second, expected), answer)
    )


def _agreeing(figures: Sequence[AnswerFigure], second: SecondFigure, computed: float) -> bool:
    return any(figure.agrees_with(target) for figure in figures for target in _targets(figure, second, computed))


def _targets(figure: AnswerFigure, second: SecondFigure, computed: float) -> Iterator[float]:
    """What the figure may be: in the data's unit, in the one asked for, in the one it is printed in."""
    if second.question.kind == "share":
        yield computed * 100
        if not figure.is_percent:
            yield computed
        return
    asked = second.words.unit
    if asked and second.unit:
        by = factor(second.unit, figure.unit or asked)
        if by is not None:
            yield computed * by
        return
    by = factor(second.unit, figure.unit) if figure.unit and second.unit else None
    yield computed * (by if by is not None else 1.0)


def _comparable(
    figures: Sequence[AnswerFigure], second: SecondFigure, computed: float
) -> tuple[float | None, list[AnswerFigure]]:
    """The figure as the answer should have it, and those of the answer that it may be."""
    known = [figure for figure in figures if figure.expression] or list(figures)
    target = next(iter(_targets(known[0], second, computed)), None)
    same = [each for each in known if target in list(_targets(each, second, computed))]
    return target, same


# ── groups ──


def _of_leader(answer: AnswerText, second: SecondFigure) -> SecondOpinion:
    readings = [reading for reading in second.readings if reading.labels]
    if not readings:
        return _not_computed("the data has no groups for it")
    if second.question.top > 1 or len(second.question.by) > 1:
        return _not_computed("the answer is of several groups")
    labels = [label for label, _ in readings[0].labels]
    if not all(re.search(r"[^\W\d_]{2}", label) or _is_moment(label) for label in labels):
        return _not_computed("the groups have no names that words could be told from")
    named = [label for label in labels if _is_named(label, answer.text)]
    first = _first_named(named, answer.text) if named else ""
    leaders = {_leader(second, reading): reading for reading in reversed(readings)}
    if first in leaders:
        return _with_its_figure(answer, second, [leaders[first]])
    is_ranking = second.question.kind == "ranking"
    is_turned = _INFERIOR.search(answer.text) is not None and not second.question.is_lowest
    is_claimed = bool(named) and (is_ranking or _SUPERLATIVE.search(answer.text) is not None)
    if any(label in leaders for label in named) and (is_turned or not is_claimed):
        return _not_computed("the answer names several of the groups")
    default = readings[0]
    is_certain = default.p is not None and default.p < _CERTAIN
    is_denied = _NONE.search(answer.text) is not None
    is_plain = default.p is not None and default.p < _PLAIN and not second.is_repeated
    is_missed = not named and (is_ranking or (is_plain if is_denied else is_certain))
    if not (is_claimed or is_missed) or (is_turned and named):
        return _not_computed("the answer claims no leader")
    best = _leader(second, default)
    value = dict(default.labels)[best]
    says = f"Computed from {_files(second)}, {best} comes first, by {second.computed_as} ({_shown(value)})."
    return _differs(answer, second, f"{best} ({_shown(value)})", _leader_code(answer, labels, best, says))


def _leader_code(answer: AnswerText, labels: Sequence[str], best: str, says: str) -> str:
    """Python that asserts that of all groups the best is named first."""
    forms = sorted((form for label in labels for form in _forms(label)), key=len, reverse=True)
    pattern = rf"(?<!\w)(?:{'|'.join(re.escape(form) for form in forms)})(?!\w)"
    return (
        "import re as _re\n\n"
        f"_said = {answer.code}\n"
        f"_named = [_one.casefold() for _one in _re.findall({pattern!r}, _said, _re.IGNORECASE)]\n"
        f"assert _named[:1] and _named[0] in {[form.casefold() for form in _forms(best)]!r}, {literal(says)}"
    )


def _with_its_figure(answer: AnswerText, second: SecondFigure, agreed: Sequence[FigureReading]) -> SecondOpinion:
    """The leader is right; where its figure is asked for, is that?"""
    label = _leader(second, agreed[0])
    value = dict(agreed[0].labels)[label]
    if not second.words.wants_figure or not answer.figures:
        return _agrees(second, agreed[0], label)
    for reading in [*agreed, *second.readings]:
        if label in dict(reading.labels) and _agreeing(answer.figures, second, dict(reading.labels)[label]):
            return _agrees(second, reading, f"{label}, {_shown(dict(reading.labels)[label])}")
    if second.words.unit and not second.unit:
        return _not_computed("in which unit the data has it is not known")
    expected, figures = _comparable(answer.figures, second, value)
    if expected is None:
        return _not_computed("the answer is in a unit that the data is not in")
    code = comparing_code(figures, expected, _message(second, expected), answer)
    return _differs(answer, second, f"{label}, {_shown(expected)}", code)


def _leader(second: SecondFigure, reading: FigureReading) -> str:
    return reading.labels[-1 if second.question.is_lowest else 0][0]


def _is_named(label: str, text: str) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text, re.IGNORECASE) for form in _forms(label))


def _first_named(labels: Sequence[str], text: str) -> str:
    lowered = text.casefold()
    places = {label: min(lowered.find(form.casefold()) % (len(text) + 1) for form in _forms(label)) for label in labels}
    return min(places, key=lambda label: places[label])


def _is_moment(label: str) -> bool:
    return re.fullmatch(r"\d{4}(?:-\d{2}){0,2}|\d{4}Q[1-4]|\d{2}:00", label) is not None


def _forms(label: str) -> list[str]:
    """How an answer may write it: `2025-03` as `March 2025`."""
    if found := re.fullmatch(r"(\d{4})-(\d{2})", label):
        month = _MONTHS[int(found[2]) - 1]
        return [label, f"{month} {found[1]}", month]
    if found := re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", label):
        month, day = _MONTHS[int(found[2]) - 1], int(found[3])
        return [label, f"{day} {month}", f"{month} {day}"]
    if found := re.fullmatch(r"(\d{4})Q([1-4])", label):
        return [label, f"Q{found[2]} {found[1]}", f"Q{found[2]}"]
    return [label]


# ── a course ──


def _of_course(answer: AnswerText, second: SecondFigure, course: tuple[bool, float, float]) -> SecondOpinion:
    """Whether it rises, falls or does neither: only plain contradictions count."""
    is_certain, first, last = course
    if second.question.kind == "relation":
        return _of_relation(answer, second, course)
    if is_certain and (step := second.readings[0].step) and re.search(r"\bwhen\b", second.words.words, re.IGNORECASE):
        return _of_step(answer, second, step)
    claims_none = _NONE.search(answer.text) is not None
    claims = [word for word, pattern in (("rises", _RISE), ("falls", _FALL)) if pattern.search(answer.text)]
    came = ("rises" if last > first else "falls") if is_certain else "has no certain trend"
    change = f" ({last / first - 1:+.1%} from the first half of the time to the second)" if first else ""
    says = f"Computed from {_files(second)}, {second.computed_as} {came}{change}."
    is_refuted = not is_certain and len(claims) == 1 and not claims_none and re.search(r"p\s*[<=]", answer.text)
    if is_certain and claims_none and not claims:
        code = f"_said = {answer.code}\nassert {literal(came[:4])} in _said.casefold(), {literal(says)}"
        return _differs(answer, second, f"a course that {came}", code)
    if is_certain and claims in (["rises"], ["falls"]) and claims != [came] and not claims_none:
        code = f"_said = {answer.code}\nassert {literal(came[:4])} in _said.casefold(), {literal(says)}"
        return _differs(answer, second, f"a course that {came}", code)
    if is_refuted:
        code = f'_said = {answer.code}\nassert "no" in _said.casefold().split(), {literal(says)}'
        return _differs(answer, second, f"a course that {came}", code)
    if (is_certain and came in claims) or (not is_certain and claims_none):
        return SecondOpinion(status="agrees", says=f"Computed twice, independently. {says}")
    return _not_computed("the answer claims no course that could be compared")


def _of_step(answer: AnswerText, second: SecondFigure, step: str) -> SecondOpinion:
    """The day on which something changed, where the answer tells one."""
    told = list(_moments(answer.text))
    says = f"Computed from {_files(second)}, {second.computed_as} changed in one step at {step}."
    if not told:
        return _not_computed("the answer tells no day")
    day = date.fromisoformat(step)
    if any(abs((moment - day).days) <= _STEP_DAYS for moment in told):
        return SecondOpinion(status="agrees", says=f"Computed twice, independently. {says}")
    month = f"{_MONTHS[day.month - 1]} {day.year}"
    code = (
        f"_said = {answer.code}\n"
        f"assert any(_one in _said for _one in {[step, step[:7], month, _MONTHS[day.month - 1]]!r}), {literal(says)}"
    )
    return _differs(answer, second, f"a step at {step}", code)


def _moments(text: str) -> Iterator[date]:
    """Days and months that a text tells, a month by its first day."""
    for year, month, day in re.findall(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b", text):
        with suppress(ValueError):
            yield date(int(year), int(month), int(day or 1))
    names = "|".join(_MONTHS)
    for day, month, year in re.findall(rf"(?:\b(\d{{1,2}})\.? )?\b({names})\b(?: \d{{1,2}},)? (\d{{4}})", text):
        with suppress(ValueError):
            yield date(int(year), _MONTHS.index(month) + 1, int(day or 1))


def _of_relation(answer: AnswerText, second: SecondFigure, course: tuple[bool, float, float]) -> SecondOpinion:
    """Whether two columns go together, and which way: only plain contradictions count."""
    is_certain, _, way = course
    is_denied = _NONE.search(answer.text) is not None
    came = "go together" if is_certain else "do not go together by more than chance"
    says = f"Computed from {_files(second)}, the two {came}{f' ({way:+.2f})' if way else ''}."
    if is_certain and is_denied:
        code = (
            f"import re as _re\n\n_said = {answer.code}\n"
            f"assert not _re.search({_NONE.pattern!r}, _said, _re.IGNORECASE), {literal(says)}"
        )
        return _differs(answer, second, f"that the two {came}", code)
    if is_certain != is_denied:
        return SecondOpinion(status="agrees", says=f"Computed twice, independently. {says}")
    return _not_computed("the answer claims no relation that could be compared")


# ── what is said ──


def _agrees(second: SecondFigure, reading: FigureReading, shown: str) -> SecondOpinion:
    if reading.condition:
        return SecondOpinion(
            status="agrees",
            says=f"Computed twice: it agrees if {reading.condition} ({shown}), which is a matter of judgement.",
        )
    return SecondOpinion(
        status="agrees", says=f"Computed twice, independently: {second.computed_as} in {_files(second)} gives {shown}."
    )


def _differs(answer: AnswerText, second: SecondFigure, shown: str, code: str) -> SecondOpinion:
    found = f"Computed another way, as {second.computed_as} from {_files(second)}, it is {shown}."
    finding = Finding(
        claim=answer.claim,
        found=found,
        shows=code,
        by="code",
        kind=KIND,
        is_of_words=not answer.is_of_notebook,
    )
    return SecondOpinion(status="differs", says=f"Computed twice, and it differs. {found}", finding=finding)


def _not_computed(why: str) -> SecondOpinion:
    return SecondOpinion(status="not computed", says=f"Not computed twice: {why}.")


def _message(second: SecondFigure, expected: float) -> str:
    return f"Computed from {_files(second)} as {second.computed_as} it is {_shown(expected)}."


def _files(second: SecondFigure) -> str:
    return " and ".join(dict.fromkeys(second.files[:3]))


def _shown(value: float) -> str:
    return f"{value:,.10g}" if abs(value) < 1e15 else f"{value:g}"
