"""What a goal counts: rows, values once each, pieces. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cellwright.analyst.goal.data_names import TIME_PARTS, KnownColumn
from cellwright.analyst.goal.filters import FilterReading, threshold_tables
from cellwright.analyst.goal.measures import QuantityReading, any_money, choose_aggregate, is_per_row
from cellwright.analyst.goal.mentions import ColumnMention, TableMention, ValueMention
from cellwright.analyst.goal.question import Aggregate, Quantity
from cellwright.analyst.goal.question_vocabulary import (
    ARRIVALS,
    COUNTED_MOST,
    COUNTED_OFTEN,
    COUNTERS,
    DISTINCT,
    EVENTS,
    MEAN,
    NUMBERED_MOST,
    RANKERS,
    REVENUE,
    ROWS,
)
from cellwright.analyst.goal.sentence import Sentence
from cellwright.profiles.profile import TableProfile

_DIVIDED_BY: Final = frozenset({"each", "every", "per", "by"})
"""What stands behind is not what is counted: `how many days of each weather`."""
_ADDED: Final = NUMBERED_MOST | {"much", "many", "viel", "viele"}
"""With one of them, of what has no plural a sum is asked for: `most electricity`, but `the highest temperature`."""
_COUNT_WORDS: Final = frozenset({"count", "anzahl"})
_SOLD: Final = frozenset({"sold", "bought", "ordered", "sell", "verkauft"})
_THINGS_SOLD: Final = frozenset({"product", "item", "article", "produkt", "artikel", "thing", "good"})


def _counter_place(sentence: Sentence) -> int | None:
    folded, used = [word.folded for word in sentence.words], sentence.mentions.used
    for place in range(len(folded)):
        if tuple(folded[place : place + 2]) in COUNTERS and place not in used:
            return place + 2
        if folded[place] in _COUNT_WORDS and place not in used:
            return place + 1
    if sentence.says("how often", "wie oft"):
        return len(folded)
    return None


def read_count(sentence: Sentence, filters: FilterReading) -> QuantityReading | None:
    """What stands behind `how many`; None if nothing is counted."""
    start = _counter_place(sentence)
    if start is None:
        return None
    if target := _target(sentence, start):
        match target:
            case TableMention():
                return _rows_of(sentence, target, filters)
            case ColumnMention():
                return _count_of_column(sentence, target, filters)
            case ValueMention():
                return _count_of_value(sentence, target)
    table = sentence.mentions.tables[0].table if sentence.mentions.tables else sentence.names.main
    if table is None:
        return None
    said = next((word.text for word in sentence.words if word.folded in ROWS), "rows")
    return QuantityReading(quantity=Quantity(how="count", table=table.name, words=said))


def _count_of_value(sentence: Sentence, mention: ValueMention) -> QuantityReading:
    """Rows with a value; or pieces of it, where things were sold: `how many espressos were sold`."""
    table = mention.options[0].owner.table
    facts = sentence.names.facts_about(table.name)
    pieces = sentence.names.pieces_of(facts[0].name if facts else table.name)
    if pieces and any(word.folded in _SOLD for word in sentence.words):
        note = f"“{mention.said}” was read as the sum of {pieces.column.name[:60]}."
        return QuantityReading(quantity=Quantity(how="sum", column=pieces.name, words=mention.said), notes=(note,))
    return QuantityReading(quantity=Quantity(how="count", table=table.name, words=mention.said))


def _target(sentence: Sentence, start: int) -> TableMention | ColumnMention | ValueMention | None:
    """What stands behind `how many`; a value before its noun is passed over: `how many web orders`."""
    behind: list[TableMention | ColumnMention | ValueMention] = [
        *(each for each in sentence.mentions.columns if not sentence.absorbed.intersection(each.at)),
        *sentence.mentions.values,
        *sentence.mentions.tables,
    ]
    ordered = sorted((each for each in behind if each.at[0] >= start), key=lambda each: each.at[0])
    if ordered and sentence.lead(ordered[0].at[0]) in _DIVIDED_BY:
        return None
    if not ordered:
        return None
    if any(word.folded in ROWS for word in sentence.words[start : ordered[0].at[0]]):
        return None
    first = ordered[0]
    for following in ordered[1:]:
        is_passed = isinstance(first, ValueMention) or (isinstance(first, ColumnMention) and first.known.role == "flag")
        if not is_passed or following.at[0] != first.at[-1] + 1:
            break
        first = following
    return first


def _rows_of(sentence: Sentence, mention: TableMention, filters: FilterReading) -> QuantityReading:
    """The rows of a table; or, of who does things in another one, each once: customers who bought."""
    table = mention.table
    if (known := sentence.names.measure_of_grid(table.name)) and _is_amount(sentence, mention, known):
        is_added = not _ADDED.isdisjoint(word.folded for word in sentence.words)
        how = choose_aggregate(sentence, known, has_groups=True, default="sum" if is_added else None)
        note = f"“{mention.said}” was read as the {how} of {known.column.name[:60]}."
        quantity = Quantity(how=how, column=known.name, words=mention.said)
        return QuantityReading(quantity=quantity, places=frozenset(mention.at), notes=(note,))
    facts = sentence.names.facts_about(table.name)
    if facts and (note := _acts_in(sentence, mention, facts[0], filters)):
        key = facts[1]
        quantity = Quantity(how="distinct", column=key, words=mention.said)
        return QuantityReading(quantity=quantity, places=frozenset(mention.at), notes=(note,))
    is_distinct = sentence.has(DISTINCT) and not facts
    key = next((known for known in mention.columns if known.role in {"id", "group"} and known.table is table), None)
    if is_distinct and key and not key.column.is_unique:
        quantity = Quantity(how="distinct", column=key.name, words=mention.said)
        return QuantityReading(quantity=quantity, places=frozenset(mention.at))
    quantity = Quantity(how="count", table=table.name, words=mention.said)
    return QuantityReading(quantity=quantity, places=frozenset(mention.at))


def _is_amount(sentence: Sentence, mention: TableMention, known: KnownColumn) -> bool:
    """Whether a table's name says how much there is, not what its rows are: `electricity`, and no `readings`."""
    word = sentence.words[mention.at[0]]
    is_uncountable = word.folded == word.stem and word.folded not in ROWS
    return is_uncountable or sentence.names.is_added_up(known)


