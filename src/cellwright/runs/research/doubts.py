"""Which sentences of a report a reader should not take on trust: each with a mark where it stands, and its reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cellwright.runs.research.citations import BAD, CheckedSentence
from cellwright.tools.evidence.card import CITATION

MOST_DOUBTS: Final = 40
_BEGIN, _END = "\ue000", "\ue001"
"""Around a mark while a text is made ready; no text of a person or a model has them."""
_MARK: Final = re.compile(f"{_BEGIN}([0-9]+){_END}")
_BETWEEN: Final = rf"(?:\s|{CITATION.pattern.replace('(c', '(?:c', 1)})*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A sentence that nobody found to hold."""

    number: int
    text: str
    why: str
    """A sentence."""
    caveat: str = ""
    """The same as it stands among the caveats, if it does."""


def doubts_of(sentences: Sequence[CheckedSentence]) -> tuple[Doubt, ...]:
    """In the order of the text, each once, and bounded: `left_out` says how many more there are."""
    return _doubts(sentences)[:MOST_DOUBTS]


def left_out(sentences: Sequence[CheckedSentence]) -> int:
    """How many are not marked, because there are so many."""
    return max(0, len(_doubts(sentences)) - MOST_DOUBTS)


def _doubts(sentences: Sequence[CheckedSentence]) -> tuple[Doubt, ...]:
    # Where nobody judged at all, as was asked for, what stands about the whole says so.
    is_judged = any(each.standing in {"judged", "unsupported"} or each.why for each in sentences)
    found = dict[str, Doubt]()
    for each in sentences:
        if each.text not in found and (why := _why(each, is_judged=is_judged)):
            caveat = each.says if each.standing in BAD else ""
            found[each.text] = Doubt(number=len(found) + 1, text=each.text, why=why, caveat=caveat)
    return tuple(found.values())


def _why(sentence: CheckedSentence, *, is_judged: bool) -> str:
    missing = ", ".join(sentence.missing)
    because = f" ({sentence.why.rstrip('.')})" if sentence.why else ""
    match sentence.standing:
        case "uncited figure":
            return f"{missing} stands in no quote that is cited."
        case "unknown card":
            return f"It cites {missing}, which there is not."
        case "unsupported":
            return f"A judge found its quotes not to show it{because}."
        case "unjudged" if missing:
            return f"{missing} is in none of its quotes, and no judge confirmed it{because}."
        case "unjudged" if is_judged:
            return f"Only its figures and names were checked against its quotes; no judge confirmed it{because}."
        case "uncited":
            return "It cites nothing."
        case _:
            return ""


# ── where they stand ──


def marked(text: str, doubts: Sequence[Doubt]) -> str:
    """A writer's text with a mark behind each of these sentences that is in it; `with_marks` makes them readable."""
    text = text.replace(_BEGIN, "").replace(_END, "")
    for each in doubts:
        # Citations stand between the words, in front of the full stop or behind it.
        letters = _BETWEEN.join(map(re.escape, each.text.replace(" ", "")))
        if letters and (place := re.search(rf"{letters}(?:[ \t]*{CITATION.pattern})*", text)):
            text = f"{text[: place.end()]}{_BEGIN}{each.number}{_END}{text[place.end() :]}"
    return text


def with_marks(text: str) -> str:
    """Marks as markdown: raised, and leading to the reason."""
    return _MARK.sub(r"<sup>[?\1](#doubt-\1)</sup>", text)


def mark_of(doubt: Doubt) -> str:
    """In front of its reason."""
    return f'<a id="doubt-{doubt.number}"></a>?{doubt.number}'
