"""Status, diff and commit through the real cage, on repositories that plain git made."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cellwright.errors import UserError
from cellwright.journal.effects import EffectFound, EffectNotFound
from cellwright.journal.flow import Flow, Workflow
from cellwright.kernel.pool import KernelPool
from cellwright.policy.actions import GitCommit, ReadFile
from cellwright.policy.approvals import No, Yes
from cellwright.sandbox.host.tiers import probe
from cellwright.tools.callers import standard
from cellwright.tools.git.client import GitClient
from cellwright.tools.git.commit_import import Author
from cellwright.tools.git.git_tools import git_tools
from cellwright.tools.tool import Done, ToolCall, ToolError, result_text
from tests.sampling import some
from tests.tools.call_driver import open_driver
from tests.tools.git.yard import everything, git, made, make_repository, write_files
from tests.tools.git_agent import ADA, NOBODY, GitAgent
from tests.tools.guard_driver import ADA as PERSON
from tests.tools.guard_driver import MASKER, WHO, open_guard_driver

FILES = {"a.txt": "one\n", "d/b.txt": "two\n", "keep.py": "x = 1\n"}
MakeAgent = Callable[..., GitAgent]


@pytest.fixture
def agent(pool: KernelPool) -> MakeAgent:
    def make(project: Path, **options: Any) -> GitAgent:
        given: dict[str, Any] = {"tier": probe().tier, **options}
        return GitAgent(GitClient(project, pool.zygote, author=ADA, **given))

    return make


def changed(top: Path) -> Path:
    """One file changed, one new, one gone."""
    write_files(top, {"a.txt": "uno\n", "new/n.txt": "n\n"})
    (top / "d/b.txt").unlink()
    return top


# ── what is seen ──


async def test_status_names_what_differs_from_the_last_commit(agent: MakeAgent, tmp_path: Path) -> None:
    top = changed(make_repository(tmp_path, FILES))
    result = await agent(top).call("git_status")
    head = git(top, "rev-parse", "--short=12", "HEAD")
    text = f"On branch main, at {head}.\nchanged a.txt\ndeleted d/b.txt\nnew     new/n.txt"
    assert isinstance(result, Done)
    assert result.text == text
    assert result.is_untrusted


async def test_an_unchanged_project_differs_in_nothing(agent: MakeAgent, tmp_path: Path) -> None:
    ada = agent(make_repository(tmp_path, FILES))
    for name in ("git_status", "git_diff"):
        assert "Nothing differs" in result_text(await ada.call(name))
    error = await ada.error("git_commit", branch="x", message="m", state="s")
    assert "nothing to commit" in error.message


async def test_the_diff_is_git_s_own_and_has_new_files_in_it(agent: MakeAgent, tmp_path: Path) -> None:
    top = changed(make_repository(tmp_path, FILES))
    patch = (await agent(top).done("git_diff"))["patch"]
    git(top, "add", "-A")
    assert patch.strip() == git(top, "diff", "--cached", "--stat", "--patch").strip()


async def test_only_the_paths_that_were_asked_for_are_in_the_diff(agent: MakeAgent, tmp_path: Path) -> None:
    value = await agent(changed(make_repository(tmp_path, FILES))).done("git_diff", paths=["new", "d/b.txt"])
    assert [change["path"] for change in value["changes"]] == ["d/b.txt", "new/n.txt"]


async def test_secrets_are_neither_seen_nor_committed(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path, {**FILES, ".env": "KEY=old-secret\n", "conf/id_rsa": "PRIVATE KEY old-secret\n"})
    write_files(top, {".env": "KEY=new-secret\n", "conf/id_rsa": "PRIVATE KEY new-secret\n", ".aws/x": "new-secret\n"})
    write_files(top, {"a.txt": "uno\n", "prod.env": "KEY=new-secret\n"})
    ada = agent(top)
    assert await ada.status() == {"a.txt": "changed"}
    assert "secret" not in result_text(await ada.call("git_diff"))
    commit = await ada.commit()
    assert git(top, "show", "--name-only", "--format=", commit) == "a.txt"
    assert git(top, "show", f"{commit}:.env") == "KEY=old-secret"


async def test_a_change_in_the_same_second_and_of_the_same_length_is_seen(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path, FILES)
    before = (top / "a.txt").stat()
    (top / "a.txt").write_text("eno\n")
    os.utime(top / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert await agent(top).status() == {"a.txt": "changed"}


async def test_ignored_files_stay_out_whoever_says_so(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path, {**FILES, ".gitignore": "*.log\n", "d/.gitignore": "cache/\n"})
    (top / ".git/info/exclude").write_text("mine.txt\n")
    write_files(top, {"x.log": "", "d/cache/y": "", "mine.txt": "", "seen.txt": ""})
    assert await agent(top).status() == {"seen.txt": "new"}


# ── commits ──


@pytest.mark.slow
async def test_a_commit_is_new_objects_and_one_branch_and_nothing_else(agent: MakeAgent, tmp_path: Path) -> None:
    top = changed(make_repository(tmp_path, FILES))
    write_files(top, {"keep.py": "x = 2\n"})
    git(top, "add", "keep.py")
    before = everything(top)
    commit = await agent(top).commit("a.txt", "d", "new", branch="run7/fix-it", message="Fix it\n\nAs asked.")
    new = made(before, everything(top))
    assert {path for path in new if not path.startswith(".git/objects/")} == {
        ".git/refs/heads/cellwright",
        ".git/refs/heads/cellwright/run7",
        ".git/refs/heads/cellwright/run7/fix-it",
    }
    assert git(top, "rev-parse", "cellwright/run7/fix-it", "cellwright/run7/fix-it^").split() == [
        commit,
        git(top, "rev-parse", "HEAD"),
    ]
    assert git(top, "show", "--name-status", "--format=%an <%ae>|%cn|%B", commit).split("\n") == [
        "Ada Lovelace <ada@example.org>|Ada Lovelace|Fix it", "", "As asked.", "",
        "", "M\ta.txt", "D\td/b.txt", "A\tnew/n.txt",
    ]  # fmt: skip
    assert git(top, "fsck", "--strict", "--full") == ""
    assert git(top, "status", "--porcelain").split("\n")[0].strip().startswith("M")


@pytest.mark.slow
async def test_what_is_committed_is_what_plain_git_would_commit(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path, {**FILES, "was_file": "f", "was_dir/x": "x", "run.sh": "#!/bin/sh\n"})
    odd = {"-dash": "1", "glob*[x]": "2", "new\nline": "3", "ümläut 'q\"": "4", "  spaces ": "5", ":(top)x": "6"}
    (top / "was_file").unlink()
    (top / "was_dir/x").unlink()
    (top / "was_dir").rmdir()
    write_files(top, {**odd, "was_file/inner": "i", "was_dir": "now a file", "crlf.txt": "a\r\nb\r\n", "empty": ""})
    (top / os.fsdecode(b"\xff\xfe")).write_text("no UTF-8")
    (top / "run.sh").chmod(0o755)
    (top / "link").symlink_to("a.txt")
    (top / "dangling").symlink_to("/nowhere/at/all")
    commit = await agent(top).commit()
    git(top, "add", "-A")
    assert git(top, "rev-parse", f"{commit}^{{tree}}") == git(top, "write-tree")


async def test_settings_about_line_ends_are_honoured(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path, {".gitattributes": "*.win eol=crlf\n*.u16 working-tree-encoding=UTF-16\n"})
    git(top, "config", "core.autocrlf", "input")
    write_files(top, {"a.txt": "one\r\ntwo\r\n", "b.win": "one\r\n"})
    (top / "c.u16").write_text("grüße\n", encoding="utf-16")
    commit = await agent(top).commit()
    git(top, "add", "-A")
    assert git(top, "rev-parse", f"{commit}^{{tree}}") == git(top, "write-tree")


async def test_a_commit_is_refused_when_the_files_changed_since_they_were_shown(
    agent: MakeAgent, tmp_path: Path
) -> None:
    top = changed(make_repository(tmp_path, FILES))
    ada = agent(top)
    state = await ada.state()
    write_files(top, {"a.txt": "something else\n"})
    before = everything(top)
    error = await ada.error("git_commit", branch="x", message="m", state=state)
    assert error.kind == "conflict"
    assert "git_diff" in error.hint
    assert made(before, everything(top)) == set()


async def test_a_commit_is_refused_when_the_person_committed_meanwhile(agent: MakeAgent, tmp_path: Path) -> None:
    top = changed(make_repository(tmp_path, FILES))
    ada = agent(top)
    state = await ada.state()
    git(top, "commit", "-q", "--allow-empty", "-m", "meanwhile")
    assert (await ada.error("git_commit", branch="x", message="m", state=state)).kind == "conflict"


@pytest.mark.slow
async def test_what_stands_against_a_commit_is_told_by_its_kind_before_anybody_is_asked(
    agent: MakeAgent, tmp_path: Path, where: Path
) -> None:
    # Not where the journal is: stashing what is new would take its files away from under it.
    top = changed(make_repository(tmp_path / "project", FILES))
    client = agent(top).client
    async with open_driver(where, git_tools(client), project=str(top)) as driver:
        given = {"branch": "x", "message": "m", "state": "another"}
        moved = await driver.call("git_commit", given)
        assert isinstance(moved, ToolError)
        assert moved.kind == "conflict"
        outside = await driver.call("git_commit", {**given, "paths": ["../a"]}, run="b")
        assert isinstance(outside, ToolError)
        assert outside.kind == "bad-arguments"
        git(top, "stash", "-q", "-u")
        nothing = await driver.call("git_commit", given, run="c")
        assert isinstance(nothing, ToolError)
        assert nothing.kind == "not-found"


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("taken", ["cellwright/x", "cellwright", "cellwright/x/y"])
@pytest.mark.parametrize("is_packed", [False, True])
async def test_a_branch_that_is_there_is_never_touched(
    agent: MakeAgent, tmp_path: Path, taken: str, is_packed: bool
) -> None:
    top = changed(make_repository(tmp_path, FILES))
    git(top, "branch", taken)
    if is_packed:
        git(top, "pack-refs", "--all")
    before = everything(top)
    ada = agent(top)
    error = await ada.error("git_commit", branch="x", message="m", state=await ada.state())
    assert "already" in error.message
    assert made(before, everything(top)) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    some(
        [
            ["../../config", "x.lock", "x:y", "x\n"],
            ["a..b", "a/./b", "-x", "a b", "x~1", "x^", "@{u}", "a//b", ".x", "x."],
        ],
        1,
    ),
    ids=["some", "others"],
)
async def test_a_name_that_is_none_for_a_branch_is_refused(agent: MakeAgent, tmp_path: Path, names: list[str]) -> None:
    top = changed(make_repository(tmp_path, FILES))
    before, ada = everything(top), agent(top)
    for branch in names:
        error = await ada.error("git_commit", branch=branch, message="m", state="s" * 16)
        assert error.message, branch
        assert (branch, made(before, everything(top))) == (branch, set())


def test_an_author_is_a_name_and_an_address_on_one_line() -> None:
    for name, email in (("", "a@b"), ("A\nparent x", "a@b"), ("A", "a@b> 0 +0000\nx"), ("A", " ")):
        with pytest.raises(UserError, match="author"):
            Author(name=name, email=email).line(0)


async def test_paths_lead_nowhere_else(agent: MakeAgent, tmp_path: Path) -> None:
    ada = agent(changed(make_repository(tmp_path, FILES)))
    for path in ("../other", "/etc", "a/../../x", ""):
        assert "no path inside the project" in (await ada.error("git_diff", paths=[path])).message


# ── kinds of repositories ──


@pytest.mark.slow
async def test_a_repository_that_names_objects_by_sha256_works(agent: MakeAgent, tmp_path: Path) -> None:
    top = changed(make_repository(tmp_path, FILES, "--object-format=sha256"))
    commit = await agent(top).commit()
    assert len(commit) == 64
    assert git(top, "show", f"{commit}:a.txt") == "uno"
    assert git(top, "fsck", "--strict") == ""


@pytest.mark.slow
async def test_packed_objects_and_references_work(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path, FILES)
    git(top, "gc", "-q", "--prune=now")
    git(top, "pack-refs", "--all")
    commit = await agent(changed(top)).commit()
    assert git(top, "diff", "--name-only", "main", commit).split() == ["a.txt", "d/b.txt", "new/n.txt"]


@pytest.mark.slow
async def test_a_detached_head_is_the_parent(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path, FILES)
    git(top, "checkout", "-q", "--detach")
    ada = agent(changed(top))
    assert "On no branch" in result_text(await ada.call("git_status"))
    assert git(top, "rev-parse", f"{await ada.commit()}^") == git(top, "rev-parse", "HEAD")


@pytest.mark.slow
async def test_a_first_commit_has_no_parent(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path, {})
    write_files(top, FILES)
    ada = agent(top)
    assert "no commit yet" in result_text(await ada.call("git_status"))
    commit = await ada.commit()
    assert git(top, "rev-list", commit) == commit
    assert git(top, "ls-tree", "-r", "--name-only", commit).split() == sorted(FILES)


@pytest.mark.slow
async def test_a_linked_working_tree_works(agent: MakeAgent, tmp_path: Path) -> None:
    main = make_repository(tmp_path / "main", FILES)
    git(main, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    before = everything(main)
    commit = await agent(changed(tmp_path / "side")).commit()
    assert ".git/refs/heads/cellwright/work" in made(before, everything(main))
    assert git(main, "rev-parse", "cellwright/work^") == git(main, "rev-parse", "side")
    assert git(main, "rev-parse", "cellwright/work") == commit


@pytest.mark.slow
async def test_a_project_inside_a_repository_sees_and_commits_itself_alone(agent: MakeAgent, tmp_path: Path) -> None:
    files = {"root.txt": "r\n", ".gitignore": "*.tmp\n", "apps/one/a.txt": "1\n", "apps/two/b.txt": "2\n"}
    top = make_repository(tmp_path, files)
    write_files(top, {"root.txt": "R\n", "apps/two/b.txt": "zwei\n", "beside.txt": "x"})
    write_files(top, {"apps/one/a.txt": "eins\n", "apps/one/n.txt": "n\n", "apps/one/no.tmp": "n\n"})
    ada = agent(top / "apps/one")
    assert await ada.status() == {"apps/one/a.txt": "changed", "apps/one/n.txt": "new"}
    commit = await ada.commit("n.txt")
    assert git(top, "diff", "--name-only", "main", commit) == "apps/one/n.txt"
    assert git(top, "fsck", "--strict") == ""


@pytest.mark.slow
async def test_files_the_person_left_out_of_the_working_tree_are_not_deleted(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path, {**FILES, "big/x.txt": "x\n", "local.cfg": "shared\n", "other.cfg": "shared\n"})
    git(top, "update-index", "--skip-worktree", "local.cfg")
    git(top, "update-index", "--assume-unchanged", "other.cfg")
    write_files(top, {"local.cfg": "mine\n", "other.cfg": "mine\n"})
    git(top, "sparse-checkout", "set", "--no-cone", "/*", "!big")
    assert not (top / "big").exists()
    write_files(top, {"a.txt": "uno\n", "local.cfg": "mine\n", "other.cfg": "mine\n"})
    status = await agent(top).status()
    assert "big/x.txt" not in status
    assert "other.cfg" not in status


@pytest.mark.slow
async def test_a_split_index_is_read(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path, FILES)
    git(top, "update-index", "--split-index")
    assert list((top / ".git").glob("sharedindex.*"))
    assert await agent(changed(top)).status() == {"a.txt": "changed", "d/b.txt": "deleted", "new/n.txt": "new"}


@pytest.mark.slow
async def test_a_shallow_clone_works(agent: MakeAgent, tmp_path: Path) -> None:
    origin = make_repository(tmp_path / "origin", FILES)
    git(origin, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{origin}", "clone")
    commit = await agent(changed(tmp_path / "clone")).commit()
    assert git(tmp_path / "clone", "rev-parse", f"{commit}^") == git(origin, "rev-parse", "HEAD")


async def test_what_cannot_be_committed_from_here_is_left_out_and_said(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path, {**FILES, ".gitattributes": "*.bin filter=lfs\n", "m.bin": "pointer\n"})
    write_files(top, {"m.bin": "the real thing", "a.txt": "uno\n"})
    with (top / "long.dat").open("wb") as file:
        file.truncate(30 << 20)
    make_repository(top / "inner", {"x": "1"})
    ada = agent(top)
    value = await ada.done("git_status")
    assert {one["path"]: one["why"] for one in value["left_out"]} == {
        "m.bin": "stored through the filter 'lfs', a program that is not run here",
        "long.dat": "longer than 20 MB",
        "inner/": "a repository of its own",
    }
    commit = await ada.commit()
    assert git(top, "show", "--name-only", "--format=", commit) == "a.txt"


@pytest.mark.slow
async def test_a_submodule_is_left_as_it_is(agent: MakeAgent, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other", {"x": "1"})
    top = make_repository(tmp_path / "top", FILES)
    git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    git(top, "commit", "-q", "-m", "with a submodule")
    git(top / "sub", "commit", "-q", "--allow-empty", "-m", "moved")
    write_files(top, {"a.txt": "uno\n", "sub/x": "2"})
    ada = agent(top)
    assert await ada.status() == {"a.txt": "changed"}
    assert git(top, "diff", "--name-only", "main", await ada.commit()) == "a.txt"
    assert "submodule" in (await agent(top / "sub").error("git_status")).message


def make_bare(top: Path) -> None:
    make_repository(top, {}, "--bare")


def with_config(top: Path, text: str) -> None:
    (make_repository(top, FILES) / ".git/config").write_text(text)


def with_head(top: Path, text: str | None) -> None:
    head = make_repository(top, FILES) / ".git/HEAD"
    head.unlink() if text is None else head.write_text(text)


NEW_FORM = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\t"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Path.mkdir, "in no git repository"),
        (make_bare, "bare"),
        (partial(with_config, text="[core]\n\tbare = true\n"), "bare"),
        (partial(with_config, text="[core]\n\trepositoryformatversion = 7\n"), "version"),
        (partial(with_config, text=f"{NEW_FORM}refStorage = reftable\n"), "references"),
        (partial(with_config, text=f"{NEW_FORM}magic = yes\n"), "magic"),
        (partial(with_config, text=f"{NEW_FORM}objectFormat = md5\n"), "md5"),
        (partial(with_head, text=None), "no HEAD"),
        (partial(with_head, text="x"), "names no commit"),
        (partial(with_head, text="ref: ../../secret"), "no reference"),
        (partial(with_head, text="ab" * 20), "failed to unpack"),
    ],
)
async def test_a_repository_that_cannot_be_used_says_why(
    agent: MakeAgent, tmp_path: Path, make: Callable[[Path], object], words: str
) -> None:
    make(tmp_path / "p")
    assert words in (await agent(tmp_path / "p").error("git_status")).message


@pytest.mark.slow
async def test_an_unfinished_merge_is_the_person_s_to_end(agent: MakeAgent, tmp_path: Path) -> None:
    top = changed(make_repository(tmp_path, FILES))
    (top / ".git/MERGE_HEAD").write_text(git(top, "rev-parse", "HEAD") + "\n")
    ada = agent(top)
    error = await ada.error("git_commit", branch="x", message="m", state=await ada.state())
    assert "merge is not finished" in error.message


async def test_a_machine_without_git_says_how_to_get_it(agent: MakeAgent, tmp_path: Path) -> None:
    ada = agent(make_repository(tmp_path / "p", FILES), git_path=str(tmp_path))
    error = await ada.error("git_status")
    assert "Git is not installed" in error.message
    assert "apt-get install git" in error.hint


async def test_git_is_not_run_without_walls(agent: MakeAgent, tmp_path: Path) -> None:
    error = await agent(make_repository(tmp_path, FILES), tier="D").error("git_status")
    assert "no walls" in error.message


async def test_a_cage_without_control_groups_works_too(agent: MakeAgent, tmp_path: Path) -> None:
    commit = await agent(changed(make_repository(tmp_path, FILES)), tier="B").commit()
    assert git(tmp_path, "show", f"{commit}:a.txt") == "uno"


# ── policy and recovery ──


@pytest.mark.slow
async def test_the_person_is_shown_the_very_bytes_that_will_be_committed(agent: MakeAgent, tmp_path: Path) -> None:
    top = changed(make_repository(tmp_path, FILES))
    ada = agent(top)
    tool = ada.tools["git_commit"]
    made_action: Any = tool.action(tool.parse({"branch": "x", "message": "Why", "state": await ada.state()}))
    action = await made_action
    assert isinstance(action, GitCommit)
    assert (action.repository, action.branch, action.message) == (str(top), "cellwright/x", "Why")
    assert "-one\n+uno" in action.diff
    reading = ada.tools["git_diff"]
    assert reading.action(reading.parse({"paths": ["a.txt"]})) == ReadFile(path=str(top / "a.txt"))
    assert not reading.changes


@pytest.mark.slow
async def test_a_commit_that_happened_before_a_crash_is_found(agent: MakeAgent, tmp_path: Path) -> None:
    top = changed(make_repository(tmp_path, FILES))
    ada = agent(top)
    tool = ada.tools["git_commit"]
    state = await ada.state()
    asked = tool.parse({"branch": "x", "message": "Why", "state": state})
    assert await tool.find(asked, NOBODY) == EffectNotFound()
    await ada.done("git_commit", branch="x", message="Why", state=state)
    assert isinstance(await tool.find(asked, NOBODY), EffectFound)
    other = tool.parse({"branch": "x", "message": "Something else", "state": state})
    assert await tool.find(other, NOBODY) == EffectNotFound()


@pytest.mark.slow
@pytest.mark.parametrize("says_yes", [True, False])
async def test_a_commit_waits_for_a_person(agent: MakeAgent, tmp_path: Path, where: Path, says_yes: bool) -> None:
    top = changed(make_repository(tmp_path / "p", FILES))
    ada = agent(top)
    arguments = {"branch": "x", "message": "Why", "state": await ada.state()}
    before = everything(top)

    async def work(flow: Flow, _: Any) -> str:
        caller = standard(ada.tools, guard=driver.guard, masker=MASKER, who=WHO)
        return result_text(await caller.call(flow, ToolCall(id="1", name="git_commit", arguments=arguments)))

    async with open_guard_driver(where, workflows=[Workflow(name="work", body=work)]) as driver:
        await driver.journal.run("work", None, run="r")
        asked = (await driver.asked()).question
        assert made(before, everything(top)) == set()
        reply = Yes(reach="once") if says_yes else No(feedback="Not yet.")
        await driver.inbox.answer(asked.id, reply, PERSON, asked.fingerprint)
        outcome = await driver.journal.result("r")
    assert ("Committed" if says_yes else "Not yet.") in outcome
    assert bool(made(before, everything(top))) == says_yes


async def test_new_files_can_be_read_by_whom_the_repository_belongs_to(agent: MakeAgent, tmp_path: Path) -> None:
    top = changed(make_repository(tmp_path, FILES))
    before = everything(top)
    await agent(top).commit()
    owner = (top / ".git").stat()
    for path in made(before, everything(top)):
        status = (top / path).stat()
        assert (status.st_uid, status.st_gid) == (owner.st_uid, owner.st_gid)
        if stat.S_ISREG(status.st_mode) and "objects" in path:
            assert stat.S_IMODE(status.st_mode) == 0o444
