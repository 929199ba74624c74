"""Which kind of question a goal's words ask. Pure."""

from __future__ import annotations

from typing import Final

from cellwright.analyst.goal.filters import FilterReading
from cellwright.analyst.goal.measures import measure_mentions
from cellwright.analyst.goal.mentions import ColumnMention
from cellwright.analyst.goal.question import QuestionKind, ValueFilter
from cellwright.analyst.goal.question_vocabulary import (
    COMPARE,
    DISTRIBUTION,
    DRIVERS,
    INFLUENCE,
    LOWEST,
    MOST,
    MOVED,
    OUTLIERS,
    OVERVIEW,
    QUALITY,
    RANKERS,
    RELATION,
    ROWS,
    SHARE,
    TREND,
    WHY,
)
from cellwright.analyst.goal.sentence import Sentence
from cellwright.analyst.goal.vocabulary import words_in

FEW_NUMBERS: Final = 24
"""Different numbers of a measure that can still be groups."""
_CHANGED: Final = words_in("change changes changed changing spike spikes loss improve")
"""They do not say which way: `which region sells most, and how did it change` is a ranking."""
_FLAWS: Final = words_in(
    "duplicate duplicates duplicated missing null nulls error errors problem problems issue issues gaps",
    "inconsistencies dubletten fehlende fehler mistakes invalid",
)
"""Flaws that can be counted; other words of quality say something else behind `how many`: `complete orders`."""
_HOW_IS_IT: Final = (
    "is the business doing", "is business going", "are we doing", "is the shop doing", "are things going",
    "is it going", "how is business", "business doing", "is our business doing",
)  # fmt: skip
_COMPARATIVES: Final = words_in(
    "more less higher lower better worse larger smaller bigger longer shorter heavier lighter faster slower warmer",
    "colder older younger happier cheaper hotter cooler",
)
_ASKS: Final = words_in("which who whose welche welcher welches wer")


def read_kind(sentence: Sentence, filters: FilterReading) -> QuestionKind:
    """The kind that the words ask for, most telling first."""
    is_named = bool(sentence.mentions.columns or sentence.mentions.values or sentence.mentions.tables)
    if flawed := _quality(sentence, is_named=is_named):
        return flawed
    if sentence.has(OUTLIERS):
        return "outliers"
    if sentence.has(SHARE) or ("%" in sentence.text and sentence.says("of") and not sentence.numbers):
        return "share"
    if sentence.has({"half", "majority"}) and sentence.says("half of", "majority of"):
        return "share"
    if sentence.says("how much of", "what part of", "which part of", "what portion of"):
        return "share"
    if change := _change(sentence):
        return change
    if related := _related(sentence):
        return related
    if len(sentence.spans) == 2 and not is_ranked(sentence):
        return "change"
    if is_ranked(sentence):
        return "groups" if filters.compared and not sentence.top and not sentence.time.is_asked else "ranking"
    if _is_spread(sentence):
        return "outliers"
    if (
        sentence.time.is_trend
        or sentence.has(TREND)
        or sentence.has({"getting", "becoming"})
        or sentence.says("over time", "so far", "over the years")
    ):
        return "trend"
    grouped = any(map(sentence.is_grouped, sentence.mentions.columns))
    if sentence.has(OVERVIEW) and not measure_mentions(sentence) and not filters.placed and not grouped:
        return "overview"
    has_time = bool(sentence.names.main and sentence.names.main.time_column)
    is_bare = not grouped and not filters.placed and not sentence.spans and not sentence.time.part
    if sentence.has(OVERVIEW) and is_bare and has_time and not _is_aggregated(sentence):
        return "trend"
    if is_one_against_rest(sentence, filters):
        return "groups"
    if filters.compared and (sentence.has(COMPARE | _COMPARATIVES) or sentence.has({"between", "zwischen"})):
        return "groups"
    return "figure"


