"""The citation check, cheapest first: is the card there, do its quotes have the figures and names; the rest is judged.

Similarity of texts is no evidence and is not used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from cellwright.runs.research.handed_in import CitationVerdict
from cellwright.tools.evidence.card import EvidenceCard, cited_in, without_citations
from cellwright.tools.evidence.figures import missing_figures, missing_labels, missing_names, sentences_of

SentenceStanding = Literal["holds", "judged", "unjudged", "uncited figure", "unknown card", "unsupported", "uncited"]
"""holds: code found it. judged: a judge did. unjudged: cited, and nobody judged it. uncited: no card, and no figure."""
_STANDINGS: Final[dict[str, SentenceStanding]] = {
    "supported": "judged",
    "unsupported": "unsupported",
    "unclear": "unjudged",
}
BAD: Final[frozenset[SentenceStanding]] = frozenset({"uncited figure", "unknown card", "unsupported"})
_SHOWN: Final = 12
_CONTEXT: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSentence:
    """A sentence of the report and what holds it."""

    section: str
    text: str
    """Without its citations."""
    cards: tuple[str, ...] = ()
    standing: SentenceStanding = "uncited"
    missing: tuple[str, ...] = ()
    """Figures or names its quotes do not have; unknown cards."""
    why: str = ""

    @property
    def says(self) -> str:
        """What a reader must know about it."""
        missing = ", ".join(self.missing)
        match self.standing:
            case "uncited figure":
                return f"{missing} stands in no quote that is cited: “{self.text}”"
            case "unknown card":
                return f"It cites {missing}, which there is not: “{self.text}”"
            case "unsupported":
                why = self.why.rstrip(".") or "no reason given"
                return f"A judge found its quotes not to show it ({why}): “{self.text}”"
            case _:
                return ""


def check_sentences(
    section: str, text: str, cards: Mapping[str, EvidenceCard], given: str = ""
) -> list[CheckedSentence]:
    """Every sentence as far as code can tell; `given`: words that need no source, such as the question."""
    return [_checked(section, sentence, cards, given) for sentence in sentences_of(text)]


def check_title(
    section: str, title: str, text: str, cards: Mapping[str, EvidenceCard], given: str = ""
) -> tuple[CheckedSentence, ...]:
    """What of a title stands in no quote that the text under it cites; nothing where it has no such figure.

    A title cites nothing itself, and that it names something is no claim: code looks at its figures alone.
    """
    quotes = [cards[each].quote for each in cited_in(text) if each in cards]
    plain = " ".join(sentences_of(title.lstrip("# "))) or title
    missing = missing_figures(plain, [*quotes, given])
    if not missing:
        return ()
    return (CheckedSentence(section=section, text=plain, standing="uncited figure", missing=missing),)


def _checked(section: str, sentence: str, cards: Mapping[str, EvidenceCard], given: str) -> CheckedSentence:
    cited, plain = cited_in(sentence), without_citations(sentence)
    if unknown := tuple(each for each in cited if each not in cards):
        return CheckedSentence(section=section, text=plain, cards=cited, standing="unknown card", missing=unknown)
    own = [cards[each] for each in cited]
    quotes = [card.quote for card in own]
    names = [card.names for card in own or cards.values()]
    if missing := missing_figures(plain, [*quotes, given, *(card.title for card in own)], names):
        return CheckedSentence(section=section, text=plain, cards=cited, standing="uncited figure", missing=missing)
    if not cited:
        return CheckedSentence(section=section, text=plain)
    known = [*quotes, given, *(f"{card.names} {card.about}" for card in own)]
    # A reader says which section it is; nothing is measured by that.
    missing = (*missing_names(plain, known), *missing_labels(plain, [*known, *(card.says for card in own)]))
    # A figure that is there is no proof of what is said about it: only short sentences made of a quote's words are.
    is_verbatim = any(_levelled(plain).rstrip(".") in _levelled(quote) for quote in quotes)
    standing: SentenceStanding = "holds" if is_verbatim else "unjudged"
    return CheckedSentence(section=section, text=plain, cards=cited, standing=standing, missing=missing)


def _levelled(text: str) -> str:
    return " ".join(text.casefold().split())


def complaint(text: str, cards: Mapping[str, EvidenceCard], given: str, titles: Sequence[CheckedSentence] = ()) -> str:
    """What its writer should mend, in words; empty: nothing that code can see. `titles`: what was found about those."""
    found = check_sentences("", text, cards, given)
    lines = [each.says for each in titles]
    lines += [each.says for each in found if each.standing in BAD]
    # What other quotes name was not made up: whether it is said of the right thing is a judge's to say.
    known = [given, *(f"{card.quote} {card.names}" for card in cards.values())]
    for each in found:
        missing = [name for name in each.missing if name[:1].isdigit() or missing_names(f"A {name}", known)]
        if each.standing == "unjudged" and missing:
            lines.append(f"{', '.join(missing)} is in none of its quotes: “{each.text}”")
    bare = [each.text for each in found if each.standing == "uncited"]
    if bare and len(bare) == len(found):
        lines.append("Nothing is cited: every claim needs the card it rests on.")
    if not lines:
        return ""
    more = f"\n… and {len(lines) - _SHOWN} more." if len(lines) > _SHOWN else ""
    return "Not everything is in the quotes it cites:\n" + "\n".join(f"- {line}" for line in lines[:_SHOWN]) + more


def to_judge(sentences: Sequence[CheckedSentence]) -> list[int]:
    """The places of those that only a judge can tell about."""
    return [place for place, each in enumerate(sentences) if each.standing == "unjudged"]


def judge_text(sentences: Sequence[CheckedSentence], places: Collection[int], cards: Mapping[str, EvidenceCard]) -> str:
    """What a judge sees: quotes, each once, and sentences with the one before them; nothing else."""
    own = dict.fromkeys(card for place in places for card in sentences[place].cards)
    quotes = [f"{id}: {_origin(cards[id])}: “{' '.join(cards[id].quote.split())}”" for id in own]
    blocks = list[str]()
    for place in places:
        each = sentences[place]
        before = sentences[place - 1] if place and sentences[place - 1].section == each.section else None
        context = f"   before it: {before.text[:_CONTEXT]}\n" if before is not None else ""
        blocks.append(f"{context}{place + 1}. {each.text} ({', '.join(each.cards)})")
    return "\n".join(["Quotes:", *quotes, "", "Sentences:", *blocks])


def _origin(card: EvidenceCard) -> str:
    return f"{card.name} ({card.title})" if card.title else card.name


def with_verdicts_before(
    sentences: Sequence[CheckedSentence], before: Sequence[CheckedSentence]
) -> list[CheckedSentence]:
    """Sentences that stand as they stood, after the same one and with the same cards, as a judge found them then."""
    judged = frozenset(_STANDINGS.values()) - {"unjudged"}
    found = {key: each for key, each in zip(_in_context(before), before, strict=True) if each.standing in judged}
    made = list[CheckedSentence]()
    for key, each in zip(_in_context(sentences), sentences, strict=True):
        then = found.get(key) if each.standing == "unjudged" else None
        made.append(each if then is None else replace(each, standing=then.standing, why=then.why))
    return made


def _in_context(sentences: Sequence[CheckedSentence]) -> list[tuple[str, str, tuple[str, ...]]]:
    texts = ["", *(each.text for each in sentences)]
    sections = ["", *(each.section for each in sentences)]
    return [
        (texts[place] if sections[place] == each.section else "", each.text, each.cards)
        for place, each in enumerate(sentences)
    ]


def with_verdicts(
    sentences: Sequence[CheckedSentence], verdicts: Sequence[CitationVerdict]
) -> tuple[CheckedSentence, ...]:
    """The sentences, those that were unjudged as the judge found them."""
    found = {each.number - 1: each for each in verdicts}
    made = list[CheckedSentence]()
    for place, each in enumerate(sentences):
        verdict = found.get(place)
        if each.standing != "unjudged" or verdict is None:
            made.append(each)
            continue
        made.append(replace(each, standing=_STANDINGS[verdict.verdict], why=verdict.why))
    return tuple(made)


def caveats_of(sentences: Sequence[CheckedSentence]) -> tuple[str, ...]:
    """What a reader must know: figures without a source first."""
    bad = [each for each in sentences if each.standing in BAD]
    told = [each.says for each in sorted(bad, key=lambda each: each.standing != "uncited figure")]
    unsure = [each for each in sentences if each.standing == "unjudged" and each.missing]
    told += [
        f"{', '.join(each.missing)} is in none of its quotes, and nobody judged it: “{each.text}”" for each in unsure
    ]
    return tuple(dict.fromkeys(told))


def share_that_holds(sentences: Sequence[CheckedSentence]) -> str:
    """How much of it was found to hold, in a sentence for whoever reads the report."""
    cited = [each for each in sentences if each.cards]
    verbatim = sum(each.standing == "holds" for each in cited)
    judged = sum(each.standing == "judged" for each in cited)
    found = sum(each.standing == "unjudged" and not each.missing for each in cited)
    bare = sum(each.standing == "uncited" for each in sentences)
    said = [f"{verbatim} are a quote's own words", f"{judged} were confirmed by a judge"]
    said += [f"of {found} only figures and names were checked against the quotes"] if found else []
    said += [f"{bare} more sentences cite nothing and state no figure"] if bare else []
    return f"Of {len(cited)} cited sentences {', '.join(said)}."
