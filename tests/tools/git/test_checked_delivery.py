"""What a cage may deliver: a tree that differs from the last commit in the project's files, and nothing else."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from cellwright.errors import UserError
from cellwright.sandbox.host.git_files import ObjectFormat, ObjectKind, Unsound, read_tree
from cellwright.tools.git.cage import GitDelivery, read_answer
from cellwright.tools.git.checked_delivery import CheckedDelivery, check_delivery, patch_of
from tests.tools.git.yard import git, make_repository, raw

SHA1 = ObjectFormat("sha1")
Objects = dict[str, tuple[ObjectKind, bytes]]


def objects_of(top: Path, names: list[str]) -> Objects:
    """Objects as a repository has them."""
    kinds: dict[str, ObjectKind] = {name: cast("ObjectKind", git(top, "cat-file", "-t", name)) for name in names}
    return {name: (kind, raw(top, kind, name)) for name, kind in kinds.items()}


class Forger:
    """A cage that delivers whatever it likes, on top of a real repository."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.head = git(top, "rev-parse", "HEAD")
        self.objects: Objects = {}

    def blob(self, data: bytes) -> str:
        return self._put("blob", data)

    def tree(self, *entries: tuple[str, bytes, str]) -> str:
        return self._put(
            "tree", b"".join(f"{mode} ".encode() + name + b"\0" + bytes.fromhex(to) for mode, name, to in entries)
        )

    def _put(self, kind: ObjectKind, data: bytes) -> str:
        name = SHA1.name_of(kind, data)
        self.objects[name] = (kind, data)
        return name

    def take(self, name: str) -> str:
        """Deliver an object the repository has already, and a directory with all that is in it; its name."""
        whole = git(self.top, "rev-parse", name)
        listed = git(self.top, "ls-tree", "-r", "-t", "--object-only", whole).split()
        self.objects |= objects_of(self.top, [whole, *listed])
        return whole

    def check(self, tree: str, *, prefix: str = "", hidden: frozenset[str] = frozenset()) -> CheckedDelivery:
        """The delivery, if it is taken. All of the last commit is known."""
        known = objects_of(self.top, git(self.top, "rev-list", "--objects", "--no-object-names", "HEAD").split())
        delivery = GitDelivery(tree=tree, objects=self.objects, known=known)
        return check_delivery(delivery, SHA1, self.head, prefix=prefix, hidden=hidden)

    def deliver(self, tree: str, *, prefix: str = "", hidden: frozenset[str] = frozenset()) -> list[str]:
        """The paths that differ, if it is taken."""
        return [change.path for change in self.check(tree, prefix=prefix, hidden=hidden).changes]


@pytest.fixture
def forger(tmp_path: Path) -> Forger:
    return Forger(
        make_repository(tmp_path / "p", {"a.txt": "one\n", "sub/b.txt": "two\n", "sub/deep/c.txt": "three\n"})
    )


def test_a_plain_new_file_is_taken_and_found_by_us(forger: Forger) -> None:
    assert forger.deliver(forger.tree(("100644", b"new.txt", forger.blob(b"n")))) == [
        "a.txt",
        "new.txt",
        "sub/b.txt",
        "sub/deep/c.txt",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        b".git", b".GIT", b".Git", b"git~1", b"GIT~1", b".git ", b".git.", b".git . .", b".git::$INDEX_ALLOCATION",
        ".g\u200cit".encode(), "\ufeff.git".encode(), b"..", b".", b"a\\..\\.git", b"..\\evil", b".git\\hooks",
    ],
)  # fmt: skip
def test_names_that_reach_git_s_own_files_on_any_system_are_refused(forger: Forger, name: bytes) -> None:
    inner = forger.tree(("100644", b"config", forger.blob(b"[core]\n\tfsmonitor = ./evil\n")))
    with pytest.raises(Unsound):
        forger.deliver(forger.tree(("40000", name, inner)))


@pytest.mark.parametrize("name", [b"", b"a/b", b"/etc/passwd", b"../evil"])
def test_a_name_with_a_way_in_it_is_refused(forger: Forger, name: bytes) -> None:
    with pytest.raises(Unsound, match="where none can be"):
        forger.deliver(forger.tree(("100644", name, forger.blob(b"x"))))


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode", ["100600", "100777", "104755", "120777", "040000", "0", "", "60000", "20000", "999999"]
)
def test_a_mode_git_does_not_write_is_refused(forger: Forger, mode: str) -> None:
    with pytest.raises(Unsound):
        forger.deliver(forger.tree((mode, b"x", forger.blob(b"x"))))


