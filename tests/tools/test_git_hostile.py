"""Repositories that attack whoever looks at them, and a git that was taken over in its cage: nothing reaches the host.

Every trap is first shown to work with plain git; what never worked would prove nothing.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from cellwright.kernel.pool import KernelPool
from cellwright.sandbox.host.tiers import probe
from cellwright.tools.git.client import GitClient
from cellwright.tools.tool import result_text
from tests.sampling import spread
from tests.tools.git.yard import GIT, WHO, everything, git, made, make_repository, write_files
from tests.tools.git_agent import ADA, GitAgent

FILES = {"a.txt": "one\n", "b.txt": "two\n"}
MakeAgent = Callable[..., GitAgent]
REAL = shutil.which("git") or GIT


@pytest.fixture
def agent(pool: KernelPool) -> MakeAgent:
    def make(project: Path, **options: Any) -> GitAgent:
        given: dict[str, Any] = {"tier": probe().tier, **options}
        return GitAgent(GitClient(project, pool.zygote, author=ADA, **given))

    return make


# ── programs a repository can name ──


@dataclass(frozen=True, slots=True)
class Trap:
    """A way to make git run a program: how it is set, and a command of plain git that springs it."""

    config: tuple[tuple[str, str], ...] = ()
    hook: str = ""
    attributes: str = ""
    springs: tuple[str, ...] = ("status",)


EVIL = "./evil.sh"
TRAPS = {
    "hook after the index was written": Trap(hook="post-index-change", springs=("add", "a.txt")),
    "hook before a commit": Trap(hook="pre-commit", springs=("commit", "-am", "x")),
    "hook for messages": Trap(hook="commit-msg", springs=("commit", "-am", "x")),
    "hook for references": Trap(hook="reference-transaction", springs=("branch", "other")),
    "hooks elsewhere": Trap(config=(("core.hooksPath", "hooks"),), springs=("commit", "-am", "x")),
    "file system monitor": Trap(config=(("core.fsmonitor", EVIL),)),
    "clean filter": Trap(config=(("filter.f.clean", EVIL),), attributes="*.txt filter=f\n", springs=("add", "a.txt")),
    "long-running filter": Trap(
        config=(("filter.f.process", EVIL),), attributes="*.txt filter=f\n", springs=("add", "a.txt")
    ),
    "text conversion": Trap(config=(("diff.d.textconv", EVIL),), attributes="*.txt diff=d\n", springs=("diff",)),
    "external diff": Trap(config=(("diff.external", EVIL),), springs=("diff",)),
    "diff driver": Trap(config=(("diff.d.command", EVIL),), attributes="*.txt diff=d\n", springs=("diff",)),
    "pager": Trap(config=(("core.pager", EVIL), ("pager.status", EVIL)), springs=("-p", "status")),
    "editor": Trap(config=(("core.editor", EVIL),), springs=("commit", "-a")),
    "signing program": Trap(
        config=(("gpg.program", EVIL), ("commit.gpgSign", "true")), springs=("commit", "-am", "x")
    ),
    "alias": Trap(config=(("alias.st", f"!{EVIL}"),), springs=("st",)),
    "included settings": Trap(config=(("include.path", "../evil.config"),)),
    "credential helper": Trap(config=(("credential.helper", f"!{EVIL}"),), springs=("credential", "fill")),
    "ssh": Trap(
        config=(("core.sshCommand", EVIL), ("remote.origin.url", "ssh://localhost/x")), springs=("fetch", "origin")
    ),
}  # fmt: skip


def set_trap(top: Path, trap: Trap, mark: Path) -> None:
    """Arm the repository: what it runs leaves a mark outside and a file in the working tree."""
    program = f"#!/bin/sh\necho ran >> '{mark}'\ntouch ran-here 2>/dev/null\nexit 0\n"
    write_files(top, {"evil.sh": program, "evil.config": f"[core]\n\tfsmonitor = {EVIL}\n"})
    for name in ("evil.sh", *(["hooks/pre-commit"] if trap.config and trap.config[0][1] == "hooks" else [])):
        write_files(top, {name: program})
        (top / name).chmod(0o755)
    write_files(top, {".gitattributes": trap.attributes} if trap.attributes else {})
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "traps")
    for name, value in trap.config:
        git(top, "config", name, value)
    if trap.hook:
        hook = top / ".git/hooks" / trap.hook
        hook.parent.mkdir(exist_ok=True)
        shutil.copy(top / "evil.sh", hook)
    write_files(top, {"a.txt": "uno\n"})


def spring(top: Path, trap: Trap) -> None:
    """Run plain git into the trap, before a terminal, as a person does; how that ends does not matter."""
    terminal, screen = os.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PAGER": "cat", **WHO}
    try:
        subprocess.run(
            [GIT, "-c", "safe.directory=*", *trap.springs],
            cwd=top, env=environment, input=b"protocol=https\nhost=example.org\n\n", stdout=screen, stderr=screen,
            timeout=300, check=False,
        )  # fmt: skip
    finally:
        os.close(terminal)
        os.close(screen)


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", spread(TRAPS, 6))
async def test_no_program_a_repository_names_is_run(agent: MakeAgent, tmp_path: Path, name: str) -> None:
    mark = tmp_path / "mark"
    victim = make_repository(tmp_path / "victim", FILES)
    set_trap(victim, TRAPS[name], mark)
    spring(victim, TRAPS[name])
    assert mark.read_text().startswith("ran"), "the trap itself does not work"
    mark.unlink()

    top = make_repository(tmp_path / "p", FILES)
    set_trap(top, TRAPS[name], mark)
    # Setting it may have sprung it.
    mark.unlink(missing_ok=True)
    (top / "ran-here").unlink(missing_ok=True)
    before = everything(top)
    ada = agent(top)
    status = await ada.done("git_status")
    seen = {one["path"] for one in (*status["changes"], *status["left_out"])}
    assert seen == {"a.txt"}
    if status["changes"]:
        commit = await ada.commit()
        assert (top / ".git/refs/heads/cellwright/work").read_text().strip() == commit
    else:
        assert "filter" in status["left_out"][0]["why"]
    assert not mark.exists()
    new = made(before, everything(top))
    assert all(path.startswith((".git/objects/", ".git/refs/heads/cellwright")) for path in new)


async def test_a_nested_repository_s_settings_are_not_honoured(agent: MakeAgent, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    top = make_repository(tmp_path / "p", FILES)
    inner = make_repository(top / "inner", FILES)
    set_trap(inner, TRAPS["file system monitor"], mark)
    git(inner, "status")
    assert mark.exists()
    mark.unlink()
    value = await agent(top).done("git_status")
    assert [one["path"] for one in value["left_out"]] == ["inner/"]
    assert not mark.exists()


# ── repositories that point elsewhere ──


def treasure(tmp_path: Path) -> Path:
    """Somebody's other repository."""
    return make_repository(tmp_path / "treasure", {"secret.txt": "the treasure\n"})


