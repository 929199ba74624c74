"""`cellwright runs accept|drop`: a person decides about branches that wait for one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import anyio
import typer

from cellwright.cli import render
from cellwright.cli.approvals import person_here
from cellwright.cli.journal_place import DatabaseOption, JsonOption, KeyOption, open_records
from cellwright.cli.run_names import GoingArgument, find_run
from cellwright.policy.shown import shown
from cellwright.runs import branch_decisions
from cellwright.runs.branch_decisions import Decided, NotWaiting
from cellwright.runs.finding import check_is_run

_REFUSED: Final = 3
_NAMES: Final = "As `runs branches` names it, or what it is for."


def accept(
    run: GoingArgument,
    branch: Annotated[str, typer.Argument(metavar="BRANCH", help=_NAMES)],
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Keep a branch that waits for you: the run makes it in the notebook. Exit 3 if it does not wait any more."""
    _decide(run, branch, is_kept=True, as_json=as_json, database=database, key=key)


def drop(
    run: GoingArgument,
    branch: Annotated[str | None, typer.Argument(metavar="[BRANCH]", help=f"{_NAMES} Default: all that wait.")] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Drop a branch that waits for you, or all of them: the notebook stays as it is. Exit 3 if none waits any more."""
    _decide(run, branch, is_kept=False, as_json=as_json, database=database, key=key)


def _decide(
    run: str, branch: str | None, *, is_kept: bool, as_json: bool, database: str | None, key: Path | None
) -> None:
    try:
        decided = anyio.run(_say, run, branch, is_kept, database, key)
    except NotWaiting as refused:
        message = f"{refused.message} {refused.hint}".rstrip()
        said = {"id": branch or run, "refused": "not-waiting", "message": shown(message)}
        render.as_json(said) if as_json else render.refusal(said)
        raise typer.Exit(_REFUSED) from refused
    if as_json:
        render.as_json(decided.json())
    else:
        render.note(shown(decided.says))


async def _say(run: str, branch: str | None, is_kept: bool, database: str | None, key: Path | None) -> Decided:
    async with open_records(database, key) as records:
        status = await records.status(await find_run(records, run))
        check_is_run(status.run, status.name)
        if is_kept and branch is not None:
            return await branch_decisions.accept(records, status.run, branch, person_here())
        return await branch_decisions.drop(records, status.run, branch, person_here())
