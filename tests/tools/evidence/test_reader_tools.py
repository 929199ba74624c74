"""A reader's tools: a quote that is not in its document is refused in words to act on; what is read is data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cellwright.documents.document import Document, Page
from cellwright.documents.document_store import DocumentStore
from cellwright.kernel.documents import DocumentReader
from cellwright.tools.evidence.library import EvidenceSource, Library, LibraryContents
from cellwright.tools.evidence.reader_tools import reader_tools
from cellwright.tools.tool import CallContext, Done, ToolCall, ToolError, ToolResult, Toolset

SHA = "a" * 64
PAGES = (Page(number=1, text="Revenue was 41.2 million euros.\nIt was a good year."), Page(number=3, text="x" * 15_000))


@pytest.fixture
async def library(tmp_path: Path) -> Library:
    store = DocumentStore(home=tmp_path, mask=str)
    store.keep("text", Document(name="a.txt", sha256=SHA, kind="text", title="", pages=PAGES))
    # What is kept needs no cage.
    nowhere: Any = None
    made = Library(DocumentReader(pool=nowhere, tier="A", store=store), (), home=tmp_path)
    await made.restore(LibraryContents(sources=(EvidenceSource(id="d1", sha256=SHA, name="a.txt", kind="text"),)))
    return made


async def call(library: Library, name: str, **arguments: Any) -> ToolResult:
    made = Toolset(reader_tools(library, "revenue"))[name]

    class Flow:
        id = "r/agent:1"

    flow: Any = Flow()
    parsed = made.parse(arguments)
    assert not isinstance(parsed, ToolError), parsed
    return await made.run(parsed, CallContext(call=ToolCall(id="s1c1", name=name, arguments={}), flow=flow))


async def test_a_quote_that_is_not_in_the_source_is_refused_with_what_to_do(library: Library) -> None:
    refused = await call(library, "note_evidence", document="d1", quote="Revenue was 57.9 million euros.", says="So.")
    assert isinstance(refused, ToolError)
    assert refused.message == "This quote is not in d1 (a.txt), so it was not noted."
    assert "Copy the words exactly" in refused.hint


async def test_a_quote_is_noted_with_its_place_as_the_document_has_it(library: Library) -> None:
    done = await call(
        library, "note_evidence", document="a.txt", quote="41.2 million  euros. It was", says="It was so."
    )
    assert isinstance(done, Done)
    assert isinstance(done.value, dict)
    card: Any = done.value["card"]
    assert (card["quote"], card["page"], card["start"], card["task"]) == (
        "41.2 million euros.\nIt was",
        1,
        12,
        "revenue",
    )


async def test_what_is_said_has_no_figure_that_the_quote_has_not(library: Library) -> None:
    refused = await call(library, "note_evidence", document="d1", quote="41.2 million euros", says="It was 42 million.")
    assert isinstance(refused, ToolError)
    assert refused.message == "`says` has 42, which the quote does not have."


async def test_a_card_may_say_which_version_and_section_its_quote_is_of(library: Library) -> None:
    said = "Version 1.4 says in § 6.2 that it was 41.2 million."
    done = await call(library, "note_evidence", document="d1", quote="Revenue was 41.2 million euros.", says=said)
    assert isinstance(done, Done)
    assert isinstance(done.value, dict)
    card: Any = done.value["card"]
    assert card["title"] == "Revenue was 41.2 million euros."


async def test_a_long_document_is_read_in_pieces_and_as_data(library: Library) -> None:
    first = await call(library, "read_document", document="d1")
    assert isinstance(first, Done)
    assert first.is_untrusted
    assert "It goes on: page=3." in first.text
    long = await call(library, "read_document", document="d1", page=3)
    assert isinstance(long, Done)
    assert "It goes on: page=3, from_character=12000." in long.text
    rest = await call(library, "read_document", document="d1", page=3, from_character=12_000)
    assert isinstance(rest, Done)
    assert "The document ends here." in rest.text


async def test_words_are_found_with_their_place(library: Library) -> None:
    found = await call(library, "find", query="good year")
    assert isinstance(found, Done)
    assert "d1 (a.txt), page 1, from_character 0" in found.text
    assert found.is_untrusted


async def test_only_one_document_is_looked_in_where_it_is_named(library: Library) -> None:
    assert isinstance(await call(library, "find", query="good year", document="d1"), Done)
    assert isinstance(await call(library, "find", query="good year", document="d2"), ToolError)


async def test_a_document_is_compared_with_itself_and_has_no_change(library: Library) -> None:
    done = await call(library, "compare_documents", a="d1", b="a.txt")
    assert isinstance(done, Done)
    assert (done.is_untrusted, done.text.splitlines()[-1]) == (True, "That is all: 0 changes.")