def is_one_against_rest(sentence: Sentence, filters: FilterReading) -> bool:
    """`are business customers more satisfied`: one group is named, all are compared."""
    first = sentence.words[0].folded if sentence.words else ""
    values = [each.filter for each in filters.placed if isinstance(each.filter, ValueFilter)]
    is_asked = first in {"is", "are", "do", "does", "did", "was", "were", "have", "has"}
    is_compared = any(
        word.folded in _COMPARATIVES for place, word in enumerate(sentence.words) if place not in sentence.taken
    )
    return is_asked and is_compared and len(values) == 1 and not filters.compared and not values[0].is_excluded


def _quality(sentence: Sentence, *, is_named: bool) -> QuestionKind | None:
    is_overview = sentence.has(OVERVIEW)
    if sentence.has(QUALITY) and not sentence.has(MOVED) and not sentence.says("went wrong", "what happened"):
        is_counted = sentence.says("how many", "number of", "wie viele", "count of")
        if is_overview and not sentence.says("data quality", "quality of"):
            return "overview"
        if not is_counted or sentence.has(_FLAWS):
            return "quality"
    columns = [each for each in sentence.mentions.columns if sentence.is_grouped(each)]
    if is_overview and not is_named:
        return "overview"
    is_of_columns = sentence.has({"columns", "column", "variables", "fields", "schema"})
    is_of_rows = sentence.says("first rows", "sample rows") or (
        sentence.has(ROWS) and sentence.has({"first", "head", "sample"})
    )
    if (is_of_columns or is_of_rows) and not is_named:
        return "overview"
    if sentence.says(*_HOW_IS_IT) and not measure_mentions(sentence):
        return "overview"
    if columns:
        return None
    if sentence.says(
        "tell me about",
        "what is in",
        "what s in",
        "first look",
        "look at",
        "what does the data",
        "know about",
        "need to know",
    ) and not (measure_mentions(sentence)):
        return "overview"
    return None


def is_why(sentence: Sentence) -> bool:
    """Whether what a change comes from is asked for."""
    return (
        sentence.has(WHY)
        or (sentence.has(DRIVERS) and sentence.has(MOVED))
        or sentence.says("what happened", "what made", "what led", "how come", "what went wrong")
    )


def _change(sentence: Sentence) -> QuestionKind | None:
    is_down = sentence.has({"down", "up"}) and not sentence.says("break down", "broken down", "drill down", "up to")
    moved = (
        sentence.has(MOVED)
        or is_down
        or sentence.says("went up", "went down", "go up", "go down", "gone up", "gone down", "going down", "going up")
    )
    why = is_why(sentence)
    if moved and why:
        return "change"
    if sentence.says("what happened", "what went wrong"):
        return "change"
    is_compared = len(sentence.spans) == 2 or sentence.has(_COMPARATIVES)
    if why and sentence.spans and (is_compared or not measure_mentions(sentence)):
        return "change"
    if sentence.has(MOVED - _CHANGED) and is_ranked(sentence) and not sentence.time.is_asked:
        return "change"
    is_trend = sentence.time.is_trend or sentence.says("over time", "over the years") or sentence.has(TREND)
    if moved and sentence.spans and not is_trend and not is_ranked(sentence):
        return "change"
    if moved and not sentence.spans and not is_ranked(sentence) and not _mentions_influence(sentence):
        return "trend"
    if sentence.says("compared to last year", "year over year", "yoy", "year on year") and not sentence.spans:
        return "trend"
    return None


def _mentions_influence(sentence: Sentence) -> bool:
    return sentence.has(RELATION | INFLUENCE | DRIVERS)


