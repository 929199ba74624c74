"""What of a project is copied where a kernel cannot have the real files: compared with what git itself would ignore."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cellwright.errors import UserError
from cellwright.sandbox.host.copy_plan import CopyPlan, plan_copy, read_rules, verdict
from cellwright.sandbox.spec import Limits


def git(project: Path, *arguments: str, given: str = "") -> str:
    """A git that knows no settings but the repository's own."""
    found = shutil.which("git")
    assert found is not None
    environment = {"HOME": str(project), "GIT_CONFIG_NOSYSTEM": "1", "PATH": "/usr/bin:/bin"}
    run = subprocess.run(
        [found, "-C", str(project), *arguments],
        input=given,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in {0, 1}, run.stderr
    return run.stdout


def write(project: Path, *paths: str, text: str = "") -> None:
    for path in paths:
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    return tmp_path


def test_what_git_ignores_is_left_out_by_nested_rules_and_their_exceptions(project: Path) -> None:
    write(project, ".gitignore", text="# caches\n*.log\n/build/\nout/*\n!out/kept.txt\ndocs/**/draft\n\\#odd\n")
    write(project, "sub/.gitignore", text="!important.log\nlocal\n")
    write(project, "a.log", "sub/b.log", "sub/important.log", "sub/local", "local", "build/x", "sub/build/y")
    write(project, "out/kept.txt", "out/gone.txt", "docs/a/b/draft", "docs/draft", "draft", "#odd")
    write(project, ".git/info/exclude", text="private\n")
    write(project, "private/p", "notebook.py")
    assert plan_copy(project, skipped=[".git"]).left_out == (
        "#odd", "a.log", "build", "docs/a/b/draft", "docs/draft", "out/gone.txt", "private", "sub/b.log", "sub/local",
    )  # fmt: skip


def test_what_is_tracked_is_copied_although_a_rule_names_it(project: Path) -> None:
    write(project, ".gitignore", text="data/\n")
    write(project, "data/small.csv", "data/large.csv")
    git(project, "add", "--force", "data/small.csv")
    assert plan_copy(project, skipped=[".git"]).left_out == ("data/large.csv",)


def test_what_a_person_reveals_and_the_notebooks_own_directory_are_copied(project: Path) -> None:
    write(project, ".gitignore", text="out/\ndata/\ncache/\n")
    write(project, "out/notebook.py", "out/beside.csv", "data/a.csv", "data/b.csv", "cache/x")
    plan = plan_copy(project, needed=["out/notebook.py"], reveal=["data/a.csv"], skipped=[".git"])
    assert plan.left_out == ("cache", "data/b.csv")
    assert plan_copy(project, reveal=["data", "out"], skipped=[".git"]).left_out == ("cache",)


def test_rules_above_a_project_hold_in_it_unless_they_ignore_the_project_itself(project: Path) -> None:
    write(project, ".gitignore", text="*.tmp\nout/\n")
    write(project, "part/a.tmp", "part/b", "out/c.tmp", "out/d")
    assert plan_copy(project / "part").left_out == ("a.tmp",)
    assert plan_copy(project / "out").left_out == ()


def test_virtual_environments_are_left_out_and_so_are_rules_without_a_repository(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", text="*.log\n")
    write(tmp_path, "a.log", "env/pyvenv.cfg", "env/lib/x", "kept")
    assert plan_copy(tmp_path).left_out == ("a.log", "env")


def test_a_link_to_rules_is_not_followed_and_a_pattern_cannot_make_matching_slow(tmp_path: Path) -> None:
    outside = tmp_path / "rules"
    outside.write_text("*\n")
    inside = tmp_path / "project"
    write(inside, "a")
    (inside / ".gitignore").symlink_to(outside)
    assert plan_copy(inside).left_out == ()
    slow = read_rules("*a" * 60 + "b\n" + "**/" * 60 + "b\n")
    assert verdict(slow, ("a" * 250,) * 40, is_directory=False) is None


def test_a_project_that_does_not_fit_is_refused_with_its_size_and_a_remedy(project: Path) -> None:
    write(project, "large/a", "large/b", text="x" * 600_000)
    write(project, "small/c")
    plan = plan_copy(project, skipped=[".git"])
    assert (plan.files, plan.bytes, plan.largest) == (5, 1_200_000, (("large", 3, 1_200_000), ("small", 2, 0)))
    plan.check(project, Limits(disk_mb=2, inodes=5))
    for limits in (Limits(disk_mb=1), Limits(inodes=4)):
        with pytest.raises(
            UserError, match=r"too big to be copied .* 5 files and 1 MB, .* large \(3 files, 1 MB\)"
        ) as refused:
            plan.check(project, limits)
        assert ".gitignore" in refused.value.hint and "raise the limits disk and inodes" in refused.value.hint
    with pytest.raises(UserError, match="MB are free at"):
        CopyPlan(files=1, bytes=1 << 60).check(project, Limits(disk_mb=1 << 50))


NAMES = st.sampled_from(["a", "b", "ab", "a.log", ".a", "b c", "#a"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
WORDS = st.sampled_from(
    ["a", "b", "*", "*.log", "?", "a*", "[ab]", "[!a]", "[^b]*", "**", "\\a", "\\#a", "b c", ".*", "***", "a**b"]
)


def pattern(exception: str, start: str, words: list[str], end: str) -> str:
    return exception + start + "/".join(words) + end


PATTERNS = st.builds(
    pattern,
    st.sampled_from(["", "", "!"]), st.sampled_from(["", "/"]), st.lists(WORDS, min_size=1, max_size=3),
    st.sampled_from(["", "/", " ", "\\ "]),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rules=st.lists(PATTERNS, min_size=1, max_size=5),
    nested=st.lists(PATTERNS, max_size=2),
    paths=st.sets(PATHS, max_size=8),
)
def test_for_any_rules_the_same_is_ignored_as_by_git(
    project: Path, rules: list[str], nested: list[str], paths: set[str]
) -> None:
    for entry in project.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    write(project, ".gitignore", text="\n".join(rules))
    write(project, "a/.gitignore", text="\n".join(nested))
    for path in sorted(paths):
        if not any((project / part).is_file() for part in Path(path).parents) and not (project / path).exists():
            write(project, path)
    shown = git(project, "status", "--porcelain", "--ignored=matching", "--untracked-files=all", "-z")
    ignored = {entry[3:].rstrip("/") for entry in shown.split("\0") if entry.startswith("!!")}
    assert set(plan_copy(project, skipped=[".git"]).left_out) == ignored
