"""`cellwright runs context`: what an agent read in a step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from cellwright.cli import journal_render, render
from cellwright.cli.journal_place import DatabaseOption, JsonOption, KeyOption, open_records
from cellwright.cli.run_names import AgentArgument, find_workflow
from cellwright.errors import UserError
from cellwright.journal import Fact
from cellwright.policy.shown import shown_block


def context(
    run: AgentArgument,
    step: Annotated[int | None, typer.Argument(metavar="STEP", help="1, 2, 3 …; without it, all are listed.")] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Show what a model read in one step of an agent: every part, where it stands and what it cost."""
    if step is None:
        name, found = anyio.run(_steps, run, database, key)
        if as_json:
            render.as_json({"run": name, "steps": found})
        else:
            journal_render.raw("".join(f"{each['agent']} {each['step']}: {each['tokens']} tokens\n" for each in found))
        return
    name, text, view = anyio.run(_context, run, step, database, key)
    if as_json:
        render.as_json({"run": name, "step": step, **view})
    else:
        journal_render.raw(f"{shown_block(text)}\n")


# What agents need is loaded when it is used: the other commands about runs must not wait for it.


async def _steps(run: str, database: str | None, key: Path | None) -> tuple[str, list[dict[str, Any]]]:
    from cellwright.agents.kept_contexts import list_contexts

    async with open_records(database, key) as records:
        name = await find_workflow(records, run)
        found = await list_contexts(records.log.read_all, name)
        facts = [fact for fact in found.values() if fact.subject.startswith((f"{name}#", f"{name}/"))]
        return name, [_line(fact) for fact in facts]


def _line(fact: Fact) -> dict[str, Any]:
    agent, _, step = fact.subject.rpartition("#")
    return {"agent": agent, "step": int(step), "tokens": int(fact.numbers.get("tokens", 0))}


async def _context(run: str, step: int, database: str | None, key: Path | None) -> tuple[str, str, dict[str, Any]]:
    from cellwright.agents.journal_texts import JournalTexts
    from cellwright.agents.kept_contexts import list_contexts, read_context
    from cellwright.agents.prompt_view import prompt_view, render_prompt

    async with open_records(database, key) as records:
        name = await find_workflow(records, run)
        found = await list_contexts(records.log.read_all, name)
        fact = found.get(f"{name}#{step}")
        if fact is None:
            raise UserError(f"{name!r} has no step {step} of an agent.", hint=f"See `cellwright runs context {name}`.")
        prompt = await read_context(JournalTexts(records), fact.text)
        return name, render_prompt(prompt), prompt_view(prompt)
