"""Figures and names in sentences, and whether quotes have them. Pure; no model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from cellwright.tools.evidence.card import CITATION, without_citations

_NUMBER: Final = re.compile(
    r"(?<![\w.,])[-−+]?\d{1,3}(?:[\u00a0\u202f ,.'’]\d{3})+(?:[.,]\d+)?(?![\d])|(?<![\w.,])[-−+]?\d+(?:[.,]\d+)?(?!\d)"
)
_SCALES: Final = {
    "thousand": 3, "k": 3, "tsd": 3, "million": 6, "millions": 6, "mio": 6, "mn": 6, "m": 6,
    "billion": 9, "billions": 9, "bn": 9, "mrd": 9, "trillion": 12, "tn": 12,
}  # fmt: skip
_SCALE: Final = re.compile(rf"[\s-]?({'|'.join(sorted(_SCALES, key=len, reverse=True))})\b", re.IGNORECASE)
_NUMERALS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_WORDS: Final = {word: Decimal(number) for number, word in enumerate(re.split(" ", _NUMERALS))}
_WORD: Final = re.compile(rf"\b({'|'.join(_WORDS)})\b", re.IGNORECASE)
_LABEL_WORDS: Final = (
    "version release section sec article art chapter clause step item paragraph para appendix annex page part table "
    "schedule rule abschnitt artikel kapitel absatz seite"
)
_PART: Final = r"\d+(?:\.\d+)*"
_LABELLED: Final = re.compile(
    rf"(?:\b(?:{'|'.join(re.split(' ', _LABEL_WORDS))})(?P<plural>s|n|en)?\.?|(?P<signs>§+)|(?<![^\W_])v\.?)\s?"
    rf"(?:[a-z]\.)?(?P<first>{_PART})(?P<more>(?:\s*(?:,\s*(?:and|or)?|and|or|und|oder|to|through|bis|[-–])\s*{_PART}"
    rf"(?![\d%]))*)",
    re.IGNORECASE,
)
"""What stands behind such a word names a thing and measures none."""
_DOTTED: Final = re.compile(r"(?<![\w.,])\d{1,2}(?:\.\d{1,2}){2,}(?!\.?\d)")
_RATIO: Final = re.compile(r"(?<![\d:])(\d{1,3})\s?:\s?(\d{1,3})(?![\d:])")
_UNIT: Final = re.compile(
    r"[\s-]*(?:(?P<rate>%|percent\b|per cent\b|prozent\b)|(?P<money>€|\$|£|(?:euro|eur|dollar|usd|pound|franc|chf)s?\b)"
    r"|(?P<time>second|minute|hour|day|week|month|quarter|year)s?\b)",
    re.IGNORECASE,
)
_MEASURED: Final = re.compile(r"\s*(?:%|percent|per cent|euros?\b|dollars?\b|€|\$)", re.IGNORECASE)
_COUNTED: Final = (
    "terms? things? points? changes? differences? sources? documents? versions? cards? reasons? kinds? ways? aspects? "
    "statements? answers? findings? examples? exceptions? questions? passages? quotes? topics? matters? respects?"
)
_OWN_COUNT: Final = re.compile(
    rf"\b(?:{'|'.join(list(_WORDS)[1:13])})\s+(?:[^\W\d_]+\s+)?(?:{'|'.join(re.split(' ', _COUNTED))})\b", re.IGNORECASE
)
"""Who writes `two terms stayed` counts what follows, and measures nothing."""
_IN_NAME: Final = re.compile(rf"(?<!\d)(?<!\d\.){_PART}")
_HEDGED: Final = re.compile(r"\b(about|around|roughly|nearly|almost|approximately|some|circa|ca\.?)\s*$|[~≈]\s*$", re.I)
_LIST_ITEM: Final = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_END: Final = re.compile(
    r"(?<=[.!?…])[\"”')\]]*\s+(?=[\"“'(\[]*(?:[^\W_a-z]|[a-z][\w-]*(?:\.[\w-]+)*\.(?:pdf|txt|html?|md|docx|csv|eml)\b))"
    r"|(?<=\][.!?])\s+"
)
"""A sentence may begin with the name of a file, and what was cited is over."""
_ABBREVIATED: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|approx|ca|cf|no|nos|dr|mr|mrs|ms|st|inc|ltd|co|fig|sec|est|etc|al|p|pp|jan|feb|mar|apr|jun"
    r"|jul|aug|sep|sept|oct|nov|dec)|\b[A-Z])\.$",
    re.IGNORECASE,
)
_LATE: Final = re.compile(rf"([.!?])(\s*(?:{CITATION.pattern}\s*)+)")
_NAME: Final = re.compile(r"\b[^\W\d_][\w’'&.-]*\b")
_YEARS: Final = range(1500, 2200)
_MOST_LETTERS: Final = 200_000
_SHORTEST_PLURAL: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number as it stands in a text, and what it may mean."""

    text: str
    values: frozenset[Decimal]
    is_hedged: bool = False
    is_scaled: bool = False
    is_label: bool = False
    """It names a version, section, step: `1.0` is not 1 there, and there is nothing to measure."""
    is_own_count: bool = False
    """It may count what the text itself tells: `two changes`."""
    kind: str = ""
    """What it measures, as far as its unit says: `%`, `:`, `money`, `time`."""

    @property
    def year(self) -> int | None:
        """If it may be one."""
        is_plain = not self.is_scaled and not self.is_label
        if is_plain and len(self.text) == 4 and self.text.isdigit() and int(self.text) in _YEARS:
            return int(self.text)
        return None


