"""Words of a model as HTML: CommonMark with tables, in which HTML means nothing and pictures are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markdown_it import MarkdownIt

from cellwright.runs.deliver.report.sanitizer import clean, escaped, text_of

_LONGEST: Final = 100_000
_LONGEST_ARTICLE: Final = 2_000_000
_SHOWN: Final = 6
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable("table").disable("image")
_ARTICLE: Final = MarkdownIt("commonmark", {"html": True, "maxNesting": 20}).enable("table").disable("image")


def prose(text: str) -> str:
    """The text as paragraphs, lists, tables and code; its own headings come below the page's."""
    return clean(_MARKDOWN.render(text_of(text)[:_LONGEST]))


def article(text: str) -> str:
    """A text that was made ready by us, in which raised marks, places and links to them mean something."""
    return clean(_ARTICLE.render(text_of(text)[:_LONGEST_ARTICLE]))


def line(text: str) -> str:
    """One line of it, with emphasis and code but without blocks."""
    return escaped(text) if "\n" in text.strip() else clean(_MARKDOWN.renderInline(text_of(text)[:_LONGEST]))


def listed(items: Sequence[str], *, kind: str = "") -> str:
    """HTML of list items as a list; of many, the first ones, and the others folded away."""
    opening = f'<ul class="{kind}">' if kind else "<ul>"
    shown, folded = (items[: _SHOWN - 1], items[_SHOWN - 1 :]) if len(items) > _SHOWN else (items, ())
    more = f"<details><summary>{len(folded):,} more</summary>{opening}{''.join(folded)}</ul></details>"
    return f"{opening}{''.join(shown)}</ul>{more if folded else ''}"
