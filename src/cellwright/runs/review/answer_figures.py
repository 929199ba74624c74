"""The figures of an answer: how exactly each is printed, its unit, and which variable of the notebook it is. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import Final

from cellwright.notebook.source_text import literal
from cellwright.runs.review.units import unit_of

_FIELD: Final = re.compile(
    r"\{(?P<name>[^\W\d]\w*)(?P<path>(?:\.\w+|\[[^\[\]{}]+\])*)(?:![rs])?(?::(?P<format>[^{}]*))?\}"
)
_STEP: Final = re.compile(r"\.(\w+)|\[([^\[\]]+)\]")
_NUMBER: Final = re.compile(
    r"(?<![\w.,])(?P<sign>[-−–+]?)(?P<digits>\d{1,3}(?:[, \u00a0\u202f']\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\d])"
    r"(?P<percent>\s?(?:%|percent\b|per cent\b))?(?:\s?(?P<scale>k|thousand|million|billion|[kM](?=\b))(?!\w))?"
    r"(?:\s?(?P<unit>[^\W\d_]+))?"
)
_SCALES: Final = {"k": 1e3, "thousand": 1e3, "M": 1e6, "million": 1e6, "billion": 1e9}
_DATES: Final = re.compile(r"\b\d{4}-\d{2}(?:-\d{2})?\b|\b\d{1,2}:\d{2}\b|\bp\s*[<=>]\s*[\d.]+")
_SENTENCE_END: Final = re.compile(r"[.!?:;]\s+|\n+")
_LONG_CLAIM: Final = 300
MEANINGFUL_DIGITS: Final = 3
"""A figure with fewer is met by chance too easily."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFigure:
    """One number that an answer prints."""

    text: str
    value: float
    half_unit: float
    """Half a unit of its last digit: so far a figure may lie off and still be printed so."""
    unit: str = ""
    """The word behind it, where that is a unit."""
    is_percent: bool = False
    sentence: int = 0
    """In which sentence of the answer it stands."""
    expression: str = ""
    """Python that gives it in the notebook, in the size it is printed; empty: it stands in the answer's own words."""
    exact: float | None = None
    """What that expression gives, once the notebook was asked."""

    @property
    def digits(self) -> int:
        """How many it has that mean something."""
        return len(re.sub(r"\D", "", self.text).lstrip("0"))

    def agrees_with(self, other: float) -> bool:
        """Whether the other would be printed like this."""
        return abs(self.value - other) <= self.half_unit * (1 + 1e-9) + 1e-12 * abs(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerText:
    """An answer as it is read, and as its notebook gives it."""

    text: str
    template: str
    figures: tuple[AnswerFigure, ...]

    @property
    def claim(self) -> str:
        """What it says, cut where it is long."""
        return f"The answer says: {shorten(self.text, _LONG_CLAIM, placeholder=' …')}"

    @property
    def code(self) -> str:
        """Python that gives the answer from the notebook's variables; where it has none, its own words."""
        fields = list(_FIELD.finditer(self.template))
        if not fields:
            return literal(self.text)
        parts, end = list[str](), 0
        for found in fields:
            parts.append(_quoted(self.template[end : found.start()]))
            shape = f":{found['format']}" if found["format"] else ""
            parts.append(f"{{{_expression(found)}{shape}}}")
            end = found.end()
        parts.append(_quoted(self.template[end:]))
        return f'f"{"".join(parts)}"'

    @property
    def is_of_notebook(self) -> bool:
        """Whether anything in it comes from the notebook's variables."""
        return _FIELD.search(self.template) is not None


def read_answer(answer: str, template: str = "") -> AnswerText:
    """The figures of an answer; `template` is the same with the notebook's variables in braces."""
    spans = _filled(answer, template)
    figures: list[AnswerFigure] = []
    hidden = [found.span() for found in _DATES.finditer(answer)]
    ends = [found.start() for found in _SENTENCE_END.finditer(answer)]
    for found in _NUMBER.finditer(answer):
        if any(start <= found.start("digits") < end for start, end in hidden):
            continue
        figure = replace(_figure(found), sentence=bisect_left(ends, found.start("digits")))
        for start, end, field in spans:
            if start <= found.start("digits") and found.end("digits") <= end and _is_lone(answer[start:end]):
                figure = _of_field(figure, field)
        figures.append(figure)
    return AnswerText(text=answer, template=template, figures=tuple(figures))


def comparing_code(figures: Sequence[AnswerFigure], expected: float, says: str, answer: AnswerText) -> str:
    """Python that asserts that one of the figures is the expected one, as exactly as it is printed."""
    known = [figure for figure in figures if figure.expression]
    if len(known) == 1 and len(figures) == 1:
        (figure,) = known
        return f"assert abs({figure.expression} - {expected!r}) <= {figure.half_unit!r}, {literal(says)}"
    if known:
        pairs = ", ".join(f"({figure.expression}, {figure.half_unit!r})" for figure in known)
        return f"assert any(abs(_one - {expected!r}) <= _half for _one, _half in [{pairs}]), {literal(says)}"
    half = max(figure.half_unit for figure in figures) if figures else 0.0
    return (
        "import re as _re\n\n"
        f"_said = {answer.code}\n"
        '_figures = [float(_one.replace(",", "")) for _one in _re.findall(r"-?\\d[\\d,]*(?:\\.\\d+)?", _said)]\n'
        f"assert any(abs(_one - {expected!r}) <= {half!r} for _one in _figures), {literal(says)}"
    )


def _figure(found: re.Match[str]) -> AnswerFigure:
    digits = re.sub(r"[^\d.]", "", found["digits"])
    scale = _SCALES.get(found["scale"] or "", 1.0)
    places = len(digits.partition(".")[2])
    sign = -1.0 if found["sign"] in ("-", "−") else 1.0
    return AnswerFigure(
        text=f"{found['sign']}{found['digits']}",
        value=sign * float(digits) * scale,
        half_unit=0.5 * 10**-places * scale,
        unit=unit_of(found["unit"] or ""),
        is_percent=bool(found["percent"]),
    )


def _of_field(figure: AnswerFigure, field: re.Match[str]) -> AnswerFigure:
    expression = f"float({_expression(field)})"
    if (field["format"] or "").endswith("%"):
        return replace(figure, expression=f"{expression} * 100", is_percent=True)
    return replace(figure, expression=expression)


def _is_lone(text: str) -> bool:
    """Whether a field gave a number and nothing else."""
    return re.fullmatch(r"[-−+]?[\d.,' \u00a0\u202f]+ ?%?", text.strip()) is not None


def _filled(answer: str, template: str) -> list[tuple[int, int, re.Match[str]]]:
    """Where in the answer each field of its template stands; none where the two do not fit."""
    fields = list(_FIELD.finditer(template))
    pattern, end = "", 0
    for field in fields:
        pattern += f"{re.escape(template[end : field.start()])}(.*?)"
        end = field.end()
    found = re.fullmatch(pattern + re.escape(template[end:]), answer, re.DOTALL) if fields else None
    if found is None:
        return []
    return [(*found.span(number), field) for number, field in enumerate(fields, start=1)]


def _expression(field: re.Match[str]) -> str:
    """A field's value as Python: `{by[North].mean}` is `by['North'].mean`."""
    code = field["name"]
    for attribute, item in _STEP.findall(field["path"]):
        if attribute:
            code += f".{attribute}"
        else:
            code += f"[{item}]" if re.fullmatch(r"-?\d+|'[^']*'", item) else f"[{item.strip(chr(34))!r}]"
    return code


def _quoted(text: str) -> str:
    return literal(text)[1:-1].replace("{", "{{").replace("}", "}}")
