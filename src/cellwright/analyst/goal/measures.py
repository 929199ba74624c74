"""What is computed of a measure that a goal names: its sum, its mean, its extremes. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cellwright.analyst.goal.data_names import DataNames, KnownColumn
from cellwright.analyst.goal.goal_text import fold
from cellwright.analyst.goal.mentions import ColumnMention
from cellwright.analyst.goal.question import Aggregate, Quantity
from cellwright.analyst.goal.question_vocabulary import (
    ADJECTIVES,
    HIGHEST,
    LOWEST,
    MEAN,
    MEAN_MONEY,
    MEDIAN,
    SUM,
)
from cellwright.analyst.goal.request import NamedColumn
from cellwright.analyst.goal.sentence import Sentence


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


def measure_mentions(sentence: Sentence) -> list[ColumnMention]:
    """Measures that a goal names, but for those that only say of what a filter is."""
    return [
        each
        for each in sentence.mentions.columns
        if each.known.role == "measure" and not sentence.absorbed.intersection(each.at)
    ]


def of_measure(sentence: Sentence, mention: ColumnMention, *, has_groups: bool) -> QuantityReading:
    """What is computed of a measure."""
    how = choose_aggregate(sentence, mention.known, has_groups=has_groups, default=mention.how)
    is_single = how == "sum" and (
        is_per_row(sentence, mention.known.table.name) or _is_compared_singly(sentence, mention)
    )
    how = "mean" if is_single else how
    notes = [mention.note] if mention.note else []
    if mention.is_meant:
        notes = [note.replace("the sum of", f"the {how} of").replace("the mean of", f"the {how} of") for note in notes]
    if is_single and _is_compared_singly(sentence, mention):
        notes.append(f"“More” was read as more in one row of {mention.known.table.name[:60]}.")
    if how == "max" and sentence.has(LOWEST):
        notes.append("Of the highest and the lowest, the highest is told.")
    # `the heaviest` is told as a weight.
    words = mention.known.spoken if mention.is_meant and fold(mention.said) in ADJECTIVES else mention.said
    quantity = Quantity(how=how, column=mention.known.name, words=words)
    if how == "mean" and not is_single and mention.is_meant and mention.how is None and (each := _each(sentence)):
        quantity = replace(quantity, how="sum")
        name = mention.known.column.name[:60]
        notes = [f"“Average {mention.said} per {each}” was read as the sum of {name} for each {each}."]
    return QuantityReading(
        quantity=quantity,
        places=frozenset(mention.at),
        notes=tuple(notes),
        is_lowest=mention.is_lowest,
        mention=mention,
    )


def divided_by(sentence: Sentence, found: QuantityReading) -> str:
    """The measure that a goal divides by: `revenue per visitor`; empty if it does not."""
    for mention in measure_mentions(sentence):
        if sentence.lead(mention.at[0]) in {"per", "pro", "je"} and not found.places.intersection(mention.at):
            return mention.known.column.name
    return ""


def as_extreme(sentence: Sentence, found: QuantityReading, *, is_lowest: bool) -> QuantityReading:
    """The greatest or least single value, for `the heaviest penguin`: nothing tells rows apart that could be ranked."""
    quantity = found.quantity
    if quantity.column is None or quantity.how not in {"mean", "sum"} or sentence.has(MEAN | SUM):
        return found
    how: Aggregate = "min" if is_lowest else "max"
    notes = tuple(note.replace(f"the {quantity.how} of", f"the {how} of") for note in found.notes)
    return replace(found, quantity=replace(quantity, how=how), notes=notes)


def counted_once(names: DataNames, found: QuantityReading, tables: set[str]) -> QuantityReading:
    """The same over the rows of a finer table that a goal brings in: things are counted once each, or it is told."""
    quantity, base = found.quantity, table_of(found.quantity)
    own = names.joined_to(base)
    finer = next((each for each in sorted(tables) if base in names.joined_to(each) and each not in own), "")
    if not finer:
        return found
    if quantity.how == "count":
        key = NamedColumn(table=finer, column=names.joined_to(finer)[base][0])
        note = f"“{quantity.words}” was read as those named in {finer[:60]}, each counted once."
        return replace(
            found, quantity=replace(quantity, how="distinct", column=key, table=""), notes=(*found.notes, note)
        )
    if quantity.column and quantity.column.table == base and quantity.how != "distinct":
        note = f"Rows of {base[:60]} count as often as {finer[:60]} names them."
        return replace(found, notes=(*found.notes, note))
    return found


def _is_compared_singly(sentence: Sentence, mention: ColumnMention) -> bool:
    """`do firms buy more`: groups of different sizes are compared by what one does, not by what all do."""
    first = sentence.words[0].folded if sentence.words else ""
    acts = any(word.folded in {"buy", "spend", "pay", "order", "purchase", "kaufen"} for word in sentence.words)
    return first in {"do", "does", "did"} and acts and sentence.has({"more", "less", "mehr", "weniger"})


def is_per_row(sentence: Sentence, table: str) -> bool:
    """Whether a measure is asked for one row: `revenue per order`."""
    led = (mention for mention in sentence.mentions.tables if mention.table.name == table)
    return any(
        sentence.lead(mention.at[0]) in {"per", "each", "pro", "je", "every"} for mention in led
    ) or sentence.says("per row", "per sale", "per purchase", "per transaction", "an order")


def _each(sentence: Sentence) -> str:
    """Of what an average is taken that has a sum of its own: a month, a customer."""
    if sentence.time.unit and sentence.time.is_trend:
        return sentence.time.unit
    led = (
        each for each in sentence.mentions.tables if sentence.lead(each.at[0]) in {"per", "each", "every", "pro", "je"}
    )
    return next((each.said for each in led if sentence.names.facts_about(each.table.name)), "")


def choose_aggregate(
    sentence: Sentence, known: KnownColumn, *, has_groups: bool, default: Aggregate | None = None
) -> Aggregate:
    """How a measure is computed: as the goal says, else as measures of its kind are."""
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


def any_money(sentence: Sentence) -> KnownColumn | None:
    """The column of what was paid, of the table with most rows that has one."""
    names = sentence.names
    return next((found for table in names.tables if (found := names.money_of(table.name))), None)


def table_of(quantity: Quantity) -> str:
    """Whose rows a quantity is computed from."""
    return quantity.column.table if quantity.column else quantity.table
