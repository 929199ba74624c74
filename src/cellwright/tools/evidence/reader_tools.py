"""What a reader of documents calls: find, read a piece, note evidence, finish. It has no cells and no other files."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated, Final

import anyio.to_thread
from pydantic import Field

from cellwright.documents.document import Document, Page
from cellwright.documents.document_index import Passage
from cellwright.documents.quotes import find_quote
from cellwright.tools.evidence.card import CARD, EvidenceCard, card_id
from cellwright.tools.evidence.comparison import compared_text
from cellwright.tools.evidence.figures import missing_figures
from cellwright.tools.evidence.found_passages import Excerpt, FoundPassage, excerpt_of, folded
from cellwright.tools.evidence.library import EvidenceSource, Library
from cellwright.tools.tool import CallContext, Done, Tool, ToolError, ToolResult, tool

_LONGEST_PAGE: Final = 12_000
"""Characters of a document in one answer: a part of a text without pages is no longer."""
_CHUNK: Final = 10_000
_EXCERPT: Final = 700
_COPIES: Final = 6
"""So many passages are looked at for one that is shown: versions of a document say the same."""
_MOST_COPIES: Final = 12
_MOST_HITS: Final = 12
_LONGEST_QUOTE: Final = 800
_SHORTEST_QUOTE: Final = 8
_LONG: Final = 400
_WORDS: Final = 5
_LONGEST_TITLE: Final = 120
_HEADING: Final = re.compile(r"(?:^|\n\s*\n)[ \t]*(#{1,6} .*|(?:[A-Z]\.)?\d+(?:\.\d+)*\.? [^\n]*[^\n.;:,])(?=\n\s*\n)")
"""A line that stands alone and begins with a number or as markdown does."""


def reader_tools(library: Library, task: str) -> list[Tool]:
    """The tools of one reader; what it notes is for this sub-goal."""

    @tool()
    async def find(
        query: Annotated[str, Field(min_length=1, max_length=300, description="Words the passage would have.")],
        k: Annotated[int, Field(ge=1, le=_MOST_HITS)] = 6,
        document: Annotated[str, Field(max_length=80, description="`d3`, or its name: only there.")] = "",
    ) -> ToolResult:
        """Look for words in all documents, or in one. You get passages with their document, page and place.

        One that stands in several documents in the same words is shown once, with the names of the others.
        """
        source = _source(library, document) if document else None
        if isinstance(source, ToolError):
            return source
        known = {each.sha256: each for each in library.sources}
        hits = await library.find(query, k * _COPIES, "" if source is None else source.sha256)
        found = folded([_excerpt(library, known[hit.document], hit, query) for hit in hits if hit.document in known], k)
        if not found:
            return Done(text="Nothing has these words. Try fewer or other ones.", value=[])
        return Done(text="\n\n".join(map(_shown, found)), is_untrusted=True)

    @tool()
    async def read_document(
        document: Annotated[str, Field(max_length=80, description="`d3`, or its name.")],
        page: Annotated[int, Field(ge=1)] = 1,
        from_character: Annotated[int, Field(ge=0, description="On that page.")] = 0,
    ) -> ToolResult:
        """Read a piece of a document from here on; a long one takes several calls."""
        source = _source(library, document)
        if isinstance(source, ToolError):
            return source
        return read_from(library, source, page, from_character)

    @tool()
    async def compare_documents(
        a: Annotated[str, Field(max_length=80, description="`d3`, or its name.")],
        b: Annotated[str, Field(max_length=80)],
        from_change: Annotated[int, Field(ge=1)] = 1,
    ) -> ToolResult:
        """See which lines two versions of one document differ in: `-` only a has, `+` only b."""
        source, other = _source(library, a), _source(library, b)
        if isinstance(source, ToolError):
            return source
        if isinstance(other, ToolError):
            return other
        one, two = library.document(source.sha256), library.document(other.sha256)
        pages = (() if one is None else one.pages, () if two is None else two.pages)
        text = await anyio.to_thread.run_sync(compared_text, pages[0], pages[1], from_change, _CHUNK)
        return Done(text=f"{source.id} ({source.name}) and {other.id} ({other.name}):\n{text}", is_untrusted=True)

    @tool()
    async def note_evidence(
        calling: CallContext,
        document: Annotated[str, Field(max_length=80, description="`d3`, or its name.")],
        quote: Annotated[
            str,
            Field(min_length=1, max_length=_LONGEST_QUOTE, description="Its very words, copied: a sentence or two."),
        ],
        says: Annotated[
            str, Field(min_length=1, max_length=_LONG, description="What that shows, in a sentence of yours.")
        ],
        about: Annotated[
            str, Field(max_length=120, description="What is measured or claimed: the same words for the same thing.")
        ] = "",
    ) -> ToolResult:
        """Keep a quote as evidence. Only what is noted reaches those who write."""
        source = _source(library, document)
        if isinstance(source, ToolError):
            return source
        made = _card(library, source, quote, says)
        if isinstance(made, ToolError):
            return made
        card = EvidenceCard(
            id=made.id,
            source=made.source,
            name=made.name,
            page=made.page,
            start=made.start,
            end=made.end,
            quote=made.quote,
            says=" ".join(says.split()),
            about=" ".join(about.split()),
            task=task,
            by=calling.flow.id,
            path=made.path,
            address=made.address,
            title=made.title,
        )
        return Done(text=f"Noted as {card.id} ({card.place}).", value={CARD: asdict(card)})

    @tool()
    async def finish(
        summary: Annotated[str, Field(max_length=1_500, description="What the documents say on it, and what not.")],
    ) -> ToolResult:
        """Say that the sub-goal is answered as far as these documents go; nothing comes after this."""
        return Done(text=summary, value={"summary": summary, "answer": summary}, ends=True)

    return [find, read_document, compare_documents, note_evidence, finish]


def _excerpt(library: Library, source: EvidenceSource, hit: Passage, query: str) -> Excerpt:
    document = library.document(source.sha256)
    page = None if document is None else document.page(hit.page)
    text = hit.text if page is None else page.text
    within = (0, len(text)) if page is None else (hit.start, hit.end)
    start, end = excerpt_of(text, query, within, _EXCERPT)
    where = f"{source.id} ({source.name}), page {hit.page}"
    return Excerpt(where=where, start=start + (hit.start if page is None else 0), text=text[start:end].rstrip())


def _shown(found: FoundPassage) -> str:
    more = f"; and {len(found.also) - _MOST_COPIES} more" if len(found.also) > _MOST_COPIES else ""
    also = f"\n(The same words: {'; '.join(found.also[:_MOST_COPIES])}{more}.)" if found.also else ""
    return f"{found.excerpt.where}, from_character {found.excerpt.start}:\n{found.excerpt.text}{also}"


def sources_text(sources: tuple[EvidenceSource, ...], limit: int = 200) -> str:
    """The documents there are, a line each."""
    lines = [source.line for source in sources[:limit]]
    more = f"\n… and {len(sources) - limit} more: `find` looks in all of them." if len(sources) > limit else ""
    return "\n".join(lines) + more


def _source(library: Library, named: str) -> EvidenceSource | ToolError:
    sources, wanted = library.sources, named.strip().strip("[]")
    found = [each for each in sources if wanted in (each.id, each.name, each.address) or each.sha256 == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(each.id for each in found[:8])
        return ToolError(kind="bad-arguments", message=f"Several documents are called {wanted!r}: {ids}.")
    near = ", ".join(each.id for each in sources[:8])
    return ToolError(kind="not-found", message=f"No document {wanted!r}.", hint=f"There are {len(sources)}: {near} …")


def read_from(library: Library, source: EvidenceSource, page: int, start: int) -> ToolResult:
    """A piece of a document from here on."""
    found = library.document(source.sha256)
    return _piece(source, () if found is None else found.pages, page, start)


def _piece(source: EvidenceSource, pages: tuple[Page, ...], page: int, start: int) -> ToolResult:
    left, begin, parts, rest = _LONGEST_PAGE, start, list[str](), "The document ends here."
    following = [each for each in pages if each.number >= page]
    if not following:
        last = pages[-1].number if pages else 0
        return ToolError(kind="bad-arguments", message=f"{source.id} ends with page {last}.")
    for each in following:
        # A page is given whole, so that none leaves a stub for one more call.
        if parts and len(each.text) > left:
            rest = f"It goes on: page={each.number}."
            break
        text = each.text[begin : begin + left]
        parts.append(f"— page {each.number}{f', from character {begin}' if begin else ''} —\n{text}")
        if begin + len(text) < len(each.text):
            rest = f"It goes on: page={each.number}, from_character={begin + len(text)}."
            break
        left, begin = left - len(text), 0
    return Done(text="\n".join([f"{source.id} ({source.name}):", *parts, rest]), is_untrusted=True)


def _card(library: Library, source: EvidenceSource, quote: str, says: str) -> EvidenceCard | ToolError:
    """Without what the reader says of it; or why it is no evidence, in words a model can act on."""
    if len(quote.strip()) < _SHORTEST_QUOTE:
        return ToolError(kind="bad-arguments", message="The quote is too short to show anything: copy the sentence.")
    document = library.document(source.sha256)
    place = None if document is None else find_quote(document, quote)
    page = None if document is None or place is None else document.page(place.page)
    if document is None or place is None or page is None:
        begun = " ".join(quote.split()[:_WORDS])
        return ToolError(
            kind="bad-arguments",
            message=f"This quote is not in {source.id} ({source.name}), so it was not noted.",
            hint=f"Copy the words exactly, without leaving any out; `find` {begun!r} shows where they stand.",
        )
    words = page.text[place.start : place.end]
    title = _title(source, document, page.text[: place.start])
    if missing := missing_figures(says, [words, source.name, title], [source.name, title]):
        told = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        return ToolError(
            kind="bad-arguments",
            message=f"`says` has {told}, which the quote does not have.",
            hint="Say only what the quote shows, or quote the passage that has it.",
        )
    return EvidenceCard(
        id=card_id(source.sha256, place.page, words),
        source=source.sha256,
        name=source.name,
        page=place.page,
        start=place.start,
        end=place.end,
        quote=words,
        says=says,
        path=source.path,
        address=source.address,
        title=title,
    )


def _title(source: EvidenceSource, document: Document, before: str) -> str:
    """What the document is called, by itself if by nobody else, and the last heading before a quote."""
    lines = iter(document.pages[0].text[:_CHUNK].splitlines() if document.pages else [])
    title = source.title or next((line for line in lines if line.strip()), "")
    headings = [match[1] for match in _HEADING.finditer(f"{before}\n")]
    told = [" ".join(each.split())[:_LONGEST_TITLE] for each in (title, *headings[-1:]) if each.strip()]
    return " · ".join(dict.fromkeys(told))
