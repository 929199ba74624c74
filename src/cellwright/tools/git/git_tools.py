"""Git for agents: what changed, how, and a commit on a new branch that a person may take or leave."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from cellwright.journal.effects import EffectFinding, EffectFound, EffectNotFound
from cellwright.policy.actions import Action, GitCommit, ReadFile
from cellwright.tools.git.client import GitClient, GitView
from cellwright.tools.tool import CallContext, Done, Tool, ToolResult, result_json, tool

_SECONDS: Final = 120.0
_MOST_LISTED: Final = 500

Paths = Annotated[
    list[str], Field(description="Files or directories of the project; empty for all of it.", max_length=1_000)
]
Slug = Annotated[
    str, Field(description="A short name for the new branch, e.g. fix-prices.", min_length=1, max_length=100)
]
Message = Annotated[
    str, Field(description="The commit's message: one line, then details.", min_length=1, max_length=20_000)
]
State = Annotated[str, Field(description="The state that git_diff named for the same paths.", max_length=64)]


def git_tools(client: GitClient) -> list[Tool]:
    """Status, diff and commit for one project."""

    def reading(arguments: Any) -> Action:
        paths: list[str] = getattr(arguments, "paths", [])
        return ReadFile(path=str(client.project / paths[0]) if len(paths) == 1 else str(client.project))

    @tool(action=reading, seconds=_SECONDS)
    async def git_status() -> ToolResult:
        """Which files of the project differ from the last commit. What the person has staged makes no difference."""
        view = await client.look("status")
        return Done(text=_plain(f"{_where(view)}\n{_listed(view)}"), value=_value(view), is_untrusted=True)

    @tool(action=reading, seconds=_SECONDS)
    async def git_diff(paths: Paths = []) -> ToolResult:  # noqa: B006  pydantic copies it
        """What differs from the last commit, new files included, as a patch; and the name of this state."""
        view = await client.look("diff", paths)
        if view.checked is None or not view.checked.changes:
            return Done(text=_plain(f"{_where(view)}\n{_listed(view)}"), value=_value(view), is_untrusted=True)
        text = f"{_where(view)}\nState: {view.state}\n{_skipped(view)}\n{view.answer.patch}"
        value = {**_value(view), "state": view.state, "patch": _plain(view.answer.patch)}
        return Done(text=_plain(text), value=value, is_untrusted=True)

    return [git_status, git_diff, _commit_tool(client)]


def _commit_tool(client: GitClient) -> Tool:
    async def action(arguments: Any) -> Action:
        branch = client.branch(arguments.branch)
        diff = await client.describe(arguments.paths, arguments.state)
        return GitCommit(repository=str(client.project), branch=branch, message=arguments.message, diff=_plain(diff))

    async def find(arguments: Any, _: CallContext) -> EffectFinding:
        name = await client.find_commit(arguments.branch, arguments.message, arguments.state)
        if name is None:
            return EffectNotFound()
        return EffectFound(result=result_json(_done(client.branch(arguments.branch), name)))

    @tool(action=action, needs="git-commit", changes=True, find=find, seconds=_SECONDS)
    async def git_commit(branch: Slug, message: Message, state: State, paths: Paths = []) -> ToolResult:  # noqa: B006
        """Commit what git_diff showed, on a new branch. Nothing is checked out: branch, index and files stay.

        Refused when the files changed since: look at git_diff again then.
        """
        name = await client.commit(branch, message, paths, state)
        return _done(client.branch(branch), name)

    return git_commit


# ── what the agent reads ──


def _done(branch: str, commit: str) -> Done:
    text = f"Committed {commit[:12]} on the new branch {branch}. Nothing was checked out."
    return Done(text=text, value={"branch": branch, "commit": commit})


def _where(view: GitView) -> str:
    head = view.plan.head
    branch = f"branch {head.branch}" if head.branch else "no branch"
    return f"On {branch}, at {head.commit[:12] if head.commit else 'no commit yet'}."


def _listed(view: GitView) -> str:
    changes = view.answer.changes
    if not changes and not view.answer.skipped:
        return "Nothing differs from the last commit."
    lines = [f"{kind:8}{path}" for path, kind in changes[:_MOST_LISTED]]
    more = [f"… and {len(changes) - _MOST_LISTED} more"] if len(changes) > _MOST_LISTED else []
    return "\n".join([*lines, *more, _skipped(view)]).rstrip()


def _skipped(view: GitView) -> str:
    return "\n".join(f"left out {path}: {why}" for path, why in view.answer.skipped[:_MOST_LISTED])


def _value(view: GitView) -> dict[str, Any]:
    head = view.plan.head
    return {
        "branch": head.branch,
        "commit": head.commit,
        "changes": [{"path": _plain(path), "kind": kind} for path, kind in view.answer.changes],
        "left_out": [{"path": _plain(path), "why": _plain(why)} for path, why in view.answer.skipped],
    }


def _plain(text: str) -> str:
    """Text that can be written as UTF-8: paths may hold any byte."""
    return text.encode("utf-8", "replace").decode()
