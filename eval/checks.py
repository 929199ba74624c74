"""What an answer must hold, and whether it does. Pure: values in, verdicts out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never, get_args

from eval.delivered import Delivered
from eval.figures import numbers_in

Where = Literal["answer", "notebook"]
"""notebook: the answer or anything the notebook shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberCheck:
    """A number is told."""

    says: str
    number: float
    within: float
    where: Where = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoNumberCheck:
    """A number is not told: the one that falls for the trap."""

    says: str
    no_number: float
    within: float
    where: Where = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsCheck:
    """Each of these expressions is found, whatever its case."""

    says: str
    words: tuple[str, ...]
    where: Where = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoWordsCheck:
    """None of these expressions is found."""

    says: str
    no_words: tuple[str, ...]
    where: Where = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartsCheck:
    """The notebook shows at least so many charts."""

    says: str
    charts: int


Check = NumberCheck | NoNumberCheck | WordsCheck | NoWordsCheck | ChartsCheck
_KINDS: Final[dict[str, type[Check]]] = {
    "number": NumberCheck,
    "no_number": NoNumberCheck,
    "words": WordsCheck,
    "no_words": NoWordsCheck,
    "charts": ChartsCheck,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of one check."""

    says: str
    has_held: bool | None
    """None: it looks at a notebook, and there is none."""


def read_check(told: Mapping[str, Any]) -> Check:
    """A check from its table in `task.toml`. `ValueError` if it is none."""
    kinds = [kind for key, kind in _KINDS.items() if key in told]
    if len(kinds) != 1:
        raise ValueError(f"a check has exactly one of {', '.join(_KINDS)}: {dict(told)}")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in told.items()}
    if values.get("where", "answer") not in get_args(Where):
        raise ValueError(f"a check looks at {' or '.join(get_args(Where))}, not at {values['where']!r}")
    check = kinds[0](**values)
    if isinstance(check, WordsCheck | NoWordsCheck):
        for word in check.words if isinstance(check, WordsCheck) else check.no_words:
            re.compile(word)
    return check


def judge(checks: Sequence[Check], delivered: Delivered) -> tuple[Verdict, ...]:
    """Every check's verdict, and what holds for all tasks: a proven notebook, and data as it was."""
    standing = (
        Verdict(says="the notebook is proven to run", has_held=delivered.is_proven if delivered.has_notebook else None),
        Verdict(says="the data is as it was", has_held=delivered.is_data_untouched),
    )
    return (*(Verdict(says=check.says, has_held=_has_held(check, delivered)) for check in checks), *standing)


def has_passed(verdicts: Sequence[Verdict]) -> bool:
    """Nothing speaks against it, and something more than untouched data speaks for it."""
    return all(verdict.has_held is not False for verdict in verdicts) and any(
        verdict.has_held for verdict in verdicts[:-1]
    )


def _has_held(check: Check, delivered: Delivered) -> bool | None:
    if isinstance(check, ChartsCheck):
        return delivered.charts >= check.charts if delivered.has_notebook else None
    if check.where == "notebook" and not delivered.has_notebook:
        return None
    text = delivered.answer if check.where == "answer" else f"{delivered.answer}\n{delivered.shown}"
    match check:
        case NumberCheck():
            return _is_told(check.number, check.within, text)
        case NoNumberCheck():
            return not _is_told(check.no_number, check.within, text)
        case WordsCheck():
            return all(re.search(word, text, re.IGNORECASE) for word in check.words)
        case NoWordsCheck():
            return not any(re.search(word, text, re.IGNORECASE) for word in check.no_words)
        case _:
            assert_never(check)


def _is_told(number: float, within: float, text: str) -> bool:
    # A hair more than asked for: 0.1 + 0.2 is not to decide.
    return any(abs(told - number) <= within * (1 + 1e-9) + 1e-12 for told in numbers_in(text))
