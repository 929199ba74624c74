"""A person names documents and folders of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.documents.document_files import find_documents
from cellwright.errors import UserError


def test_a_folder_gives_its_documents_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("10.pdf", "2.pdf", "sub/a.DOCX", ".hidden.pdf", "program.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link.pdf").symlink_to("/etc/passwd")
    found = find_documents([tmp_path])
    assert [(file.name, file.kind) for file in found] == [("2.pdf", "pdf"), ("10.pdf", "pdf"), ("sub/a.DOCX", "docx")]


def test_a_named_file_is_taken_whatever_it_is_and_names_are_apart(tmp_path: Path) -> None:
    for name in ("a/x.txt", "b/x.txt", "b/odd.bin"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    named = [tmp_path / "a/x.txt", tmp_path / "b/x.txt", tmp_path / "b/odd.bin", tmp_path / "b/../b/x.txt"]
    found = find_documents(named)
    assert [file.name for file in found] == [str(tmp_path / "a/x.txt"), str(tmp_path / "b/x.txt"), "odd.bin"]
    assert found[2].kind is None


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file or folder"):
        find_documents([tmp_path / "gone.pdf"])