def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences of a markdown text with their citations; headings and rules are none."""
    found = list[str]()
    for line in text[:_MOST_LETTERS].splitlines():
        if not (plain := _LIST_ITEM.sub("", line).strip()) or plain.startswith("#") or not re.search(r"\w", plain):
            continue
        # A citation behind the full stop belongs to the sentence before it.
        plain = _LATE.sub(lambda match: f" {match[2].strip()}{match[1]} ", plain).strip()
        begun = ""
        for part in _END.split(plain):
            begun = f"{begun} {part}".strip()
            if not _ABBREVIATED.search(without_citations(begun)):
                found.append(begun)
                begun = ""
        found += [begun] if begun else []
    return tuple(found)


def figures_in(text: str) -> tuple[Figure, ...]:
    """Every number of a text, numerals up to twenty in words among them."""
    text = unicodedata.normalize("NFKC", CITATION.sub(" ", text[:_MOST_LETTERS])).replace("−", "-")
    labels = _labels(text)
    found = [Figure(text=text[start:end], values=frozenset(), is_label=True) for start, end in labels]
    for match in _NUMBER.finditer(text):
        if any(start <= match.end() - 1 and match.start() < end for start, end in labels):
            continue
        # The dash of a range or a compound is no sign.
        written = match[0].lstrip("+-") if match.start() and text[match.start() - 1].isalnum() else match[0].lstrip("+")
        values = _values(written)
        scale = _SCALE.match(text, match.end())
        if scale is not None:
            scaled = {(value * 10 ** _SCALES[scale[1].lower()]).normalize() for value in values}
            # One letter may be a unit.
            values = scaled if len(scale[1]) > 1 else values | scaled
        hedged = _HEDGED.search(text[max(0, match.start() - 20) : match.start()]) is not None
        end = match.end() if scale is None else scale.end()
        found.append(
            Figure(
                text=written.strip(),
                values=frozenset(values),
                is_hedged=hedged,
                is_scaled=scale is not None,
                kind=_kind(text, match.start(), end),
            )
        )
    own = {match.start() for match in _OWN_COUNT.finditer(text)}
    found += [
        Figure(
            text=word[0],
            values=frozenset({_WORDS[word[0].lower()]}),
            is_own_count=word.start() in own,
            kind=_kind(text, word.start(), word.end()),
        )
        for word in _WORD.finditer(text)
    ]
    return tuple(found)


def _kind(text: str, start: int, end: int) -> str:
    if any(
        match.start() <= start and end <= match.end() for match in _RATIO.finditer(text, max(0, start - 8), end + 8)
    ):
        return ":"
    unit = _UNIT.match(text, end)
    if unit is None:
        return "money" if text[max(0, start - 1) : start] in {"€", "$", "£"} else ""
    return "%" if unit["rate"] else "money" if unit["money"] else "time"


def _values(written: str) -> set[Decimal]:
    """What the digits may mean: `1.234` is one and a bit, or a thousand and more."""
    bare = re.sub(r"['’\s]", "", written)
    ways = {bare}
    if "," in bare and "." in bare:
        # The last of them is the decimal sign.
        thousands = "," if bare.rindex(".") > bare.rindex(",") else "."
        ways = {bare.replace(thousands, "").replace(",", ".")}
    elif re.fullmatch(r"[-+]?\d{1,3}([.,]\d{3})+", bare):
        ways = {bare.replace(",", "").replace(".", "")}
        ways |= {bare.replace(",", ".")} if len(re.findall(r"[.,]", bare)) == 1 else set[str]()
    elif "," in bare:
        ways = {bare.replace(",", ".")}
    values = set[Decimal]()
    for way in ways:
        try:
            values.add(Decimal(way).normalize())
        except InvalidOperation:
            continue
    return values


def _labels(text: str) -> list[tuple[int, int]]:
    """Where the numbers stand that name something."""
    found = [match.span() for match in _DOTTED.finditer(text)]
    for match in _LABELLED.finditer(text):
        spans = [match.span("first")]
        # `section 3, 41 plants`: only a plural names several.
        if match["plural"] or (match["signs"] or "") > "§":
            spans += [
                (match.start("more") + each.start(), match.start("more") + each.end())
                for each in re.finditer(_PART, match["more"])
            ]
        elif ranged := re.match(rf"\s*[-–]\s*({_PART})", match["more"]):
            spans.append((match.start("more") + ranged.start(1), match.start("more") + ranged.end(1)))
        end = spans[-1][1]
        if _MEASURED.match(text, end) or _SCALE.match(text, end):
            spans.pop()
        found += spans
    return sorted(set(found))


def missing_figures(sentence: str, quotes: Iterable[str], names: Iterable[str] = ()) -> tuple[str, ...]:
    """The numbers of a sentence that stand in none of these quotes; `names`: of documents, as `law.1.4.txt` is one.

    Labels are none: what they name is `missing_labels` to tell.
    """
    said = [figure for quote in quotes for figure in figures_in(quote)]
    known = {value for figure in said for value in figure.values}
    written = {figure.text for figure in said if figure.is_label} | _versions(names)
    # `one of them` is no figure; a numeral in words counts where it may be one.
    wanted = [
        figure
        for figure in figures_in(sentence)
        if figure.text.lower() != "one" and not figure.is_label and not figure.is_own_count
    ]
    missing = [
        figure.text
        for figure in wanted
        if not figure.values & known and figure.text not in written and not _is_near(figure, known)
    ]
    return tuple(dict.fromkeys(missing))


def missing_labels(sentence: str, known: Iterable[str]) -> tuple[str, ...]:
    """The versions, sections and steps of a sentence that stand as they are written in none of these texts."""
    written = {number for text in known for number in _IN_NAME.findall(unicodedata.normalize("NFKC", text))}
    return tuple(
        dict.fromkeys(each.text for each in figures_in(sentence) if each.is_label and each.text not in written)
    )


def _versions(names: Iterable[str]) -> set[str]:
    """Numbers of names that can be no measure: `1.4` of `law.1.4.txt`, `2023` of `annual-2023.pdf`."""
    found = {number for name in names for number in _IN_NAME.findall(name)}
    return {number for number in found if "." in number or (len(number) == 4 and int(number) in _YEARS)}


def _is_near(figure: Figure, known: Iterable[Decimal]) -> bool:
    """`about 12` is said of 11.97."""
    if not figure.is_hedged:
        return False
    known = tuple(known)
    return any(value and abs(other - value) <= abs(value) / 20 for value in figure.values for other in known)


def missing_names(sentence: str, known: Iterable[str]) -> tuple[str, ...]:
    """Proper names of a sentence that none of these texts has; its first word is taken for none."""
    text = " ".join(_fold(each) for each in known)
    words = _NAME.findall(without_citations(sentence))
    named = [word for word in words[1:] if word[:1].isupper() and len(word) > 1]
    named += [word for word in words[:1] if len(word) > 1 and (word.isupper() or any(c.isupper() for c in word[1:]))]
    return tuple(dict.fromkeys(word for word in named if not any(stem in text for stem in _stems(word))))


def _stems(word: str) -> tuple[str, ...]:
    """What a text has of a name in another number or case: `Policies` is said of a policy."""
    bare = re.sub(r"['’]s?$", "", _fold(word).rstrip(".-&"))
    if len(bare) <= _SHORTEST_PLURAL or not bare.endswith("s") or bare.endswith("ss"):
        return (bare,)
    return (bare, f"{bare[:-3]}y") if bare.endswith("ies") else (bare[:-1],)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
