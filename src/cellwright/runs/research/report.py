"""What a research comes to: sections that cite cards, contradictions, caveats; and as markdown in a form."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from cellwright.runs.research.citations import CheckedSentence
from cellwright.runs.research.steps import SectionText
from cellwright.tools.evidence.card import CITATION, EvidenceCard, cited_in
from cellwright.tools.evidence.contradictions import Contradiction, DismissedContradiction
from cellwright.tools.evidence.library import EvidenceSource

SLIDES: Final = "slides"
_ID: Final = re.compile(r"c[0-9a-f]{7}")
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]<>#|~$])")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchReport:
    """All of it but the cards, which have events of their own."""

    question: str
    title: str
    summary: str
    sections: tuple[SectionText, ...]
    contradictions: tuple[Contradiction, ...] = ()
    dismissed: tuple[DismissedContradiction, ...] = ()
    """What code took for contradictions and a planner or editor did not, each with the reason."""
    caveats: tuple[str, ...] = ()
    sentences: tuple[CheckedSentence, ...] = ()
    form: str = "report"
    trust: str = ""
    """How much of it was found to hold, in a sentence."""

    @property
    def cited(self) -> tuple[str, ...]:
        """The cards it cites, in their order."""
        return cited_in("\n".join([self.summary, *(each.text for each in self.sections)]))


def numbered(report: ResearchReport, cards: Mapping[str, EvidenceCard]) -> dict[str, int]:
    """The number of each card a reader meets, in that order; those of contradictions come after the text's."""
    more = [card for each in report.contradictions for card in each.cards]
    ids = [each for each in dict.fromkeys([*report.cited, *more]) if each in cards]
    return {card: number for number, card in enumerate(ids, 1)}


def plain(text: str) -> str:
    """Words of a document, as they are: no markup, no formula, on one line."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split())).replace("\\<", "&lt;").replace("\\>", "&gt;")


def shown(text: str, numbers: Mapping[str, int]) -> str:
    """A writer's markdown with numbers for its citations; neither markup of its own, links, pictures nor formulas."""

    def cite(match: re.Match[str]) -> str:
        known = [f"[{numbers[card]}](#evidence-{numbers[card]})" for card in _ID.findall(match[1]) if card in numbers]
        return "".join(f"\\[{each}\\]" for each in known) if known else ""

    parts, at = list[str](), 0
    for match in CITATION.finditer(text):
        parts += [_harmless(text[at : match.start()]), cite(match)]
        at = match.end()
    return "".join([*parts, _harmless(text[at:])]).strip()


def _harmless(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace("![", "!\\[").replace("](", "]\\(")
    return re.sub(r"(?<!\\)\$", r"\\$", text)


def contradictions_text(report: ResearchReport, cards: Mapping[str, EvidenceCard], numbers: Mapping[str, int]) -> str:
    """Each with what every source says, side by side."""
    blocks = list[str]()
    for each in report.contradictions:
        lines = [f"**{plain(each.about)}** — the sources disagree:"]
        for card in (cards[id] for id in each.cards if id in cards):
            number = f"\\[[{numbers[card.id]}](#evidence-{numbers[card.id]})\\]" if card.id in numbers else ""
            lines.append(f"- {plain(card.says)} ({plain(card.place)}) {number}".rstrip())
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def caveats_text(report: ResearchReport) -> str:
    """One line each."""
    lines = [f"- {plain(each)}" for each in report.caveats]
    lines += [
        f"- Other figures for what seemed one thing are none of a contradiction, says the {each.by}: {plain(each.why)}"
        for each in report.dismissed
    ]
    return "\n".join([*lines, f"- {plain(report.trust)}"] if report.trust else lines)


def link_of(card: EvidenceCard, folder: str) -> str:
    """To the document at its page, from a notebook in this folder; empty: there is none."""
    if card.address:
        return quote(card.address, safe=":/?&=%#~+,;@") if card.address.startswith(("http://", "https://")) else ""
    return f"{quote(os.path.relpath(card.path, folder))}#page={card.page}" if card.path else ""


def bibliography_text(
    sources: Sequence[EvidenceSource], cards: Mapping[str, EvidenceCard], numbers: Mapping[str, int], folder: str
) -> str:
    """The documents that are cited, each with its quotes and where they stand."""
    blocks = list[str]()
    for source in sources:
        own = [card for card in cards.values() if card.source == source.sha256 and card.id in numbers]
        if not own:
            continue
        title = f", {plain(source.title)}" if source.title and source.title != source.name else ""
        lines = [f"**{plain(source.name)}**{title} ({source.kind}, SHA-256 {source.sha256[:16]}…)", ""]
        for card in sorted(own, key=lambda card: numbers[card.id]):
            place = f"p. {card.page}"
            link = link_of(card, folder)
            where = f"[{place}]({link})" if link else place
            number = numbers[card.id]
            lines.append(f'- <a id="evidence-{number}"></a>\\[{number}\\] {where}: “{plain(card.quote)}”')
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def answer_of(report: ResearchReport, cards: Mapping[str, EvidenceCard]) -> str:
    """What a terminal shows: the summary with its numbers; the first section where nobody wrote one."""
    numbers = numbered(report, cards)
    text = report.summary or next((each.text for each in report.sections), "")
    told = CITATION.sub(
        lambda match: "".join(f"[{numbers[id]}]" for id in _ID.findall(match[1]) if id in numbers), text
    )
    return told.strip()


def markdown_of(
    report: ResearchReport, cards: Mapping[str, EvidenceCard], sources: Sequence[EvidenceSource], folder: str
) -> str:
    """The whole as one text; slides are parted by rules."""
    numbers = numbered(report, cards)
    parts = [f"# {plain(report.title)}\n\n{shown(report.summary, numbers)}"]
    parts += [f"## {plain(each.title)}\n\n{shown(each.text, numbers)}" for each in report.sections]
    if report.contradictions:
        parts.append(f"## Where the sources contradict each other\n\n{contradictions_text(report, cards, numbers)}")
    if report.caveats or report.trust or report.dismissed:
        parts.append(f"## Caveats\n\n{caveats_text(report)}")
    parts.append(f"## Sources\n\n{bibliography_text(sources, cards, numbers, folder)}")
    return ("\n\n---\n\n" if report.form == SLIDES else "\n\n").join(parts) + "\n"
