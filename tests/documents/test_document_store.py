"""What was read is kept under the hash of its bytes, masked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cellwright.documents.document import Document, Page, UnreadDocument
from cellwright.documents.document_store import DocumentStore

READ = Document(
    name="a.pdf", sha256="ab" * 32, kind="pdf", title="Keys", pages=(Page(number=2, text="the key is hush-hush"),)
)


def a_store(folder: Path) -> DocumentStore:
    return DocumentStore(home=folder, mask=lambda text: text.replace("hush-hush", "***"))


def test_a_text_is_kept_masked_and_comes_back_under_any_name(tmp_path: Path) -> None:
    kept = a_store(tmp_path).keep("pdf", READ)
    assert kept == replace(READ, pages=(Page(number=2, text="the key is ***"),))
    assert a_store(tmp_path).find(READ.sha256, "pdf", "b.pdf") == replace(kept, name="b.pdf")
    assert "hush" not in "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    assert {path.stat().st_mode & 0o077 for path in tmp_path.rglob("*.json")} == {0}


def test_half_a_file_and_a_changed_one_are_not_believed(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    store.keep("pdf", READ)
    (path,) = tmp_path.rglob("*.json")
    whole = path.read_text()
    for wrong in (whole[:50], whole.replace("the key", "the cat"), "[]", "{}", ""):
        path.write_text(wrong)
        assert store.find(READ.sha256, "pdf", "a.pdf") is None
    store.keep("pdf", READ)
    assert store.find(READ.sha256, "pdf", "a.pdf") is not None


def test_what_may_go_better_next_time_is_not_kept(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    for reason, is_kept in (("encrypted", True), ("time", False), ("crash", False)):
        store.keep("pdf", UnreadDocument(name="x", sha256=reason * 9, reason=reason, why="so"))
        assert (store.find(reason * 9, "pdf", "x") is not None) == is_kept


def test_the_oldest_texts_go_first(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    for number in range(3):
        store.keep("pdf", replace(READ, sha256=f"{number}" * 64))
    sizes = [path.stat().st_size for path in tmp_path.rglob("*.json")]
    assert store.prune(sum(sizes) - 1) == 1
    assert store.find("0" * 64, "pdf", "x") is None
    assert store.find("2" * 64, "pdf", "x") is not None
