"""What a research comes to: sections that cite cards, contradictions, caveats; and as markdown in a form."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from cellwright.runs.research.citations import CheckedSentence, check_sentences, check_title
from cellwright.runs.research.doubts import Doubt, doubts_of, left_out, mark_of, marked, with_marks
from cellwright.runs.research.handed_in import SectionText
from cellwright.tools.evidence.card import CITATION, EvidenceCard, cited_in
from cellwright.tools.evidence.contradictions import Contradiction, DismissedContradiction
from cellwright.tools.evidence.library import EvidenceSource

SLIDES: Final = "slides"
_ID: Final = re.compile(r"c[0-9a-f]{7}")
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]<>&#|~$]")
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "[": "&#91;", "]": "&#93;"}
"""What a backslash would not make plain: in front of a bracket it begins a formula in marimo."""


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
    def doubts(self) -> tuple[Doubt, ...]:
        """The sentences a reader should not take on trust."""
        return doubts_of(self.sentences)

    @property
    def cited(self) -> tuple[str, ...]:
        """The cards it cites, in their order."""
        return cited_in("\n".join([self.summary, *(each.text for each in self.sections)]))


def check_report(report: ResearchReport, cards: Mapping[str, EvidenceCard]) -> list[CheckedSentence]:
    """Every sentence of it, and the titles with figures nobody quoted; only the question's figures need no source."""
    given, below = report.question, "\n".join([report.summary, *(each.text for each in report.sections)])
    found = [*check_title("title", report.title, below, cards, given)]
    found += check_sentences("summary", report.summary, cards, given)
    for each in report.sections:
        found += check_title(each.title, each.title, each.text, cards, given)
        found += check_sentences(each.title, each.text, cards, given)
    return found


def numbered(report: ResearchReport, cards: Mapping[str, EvidenceCard]) -> dict[str, int]:
    """The number of each card a reader meets, in that order; those of contradictions come after the text's."""
    more = [card for each in report.contradictions for card in each.cards]
    ids = [each for each in dict.fromkeys([*report.cited, *more]) if each in cards]
    return {card: number for number, card in enumerate(ids, 1)}


def plain(text: str) -> str:
    """Words of a document, as they are: no markup, no formula, on one line."""
    return _MARKUP.sub(lambda sign: _ENTITIES.get(sign[0], f"\\{sign[0]}"), " ".join(text.split()))


def shown(text: str, numbers: Mapping[str, int], doubts: Sequence[Doubt] = ()) -> str:
    """A writer's markdown with numbers for its citations; neither markup of its own, links, pictures nor formulas.

    `doubts`: sentences that are marked.
    """
    text = marked(text, doubts)

    def cite(match: re.Match[str]) -> str:
        return "".join(_cited(numbers[card]) for card in _ID.findall(match[1]) if card in numbers)

    parts, at = list[str](), 0
    for match in CITATION.finditer(text):
        parts += [_harmless(text[at : match.start()]), cite(match)]
        at = match.end()
    return with_marks("".join([*parts, _harmless(text[at:])]).strip())


def _cited(number: int) -> str:
    return f"[[{number}]](#evidence-{number})"


def _harmless(text: str) -> str:
    # With a backslash in front, a bracket begins a formula in marimo.
    text = re.sub(r"\\+(?=[\[\]()])", "", text).replace("&", "&amp;").replace("<", "&lt;")
    text = text.replace("![", "!&#91;").replace("](", "]&#40;").replace("]:", "]&#58;")
    return re.sub(r"(?<!\\)\$", r"\\$", text)


def contradictions_text(report: ResearchReport, cards: Mapping[str, EvidenceCard], numbers: Mapping[str, int]) -> str:
    """Each with what every source says, side by side."""
    blocks = list[str]()
    for each in report.contradictions:
        lines = [f"**{plain(each.about)}** — the sources disagree:"]
        for card in (cards[id] for id in each.cards if id in cards):
            number = _cited(numbers[card.id]) if card.id in numbers else ""
            lines.append(f"- {plain(card.says)} ({plain(card.place)}) {number}".rstrip())
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def caveats_text(report: ResearchReport) -> str:
    """One line each; then the sentences that are marked in the text, with their reasons."""
    doubts = report.doubts
    told = {each.caveat for each in doubts}
    lines = [f"- {plain(each)}" for each in (*report.caveats, report.trust) if each and each not in told]
    lines += [f"- {mark_of(each)} {plain(each.why)} “{plain(each.text)}”" for each in doubts]
    lines += [
        f"- Other figures for what seemed one thing are none of a contradiction, says the {each.by}: {plain(each.why)}"
        for each in report.dismissed
    ]
    if more := left_out(report.sentences):
        lines.append(f"- {more} more sentences were not confirmed.")
    return "\n".join(lines)


def link_of(card: EvidenceCard, folder: str) -> str:
    """To the document at its page, from a notebook in this folder; empty: there is none."""
    if card.address:
        return quote(card.address, safe=":/?&=%#~+,;@") if card.address.startswith(("http://", "https://")) else ""
    page = f"#page={card.page}" if card.path.lower().endswith(".pdf") else ""
    return f"{quote(os.path.relpath(card.path, folder))}{page}" if card.path else ""


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
            lines.append(f'- <a id="evidence-{number}"></a>[{number}] {where}: “{plain(card.quote)}” (card {card.id})')
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


def parts_of(
    report: ResearchReport, cards: Mapping[str, EvidenceCard], sources: Sequence[EvidenceSource], folder: str
) -> tuple[tuple[str, str], ...]:
    """Titles and texts in their order, as markdown: summary, sections, contradictions, caveats, bibliography."""
    numbers, doubts = numbered(report, cards), report.doubts
    parts = [(plain(report.title), shown(report.summary, numbers, doubts))]
    parts += [(plain(each.title), shown(each.text, numbers, doubts)) for each in report.sections]
    if report.contradictions:
        parts.append(("Where the sources contradict each other", contradictions_text(report, cards, numbers)))
    if told := caveats_text(report):
        parts.append(("Caveats", told))
    parts.append(("Sources", bibliography_text(sources, cards, numbers, folder)))
    return tuple(parts)


def markdown_of(
    report: ResearchReport, cards: Mapping[str, EvidenceCard], sources: Sequence[EvidenceSource], folder: str
) -> str:
    """The whole as one text."""
    return joined(parts_of(report, cards, sources, folder), report.form)


def joined(parts: Sequence[tuple[str, str]], form: str) -> str:
    """Parts as one text; slides are parted by rules."""
    texts = [f"{'##' if number else '#'} {title}\n\n{text}" for number, (title, text) in enumerate(parts)]
    return ("\n\n---\n\n" if form == SLIDES else "\n\n").join(texts) + "\n"
