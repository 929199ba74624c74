"""What a goal computes: rows counted, values counted once each, numbers added up or averaged. Pure."""

from __future__ import annotations

from cellwright.analyst.goal.counts import count_conditions, count_most, count_table, read_count
from cellwright.analyst.goal.filters import FilterReading, is_flag_group
from cellwright.analyst.goal.measures import QuantityReading, any_money, choose_aggregate, measure_mentions, of_measure
from cellwright.analyst.goal.mentions import ColumnMention, TableMention
from cellwright.analyst.goal.question import Quantity, QuestionKind
from cellwright.analyst.goal.question_vocabulary import KINDS, SHARE
from cellwright.analyst.goal.request import NamedColumn
from cellwright.analyst.goal.sentence import Sentence
from cellwright.profiles.profile import TableProfile


def read_quantity(sentence: Sentence, filters: FilterReading, *, has_groups: bool) -> QuantityReading | None:
    """What a goal asks to be computed; None if it does not say."""
    counted = read_count(sentence, filters)
    if counted:
        return counted
    if most := count_most(sentence):
        return most
    measures = measure_mentions(sentence)
    if measures:
        counted = [each for each in sentence.mentions.tables if not sentence.is_grouped(each)]
        if counted and all(sentence.lead(each.at[0]) in {"by", "nach", "je", "pro"} for each in measures):
            return count_table(sentence, filters)
        undivided = [each for each in measures if sentence.lead(each.at[0]) not in {"per", "pro", "je"}] or measures
        named = [each for each in undivided if each.is_noun]
        chosen = (named or undivided)[0]
        return of_measure(sentence, chosen, has_groups=has_groups)
    if sentence.says("how much", "wie viel") and (money := any_money(sentence)):
        note = f"“How much” was read as the sum of {money.column.name[:60]}."
        quantity = Quantity(
            how=choose_aggregate(sentence, money, has_groups=has_groups), column=money.name, words="how much"
        )
        return QuantityReading(quantity=quantity, notes=(note,))
    return count_table(sentence, filters) or count_conditions(sentence)


def default_quantity(kind: QuestionKind, sentence: Sentence, table: TableProfile | None) -> QuantityReading | None:
    """What a table is about, for a goal that does not say: its money, its pieces, its first measure, or its rows."""
    if table is None:
        return None
    names = sentence.names
    if sentence.has(SHARE):
        owners = [each.options[0].owner.table.name for each in sentence.mentions.values]
        owners += [each.known.table.name for each in sentence.mentions.columns]
        rows = table.name if table.name in owners or not owners else owners[0]
        if of_each := names.measure_of_grid(rows):
            note = f"No measure is named: shares are of the sum of {of_each.column.name[:60]}."
            quantity = Quantity(how="sum", column=of_each.name, words=of_each.spoken)
            return QuantityReading(quantity=quantity, notes=(note,), is_default=True)
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
    is_who = sentence.has({"who", "wer"}) and not any(map(sentence.is_grouped, sentence.mentions.tables))
    if known is None or is_who:
        quantity = Quantity(how="count", table=table.name, words=table.name)
        note = f"No measure is named: the rows of {table.name[:60]} are counted."
        return QuantityReading(quantity=quantity, notes=(note,), is_default=True)
    how = choose_aggregate(sentence, known, has_groups=True)
    note = f"No measure is named: the {how} of {known.column.name[:60]} is looked at."
    quantity = Quantity(how=how, column=known.name, words=known.spoken)
    return QuantityReading(quantity=quantity, notes=(note,), is_default=True)


def group_column(sentence: Sentence, mention: TableMention, base: str) -> NamedColumn | None:
    """The column by which a table's things are told apart: the one of the rows themselves, a name, or a key.

    Of `which kind of plane`, the one that says the kind.
    """
    names = sentence.names
    if sentence.is_kind(mention.at[0]):
        kinds = (known for known in names.of_table(mention.table.name) if KINDS.intersection(known.parts))
        return next((known.name for known in kinds if known.role == "group"), None)
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
