"""Two columns set against each other, and what drives one of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from cellwright.analyst.goal.grouping import GroupReading
from cellwright.analyst.goal.measures import QuantityReading, measure_mentions, of_measure
from cellwright.analyst.goal.mentions import ColumnMention
from cellwright.analyst.goal.question import Quantity, QuestionKind
from cellwright.analyst.goal.question_vocabulary import INFLUENCE
from cellwright.analyst.goal.sentence import Sentence

_WHY: Final = frozenset({"why", "warum", "wieso", "weshalb"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PairReading:
    """A question with its two sides in order: what is explained first."""

    kind: QuestionKind
    found: QuantityReading
    groups: GroupReading
    notes: tuple[str, ...] = ()


def read_pair(kind: QuestionKind, sentence: Sentence, found: QuantityReading, groups: GroupReading) -> PairReading:
    """Of a relation: which column is explained by which. Other questions stay as they are."""
    if kind == "drivers":
        notes = ("“Why” was read as what goes with it: data like these prove no cause.",) if sentence.has(_WHY) else ()
        measures = measure_mentions(sentence)
        chosen = measures[-1] if sentence.says("influence on", "effect on", "impact on") and measures else None
        found = of_measure(sentence, chosen, has_groups=True) if chosen else found
        return PairReading(kind=kind, found=found, groups=replace(groups, by=()), notes=notes)
    if kind != "relation":
        return PairReading(kind=kind, found=found, groups=groups)
    measures = measure_mentions(sentence)
    if len(measures) > 1:
        first, second = _ordered(sentence, measures)
        quantity = of_measure(sentence, first, has_groups=True)
        notes = (second.note,) if second.note else ()
        return PairReading(
            kind=kind, found=_as_mean(quantity), groups=replace(groups, by=(second.known.name,)), notes=notes
        )
    if measures:
        return PairReading(kind=kind, found=_as_mean(found), groups=replace(groups, by=groups.by[:1]))
    if len(groups.by) < 2:
        return PairReading(kind="groups" if groups.by else "figure", found=found, groups=groups)
    rows = {each.name: each.rows for each in sentence.names.tables}
    table = max((name.table for name in groups.by[:2]), key=lambda name: rows.get(name, 0))
    counted = QuantityReading(quantity=Quantity(how="count", table=table, words="rows"))
    return PairReading(kind=kind, found=counted, groups=replace(groups, by=groups.by[:2]))


def _as_mean(found: QuantityReading) -> QuantityReading:
    """Pairs are of single rows, not of sums."""
    if found.quantity.how == "sum":
        notes = tuple(note.replace("the sum of ", "") for note in found.notes)
        return replace(found, quantity=replace(found.quantity, how="mean"), notes=notes)
    return found


def _ordered(sentence: Sentence, measures: list[ColumnMention]) -> tuple[ColumnMention, ColumnMention]:
    """What is explained, then what explains it: the price, in `does weight affect price`."""
    first, second = measures[0], measures[1]
    is_of_first = first.is_meant and first.said.casefold().endswith("er")
    return (second, first) if sentence.has(INFLUENCE) or is_of_first else (first, second)
