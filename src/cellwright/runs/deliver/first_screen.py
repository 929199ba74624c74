"""What the first screen of a report says: a headline, a few findings, how far to trust it. Pure.

Whoever did the work may tell it; otherwise it is read from the answer, sentence by sentence. What the first screen has
said is not said again: `rest_of_answer` is what is left.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from cellwright.runs.deliver.delivery import DeliveredFinding, Delivery, ToldReport

MOST_FINDINGS: Final = 3
MOST_BARS: Final = 8
_HEADLINE_WORDS: Final = 28
_HEADLINE_CHARACTERS: Final = 200
_LEAD_WORDS: Final = 3
_FINDING_WORDS: Final = 40
_FINDING_CHARACTERS: Final = 280
_LONGEST_ANSWER: Final = 100_000
_LONGEST: Final = 600
"""Characters of any text that was told."""
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable("table")
_END: Final = re.compile(r"(?<=[.!?…])[\"”')\]*_]*\s+(?=[\"“'(\[*_`]*[^\W_a-z])")
_BRACKETS: Final = re.compile(r"\s*\([^()]*\)")
_ABBREVIATED: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|approx|ca|cf|no|nos|dr|mr|mrs|ms|st|inc|ltd|co|fig|sec|est|etc|al|jan|feb|mar|apr|jun|jul|aug"
    r"|sep|sept|oct|nov|dec)|\b[A-Z])\.[\"”')\]*_]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passage:
    """A piece of an answer, small enough to be a finding or to be left out."""

    kind: Literal["sentence", "item", "heading", "block"]
    source: str
    """Markdown."""
    plain: str = ""
    begins_block: bool = False


# ── what is told ──


def told_by_answer(answer: str, title: str, readings: Sequence[str] = ()) -> ToldReport:
    """The first screen of an answer in prose: its first sentence, then at most three others, none twice.

    A first sentence that is too long goes without what it says in brackets, or is led by what stands before its colon;
    else the title is the headline. What rests on a first sentence is never told before it.
    """
    said = [each for each in _passages(answer) if each.kind in {"sentence", "item"} and each.plain]
    first = said[0].plain if said else ""
    brief = next((text for text in (first, _BRACKETS.sub("", first)) if _is_headline(text)), "")
    headline = brief or _lead(first) or _one_line(title)
    told = {_key(headline), _key(first)} if brief else {_key(headline)}
    if not brief and not _is_finding(first):
        said = []
    findings: dict[str, DeliveredFinding] = {}
    for each in said:
        key = _key(each.plain)
        is_new = key and key not in told and key not in findings
        if is_new and _is_finding(each.plain):
            findings[key] = DeliveredFinding(says=each.plain)
    return ToldReport(
        headline=headline if answer.strip() else "",
        findings=tuple(findings.values())[:MOST_FINDINGS],
        readings=tuple(readings),
    )


def _lead(sentence: str) -> str:
    """What a long sentence says before its colon, if that is a sentence by itself."""
    lead, colon, _ = sentence.partition(": ")
    return f"{lead}." if colon and len(lead.split()) >= _LEAD_WORDS and _is_headline(lead) else ""


def _is_finding(text: str) -> bool:
    # What ends with a colon leads to what follows.
    return not text.endswith(":") and _is_within(text, _FINDING_WORDS, _FINDING_CHARACTERS)


def with_told(delivery: Delivery, told: ToldReport) -> Delivery:
    """The delivery with its first screen, bounded: it may have come out of a cage."""
    kept: dict[str, DeliveredFinding] = {}
    for finding in told.findings:
        says = _one_line(finding.says)
        if _key(says) and _key(says) != _key(told.headline):
            bars = [(_one_line(label)[:60], float(number)) for label, number in finding.bars if math.isfinite(number)]
            kept.setdefault(
                _key(says),
                DeliveredFinding(
                    says=says,
                    statistics=_one_line(finding.statistics),
                    cell=finding.cell,
                    bars=tuple(bars[:MOST_BARS]),
                ),
            )
    return replace(
        delivery,
        headline=_one_line(told.headline),
        findings=tuple(kept.values())[:MOST_FINDINGS],
        picture=told.picture,
        trust=_one_line(told.trust),
        readings=tuple(dict.fromkeys(filter(None, map(_one_line, told.readings)))),
    )


def with_trust(delivery: Delivery) -> Delivery:
    """With a line on how far to trust it: what was told while all is well, else what the checks say comes first."""
    facts = _facts(delivery)
    if delivery.status == "done" and delivery.trust:
        return delivery
    return replace(delivery, trust=" ".join(filter(None, [facts, delivery.trust])))


def _facts(delivery: Delivery) -> str:
    """From checks, proof and caveats: `12 checks passed in a fresh environment; 2 caveats.`"""
    if delivery.status in {"failed", "refused"} and not delivery.checks:
        return ""
    passed, there = sum(check.has_passed for check in delivery.checks), len(delivery.checks)
    where = " in a fresh environment" if delivery.proof else ""
    if there and passed == there:
        said = [f"{_counted(there, 'check')} passed{where}"]
    elif there:
        said = [f"{passed} of {_counted(there, 'check')} passed"]
    else:
        said = ["It ran without an error in a fresh environment"] if delivery.proof else []
    said += [] if delivery.proof else ["not proven"]
    said += [_counted(len(delivery.problems), "problem")] if delivery.problems else []
    said += [_counted(len(delivery.caveats), "caveat")] if delivery.caveats else []
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# ── what is left ──


def rest_of_answer(delivery: Delivery) -> str:
    """The answer without what headline and findings say already, as markdown; all of it where there is no headline."""
    if not delivery.headline:
        return delivery.answer.strip()
    said = {_key(delivery.headline), *(_key(finding.says) for finding in delivery.findings)}
    # A finding may be a whole paragraph of several sentences.
    blocks = (each for each in delivery.answer.split("\n\n") if _key(_plain(" ".join(each.split()))) not in said)
    left = [each for each in _passages("\n\n".join(blocks)) if not each.plain or _key(each.plain) not in said]
    if all(each.kind == "heading" or each.plain.endswith(":") for each in left):
        return ""
    written: list[str] = []
    for number, each in enumerate(left):
        goes_on = number > 0 and not each.begins_block and left[number - 1].kind == each.kind != "block"
        joint = "" if not number else "\n\n" if not goes_on else "\n" if each.kind == "item" else " "
        written.append(joint + (f"- {each.source}" if each.kind == "item" else each.source))
    return "".join(written)


def _passages(answer: str) -> list[_Passage]:
    text = answer.strip()[:_LONGEST_ANSWER]
    lines, tokens = text.split("\n"), _MARKDOWN.parse(text)
    found: list[_Passage] = []
    at = 0
    while at < len(tokens):
        end = _end(tokens, at)
        block = tokens[at : end + 1]
        begin, stop = tokens[at].map or (0, 0)
        source = "\n".join(lines[begin:stop]).strip()
        found += _pieces(block, source)
        at = end + 1
    return found


def _pieces(block: Sequence[Token], source: str) -> Iterator[_Passage]:
    inlines = [token.content for token in block if token.type == "inline"]
    match block[0].type:
        case "paragraph_open":
            for number, sentence in enumerate(_sentences(" ".join(inlines[0].split()))):
                yield _Passage(kind="sentence", source=sentence, plain=_plain(sentence), begins_block=number == 0)
        case "bullet_list_open" | "ordered_list_open" if _is_flat(block):
            for number, item in enumerate(inlines):
                line = " ".join(item.split())
                yield _Passage(kind="item", source=line, plain=_plain(line), begins_block=number == 0)
        case "heading_open":
            yield _Passage(kind="heading", source=source, plain=_plain(inlines[0]), begins_block=True)
        case _:
            yield _Passage(kind="block", source=source, begins_block=True)


def _end(tokens: Sequence[Token], at: int) -> int:
    """Where the block that begins here ends."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += tokens[place].nesting
        if depth == 0:
            return place
    return len(tokens) - 1


