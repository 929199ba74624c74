"""The only writes into a repository: whole or not at all, once, and never over anything."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from cellwright.errors import UserError
from cellwright.sandbox.host.git_files import ObjectFormat, Unsound
from cellwright.sandbox.host.git_repository import find_repository
from cellwright.tools.git.cage import GitDelivery
from cellwright.tools.git.checked_delivery import CheckedDelivery, check_delivery
from cellwright.tools.git.commit_import import Author, NewCommit, import_commit, read_commit
from tests.tools.git.yard import everything, git, made, make_repository, raw

SHA1 = ObjectFormat("sha1")


def commit_on(branch: str, message: str = "Why") -> NewCommit:
    return NewCommit(branch=branch, message=message, author=Author(name="Ada", email="a@example.org"), seconds=1)


def delivered(top: Path, content: bytes = b"new\n") -> CheckedDelivery:
    """A commit's worth of objects: one new file in place of all others."""
    blob = SHA1.name_of("blob", content)
    data = b"100644 n.txt\0" + bytes.fromhex(blob)
    tree = SHA1.name_of("tree", data)
    head, before = git(top, "rev-parse", "HEAD", "HEAD^{tree}").split()
    delivery = GitDelivery(
        tree=tree,
        objects={blob: ("blob", content), tree: ("tree", data)},
        known={head: ("commit", raw(top, "commit", head)), before: ("tree", raw(top, "tree", before))},
    )
    return check_delivery(delivery, SHA1, head, prefix="", hidden=frozenset())


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "p", {"a.txt": "one\n"})


def test_the_same_commit_gets_the_name_git_gives_it(top: Path) -> None:
    repository = find_repository(top)
    name = import_commit(repository, delivered(top), commit_on("cellwright/x"))
    assert git(top, "cat-file", "-p", "cellwright/x").startswith("tree ")
    content = raw(top, "commit", "cellwright/x")
    assert git(top, "hash-object", "-t", "commit", "--stdin", given=content) == name
    parent, _, message = read_commit(name, {name: ("commit", content)}, SHA1)
    assert (parent, message) == (git(top, "rev-parse", "main"), "Why")


def test_of_many_who_want_one_branch_one_gets_it(top: Path) -> None:
    checked = delivered(top)
    won: list[str] = []
    lost: list[UserError] = []
    start = threading.Barrier(8)

    def want(number: int) -> None:
        start.wait()
        try:
            won.append(import_commit(find_repository(top), checked, commit_on("cellwright/x", f"by {number}")))
        except UserError as error:
            lost.append(error)

    threads = [threading.Thread(target=want, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert len(lost) == 7
    assert git(top, "rev-parse", "cellwright/x") == won[0]
    assert git(top, "fsck", "--strict", "--no-dangling") == ""


def test_a_branch_that_git_is_writing_is_left_alone(top: Path) -> None:
    lock = top / ".git/refs/heads/cellwright/x.lock"
    lock.parent.mkdir()
    lock.write_text("")
    with pytest.raises(UserError, match="at work"):
        import_commit(find_repository(top), delivered(top), commit_on("cellwright/x"))
    assert lock.exists()
    assert not (top / ".git/refs/heads/cellwright/x").exists()


def test_objects_that_are_there_are_not_written_again(top: Path) -> None:
    repository = find_repository(top)
    import_commit(repository, delivered(top), commit_on("cellwright/x"))
    before = everything(top)
    name = import_commit(repository, delivered(top), commit_on("cellwright/y", "Again"))
    new = {path for path in made(before, everything(top)) if path.count("/") > 2}
    assert new == {f".git/objects/{name[:2]}/{name[2:]}", ".git/refs/heads/cellwright/y"}


def test_no_temporary_file_stays(top: Path) -> None:
    import_commit(find_repository(top), delivered(top), commit_on("cellwright/x"))
    assert not [path for path in everything(top) if "tmp_obj" in path or path.endswith(".lock")]


def test_an_object_under_a_false_name_is_not_written(top: Path) -> None:
    checked = delivered(top)
    forged = CheckedDelivery(
        parent=checked.parent,
        tree=checked.tree,
        changes=checked.changes,
        objects={"ab" * 20: ("blob", b"evil")},
        known={},
    )
    before = everything(top)
    with pytest.raises(Unsound, match="name"):
        import_commit(find_repository(top), forged, commit_on("cellwright/x"))
    assert made(before, everything(top)) == set()


@pytest.mark.parametrize("message", ["", " \n ", "a\0b", "x" * 20_001])
def test_a_message_that_is_none_is_refused(top: Path, message: str) -> None:
    before = everything(top)
    with pytest.raises(UserError, match="message"):
        import_commit(find_repository(top), delivered(top), commit_on("cellwright/x", message))
    assert made(before, everything(top)) == set()


def test_a_message_cannot_forge_a_header(top: Path) -> None:
    message = "Why\n\nparent 1234567890123456789012345678901234567890\nauthor Eve <e> 0 +0000"
    name = import_commit(find_repository(top), delivered(top), commit_on("cellwright/x", message))
    assert git(top, "show", "-s", "--format=%P|%an", name) == f"{git(top, 'rev-parse', 'main')}|Ada"
