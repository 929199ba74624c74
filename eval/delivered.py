"""What somebody made of a task: the side of it that is judged."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Final

_HIDDEN: Final = frozenset({"style", "title"})
"""Of a report: what nobody reads; folded code besides."""
_CODE: Final = ("class", "code")
_VOID: Final = frozenset({"img", "br", "hr", "meta", "input", "col", "wbr"})
_CHART_NOTE: Final = "Interactive chart:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """An answer, and the notebook behind it where there is one."""

    answer: str
    shown: str = ""
    """Everything the notebook shows in words, its code aside."""
    charts: int = 0
    has_notebook: bool = True
    """False: only the answer can be judged."""
    is_proven: bool = True
    """The notebook ran from scratch, and its own checks passed."""
    is_data_untouched: bool = True


def said(answer: str, *, shown: str = "", charts: int = 0) -> Delivered:
    """An answer with a notebook that says the same and more."""
    return Delivered(answer=answer, shown=f"{answer}\n{shown}", charts=charts)


def read_report(html: str) -> tuple[str, int]:
    """The words of a report page and how many charts it shows."""
    page = _Page()
    page.feed(html)
    page.close()
    words = " ".join(page.words)
    return words, page.pictures + words.count(_CHART_NOTE)


class _Page(HTMLParser):
    """Words and pictures, without the code."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.pictures = 0
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        is_hidden = tag in _HIDDEN or (tag == "details" and _CODE in attrs)
        if (self._hidden and tag not in _VOID) or is_hidden:
            self._hidden.append(tag)
        elif tag == "img":
            self.pictures += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            while self._hidden.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self._hidden and data.strip():
            self.words.append(data.strip())
