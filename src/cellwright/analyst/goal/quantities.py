"""What a goal computes: rows counted, values counted once each, numbers added up or averaged. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cellwright.analyst.goal.data_names import TIME_PARTS, KnownColumn
from cellwright.analyst.goal.filters import FilterReading, is_flag_group, threshold_tables
from cellwright.analyst.goal.mentions import ColumnMention, TableMention, ValueMention
from cellwright.analyst.goal.question import Aggregate, Quantity, QuestionKind
from cellwright.analyst.goal.question_vocabulary import (
    ARRIVALS,
    COUNTED_MOST,
    COUNTED_OFTEN,
    DISTINCT,
    EVENTS,
    HIGHEST,
    LOWEST,
    MEAN,
    MEAN_MONEY,
    MEDIAN,
    RANKERS,
    REVENUE,
    ROWS,
    SHARE,
    SUM,
)
from cellwright.analyst.goal.request import NamedColumn
from cellwright.analyst.goal.sentence import Sentence
from cellwright.analyst.profile import TableProfile

_COUNTERS: Final = (
    ("how", "many"),
    ("number", "of"),
    ("wie", "viele"),
    ("count", "of"),
    ("numbers", "of"),
    ("amount", "of"),
)
_COUNT_WORDS: Final = frozenset({"count", "anzahl"})
_SOLD: Final = frozenset({"sold", "bought", "ordered", "sell", "verkauft"})
_THINGS_SOLD: Final = frozenset({"product", "item", "article", "produkt", "artikel", "thing", "good"})


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityReading:
    """What is computed, and which words said it."""

    quantity: Quantity
    places: frozenset[int] = frozenset()
    """Of the name; these group nothing."""
    notes: tuple[str, ...] = ()
    is_lowest: bool = False
    is_default: bool = False
    """The goal names none: it is what the table is about."""
    mention: ColumnMention | None = None


def read_quantity(sentence: Sentence, filters: FilterReading, *, has_groups: bool) -> QuantityReading | None:
    """What a goal asks to be computed; None if it does not say."""
    counted = _counted(sentence, filters)
    if counted:
        return counted
    if most := _most_groups(sentence):
        return most
    measures = measure_mentions(sentence)
    if measures:
        undivided = [each for each in measures if sentence.lead(each.at[0]) not in {"per", "pro", "je"}] or measures
        named = [each for each in undivided if each.is_noun]
        chosen = (named or undivided)[0]
        return of_measure(sentence, chosen, has_groups=has_groups)
    if sentence.says("how much", "wie viel") and (money := _any_money(sentence)):
        note = f"“How much” was read as the sum of {money.column.name[:60]}."
        quantity = Quantity(how=_how(sentence, money, has_groups=has_groups), column=money.name, words="how much")
        return QuantityReading(quantity=quantity, notes=(note,))
    return _of_table(sentence, filters) or _of_conditions(sentence)


def _of_conditions(sentence: Sentence) -> QuantityReading | None:
    """Rows that only a condition is named of: `amount >= 500`."""
    named = [each for each in sentence.mentions.columns if each.known.role == "measure"]
    if not named or not all(sentence.absorbed.intersection(each.at) for each in named):
        return None
    return QuantityReading(quantity=Quantity(how="count", table=named[0].known.table.name, words="rows"))


def measure_mentions(sentence: Sentence) -> list[ColumnMention]:
    """Measures that a goal names, but for those that only say of what a filter is."""
    return [
        each
        for each in sentence.mentions.columns
        if each.known.role == "measure" and not sentence.absorbed.intersection(each.at)
    ]


def default_quantity(kind: QuestionKind, sentence: Sentence, table: TableProfile | None) -> QuantityReading | None:
    """What a table is about, for a goal that does not say: its money, its pieces, its first measure, or its rows."""
    if table is None:
        return None
    names = sentence.names
    if sentence.has(SHARE):
        owners = [each.options[0].owner.table.name for each in sentence.mentions.values]
        owners += [each.known.table.name for each in sentence.mentions.columns]
        rows = table.name if table.name in owners or not owners else owners[0]
        return QuantityReading(quantity=Quantity(how="count", table=rows, words="rows"), is_default=True)
    if sentence.has({"list"}) or sentence.says("are there", "gibt es", "do we have", "exist"):
        owners = [each.known.table.name for each in sentence.mentions.columns]
        quantity = Quantity(how="count", table=owners[0] if owners else table.name, words="rows")
        return QuantityReading(quantity=quantity, is_default=True)
    known = names.money_of(table.name) or names.pieces_of(table.name)
    measures = [each for each in names.of_table(table.name) if each.role == "measure" and "birth" not in each.parts]
    known = known or next((each for each in measures if names.is_added_up(each)), None)
    if kind in {"trend", "change", "drivers", "relation"}:
        known = known or (measures[0] if measures else None)
    if known is None or sentence.has({"who", "wer"}):
        quantity = Quantity(how="count", table=table.name, words=table.name)
        note = f"No measure is named: the rows of {table.name[:60]} are counted."
        return QuantityReading(quantity=quantity, notes=(note,), is_default=True)
    how = _how(sentence, known, has_groups=True)
    note = f"No measure is named: the {how} of {known.column.name[:60]} is looked at."
    quantity = Quantity(how=how, column=known.name, words=known.spoken)
    return QuantityReading(quantity=quantity, notes=(note,), is_default=True)


def _most_groups(sentence: Sentence) -> QuantityReading | None:
    """`which region has the most cities`: values of a column counted once each."""
    columns = [each for each in sentence.mentions.columns if each.known.role in {"group", "id"}]
    for mention in columns:
        others = [each for each in (*columns, *sentence.mentions.tables) if each is not mention]
        if any(map(sentence.is_grouped, others)) and sentence.lead(mention.at[0]) in COUNTED_MOST:
            quantity = Quantity(how="distinct", column=mention.known.name, words=mention.said)
            return QuantityReading(quantity=quantity, places=frozenset(mention.at))
    return None


# ── measures ──


def of_measure(sentence: Sentence, mention: ColumnMention, *, has_groups: bool) -> QuantityReading:
    """What is computed of a measure."""
    how = _how(sentence, mention.known, has_groups=has_groups, default=mention.how)
    notes = [mention.note] if mention.note else []
    if mention.is_meant:
        notes = [note.replace("the sum of", f"the {how} of").replace("the mean of", f"the {how} of") for note in notes]
    if how == "max" and sentence.has(LOWEST):
        notes.append("Of the highest and the lowest, the highest is told.")
    quantity = Quantity(how=how, column=mention.known.name, words=mention.said)
    if how == "mean" and mention.is_meant and mention.how is None and (each := _each(sentence)):
        quantity = replace(quantity, how="sum")
        name = mention.known.column.name[:60]
        notes = [f"“Average {mention.said} per {each}” was read as the sum of {name} for each {each}."]
    if is_per_row(sentence, mention.known.table.name) and how == "sum":
        quantity = Quantity(how="mean", column=mention.known.name, words=mention.said)
    return QuantityReading(
        quantity=quantity,
        places=frozenset(mention.at),
        notes=tuple(notes),
        is_lowest=mention.is_lowest,
        mention=mention,
    )


def as_extreme(sentence: Sentence, found: QuantityReading, *, is_lowest: bool) -> QuantityReading:
    """The greatest or least single value, for `the heaviest penguin`: nothing tells rows apart that could be ranked."""
    quantity = found.quantity
    if quantity.column is None or quantity.how not in {"mean", "sum"} or sentence.has(MEAN | SUM):
        return found
    return replace(found, quantity=replace(quantity, how="min" if is_lowest else "max"))


def divided_by(sentence: Sentence, found: QuantityReading) -> str:
    """The measure that a goal divides by: `revenue per visitor`; empty if it does not."""
    for mention in measure_mentions(sentence):
        if sentence.lead(mention.at[0]) in {"per", "pro", "je"} and not found.places.intersection(mention.at):
            return mention.known.column.name
    return ""


def _each(sentence: Sentence) -> str:
    """Of what an average is taken that has a sum of its own: a month, a customer."""
    if sentence.time.unit and sentence.time.is_trend:
        return sentence.time.unit
    led = (
        each for each in sentence.mentions.tables if sentence.lead(each.at[0]) in {"per", "each", "every", "pro", "je"}
    )
    return next((each.said for each in led if sentence.names.facts_about(each.table.name)), "")


def is_per_row(sentence: Sentence, table: str) -> bool:
    """Whether a measure is asked for one row: `revenue per order`."""
    led = (mention for mention in sentence.mentions.tables if mention.table.name == table)
    return any(
        sentence.lead(mention.at[0]) in {"per", "each", "pro", "je", "every"} for mention in led
    ) or sentence.says("per row", "per sale", "per purchase", "per transaction", "an order")


def _how(sentence: Sentence, known: KnownColumn, *, has_groups: bool, default: Aggregate | None = None) -> Aggregate:
    if sentence.has(MEAN) or sentence.says("on average", "im schnitt"):
        return "mean"
    if sentence.has(MEDIAN):
        return "median"
    if sentence.has(SUM) and not MEAN_MONEY.intersection(known.parts):
        return "sum"
    if not has_groups and sentence.top == 0:
        if sentence.has(HIGHEST):
            return "max"
        if sentence.has(LOWEST) and not sentence.says("at least"):
            return "min"
    if default:
        return default
    is_mean_money = bool(MEAN_MONEY.intersection(known.parts))
    is_sum = (known.has_money and not is_mean_money) or sentence.names.is_added_up(known)
    return "sum" if is_sum else "mean"


def _any_money(sentence: Sentence) -> KnownColumn | None:
    names = sentence.names
    return next((found for table in names.tables if (found := names.money_of(table.name))), None)


# ── counts ──


def _counter_place(sentence: Sentence) -> int | None:
    folded, used = [word.folded for word in sentence.words], sentence.mentions.used
    for place in range(len(folded)):
        if tuple(folded[place : place + 2]) in _COUNTERS and place not in used:
            return place + 2
        if folded[place] in _COUNT_WORDS and place not in used:
            return place + 1
    if sentence.says("how often", "wie oft"):
        return len(folded)
    return None


def _counted(sentence: Sentence, filters: FilterReading) -> QuantityReading | None:
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
            how: Aggregate = "mean" if is_mean or sentence.has(MEAN) else "sum"
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


def _of_table(sentence: Sentence, filters: FilterReading) -> QuantityReading | None:
    """Rows that are named without a measure: `orders by region`, `the busiest month`."""
    skipped = threshold_tables(sentence)
    tables = [each for each in sentence.mentions.tables if each.at[0] not in skipped]
    plain = [each for each in tables if not sentence.is_grouped(each) or _ranks(sentence, each)]
    for mention in plain:
        if sentence.words[mention.at[0]].folded in REVENUE and (money := _any_money(sentence)):
            note = f"“{mention.said[:1].upper()}{mention.said[1:]}” was read as the sum of {money.column.name[:60]}."
            how = _how(sentence, money, has_groups=True)
            quantity = Quantity(how=how, column=money.name, words=mention.said)
            return QuantityReading(quantity=quantity, places=frozenset(mention.at), notes=(note,))
    if plain:
        # `customers with most orders` counts orders: the table of what happened comes first.
        chosen = _finest(plain) if len(plain) > 1 else plain[0]
        return _rows_of(sentence, chosen, filters)
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


def table_of(quantity: Quantity) -> str:
    """Whose rows a quantity is computed from."""
    return quantity.column.table if quantity.column else quantity.table


def group_column(sentence: Sentence, mention: TableMention, base: str) -> NamedColumn | None:
    """The column by which a table's things are told apart: the one of the rows themselves, a name, or a key."""
    names = sentence.names
    own = [known for known in mention.columns if known.table.name == base and known.role != "time"]
    said = [known for known in own if known.role == "group"]
    label = names.label_of(mention.table.name)
    if said:
        return said[0].name
    if label:
        return label.name
    keyed = names.joined_to(base).get(mention.table.name)
    if keyed:
        return NamedColumn(table=base, column=keyed[0])
    there = [known for known in mention.columns if known.role in {"id", "group"}]
    return (own or there)[0].name if own or there else None


def is_group_flag(sentence: Sentence, mention: ColumnMention) -> bool:
    """Whether a flag groups, rather than filters."""
    return mention.known.role == "flag" and is_flag_group(sentence, mention)