def _acts_in(sentence: Sentence, mention: TableMention, facts: TableProfile, filters: FilterReading) -> str:
    """Why those are counted who act in another table, as a note; empty if they are not."""
    others = [each for each in sentence.mentions.tables if each.at != mention.at]
    others = [each for each in others if each.at[0] not in threshold_tables(sentence)]
    is_named = any(each.table.name == facts.name for each in others)
    acts = any(word.folded in EVENTS and place not in mention.at for place, word in enumerate(sentence.words))
    is_filtered = facts.name in filters.tables
    is_arrival = any(word.folded in ARRIVALS for word in sentence.words) or any(
        each.known.role == "time" and each.known.table is mention.table for each in sentence.mentions.columns
    )
    is_timed = (
        bool(sentence.spans or sentence.time.unit or sentence.time.part) and not is_arrival and bool(facts.time_column)
    )
    if not (is_named or acts or is_filtered or is_timed) or (is_arrival and not (is_named or is_filtered)):
        return ""
    return f"“{mention.said}” was read as those named in {facts.name[:60]}, each counted once."


def _count_of_column(sentence: Sentence, mention: ColumnMention, filters: FilterReading) -> QuantityReading:
    known, places = mention.known, frozenset(mention.at)
    notes = (mention.note,) if mention.note else ()
    match known.role:
        case "flag":
            quantity = Quantity(how="count", table=known.table.name, words=mention.said)
            return QuantityReading(quantity=quantity)
        case "measure":
            is_duration = bool(TIME_PARTS.intersection(known.parts) or {"minute", "second"}.intersection(known.parts))
            takes = any(word.folded in {"take", "takes", "took", "need", "needs"} for word in sentence.words)
            is_mean = takes if is_duration else not sentence.names.is_added_up(known)
            is_mean = (is_mean and not mention.is_meant) or sentence.has(MEAN) or is_per_row(sentence, known.table.name)
            how: Aggregate = "mean" if is_mean else "sum"
            quantity = Quantity(how=how, column=known.name, words=mention.said)
            return QuantityReading(quantity=quantity, places=places, notes=notes, mention=mention)
        case _:
            pieces = sentence.names.pieces_of(known.table.name)
            sold = any(word.folded in _SOLD for word in sentence.words)
            is_thing = sentence.words[mention.at[0]].stem in _THINGS_SOLD
            if pieces and sold and is_thing and not sentence.has(DISTINCT):
                note = f"“{mention.said}” was read as the sum of {pieces.column.name[:60]}."
                quantity = Quantity(how="sum", column=pieces.name, words=mention.said)
                return QuantityReading(quantity=quantity, places=places, notes=(note,))
            if known.role == "id" and known.column.is_unique:
                quantity = Quantity(how="count", table=known.table.name, words=mention.said)
                return QuantityReading(quantity=quantity, places=places)
            quantity = Quantity(how="distinct", column=known.name, words=mention.said)
            return QuantityReading(quantity=quantity, places=places, notes=notes)


