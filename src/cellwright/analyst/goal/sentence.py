"""A goal's words with what each of them names, before they are read as a question. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from cellwright.analyst.goal.data_names import DataNames
from cellwright.analyst.goal.date_ranges import TimeCoverage
from cellwright.analyst.goal.goal_text import GoalWord, split_words
from cellwright.analyst.goal.mentions import (
    ColumnMention,
    Mentions,
    TableMention,
    ValueMention,
    find_mentions,
)
from cellwright.analyst.goal.number_words import NumberMention, find_numbers, find_top
from cellwright.analyst.goal.question_vocabulary import (
    ADJECTIVES,
    ARTICLES,
    COUNTED_MOST,
    GROUPERS,
    KINDS,
    MOST,
    RANKERS,
)
from cellwright.analyst.goal.request import DateRange
from cellwright.analyst.goal.spelling import correct_spelling
from cellwright.analyst.goal.time_words import TimeReading, find_time, read_spans, read_steps, years_covered
from cellwright.analyst.goal.vocabulary import words_in

NO_TIME: Final = TimeCoverage(first=date(3, 1, 2), last=date(3, 1, 2))
"""Of data in which nothing says when: spans are found by their words, and mean nothing."""
_PARTICIPLES: Final = words_in(
    "spent bought ordered placed made paid purchased sold earned generated caused driven used"
)
AnyMention = ColumnMention | ValueMention | TableMention


@dataclass(slots=True, kw_only=True)
class Sentence:
    """What a goal's words name."""

    text: str
    words: tuple[GoalWord, ...]
    names: DataNames
    mentions: Mentions
    numbers: list[NumberMention]
    time: TimeReading
    spans: tuple[DateRange, ...]
    top: int
    taken: set[int]
    """Words that say a time, a number or how many."""
    notes: list[str] = field(default_factory=list[str])
    absorbed: set[int] = field(default_factory=set[int])
    """Words whose columns only say of what a filter is."""

    @property
    def used(self) -> set[int]:
        """Words that are explained by what they name."""
        return self.taken | self.mentions.used

    def has(self, words: Collection[str]) -> bool:
        """Whether one of some words is said, and names nothing of the data."""
        return self.place(words) is not None

    def place(self, words: Collection[str]) -> int | None:
        """Where one of some words stands first."""
        used = self.used - self._meant
        return next((at for at, word in enumerate(self.words) if word.folded in words and at not in used), None)

    @property
    def _meant(self) -> set[int]:
        """Words that say what is computed and which end of it: `longest`."""
        return {place for each in self.mentions.columns if each.is_meant for place in each.at}

    def says(self, *phrases: str) -> bool:
        """Whether one of some phrases of folded words is said."""
        spoken = f" {' '.join(word.folded for word in self.words)} "
        return any(f" {phrase} " in spoken for phrase in phrases)

    def lead(self, place: int) -> str:
        """The word that leads a name in: the one before it, articles passed over."""
        at = place - 1
        while at >= 0 and (
            at in self.taken
            or self.words[at].folded in {"performing", "selling"}
            or (self.words[at].folded in ARTICLES and self.words[at].folded not in {"each", "every"})
            or self._is_value(at)
            or self.is_modifier(at)
            or self._says_kind(at)
        ):
            at -= 1
        return self.words[at].folded if at >= 0 else ""

    def is_modifier(self, place: int) -> bool:
        """Whether a table's word only says of what the column behind it is: `customer segment`."""
        tables = [each.table.name for each in self.mentions.tables if place in each.at]
        nouns = [each.known for each in self.mentions.columns if not each.is_meant and place + 1 == each.at[0]]
        # `weather delays departures`: a verb, where the delays are not of the weather.
        return any(self.names.is_reachable(known.table.name, table) for known in nouns for table in tables)

    def is_kind(self, place: int) -> bool:
        """Whether kinds of what is named are meant, not each of them: `which kind of weather`."""
        return place > 0 and self._says_kind(place - 1)

    def _says_kind(self, place: int) -> bool:
        said = {"of": place - 1}.get(self.words[place].folded, place)
        is_followed = said + 1 < len(self.words) and self.words[said + 1].folded == "of"
        return is_followed and said >= 0 and self.words[said].folded in KINDS and said not in self.mentions.used

    def _is_value(self, place: int) -> bool:
        return any(place in value.at for value in self.mentions.values)

    def is_grouped(self, mention: AnyMention) -> bool:
        """Whether a name is what is grouped by: `per region`, `which region`, `the best region`."""
        lead = self.lead(mention.at[0])
        is_asked = lead in {"what", "whose", "who"} and mention.at[0] <= 3
        if isinstance(mention, TableMention) and self.is_modifier(mention.at[0]):
            return False
        if lead == "by" and self._is_agent(mention.at[0]):
            return False
        return lead in GROUPERS or lead in RANKERS - COUNTED_MOST or is_asked or self.is_superlative(mention.at[0])

    def is_ranked_value(self, value: ValueMention) -> bool:
        """`which drink`, `the best selling drink`: what is asked for is of that kind."""
        return self.lead(value.at[0]) in (RANKERS - COUNTED_MOST) | {"which", "welcher", "welches", "welche"}

    def _is_agent(self, place: int) -> bool:
        """`spent by customers`: who did it, not what is grouped by."""
        at = next((at for at in range(place - 1, -1, -1) if self.words[at].folded == "by"), 0)
        return at > 0 and self.words[at - 1].folded in _PARTICIPLES

    def is_superlative(self, place: int) -> bool:
        """Whether an adjective puts a name first: `the hottest room`, `the most expensive product`."""
        before = [word.folded for word in self.words[max(0, place - 2) : place]]
        has_ending = bool(before) and before[-1] in ADJECTIVES and before[-1].endswith("est")
        return has_ending or (len(before) == 2 and before[1] in ADJECTIVES and before[0] in {"most", "least"})

    def cut(self, first: int, last: int) -> str:
        """The goal's own words from one to another."""
        return " ".join(self.text[self.words[first].start : self.words[last].end].split())[:80]


def read_sentence(text: str, names: DataNames) -> Sentence:
    """What the words of a goal name."""
    found = find_time(names, [table.name for table in names.tables])
    covered = found[1] if found else None
    spans, dated = read_spans(text, split_words(text), covered or years_covered(names) or NO_TIME)
    words, notes = correct_spelling(split_words(text), names, dated)
    numbers = find_numbers(text, words, dated)
    taken = dated | {place for each in numbers for place in each.at if place != each.unit_at}
    # A column may be called like a step of time, so names come first: `shipping days`.
    mentions = find_mentions(words, names, taken)
    time = read_steps(words, taken | mentions.used, covered)
    taken |= time.places
    nouns = {place for each in (*mentions.columns, *mentions.tables) for place in each.at}
    top, places = find_top(words, taken, RANKERS | (MOST - {"more", "better"}), nouns)
    return Sentence(
        text=text,
        words=words,
        names=names,
        mentions=mentions,
        numbers=numbers,
        time=time,
        spans=spans,
        top=top,
        taken=taken | places,
        notes=[*notes, *time.notes],
    )
