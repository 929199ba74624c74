"""Words of a model as HTML: CommonMark with tables, in which HTML means nothing and pictures are left out."""

from __future__ import annotations

from typing import Final

from markdown_it import MarkdownIt

from cellwright.runs.report_page.cleaning import clean, escaped, text_of

_LONGEST: Final = 100_000
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable("table").disable("image")


def prose(text: str) -> str:
    """The text as paragraphs, lists, tables and code; its own headings come below the page's."""
    return clean(_MARKDOWN.render(text_of(text)[:_LONGEST]))


def line(text: str) -> str:
    """One line of it, with emphasis and code but without blocks."""
    if "\n" in text.strip():
        return escaped(text)
    return clean(_MARKDOWN.renderInline(text_of(text)[:_LONGEST]))
