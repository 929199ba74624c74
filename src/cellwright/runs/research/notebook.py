"""The deliverable: a plain marimo notebook that needs neither network nor documents, with a test of its citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from cellwright.notebook.document import CellConfig, Document
from cellwright.notebook.edits import CreateCell, DeleteCell, Edit
from cellwright.runs.research.report import (
    ResearchReport,
    bibliography_text,
    caveats_text,
    contradictions_text,
    link_of,
    numbered,
    plain,
    shown,
)
from cellwright.tools.evidence.card import EvidenceCard
from cellwright.tools.evidence.library import EvidenceSource

OURS: Final = "research_"
"""What the names of our cells begin with."""
_TEST: Final = '''\
def test_every_citation_has_a_quote():
    import re

    quotes = {card["number"]: card["quote"] for card in evidence if card["number"]}
    for text in research_texts:
        for number in re.findall(r"\\(#evidence-(\\d+)\\)", text):
            assert quotes.get(int(number)), f"[{number}] is cited and has no quote."'''


def research_edits(
    document: Document,
    report: ResearchReport,
    cards: Mapping[str, EvidenceCard],
    sources: Sequence[EvidenceSource],
    folder: str,
) -> tuple[Edit, ...]:
    """What makes the notebook tell this report; cells of an earlier one of ours go."""
    old = [DeleteCell(cell=cell.id, base_version=cell.version) for cell in document.cells if cell.name.startswith(OURS)]
    return (*old, *_cells(report, cards, sources, folder))


def _cells(
    report: ResearchReport, cards: Mapping[str, EvidenceCard], sources: Sequence[EvidenceSource], folder: str
) -> list[Edit]:
    numbers, doubts = numbered(report, cards), report.doubts
    texts = [
        ("title", f"# {plain(report.title)}\n\n*{plain(report.question)}*\n\n{shown(report.summary, numbers, doubts)}")
    ]
    texts += [
        (f"section_{number}", f"## {plain(each.title)}\n\n{shown(each.text, numbers, doubts)}")
        for number, each in enumerate(report.sections, 1)
    ]
    if report.contradictions:
        told = contradictions_text(report, cards, numbers)
        texts.append(("contradictions", f"## Where the sources contradict each other\n\n{told}"))
    if told := caveats_text(report):
        texts.append(("caveats", f"## Caveats\n\n{told}"))
    made: list[Edit] = [_markdown(name, text) for name, text in texts]
    made.append(_cell("evidence", _evidence(cards, numbers, folder)))
    table = '_shown = [{key: card[key] for key in ("number", "says", "quote", "source", "page")} for card in evidence]'
    made.append(_cell("cards", f"{table}\nmo.ui.table(_shown, selection=None, pagination=True)"))
    made.append(_markdown("bibliography", f"## Sources\n\n{bibliography_text(sources, cards, numbers, folder)}"))
    names = ", ".join(f"{OURS}{name}_text" for name, _ in texts)
    made.append(_cell("texts", f"research_texts = [{names}]"))
    made.append(_cell("check", _TEST))
    return made


def _cell(name: str, code: str) -> Edit:
    return CreateCell(code=code, name=f"{OURS}{name}", config=CellConfig(hide_code=True))


def _markdown(name: str, text: str) -> Edit:
    return _cell(name, f"{OURS}{name}_text = {_literal(text)}\nmo.md({OURS}{name}_text)")


def _literal(text: str) -> str:
    """As a person would write it, where that is the same text."""
    is_plain = '"""' not in text and not text.endswith(('"', "\\"))
    if is_plain and all(sign.isprintable() or sign == "\n" for sign in text):
        return f'r"""{text}"""'
    return repr(text)


def _evidence(cards: Mapping[str, EvidenceCard], numbers: Mapping[str, int], folder: str) -> str:
    """The cards as data: those that are cited by their number, then what was found and not used."""
    ordered = sorted(cards.values(), key=lambda card: numbers.get(card.id, len(numbers) + 1))
    lines = list[str]()
    for card in ordered:
        row = {
            "number": numbers.get(card.id, 0),
            "card": card.id,
            "says": card.says,
            "quote": card.quote,
            "source": card.name,
            "page": card.page,
            "from_character": card.start,
            "sha256": card.source,
            "link": link_of(card, folder),
            "about": card.about,
        }
        lines.append(f"    {row!r},")
    head = f"# {len(numbers)} of {len(cards)} cards are cited; each quote stands in its source word for word."
    return "\n".join([head, "evidence = [", *lines, "]"])