def _is_flat(block: Sequence[Token]) -> bool:
    """Whether every item of the list is one paragraph."""
    kinds = [token.type for token in block]
    known = {"inline", "paragraph_open", "paragraph_close", "list_item_open", "list_item_close", kinds[0], kinds[-1]}
    return set(kinds) <= known and kinds.count("inline") == kinds.count("list_item_open") and kinds.count(kinds[0]) == 1


def _sentences(text: str) -> list[str]:
    found: list[str] = []
    begin = 0
    for end in _END.finditer(text):
        if not _ABBREVIATED.search(text[begin : end.start()] + end[0].strip()):
            found.append(text[begin : end.end()].strip())
            begin = end.end()
    return [*found, text[begin:].strip()] if text[begin:].strip() else found


def _plain(source: str) -> str:
    """Markdown without its marks."""
    tokens = _MARKDOWN.parseInline(source)
    children = (tokens[0].children or []) if tokens else []
    texts = (" " if token.type in {"softbreak", "hardbreak"} else token.content for token in children)
    return _one_line("".join(texts))


def _one_line(text: str) -> str:
    """Printable, on one line, bounded."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"


def _is_headline(text: str) -> bool:
    return _is_within(text, _HEADLINE_WORDS, _HEADLINE_CHARACTERS)


def _is_within(text: str, words: int, characters: int) -> bool:
    return 0 < len(text) <= characters and len(text.split()) <= words


def _key(text: str) -> str:
    """What two texts that say the same have in common."""
    return re.sub(r"[\W_]+", " ", text).strip().casefold()
