"""The words goals are made of: which of them tell a purpose, and which ask for what no plain analysis gives. Pure."""

from __future__ import annotations

import re
from typing import Final

from cellwright.analyst.goal.request import Purpose


def words_in(*lines: str) -> frozenset[str]:
    """The words of some lines."""
    return frozenset(word for line in lines for word in line.split())


def _any(*lines: str) -> str:
    """A pattern for any of some words: `chang*` also stands for longer ones, `over_time` for two words."""
    words = (re.escape(word).replace(r"\*", r"\w*").replace("_", " ") for line in lines for word in line.split())
    return rf"\b(?:{'|'.join(words)})\b"


GENERAL: Final = words_in(
    "id key name names date time day total number amount value values count type code text data file table column",
    "row rows the and for with per average mean sum new old all other no yes group level unit first last net gross",
)
"""Parts of columns' names that alone name no column."""
EVERYDAY: Final = words_in(
    "yes no other others all none new old in on at by to of an is it as and or the any both total unknown open high",
    "low true false good bad data what which why how many more less than between over time month year week day",
)
"""Values that are everyday words: a goal that has them does not mean the value."""
MONEY: Final = words_in(
    "revenue sale turnover umsatz erlos income cost kosten expense spend spending ausgabe price preis profit gewinn",
    "earning money geld budget payment",
)
"""Words that mean columns of money where no column is called so."""
SYNONYMS: Final = (
    words_in("revenue sale turnover umsatz erlos income"),
    words_in("price preis"),
    words_in("quantity qty unit menge anzahl stuck"),
    words_in("profit gewinn margin marge"),
    words_in("cost kosten expense spend spending ausgabe"),
    words_in("customer client kunde kunden"),
    words_in("product item article produkt artikel"),
    words_in("region area gebiet territory"),
    words_in("country land nation"),
    words_in("city town stadt ort"),
    words_in("department abteilung team"),
    words_in("salary wage pay gehalt lohn"),
    words_in("store shop branch filiale"),
)

_MOVED: Final = _any(
    "fall* fell drop* declin* decreas* sink* sank shrink* shrank rise rises rising rose increas* grow* grew jump*",
    "chang* collaps* slump* surg* plung* went_up went_down go_up go_down gone_up gone_down going_up going_down",
    "gesunken gefallen gestiegen sinkt steigt ruckgang anstieg gestiegen",
)
_ASKS_WHY: Final = _any("why reason reasons cause causes caused explain* because warum wieso weshalb")
_PURPOSE_WORDS: Final[dict[Purpose, tuple[str, ...]]] = {
    "quality": (
        "clean* quality trust* missing duplicat* error errors problem problems issue issues outlier outliers",
        "reliab* valid* plausib* complete* sauber qualitat fehler* dubletten vollstandig* ausreisser",
    ),
    "relate": (
        "drive drives driver drivers driven driving relate related relates relation* correlat* depend* influenc*",
        "affect* effect effects impact* associat* factor factors predictor predictors what_predicts link linked",
        "determin* zusammenhang* einfluss* abhang*",
    ),
    "trend": (
        "trend* over_time time_series evol* development histor* growth season* monthly weekly daily yearly",
        "per_day per_week per_month per_quarter per_year by_day by_week by_month by_quarter by_year",
        "each_day each_week each_month every_day every_month entwicklung verlauf zeitlich* saison*",
    ),
    "compare": (
        "compar* versus vs differ* between across highest lowest best worst top rank* per by than against which",
        "vergleich* unterschied* gegen nach je",
    ),
    "overview": (
        "overview summar* explor* describ* first_look look_at tell_me_about analyse* analyze* analysis analysing",
        "analyzing understand* profil* what_is what_does what_do show insight insights report uberblick",
        "zusammenfass* beschreib* auswert* analysier* zeig*",
    ),
}
PURPOSES: Final[tuple[tuple[Purpose, str], ...]] = (
    ("change", rf"{_ASKS_WHY}.*{_MOVED}|{_MOVED}.*{_ASKS_WHY}"),
    ("change", _any("what_happened_to what_is_behind what_was_behind what_caused what_made")),
    ("change", rf"\bhow (?:much )?(?:did|has|have)\b.*{_MOVED}"),
    *((purpose, _any(*lines)) for purpose, lines in _PURPOSE_WORDS.items()),
)
"""Patterns over folded words; the first that fits is the purpose."""


def _made(verbs: str, things: str) -> str:
    return rf"{_any(verbs)}.{{0,40}}{_any(things)}"


NEEDS_MODEL: Final = {
    "a model": _made("train fit tune build create develop make", "model models classifier network pipeline regressor"),
    "a forecast or prediction": rf"(?!{_any('predictor predictors predicts')})"
    + _any("predict* forecast* prognos* vorhersag* extrapolat*"),
    "groups or recommendations to be learnt": _any("cluster clusters clustering segmentation recommender"),
    "a text to be written": _made(
        "write draft compose schreib*",
        "essay essays email emails e-mail e-mails letter letters blog article story stories poem poems speech post",
    ),
    "software to be written": _made(
        "write build create develop program code make",
        "app apps application website web_site script scripts function api bot game package software",
    ),
    "a translation": _any("translat* ubersetz*"),
    "something from the web": _any(
        "scrape scrapes scraping crawl* browse download* search_the_web search_the_internet"
    ),
    "a picture to be drawn": _made(
        "draw paint sketch design generate",
        "picture pictures image images logo logos illustration portrait cat dog",
    ),
    "a conversation": _any("chat_with tell_me_a_joke tell_a_joke joke jokes talk_to_me how_are_you who_are_you"),
    "text to be understood": _any("sentiment* classify_the categorise_the categorize_the extract_entities topics_of"),
    "something to be done outside a notebook": _any("send upload publish deploy delete convert")
    + r"|(?<!this )(?<!the )(?<!an )(?<!our )(?<!my )(?<!of )\bexport\b",
}
"""What goals ask for that no plain analysis gives → a pattern over folded words."""
