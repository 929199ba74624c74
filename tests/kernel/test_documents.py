"""Each document is read in a cage of its own; one that takes its reader down is one that was not read."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from cellwright.documents.document import Document, Page, UnreadDocument
from cellwright.documents.document_files import DocumentFile, find_documents
from cellwright.documents.document_store import DocumentStore
from cellwright.kernel.documents import READING_LIMITS, DocumentReader
from cellwright.kernel.pool import KernelPool
from cellwright.sandbox.host.tiers import probe
from tests.documents.documents import EMAIL, HTML, docx_of
from tests.documents.pdfs import endless_pdf, pdf_of


def a_reader(pool: KernelPool, home: Path) -> DocumentReader:
    store = DocumentStore(home=home, mask=lambda text: text.replace("hush-hush", "***"))
    return DocumentReader(pool=pool, tier=probe().tier, store=store)


def a_file(folder: Path, name: str, content: bytes) -> DocumentFile:
    path = folder / name
    path.write_bytes(content)
    return DocumentFile(name=name, path=path)


async def test_a_document_is_read_in_a_cage_once_and_its_text_kept_masked(pool: KernelPool, tmp_path: Path) -> None:
    file = a_file(tmp_path, "bill.pdf", pdf_of([["Total: 5 EUR", "key hush-hush"]]))
    reader = a_reader(pool, tmp_path / "home")
    read = await reader.read(file)
    assert isinstance(read, Document)
    assert read.pages == (Page(number=1, text="Total: 5 EUR\nkey ***"),)
    # With this little memory no program starts: it comes from the store.
    elsewhere = replace(reader, limits=replace(READING_LIMITS, memory_mb=1), seconds=0.001)
    assert await elsewhere.read(file) == read


async def test_a_hostile_document_is_one_skip_and_the_others_are_read(pool: KernelPool, tmp_path: Path) -> None:
    reader = replace(a_reader(pool, tmp_path / "home"), limits=replace(READING_LIMITS, memory_mb=192))
    files = [a_file(tmp_path, "a.pdf", endless_pdf()), a_file(tmp_path, "b.pdf", pdf_of([["fine"]]))]
    found = dict[int, Document | UnreadDocument]()
    async with reader.read_all(files) as outcomes:
        async for position, outcome in outcomes:
            found[position] = outcome
    bad, good = found[0], found[1]
    assert isinstance(bad, UnreadDocument)
    assert (bad.name, bad.reason) == ("a.pdf", "crash")
    # Where no control group counts, as for an ordinary user, what gets no more memory aborts.
    assert re.search(r"the memory limit|signal 6", bad.why)
    assert isinstance(good, Document)


async def test_a_document_that_takes_too_long_is_a_skip(pool: KernelPool, tmp_path: Path) -> None:
    reader = replace(a_reader(pool, tmp_path / "home"), seconds=0.01)
    read = await reader.read(a_file(tmp_path, "slow.pdf", pdf_of([["fine"]])))
    assert isinstance(read, UnreadDocument)
    assert read.reason == "time"


async def test_what_is_no_file_is_told_and_nothing_waits_for_a_pipe(pool: KernelPool, tmp_path: Path) -> None:
    reader = a_reader(pool, tmp_path / "home")
    os.mkfifo(tmp_path / "pipe.pdf")
    files = [tmp_path / "pipe.pdf", tmp_path / "gone.pdf", tmp_path / "odd.bin"]
    with anyio.fail_after(10):
        found = [await reader.read(DocumentFile(name=path.name, path=path)) for path in files]
    assert [one.reason for one in found if isinstance(one, UnreadDocument)] == ["unknown-kind", "gone", "unknown-kind"]


@pytest.mark.slow
@pytest.mark.parametrize("tier", [None, "D"])
async def test_every_kind_of_document_is_read_at_every_tier(pool: KernelPool, tmp_path: Path, tier: str | None) -> None:
    folder = tmp_path / "farm"
    folder.mkdir()
    contents = {"a.pdf": pdf_of([["words"]]), "b.docx": docx_of(), "c.html": HTML, "d.eml": EMAIL, "e.csv": b"a,b\n1,2"}
    for name, content in contents.items():
        a_file(folder, name, content)
    reader = a_reader(pool, tmp_path / "home")
    reader = replace(reader, tier=tier) if tier == "D" else reader
    kinds = dict[str, str]()
    async with reader.read_all(find_documents([folder])) as outcomes:
        async for _, outcome in outcomes:
            assert isinstance(outcome, Document)
            kinds[outcome.name] = outcome.kind
    assert kinds == {"a.pdf": "pdf", "b.docx": "docx", "c.html": "html", "d.eml": "email", "e.csv": "csv"}