def test_entries_out_of_order_or_twice_are_refused(forger: Forger) -> None:
    blob = forger.blob(b"x")
    for names in ((b"b", b"a"), (b"a", b"a")):
        with pytest.raises(Unsound, match="where none can be"):
            forger.deliver(forger.tree(*(("100644", name, blob) for name in names)))


def test_a_file_and_a_directory_of_one_name_are_refused(forger: Forger) -> None:
    blob = forger.blob(b"x")
    inner = forger.tree(("100644", b"y", blob))
    with pytest.raises(Unsound, match="alike"):
        forger.deliver(forger.tree(("100644", b"x", blob), ("40000", b"x", inner)))


def test_a_tree_that_is_cut_off_is_refused(forger: Forger) -> None:
    whole = forger.objects[forger.tree(("100644", b"x", forger.blob(b"x")))][1]
    for length in (1, 7, 10, len(whole) - 1):
        with pytest.raises(Unsound):
            read_tree(whole[:length], SHA1)


def test_a_new_submodule_is_refused(forger: Forger) -> None:
    with pytest.raises(Unsound, match="submodule"):
        forger.deliver(forger.tree(("160000", b"x", "12" * 20)))


def test_files_git_reads_may_not_be_links(forger: Forger) -> None:
    with pytest.raises(Unsound, match="may not be a link"):
        forger.deliver(forger.tree(("120000", b".gitmodules", forger.blob(b"/etc/passwd"))))


def test_an_object_nobody_refers_to_is_refused(forger: Forger) -> None:
    forger.blob(b"smuggled")
    with pytest.raises(Unsound, match="belong to nothing"):
        forger.deliver(forger.tree(("100644", b"x", forger.blob(b"x"))))


@pytest.mark.parametrize("mode", ["100644", "40000"])
def test_an_object_that_is_nowhere_is_refused(forger: Forger, mode: str) -> None:
    with pytest.raises(Unsound, match=r"not what it says|not delivered"):
        forger.deliver(forger.tree((mode, b"x", "12" * 20)))


def test_what_the_last_commit_has_elsewhere_must_come_along_too(forger: Forger) -> None:
    """Whether the repository really has it is not the cage's to say."""
    with pytest.raises(Unsound, match="not delivered"):
        forger.deliver(forger.tree(("40000", b"moved", git(forger.top, "rev-parse", "HEAD:sub"))))


def test_another_commit_than_the_one_checked_out_is_not_compared_with(forger: Forger) -> None:
    git(forger.top, "commit", "-q", "--allow-empty", "-m", "meanwhile")
    git(forger.top, "checkout", "-q", "--orphan", "other")
    git(forger.top, "commit", "-q", "-m", "without a past")
    forger.head = git(forger.top, "rev-parse", "main")
    with pytest.raises(Unsound, match="was not delivered"):
        forger.deliver(forger.tree(("100644", b"x", forger.blob(b"x"))))


def test_an_empty_directory_is_refused(forger: Forger) -> None:
    with pytest.raises(Unsound, match="empty"):
        forger.deliver(forger.tree(("40000", b"x", forger.tree())))


def test_a_file_that_is_a_directory_s_object_is_refused(forger: Forger) -> None:
    inner = forger.tree(("100644", b"y", forger.blob(b"x")))
    with pytest.raises(Unsound):
        forger.deliver(forger.tree(("100644", b"x", inner)))
    with pytest.raises(Unsound):
        forger.deliver(forger.tree(("40000", b"x", forger.blob(b"x"))))
    with pytest.raises(Unsound):
        forger.deliver(forger.tree(("100644", b"x", forger.head)))


def test_a_change_outside_the_project_is_refused(forger: Forger) -> None:
    entries = git(forger.top, "rev-parse", "HEAD:a.txt", "HEAD:sub").split()
    evil = forger.tree(("100644", b"a.txt", forger.blob(b"evil")), ("40000", b"sub", entries[1]))
    with pytest.raises(Unsound, match="outside the project"):
        forger.deliver(evil, prefix="sub")


def test_a_change_inside_the_project_is_taken(forger: Forger) -> None:
    a, deep = git(forger.top, "rev-parse", "HEAD:a.txt", "HEAD:sub/deep").split()
    sub = forger.tree(("100644", b"b.txt", forger.blob(b"2")), ("40000", b"deep", deep))
    assert forger.deliver(forger.tree(("100644", b"a.txt", a), ("40000", b"sub", sub)), prefix="sub") == ["sub/b.txt"]