def link_the_repository(top: Path, other: Path) -> None:
    shutil.rmtree(top / ".git")
    (top / ".git").symlink_to(other / ".git")


def name_the_repository(top: Path, other: Path) -> None:
    shutil.rmtree(top / ".git")
    (top / ".git").write_text(f"gitdir: {other}/.git\n")


def name_its_working_tree(top: Path, other: Path) -> None:
    """A forged linked working tree: the repository has one of that name, but it is not this."""
    git(other, "worktree", "add", "-q", str(other.parent / "real"))
    shutil.rmtree(top / ".git")
    (top / ".git").write_text(f"gitdir: {other}/.git/worktrees/real\n")


def borrow_objects(top: Path, other: Path) -> None:
    (top / ".git/objects/info").mkdir(exist_ok=True)
    (top / ".git/objects/info/alternates").write_text(f"{other}/.git/objects\n")
    (top / ".git/refs/heads/main").write_text(git(other, "rev-parse", "HEAD") + "\n")


def link_the_objects(top: Path, other: Path) -> None:
    shutil.rmtree(top / ".git/objects")
    (top / ".git/objects").symlink_to(other / ".git/objects")


def link_the_branches(top: Path, other: Path) -> None:
    shutil.rmtree(top / ".git/refs/heads")
    (top / ".git/refs/heads").symlink_to(other / ".git/refs/heads")


def link_the_branch(top: Path, other: Path) -> None:
    (top / ".git/refs/heads/main").unlink()
    (top / ".git/refs/heads/main").symlink_to(other / ".git/refs/heads/main")


def link_head(top: Path, other: Path) -> None:
    (top / ".git/HEAD").unlink()
    (top / ".git/HEAD").symlink_to(other / ".git/HEAD")


def link_the_index(top: Path, other: Path) -> None:
    (top / ".git/index").unlink()
    (top / ".git/index").symlink_to(other / ".git/index")


def link_packed_references(top: Path, other: Path) -> None:
    git(other, "pack-refs", "--all")
    git(top, "pack-refs", "--all")
    (top / ".git/packed-refs").unlink()
    (top / ".git/packed-refs").symlink_to(other / ".git/packed-refs")


