"""Cards of different sources that give different figures for the same thing. Pure: they are told, never averaged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Final

from cellwright.tools.evidence.card import EvidenceCard
from cellwright.tools.evidence.figures import Figure, figures_in

_ALIKE: Final = 0.6
"""Of the words two sentences have together, so many are in both, or they speak of different things."""
_CLOSE: Final = 0.75
"""What cards are about is said in few words: one may have a word more, and none another one."""
_FEWEST: Final = 2
_MOST_CARDS: Final = 600
_STOP: Final = frozenset(
    re.split(
        r"\s",
        "a an and are as at be been by for from had has have in is it its of on or that the their this to was "
        "were which with about around all total report reports reported says said states stated according "
        "document source percent per cent version current",
    )
)


_VERSION: Final = re.compile(
    r"[._\s-]*(?:\bv\d+(?:[._]\d+)*|(?<!\d)(?:19|20)\d\d(?:[._-]?[01]\d(?:[._-]?[0-3]\d)?)?(?!\d)|(?<!\d)\d+(?:\.\d+)+)"
)
_RATES: Final = frozenset({"%", ":"})
"""Of something else, never the thing itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Cards that cannot all be right."""

    cards: tuple[str, ...]
    about: str
    by: str = "code"
    """Who noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DismissedContradiction:
    """Cards that code took for a contradiction, and who reads them does not."""

    cards: tuple[str, ...]
    why: str
    by: str


def contradictions_in(cards: Sequence[EvidenceCard]) -> tuple[Contradiction, ...]:
    """Pairs that speak of the same thing and of no common figure; those of one thing are told together."""
    found: dict[str, dict[str, str]] = {}
    for one, other in combinations(cards[:_MOST_CARDS], 2):
        if one.source != other.source and _speak_of_the_same(one, other) and _differ(one, other):
            key = next((key for key, ids in found.items() if {one.id, other.id} & set(ids)), one.id)
            about = one.about or other.about or one.says
            found.setdefault(key, {}).update({one.id: about, other.id: about})
    return tuple(Contradiction(cards=tuple(ids), about=next(iter(ids.values()))) for ids in found.values())


def merged(code: Sequence[Contradiction], told: Sequence[Contradiction]) -> tuple[Contradiction, ...]:
    """Those that code found, and those somebody else named that are no part of them."""
    new = [each for each in told if not any(set(each.cards) <= set(known.cards) for known in code)]
    return (*code, *new)


def without(found: Sequence[Contradiction], dismissed: Sequence[DismissedContradiction]) -> tuple[Contradiction, ...]:
    """Those that nobody found to be none; with a card more it is another one."""
    return tuple(each for each in found if not any(set(each.cards) <= set(none.cards) for none in dismissed))


def _speak_of_the_same(one: EvidenceCard, other: EvidenceCard) -> bool:
    if one.about and other.about:
        subject, theirs = (_topic(card.about.replace(card.name, " ")) for card in (one, other))
        both = subject & theirs
        return bool(both) and both in (subject, theirs) and len(both) >= _CLOSE * len(subject | theirs)
    return _alike(_topic(one.says), _topic(other.says))


def _are_versions(one: str, other: str) -> bool:
    """Whether two documents are one at different times: `law.1.3.txt` and `law.txt`."""
    (base, version), (other_base, other_version) = (_base(name) for name in (one, other))
    return base == other_base and version != other_version


def _base(name: str) -> tuple[str, str]:
    return _VERSION.sub("", name.casefold()), " ".join(_VERSION.findall(name.casefold()))


def _topic(text: str) -> frozenset[str]:
    words = re.findall(r"[^\W\d_]+", text.casefold())
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words if word not in _STOP)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    both = one & other
    return len(both) >= min(_FEWEST, len(one), len(other)) and len(both) >= _ALIKE * len(one | other) > 0


def _differ(one: EvidenceCard, other: EvidenceCard) -> bool:
    values, theirs = _values(one), _values(other)
    years, others = _years(one), _years(other)
    are_dates = all(figure.year is not None for figure in (*values, *theirs))
    if years and others and years.isdisjoint(others) and not are_dates:
        return False
    if _are_versions(one.name, other.name) and not years & others:
        return False
    pairs = [
        (a, b)
        for a in values
        for b in theirs
        if a.kind == b.kind or (not {a.kind, b.kind} & _RATES and "" in {a.kind, b.kind})
    ]
    return bool(pairs) and all(not a.values & b.values for a, b in pairs)


def _years(card: EvidenceCard) -> frozenset[int]:
    told = figures_in(f"{card.about}. {card.says}")
    return frozenset(figure.year for figure in told if figure.year is not None)


def _values(card: EvidenceCard) -> tuple[Figure, ...]:
    """The figures the card itself tells; a year dates them."""
    measures = [figure for figure in figures_in(card.says) if not figure.is_label and not figure.is_own_count]
    told = [figure for figure in measures if figure.year is None and figure.values != {Decimal(1)}]
    dates = [figure for figure in measures if figure.year is not None]
    # Where a year is all there is, it is what is told: founded in 1911.
    return tuple(told or (dates if len(dates) == 1 else ()))