@pytest.mark.parametrize("hidden", ["sub/b.txt", "sub"])
def test_a_change_of_a_hidden_file_is_refused(forger: Forger, hidden: str) -> None:
    a, deep = git(forger.top, "rev-parse", "HEAD:a.txt", "HEAD:sub/deep").split()
    sub = forger.tree(("100644", b"b.txt", forger.blob(b"2")), ("40000", b"deep", deep))
    with pytest.raises(Unsound, match="hidden"):
        forger.deliver(forger.tree(("100644", b"a.txt", a), ("40000", b"sub", sub)), hidden=frozenset({hidden}))


def test_directories_without_end_are_refused(forger: Forger) -> None:
    tree = forger.tree(("100644", b"x", forger.blob(b"x")))
    for _ in range(500):
        tree = forger.tree(("40000", b"d", tree))
    with pytest.raises(Unsound, match="deeper"):
        forger.deliver(tree)


def test_a_directory_that_moved_is_taken_with_all_that_is_in_it(forger: Forger) -> None:
    paths = forger.deliver(forger.tree(("40000", b"moved", forger.take("HEAD:sub"))))
    assert paths == ["a.txt", "moved/b.txt", "moved/deep/c.txt", "sub/b.txt", "sub/deep/c.txt"]


def test_the_patch_is_made_from_what_would_be_imported(forger: Forger) -> None:
    tree = forger.tree(("100644", b"a.txt", forger.blob(b"one\nmore\n")), ("100755", b"run", forger.blob(b"\0\1")))
    text = patch_of(forger.check(tree))
    assert "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n+more\n" in text
    assert "diff --git a/run b/run\nnew file mode 100755\nbinary or long: 0 bytes → 2 bytes\n" in text
    assert "deleted file mode 100644\n--- a/sub/b.txt\n+++ /dev/null\n" in text


def test_a_cage_that_withholds_the_old_version_of_a_file_cannot_hide_the_new_one(forger: Forger) -> None:
    checked = forger.check(forger.tree(("100644", b"a.txt", forger.blob(b"one\nbackdoor\n"))))
    directories = {name: one for name, one in checked.known.items() if one[0] != "blob"}
    text = patch_of(replace(checked, known=directories))
    assert "binary or long before: not shown\n--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1,3 @@\n+one\n+backdoor\n" in text


def test_a_patch_of_hostile_lines_is_made_at_once_and_is_bounded(forger: Forger) -> None:
    old = b"".join(b"x\n" if line % 2 else b"%d\n" % (line % 9) for line in range(60_000))
    tree = forger.tree(*(("100644", b"f%d" % number, forger.blob(old + b"%d" % number)) for number in range(9)))
    text = patch_of(forger.check(tree))
    assert len(text) < 210_000
    assert "too long to show" in text


# ── the answer's bytes ──


def framed(header: object, body: bytes = b"") -> bytes:
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">I", len(data)) + data + body


OF_NOTHING: Mapping[str, object] = {"changes": [], "skipped": []}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0",
        struct.pack(">I", 1 << 31),
        framed(b"{"),
        framed(b"[" * 100_000),
        framed([]),
        framed({}),
        framed({"changes": [["a", "new"]] * 20_001, "skipped": []}),
        framed({"changes": [["a"]], "skipped": []}),
        framed({"changes": [["a", "stolen"]], "skipped": []}),
        framed({"changes": [[1, "new"]], "skipped": []}),
        framed({**OF_NOTHING, "patch": 3}),
        framed({**OF_NOTHING, "tree": "../x", "objects": []}),
        framed({**OF_NOTHING, "tree": 3, "objects": []}),
        framed({**OF_NOTHING, "tree": "12" * 20, "objects": [["blob", 10**12]]}),
        framed({**OF_NOTHING, "tree": "12" * 20, "objects": [["blob", -1]]}),
        framed({**OF_NOTHING, "tree": "12" * 20, "objects": [["blob", True]]}, b"x"),
        framed({**OF_NOTHING, "tree": "12" * 20, "objects": [["spell", 1]]}, b"x"),
        framed({**OF_NOTHING, "tree": "12" * 20, "objects": [["blob", 1]]}, b"xy"),
        framed({**OF_NOTHING, "tree": "12" * 20, "objects": [["blob", 0]] * 50_001}),
    ],
)
def test_an_answer_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(Unsound):
        read_answer(data, SHA1)


def test_an_object_has_its_own_name_whatever_the_cage_calls_it() -> None:
    answer = read_answer(framed({**OF_NOTHING, "tree": "12" * 20, "objects": [["blob", 3]]}, b"abc"), SHA1)
    assert answer.delivery is not None
    assert dict(answer.delivery.objects) == {"f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f": ("blob", b"abc")}


def test_what_git_complained_about_is_passed_on() -> None:
    with pytest.raises(UserError, match="no such thing"):
        read_answer(framed({"failed": "no such thing"}), SHA1)