@pytest.mark.parametrize(
    "point",
    spread(
        [
            link_the_repository, name_the_repository, name_its_working_tree, borrow_objects, link_the_objects,
            link_the_branches, link_the_branch, link_head, link_the_index, link_packed_references,
        ],
        4,
    ),
)  # fmt: skip
async def test_a_repository_that_points_elsewhere_is_refused(
    agent: MakeAgent, tmp_path: Path, point: Callable[[Path, Path], None]
) -> None:
    other = treasure(tmp_path)
    top = make_repository(tmp_path / "p", FILES)
    write_files(top, {"a.txt": "uno\n"})
    point(top, other)
    before, theirs = everything(top), everything(other)
    ada = agent(top)
    for name, arguments in (
        ("git_status", {}),
        ("git_diff", {}),
        ("git_commit", {"branch": "x", "message": "m", "state": "s" * 16}),
    ):
        error = await ada.error(name, **arguments)
        assert "treasure\n" not in result_text(error)
    assert made(before, everything(top)) == set()
    assert made(theirs, everything(other)) == set()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["cellwright", "cellwright/work"])
async def test_a_link_where_the_branch_goes_is_not_followed(agent: MakeAgent, tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    top = make_repository(tmp_path / "p", FILES)
    write_files(top, {"a.txt": "uno\n"})
    link = top / ".git/refs/heads" / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside / "victim" if place.endswith("work") else outside)
    ada = agent(top)
    error = await ada.error("git_commit", branch="work", message="m", state=await ada.state())
    assert error.message
    assert list(outside.iterdir()) == []


