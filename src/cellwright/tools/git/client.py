"""A project's repository, for an agent: looked at and committed to through git's cage, never by git on the host."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

import anyio.to_thread

from cellwright.errors import Unavailable, UserError
from cellwright.kernel.process.one_shot import run_one_shot
from cellwright.kernel.process.provisioner import CAGE_UID
from cellwright.kernel.process.zygote import Zygote
from cellwright.sandbox.host.git_files import Unsound
from cellwright.sandbox.host.git_repository import Repository, find_repository
from cellwright.sandbox.spec import Tier
from cellwright.tools.git.cage import MOST_ANSWER_BYTES, WHERE_GIT_IS, GitAnswer, GitPlan, Want, plan_cage, read_answer
from cellwright.tools.git.checked_delivery import CheckedDelivery, check_delivery, patch_of
from cellwright.tools.git.commit_import import Author, NewCommit, check_branch, import_commit, read_commit
from cellwright.tools.tool import ToolFailure

_PATIENCE_SECONDS: Final = 110.0
_STATE_CHARACTERS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class GitView:
    """What git said about the project, and where the repository stood."""

    repository: Repository
    plan: GitPlan
    answer: GitAnswer
    checked: CheckedDelivery | None = None
    """The changes as a commit would have them, found by us; None if only a status was wanted."""

    @property
    def state(self) -> str:
        """Names exactly these changes on exactly this commit."""
        assert self.checked is not None
        return _state(self.checked.parent, self.checked.tree)


class RepositoryMoved(ToolFailure):
    """The files or the repository are not as they were when they were looked at."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, kind="conflict", hint=hint)


@dataclass(slots=True, eq=False)
class GitClient:
    """Status, diff and commit of one project. Commits go to new branches below `namespace`, under `author`'s name."""

    project: Path
    zygote: Callable[[], Awaitable[Zygote]]
    _: KW_ONLY
    author: Author
    namespace: str = "cellwright"
    tier: Tier
    reveal: tuple[str, ...] = ()
    git_path: str = WHERE_GIT_IS
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        check_branch(self.namespace)
        self.project = self.project.resolve()

    def branch(self, name: str) -> str:
        """The full name of a branch an agent calls `name`. `UserError` if that is none."""
        full = name if name.startswith(f"{self.namespace}/") else f"{self.namespace}/{name}"
        check_branch(full)
        return full

    async def look(self, want: Want, paths: Sequence[str] = ()) -> GitView:
        """What differs from the last commit, in these paths of the project or in all of it."""
        with _doubts():
            repository = await anyio.to_thread.run_sync(find_repository, self.project)
            inside = [_inside(path, repository.prefix) for path in paths]
        return await self._ask(repository, want, inside)

    async def _ask(self, repository: Repository, want: Want, paths: Sequence[str] = (), commit: str = "") -> GitView:
        with _doubts():
            planning = partial(
                plan_cage, commit=commit, tier=self.tier, uid=CAGE_UID, reveal=self.reveal, git_path=self.git_path
            )
            plan = await anyio.to_thread.run_sync(planning, repository, self.project, want, paths)
        zygote = await self.zygote()
        data = await run_one_shot(
            zygote, plan.spec, plan.command, plan.question, most_bytes=MOST_ANSWER_BYTES, seconds=_PATIENCE_SECONDS
        )
        with _doubts():
            return await anyio.to_thread.run_sync(_read, repository, plan, data, want)

    async def describe(self, paths: Sequence[str], state: str) -> str:
        """The changes of that state as a patch, made on the host from what would be imported."""
        view = await self._same(paths, state)
        assert view.checked is not None
        return await anyio.to_thread.run_sync(patch_of, view.checked)

    async def commit(self, branch: str, message: str, paths: Sequence[str], state: str) -> str:
        """Put the changes of that state on a new branch; the commit's name. What is checked out stays as it is."""
        view = await self._same(paths, state)
        seconds = int(self.clock())
        commit = NewCommit(branch=self.branch(branch), message=message, author=self.author, seconds=seconds)
        return await anyio.to_thread.run_sync(self._import, view, commit)

    async def find_commit(self, branch: str, message: str, state: str) -> str | None:
        """The commit that `commit` made of that state before, if it did."""
        with _doubts():
            repository = await anyio.to_thread.run_sync(find_repository, self.project)
            name = await anyio.to_thread.run_sync(repository.resolve, f"refs/heads/{self.branch(branch)}")
        if name is None:
            return None
        view = await self._ask(repository, "commit", commit=name)
        assert view.answer.delivery is not None
        with _doubts():
            parent, tree, said = read_commit(name, view.answer.delivery.known, repository.format)
        return name if said == message.strip() and _state(parent, tree) == state else None

    async def _same(self, paths: Sequence[str], state: str) -> GitView:
        view = await self.look("tree", paths)
        if view.checked is not None and not view.checked.changes:
            raise ToolFailure("There is nothing to commit: all is as in the last commit.", kind="not-found")
        if view.state != state:
            raise RepositoryMoved(
                f"The files are not in the state {state[:40]!r} any more, but in {view.state!r}.",
                hint="Look at git_diff with the same paths again and give the state it names.",
            )
        unfinished = view.repository.unfinished()
        if unfinished is not None:
            raise ToolFailure(
                f"A {unfinished} is not finished in this repository.", kind="conflict", hint="The person has to end it."
            )
        return view

    def _import(self, view: GitView, commit: NewCommit) -> str:
        assert view.checked is not None
        if view.repository.head() != view.plan.head:
            raise RepositoryMoved("Somebody committed or switched branches meanwhile.", hint="Look at git_diff again.")
        with _doubts():
            return import_commit(view.repository, view.checked, commit)


def _read(repository: Repository, plan: GitPlan, data: bytes, want: Want) -> GitView:
    answer = read_answer(data, repository.format)
    if want == "status":
        return GitView(repository=repository, plan=plan, answer=answer)
    if answer.delivery is None:
        raise Unsound("the answer holds no objects")
    checked = None
    if want != "commit":
        head, hidden = plan.head.commit, plan.hidden
        checked = check_delivery(answer.delivery, repository.format, head, prefix=repository.prefix, hidden=hidden)
    return GitView(repository=repository, plan=plan, answer=answer, checked=checked)


def _state(parent: str | None, tree: str) -> str:
    return hashlib.sha256(f"{parent}\n{tree}\n".encode()).hexdigest()[:_STATE_CHARACTERS]


def _inside(path: str, prefix: str) -> str:
    """A path of the project, as seen from the working tree's root."""
    parts = PurePosixPath(path).parts
    if not path or "\0" in path or ".." in parts or PurePosixPath(path).is_absolute():
        raise UserError(f"{path[:200]!r} is no path inside the project.", hint="Give it relative, without '..'.")
    whole = PurePosixPath(prefix, *parts).as_posix()
    if whole == ".":
        raise UserError("'.' is all of the project.", hint="Leave the paths out.")
    return whole


@contextmanager
def _doubts() -> Generator[None]:
    """What is wrong with a repository or an answer, as an error a person can act on."""
    try:
        yield
    except Unsound as error:
        hint = "Look at the repository with `git fsck`."
        raise ToolFailure(f"Git's part was refused: {error}.", kind="failed", hint=hint) from error
    except OSError as error:
        name = f" ({error.filename})" if isinstance(error.filename, str) else ""
        raise Unavailable(f"The repository cannot be used: {error.strerror or error}{name}.") from error
