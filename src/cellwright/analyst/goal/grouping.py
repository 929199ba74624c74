"""By what a goal groups, and which end of it comes first. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from cellwright.analyst.goal.filters import FilterReading, threshold_tables
from cellwright.analyst.goal.measures import QuantityReading, is_per_row, measure_mentions, table_of
from cellwright.analyst.goal.mentions import ColumnMention, TableMention
from cellwright.analyst.goal.quantities import group_column, is_group_flag
from cellwright.analyst.goal.question import QuestionKind, ValueFilter
from cellwright.analyst.goal.question_kinds import FEW_NUMBERS, few_numbers, is_one_against_rest
from cellwright.analyst.goal.question_vocabulary import GROUPERS, HIGHEST, LOWEST, MOST
from cellwright.analyst.goal.request import NamedColumn
from cellwright.analyst.goal.sentence import Sentence
from cellwright.analyst.goal.vocabulary import words_in

_MAX_GROUPS = 3
_MAX_STEPS = 100
"""Different numbers that rows can still be counted by."""
_SELLERS = words_in("staff employee seller cashier agent salesperson clerk rep mitarbeiter verkaufer")
_BUYERS = words_in("customer client kunde buyer user member person respondent patient student player")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReading:
    """Columns to group by."""

    by: tuple[NamedColumn, ...] = ()
    lost: str = ""
    """What it groups by without the data saying which rows are of which: `weather`."""
    is_lowest: bool = False
    is_of_each: bool = False
    """Of a share: a column is named without `by` or `per`, so its values are the parts."""
    notes: list[str] = field(default_factory=list[str])

    @property
    def tables(self) -> set[str]:
        """Whose columns they are."""
        return {name.table for name in self.by}


def read_groups(kind: QuestionKind, sentence: Sentence, filters: FilterReading, found: QuantityReading) -> GroupReading:
    """The columns that a goal groups by, in its order."""
    base = table_of(found.quantity)
    notes: list[str] = []
    placed: list[tuple[int, NamedColumn]] = []
    lost = ""
    for mention in sentence.mentions.columns:
        if sentence.absorbed.intersection(mention.at) or found.places.intersection(mention.at):
            continue
        is_filtered = any(each.filter.column == mention.known.name for each in filters.placed)
        if is_filtered and kind == "share" and sentence.lead(mention.at[0]) not in GROUPERS:
            continue
        if _groups_by(kind, sentence, mention):
            placed.append((mention.at[0], mention.known.name))
            notes += [mention.note] if mention.note else []
        elif _is_said(sentence, mention) and kind not in {"relation", "drivers"} and mention.is_noun:
            notes.append(f"One measure is looked at: {mention.known.column.name[:60]} is left out.")
    skipped = threshold_tables(sentence)
    for mention in sentence.mentions.tables:
        if mention.at[0] in skipped or found.places.intersection(mention.at):
            continue
        if not _table_groups(kind, sentence, mention, found):
            continue
        if name := group_column(sentence, mention, base):
            placed.append((mention.at[0], name))
        else:
            lost = lost or mention.said
    if kind == "groups" and is_one_against_rest(sentence, filters):
        alone = [each for each in filters.placed if isinstance(each.filter, ValueFilter)]
        placed += [(99, each.filter.column) for each in alone]
        filters.placed = [each for each in filters.placed if each not in alone]
    if kind == "groups":
        placed += [(99, column) for column in filters.compared]
    names = dict.fromkeys(name for _, name in sorted(placed, key=lambda each: each[0]))
    by = _without_repeats(sentence, tuple(names))[:_MAX_GROUPS]
    if not by and kind == "ranking" and (thing := _thing(sentence)):
        by = (thing,)
    if not by and kind == "ranking" and not sentence.time.is_asked and (person := _person(sentence, base)):
        by = (person,)
    is_of_each = (
        kind == "share"
        and bool(by)
        and not any(
            sentence.lead(each.at[0]) in GROUPERS for each in sentence.mentions.columns if each.known.name in by
        )
    )
    return GroupReading(by=by, lost=lost, is_lowest=_is_lowest(sentence, found), is_of_each=is_of_each, notes=notes)


def _thing(sentence: Sentence) -> NamedColumn | None:
    """What is ranked in `the best selling drink`: the things of which `drink` is a kind, by their name."""
    for value in sentence.mentions.values:
        if sentence.is_ranked_value(value):
            label = sentence.names.label_of(value.options[0].owner.table.name)
            return label.name if label and label is not value.options[0].owner else None
    return None


def _is_said(sentence: Sentence, mention: ColumnMention) -> bool:
    """Whether a measure is named by a word of its own, and not only by a verb like it: `shipped`."""
    is_exact = any(sentence.words[place].stem in mention.known.parts for place in mention.at)
    return mention.known.role == "measure" and (is_exact or mention.is_meant)


def _person(sentence: Sentence, base: str) -> NamedColumn | None:
    """Who is asked for by `who`: those who sell where something is sold, those who buy where it is bought."""
    if not sentence.has({"who", "wer"}):
        return None
    sells = any(word.folded in {"sold", "sell", "sells", "earned", "earns"} for word in sentence.words)
    wanted = _SELLERS if sells else _BUYERS
    columns = (known for known in sentence.names.of_table(base) if known.role in {"group", "id"})
    return next((known.name for known in columns if wanted.intersection(known.parts)), None)


def _groups_by(kind: QuestionKind, sentence: Sentence, mention: ColumnMention) -> bool:
    known = mention.known
    if known.role in {"group", "id"}:
        return True
    if known.role == "flag":
        return is_group_flag(sentence, mention) or kind in {"relation"}
    if few_numbers(sentence) is mention:
        return True
    lead = sentence.lead(mention.at[0])
    is_led = lead in {"by", "per", "each", "nach", "je"}
    most = FEW_NUMBERS if measure_mentions(sentence)[:1] != [mention] else _MAX_STEPS
    return known.role == "measure" and is_led and 1 < known.column.distinct <= most and kind != "ranking"


def _table_groups(kind: QuestionKind, sentence: Sentence, mention: TableMention, found: QuantityReading) -> bool:
    base = table_of(found.quantity)
    is_own = mention.table.name == base
    if sentence.is_modifier(mention.at[0]):
        return False
    if is_own and is_per_row(sentence, base):
        return False
    if sentence.is_grouped(mention):
        # `which orders were largest` ranks single rows; `which orders` in a count means nothing but them.
        return not is_own or found.quantity.column is not None
    has_column = any(each.known.role in {"group", "id"} for each in sentence.mentions.columns)
    is_about = sentence.names.facts_about(mention.table.name) is not None and not has_column
    return (
        kind == "ranking" and (is_about or (is_own and sentence.top > 0)) and mention.table.name != found.quantity.table
    )


def _without_repeats(sentence: Sentence, names: tuple[NamedColumn, ...]) -> tuple[NamedColumn, ...]:
    """Once each: a key that two tables share is one group."""
    seen: set[str] = set()
    kept: list[NamedColumn] = []
    for name in names:
        known = sentence.names.find(name)
        key = name.column if known and known.role == "id" else f"{name.table}.{name.column}"
        if key not in seen:
            seen.add(key)
            kept.append(name)
    return tuple(kept)


def _is_lowest(sentence: Sentence, found: QuantityReading) -> bool:
    if found.is_lowest:
        return True
    low = sentence.place(LOWEST - {"min", "minimum"})
    high = sentence.place((MOST | HIGHEST) - {"more", "better", "often", "top"})
    return low is not None and (high is None or low < high)