async def test_a_link_where_an_object_goes_is_not_followed(agent: MakeAgent, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    top = make_repository(tmp_path / "p", FILES)
    # Where no other object is: git itself must still be able to read what was committed.
    for number in count():
        write_files(top, {"a.txt": f"uno {number}\n"})
        folder = top / ".git/objects" / git(top, "hash-object", "a.txt")[:2]
        if not folder.exists():
            break
    folder.symlink_to(outside)
    ada = agent(top)
    error = await ada.error("git_commit", branch="work", message="m", state=await ada.state())
    assert "symbolic link" in error.message
    assert list(outside.iterdir()) == []


async def test_a_link_in_the_project_shows_nothing_of_the_host(agent: MakeAgent, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("the treasure\n")
    top = make_repository(tmp_path / "p", FILES)
    (top / "way").symlink_to(tmp_path / "outside")
    (top / "file").symlink_to(tmp_path / "outside/secret.txt")
    patch = (await agent(top).done("git_diff"))["patch"]
    assert "the treasure" not in patch
    assert str(tmp_path / "outside") in patch


async def test_odd_files_do_not_stop_anything(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path / "p", FILES)
    os.mkfifo(top / "pipe")
    write_files(top, {"a.txt": "uno\n"})
    assert await agent(top).status() == {"a.txt": "changed"}


# ── a git that was taken over ──


def taken_over(tmp_path: Path, script: str, command: str = "write-tree") -> str:
    """A directory with a git that does as git does but for some commands; where to look for it."""
    folder = tmp_path / "taken/bin"
    folder.mkdir(parents=True)
    program = f'#!/bin/sh\ncase "$2" in {command})\n{script}\nesac\nexec {REAL} "$@"\n'
    (folder / "git").write_text(program)
    (folder / "git").chmod(0o755)
    return str(folder)


EVIL_BLOB = "blob=$(echo evil | GIT hash-object -w --stdin)"
FORGERIES = {
    "a file outside the project": (
        f"{EVIL_BLOB}; GIT update-index --add --cacheinfo 100644,$blob,beside.txt; GIT --no-pager write-tree; exit",
        "outside the project",
    ),
    "git's own settings": (
        f'{EVIL_BLOB}; inner=$(printf "100644 blob $blob\\tconfig\\n" | GIT mktree); '
        'printf "040000 tree $inner\\t.git\\n" | GIT mktree --missing; exit',
        "git's own files",
    ),
    "a way out": (
        f'{EVIL_BLOB}; inner=$(printf "100644 blob $blob\\tevil\\n" | GIT mktree); '
        'printf "040000 tree $inner\\t..\\n" | GIT mktree; exit',
        "no name for a file",
    ),
    "a hidden file": (
        f"{EVIL_BLOB}; GIT update-index --add --cacheinfo 100644,$blob,app/.env; GIT --no-pager write-tree; exit",
        "hidden",
    ),
    "an endless answer": ("yes; exit", ""),
    "no answer at all": ("kill -9 $PPID; exit", "without an answer"),
}


@pytest.mark.slow
@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", spread(FORGERIES, 6))
async def test_what_a_git_that_was_taken_over_delivers_is_refused(agent: MakeAgent, tmp_path: Path, name: str) -> None:
    top = make_repository(tmp_path / "p", {"beside.txt": "b\n", "app/a.txt": "one\n"})
    write_files(top, {"app/a.txt": "uno\n", "app/.env": "KEY=secret\n"})
    script, why = FORGERIES[name]
    before = everything(top)
    forged = agent(top / "app", git_path=taken_over(tmp_path, script.replace("GIT", REAL)))
    assert await forged.status() == {"app/a.txt": "changed"}
    assert why in (await forged.error("git_diff")).message
    state = await agent(top / "app").state()
    assert why in (await forged.error("git_commit", branch="x", message="m", state=state)).message
    assert made(before, everything(top)) == set()


@pytest.mark.parametrize(("tree", "why"), [("12" * 20, "was not delivered"), ("../../../etc/passwd", "names no tree")])
async def test_a_tree_that_is_none_is_refused_by_the_host_too(
    agent: MakeAgent, tmp_path: Path, tree: str, why: str
) -> None:
    top = make_repository(tmp_path / "p", FILES)
    write_files(top, {"a.txt": "uno\n"})
    script = f'if [ "$2" = write-tree ]; then echo {tree}; fi; exit 0'
    forged = agent(top, git_path=taken_over(tmp_path, script, command="write-tree|diff-tree|cat-file"))
    assert why in (await forged.error("git_diff")).message


async def test_an_object_that_a_git_that_was_taken_over_smuggles_is_refused(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path / "p", FILES)
    write_files(top, {"a.txt": "uno\n"})
    before = everything(top)
    forged = agent(top, git_path=taken_over(tmp_path, r'printf "x blob 8\nsmuggled\n"', command="cat-file"))
    assert "belong to nothing" in (await forged.error("git_diff")).message
    assert made(before, everything(top)) == set()


async def test_another_content_than_the_last_commit_s_is_not_taken_for_it(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path / "p", FILES)
    write_files(top, {"a.txt": "uno\n"})
    script = f'{REAL} "$@" | sed s/first/fiRst/; exit'
    forged = agent(top, git_path=taken_over(tmp_path, script, command="cat-file"))
    assert "was not delivered" in (await forged.error("git_diff")).message


async def test_a_git_that_was_taken_over_can_write_nowhere(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path / "p", FILES)
    write_files(top, {"a.txt": "uno\n"})
    tries = " ".join([
        "echo evil > b.txt; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo evil > .git/config;",
        "echo evil > .cellwright-git/index; touch .cellwright-git/objects/evil; rm -rf .cellwright-git/objects/*;",
        f"echo evil > '{top}/b.txt'; echo evil > '{tmp_path}/evil'; ls '{tmp_path}' > /project/listing;",
    ])  # fmt: skip
    before = everything(tmp_path)
    path = taken_over(tmp_path, tries)
    await agent(top, git_path=path).call("git_diff")
    shutil.rmtree(tmp_path / "taken")
    assert made(before, everything(tmp_path)) == set()


async def test_a_git_that_was_taken_over_sees_no_other_part_of_the_repository(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path / "p", {"beside.txt": "b\n", "app/a.txt": "one\n"})
    git(top, "config", "remote.origin.url", "https://token:hunter2@example.org/x.git")
    write_files(top, {"app/.env": "KEY=hunter2\n", "beside.txt": "hunter2\n", "app/a.txt": "uno\n"})
    look = (
        "{ cat .git/config beside.txt app/.env; ls -a .git /home /root; env; } > app/seen.txt 2>&1; "
        "REAL --no-pager add app/seen.txt".replace("REAL", REAL)
    )
    patch = (await agent(top / "app", git_path=taken_over(tmp_path, look)).done("git_diff"))["patch"]
    assert "seen.txt" in patch
    assert "hunter2" not in patch
    assert "Permission denied" in patch


async def test_what_a_forged_patch_says_is_not_what_the_person_is_shown(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path / "p", FILES)
    write_files(top, {"a.txt": "harmless\n"})
    swap = (
        f"blob=$(echo backdoor | {REAL} hash-object -w --stdin); "
        f'{REAL} update-index --cacheinfo 100644,$blob,a.txt; rm -rf "$GIT_DIR"/objects/$(echo harmless | '
        f"{REAL} hash-object --stdin | cut -c1-2)"
    )
    ada = agent(top, git_path=taken_over(tmp_path, swap))
    view = await ada.client.look("tree")
    shown = await ada.client.describe([], view.state)
    assert "+backdoor" in shown
    assert "harmless" not in shown


async def test_objects_that_were_imported_cannot_be_run_or_written(agent: MakeAgent, tmp_path: Path) -> None:
    top = make_repository(tmp_path / "p", FILES)
    write_files(top, {"run.sh": "#!/bin/sh\n"})
    (top / "run.sh").chmod(0o777)
    before = everything(top)
    await agent(top).commit()
    for path in made(before, everything(top)):
        mode = (top / path).stat().st_mode
        assert stat.S_ISDIR(mode) or not mode & 0o111