def count_table(sentence: Sentence, filters: FilterReading) -> QuantityReading | None:
    """Rows that are named without a measure: `orders by region`, `the busiest month`."""
    skipped = threshold_tables(sentence)
    tables = [each for each in sentence.mentions.tables if each.at[0] not in skipped]
    plain = [each for each in tables if not sentence.is_grouped(each) or _ranks(sentence, each)]
    for mention in plain:
        if sentence.words[mention.at[0]].folded in REVENUE and (money := any_money(sentence)):
            how = choose_aggregate(sentence, money, has_groups=True)
            note = f"“{mention.said[:1].upper()}{mention.said[1:]}” was read as the {how} of {money.column.name[:60]}."
            quantity = Quantity(how=how, column=money.name, words=mention.said)
            return QuantityReading(quantity=quantity, places=frozenset(mention.at), notes=(note,))
    if plain and sentence.has(COUNTED_OFTEN) and (facts := sentence.names.facts_about(plain[0].table.name)):
        return QuantityReading(quantity=Quantity(how="count", table=facts[0].name, words=plain[0].said))
    if plain:
        # `customers with most orders` counts orders: the table of what happened comes first.
        chosen = _finest(plain) if len(plain) > 1 else plain[0]
        return _rows_of(sentence, chosen, filters)
    if skipped and not tables:
        counted = next(each for each in sentence.mentions.tables if each.at[0] in skipped)
        return QuantityReading(quantity=Quantity(how="count", table=counted.table.name, words=counted.said))
    if sentence.has(COUNTED_OFTEN) or any(word.folded in ROWS for word in sentence.words):
        table = tables[0].table if tables else sentence.names.main
        owners = [each.known.table for each in sentence.mentions.columns if each.known.role in {"group", "flag"}]
        if owners and not tables and not sentence.has({"busiest", "busy", "popular"}):
            table = owners[0]
        facts = sentence.names.facts_about(table.name) if table and tables else None
        table = facts[0] if facts else table
        if table:
            said = next((word.text for word in sentence.words if word.folded in COUNTED_OFTEN | ROWS), "rows")
            return QuantityReading(quantity=Quantity(how="count", table=table.name, words=said))
    return None


def _ranks(sentence: Sentence, mention: TableMention) -> bool:
    """`bottom 3 cities by orders`: behind `by` stands what is counted, for groups named before."""
    names = (*sentence.mentions.columns, *sentence.mentions.tables)
    has_group = any(each.at[0] < mention.at[0] for each in names)
    return sentence.lead(mention.at[0]) == "by" and has_group and (sentence.top > 0 or sentence.has(RANKERS))


def _finest(mentions: Sequence[TableMention]) -> TableMention:
    return max(mentions, key=lambda each: each.table.rows)


def count_most(sentence: Sentence) -> QuantityReading | None:
    """`which region has the most cities`: values of a column counted once each."""
    columns = [each for each in sentence.mentions.columns if each.known.role in {"group", "id"}]
    for mention in columns:
        others = [each for each in (*columns, *sentence.mentions.tables) if each is not mention]
        if any(map(sentence.is_grouped, others)) and sentence.lead(mention.at[0]) in COUNTED_MOST:
            quantity = Quantity(how="distinct", column=mention.known.name, words=mention.said)
            return QuantityReading(quantity=quantity, places=frozenset(mention.at))
    return None


def count_conditions(sentence: Sentence) -> QuantityReading | None:
    """Rows that only a condition is named of: `amount >= 500`."""
    named = [each for each in sentence.mentions.columns if each.known.role == "measure"]
    if not named or not all(sentence.absorbed.intersection(each.at) for each in named):
        return None
    return QuantityReading(quantity=Quantity(how="count", table=named[0].known.table.name, words="rows"))