def _related(sentence: Sentence) -> QuestionKind | None:
    measures = measure_mentions(sentence)
    groups = [each for each in sentence.mentions.columns if each.known.role != "measure"]
    named = len(measures) + len(groups) + len(sentence.mentions.tables)
    is_influence = sentence.has(INFLUENCE) and not sentence.says("what matters", "matters most")
    if sentence.has(RELATION) or is_influence or sentence.says("go together", "goes with", "go with", "hand in hand"):
        if sentence.time.part:
            return "groups"
        return "relation" if len(measures) + len(groups) > 1 else "drivers"
    if sentence.has(DRIVERS) and named and not is_ranked(sentence):
        return "drivers"
    if sentence.says("what makes", "what made", "what leads", "what predicts", "what is behind", "what s behind"):
        return "drivers"
    if sentence.has(WHY) and measures:
        return "drivers"
    led = [
        each
        for each in measures
        if sentence.lead(each.at[0]) in {"by", "per", "nach", "je"} and not is_ranked(sentence)
    ]
    if len(measures) > 1 and any(each.known.column.distinct > FEW_NUMBERS for each in led):
        return "relation"
    first = sentence.words[0].folded if sentence.words else ""
    adjective = next((each for each in measures if each.is_meant and each.said.casefold().endswith("er")), None)
    if len(measures) > 1 and adjective is measures[0] and first in {"is", "are", "do", "does", "did", "were"}:
        return "relation"
    is_pair = len(measures) == 2 and sentence.has({"vs", "versus", "and", "against"})
    if (
        is_pair
        and not groups
        and not sentence.time.unit
        and not sentence.has(DISTRIBUTION)
        and not _is_aggregated(sentence)
    ):
        return "relation"
    return None


def few_numbers(sentence: Sentence) -> ColumnMention | None:
    """`distribution of satisfaction`: the measure with few values whose rows are counted, by each of them."""
    measures = measure_mentions(sentence)
    is_alone = len(measures) == 1 and len(sentence.mentions.columns) == 1 and not sentence.time.part
    if sentence.has(DISTRIBUTION) and is_alone and 1 < measures[0].known.column.distinct <= FEW_NUMBERS:
        return measures[0] if not sentence.time.unit else None
    return None


def _is_spread(sentence: Sentence) -> bool:
    """`distribution of body mass`: of one measure with many values, by nothing."""
    measures = measure_mentions(sentence)
    has_time = bool(sentence.time.part or sentence.time.unit)
    is_alone = len(measures) == 1 and len(sentence.mentions.columns) == 1 and not has_time
    return sentence.has(DISTRIBUTION) and is_alone and measures[0].known.column.distinct > FEW_NUMBERS


def _is_aggregated(sentence: Sentence) -> bool:
    return sentence.says("average", "total", "mean", "median", "how much", "how many", "sum")


def is_ranked(sentence: Sentence) -> bool:
    """Whether groups are put in an order: `which region sells most`, `top 5 cities`, `the busiest month`."""
    groups = [
        *(each for each in sentence.mentions.columns if each.known.role in {"group", "id", "flag"}),
        *sentence.mentions.tables,
    ]
    has_order = sentence.has(RANKERS) or any(each.is_lowest or each.is_meant for each in sentence.mentions.columns)
    if sentence.has({"who", "wer"}) and has_order:
        return True
    if sentence.time.is_asked or sentence.has({"rank", "ranking", "ranked"}):
        return True
    if sentence.top and groups:
        return True
    if has_order and not groups and any(map(sentence.is_ranked_value, sentence.mentions.values)):
        return True
    asked = any(sentence.lead(each.at[0]) in _ASKS | {"what"} and each.at[0] <= 6 for each in groups)
    if asked and (has_order or sentence.has(MOST | LOWEST)):
        return True
    if any(sentence.is_superlative(each.at[0]) for each in groups):
        return True
    if any(sentence.lead(each.at[0]) in RANKERS for each in groups) and not sentence.says("how many"):
        return True
    return any(_is_followed_by_order(sentence, each.at[-1]) for each in groups)


def _is_followed_by_order(sentence: Sentence, place: int) -> bool:
    """`regions with the highest revenue`."""
    behind = [word.folded for word in sentence.words[place + 1 : place + 4]]
    return bool(behind) and behind[0] in {"with", "having", "mit"} and any(word in RANKERS for word in behind[1:])
