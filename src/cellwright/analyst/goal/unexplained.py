"""Words of a goal that neither the data nor a question has. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cellwright.analyst.goal.declined import decline
from cellwright.analyst.goal.goal_text import name_parts
from cellwright.analyst.goal.measures import QuantityReading, table_of
from cellwright.analyst.goal.question import DeclinedQuestion, Quantity
from cellwright.analyst.goal.question_vocabulary import (
    ARRIVALS,
    ARTICLES,
    CARRIERS,
    COUNTED_MOST,
    EVENTS,
    KNOWN,
    REVENUE_VERBS,
    ROWS,
)
from cellwright.analyst.goal.sentence import Sentence

_FILLERS: Final = frozenset(
    [
        "hit",
        "hits",
        "ran",
        "runs",
        "ever",
        "altogether",
        "usually",
        "onwards",
        "report",
        "reports",
        "reported",
        "reporting",
        "happened",
        "happens",
        "happen",
        "got",
        "gets",
        "suffer",
        "suffered",
        "took",
        "takes",
        "everybody",
        "anybody",
        "somebody",
        "preparing",
        "bill",
        "truly",
        "actually",
        "exactly",
        "roughly",
        "briefly",
        "quickly",
        "currently",
        "presently",
        "overall",
    ]
)
"""Verbs and adverbs that change nothing about what is asked."""
_GROUPING: Final = frozenset(
    ["by", "per", "each", "every", "all", "which", "what", "rank", "among", "across", "between"]
)
_MAX_LISTED: Final = 3
_SAID_OF_SALES: Final = EVENTS | ARRIVALS | REVENUE_VERBS


@dataclass(frozen=True, slots=True)
class UnexplainedWords:
    """What nobody knows."""

    words: tuple[str, ...]
    is_grave: bool = True
    """Whether what is asked hangs on them: what is counted, by what, or of which rows."""

    @property
    def note(self) -> str:
        """What to say where the rest is answered."""
        return f"Not read, for the data has nothing of it: {self.listed.replace(' or ', ' and ')}."

    @property
    def listed(self) -> str:
        """Quoted, the first few."""
        quoted = [f"“{word[:40]}”" for word in self.words[:_MAX_LISTED]]
        return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)

    def declined(self, sentence: Sentence, quantity: Quantity | None) -> DeclinedQuestion:
        """The question, declined for them."""
        return decline(f"The data has nothing called {self.listed}.", sentence, sentence.names, quantity=quantity)


def find_unexplained(
    sentence: Sentence, found: QuantityReading | None, *, is_of_all: bool = False
) -> UnexplainedWords | None:
    """Words that carry meaning and were not read; None if every word was."""
    used = sentence.used
    # `which country buys most`: without a quantity, what is bought is asked for.
    is_asked = found is not None or sentence.has(COUNTED_MOST)
    has_sales = is_asked and any(sentence.names.money_of(table.name) for table in sentence.names.tables)
    said = {place for value in sentence.mentions.values for place in value.at}
    said |= {place for each in sentence.mentions.columns if each.known.role in {"flag", "group"} for place in each.at}
    left: list[str] = []
    is_grave = False
    rows = {place for place, word in enumerate(sentence.words) if word.folded in ROWS}
    for place, word in enumerate(sentence.words):
        if place in used or word.folded in KNOWN or word.folded in ROWS or word.folded in ARTICLES:
            continue
        if word.folded in _SAID_OF_SALES and (has_sales or sentence.mentions.tables):
            continue
        if word.folded in CARRIERS and place - 1 in said:
            continue
        if word.folded == "rate" and place and sentence.words[place - 1].folded == "growth":
            continue
        if is_of_all and place + 1 in rows | used:
            # `sensor readings`: of a goal about everything, what its rows are called changes nothing.
            continue
        if len(word.text) < 2 and not word.is_number:
            continue
        if any(each.at[0] == place + 1 and word.stem in each.known.parts for each in sentence.mentions.columns):
            # `net` before `generation`, of a column `net_generation`.
            continue
        before = {each.folded for each in sentence.words[max(place - 2, 0) : place]}
        if _is_in_name(word.folded, sentence, found) and not before & _GROUPING:
            continue
        left.append(word.text)
        is_grave = is_grave or _carries(sentence, place)
    return UnexplainedWords(tuple(dict.fromkeys(left)), is_grave) if left else None


def _is_in_name(word: str, sentence: Sentence, found: QuantityReading | None) -> bool:
    """`strikes` of a table `birdstrikes`, `Iowa` of `iowa-electricity`: what its rows are, and where from."""
    stem = word[:-1] if word.endswith("s") and len(word) > 4 else word
    names = [table_of(found.quantity)] if found else [table.name for table in sentence.names.tables]
    return any((len(stem) >= 5 and stem in name.casefold()) or stem in name_parts(name) for name in names)


def _carries(sentence: Sentence, place: int) -> bool:
    """Whether what is asked may hang on the word: on any but those that only carry a sentence."""
    return sentence.words[place].folded not in _FILLERS
