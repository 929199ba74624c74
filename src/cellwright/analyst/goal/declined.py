"""What no plain analysis gives, said in one sentence, with the nearest questions that can be answered. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from cellwright.analyst.goal.data_names import DataNames, KnownColumn
from cellwright.analyst.goal.goal_text import fold, singular
from cellwright.analyst.goal.question import DeclinedQuestion, Quantity
from cellwright.analyst.goal.sentence import Sentence
from cellwright.analyst.goal.time_words import find_time
from cellwright.analyst.goal.vocabulary import NEEDS_MODEL

_OTHER_ASKS: Final = {
    "a forecast or prediction": r"\b(?:will (?:we|the|our|i|it|there|they)"
    r"|will \w+ (?:rise|fall|grow|be|drop|increase|decrease)|tomorrow|in the future|projection|projected|outlook"
    r"|next (?:week|month|quarter|year|season|\d+)|expected (?:revenue|sales)|going to (?:be|sell|earn|have))\b",
    "what would happen if things were different": r"\bwhat if\b|\bwhat (?:would|will|could) happen\b|\bwould\b.*\bif\b"
    r"|\bif (?:we|i|you) (?:\w+ )?(?:doubled?|raised?|lower(?:ed)?|increased?|cut|stop(?:ped)?|had|closed?"
    r"|drop(?:ped)?|were|change)\b|\bsuppose\b|\bsimulat\w*\b|\bscenarios?\b",
    "a figure of spread": r"\b(?:standard deviation|std|variance|percentiles?|quantiles?|quartiles?|skewness|kurtosis"
    r"|confidence interval)\b",
    "advice": r"\bshould (?:we|i|they|you|the|our|one)\b(?! (?:know|look|watch|see|expect))"
    r"|\bwhat (?:can|could|do) (?:we|i) do\b|\brecommendations?\b|\badvi[cs]e\b|\byour opinion\b|\bsuggest\w*\b"
    r"|\bhow (?:can|could|do|might) (?:we|i|you) (?:increase|improve|grow|boost|raise|reduce|sell|make|get|fix"
    r"|lower|cut|save|earn)\b|\bwhat do you (?:think|recommend|suggest)\b|\bstrategy\b|\bworth it\b|\bbest way to\b",
    "a conversation": r"^\W*(?:hi|hello|hey|good morning|thanks?|thank you|hallo|moin)(?: there| all| you)?\W*$"
    r"|\bhow are you\b|\bwho are you\b|\bjokes?\b|\bsing\b|\bmeaning of life\b",
    "code to be written": r"\bwrite\b.*\b(?:sql|query|python|code|script|program)\b",
    "an action outside the notebook": r"^\W*(?:please )?(?:send|e-?mail|delete|remove|update|upload|publish|deploy"
    r"|export|save|download|drop (?:the )?(?:columns?|rows?|tables?|duplicates?))\b",
    "a text to be written": r"\b(?:write|draft|compose)\b.*"
    r"\b(?:report|newsletter|memo|summary for|tweet|announcement|presentation|slides?|mail|text)\b",
    "a machine-learning model": r"\b(?:machine learning|neural net\w*|random forest|xgboost|churn (?:model|prediction)"
    r"|propensity|k-?means|dbscan|market basket)\b",
}
_WITH_MODEL: Final = (
    "With a model, Cellwright can plan, write and check code for {what}; without one it counts, compares and tests."
)


def asked_beyond(text: str, names: DataNames) -> tuple[str, tuple[int, int]] | None:
    """What a goal asks for that no plain analysis gives, and where; None if it asks for nothing of that kind."""
    plain = _folded(text)
    for what, pattern in (*_OTHER_ASKS.items(), *NEEDS_MODEL.items()):
        for match in re.finditer(pattern, plain):
            # A word that the data itself has is about the data: a column `recommend`, a channel `export`.
            said, before = match.group(0), plain[: match.start()]
            is_relation = said == "predict" and re.search(r"\b(?:do|does|which|what)\b", before)
            if not _is_of_data(said, names) and not is_relation:
                return what, match.span()
    return None


def _folded(text: str) -> str:
    """As long as the text itself, so that places fit."""
    table = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "Ä": "a", "Ö": "o", "Ü": "u"})
    return "".join(" " if sign.isspace() else sign for sign in text.translate(table).lower()[: len(text)])


def _is_of_data(phrase: str, names: DataNames) -> bool:
    words = [singular(fold(word)) for word in re.findall(r"[^\W_]+", phrase)]
    return len(words) == 1 and bool(names.called(words[0]))


def decline(
    why: str, sentence: Sentence | None, names: DataNames, *, what: str = "", quantity: Quantity | None = None
) -> DeclinedQuestion:
    """A declined question with the nearest ones that can be answered; `what` a model could do about it, if anything."""
    return DeclinedQuestion(
        why=why,
        nearest=tuple(dict.fromkeys(nearest_questions(names, sentence, quantity, what)))[:6],
        model_would=_WITH_MODEL.format(what=what) if what else "",
    )


def nearest_questions(
    names: DataNames, sentence: Sentence | None, quantity: Quantity | None, what: str
) -> Iterator[str]:
    """Questions in the data's own names, those about what the goal names first."""
    main = names.main
    if main is None:
        return
    known = names.find(quantity.column) if quantity and quantity.column else None
    measure = known if known and known.role == "measure" else _measure(names, main.name)
    group = _group(names, sentence, measure.table.name if measure else main.name)
    if measure:
        how = "total" if measure.has_money or names.is_added_up(measure) else "average"
        is_timed = find_time(names, [measure.table.name]) is not None
        if is_timed and what.startswith("a forecast"):
            yield f"How did {measure.spoken} develop month by month?"
        yield f"What is the {how} {measure.spoken}?"
        if group:
            yield f"Which {group.spoken} has the highest {measure.spoken}?"
        if is_timed:
            yield f"How did {measure.spoken} develop month by month?"
    if group:
        yield f"How many rows are there per {group.spoken}?"
    yield "What is wrong with this data?"
    yield "Summarise the data"


def _measure(names: DataNames, table: str) -> KnownColumn | None:
    own = [known for known in names.of_table(table) if known.role == "measure"]
    return names.money_of(table) or next((known for known in own if names.is_added_up(known)), own[0] if own else None)


def _group(names: DataNames, sentence: Sentence | None, base: str) -> KnownColumn | None:
    reachable = {base, *names.joined_to(base)}
    said = [mention.known for mention in sentence.mentions.columns] if sentence else []
    values = [value.options[0].owner for value in sentence.mentions.values] if sentence else []
    columns: Sequence[KnownColumn] = [*said, *values, *names.columns]
    fitting = (known for known in columns if known.role == "group" and known.table.name in reachable)
    return next((known for known in fitting if 1 < known.column.distinct <= 50), None)
