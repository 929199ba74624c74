"""`cellwright questions list|answer`: plain questions of runs, among them effects that may or may not have happened.

What needs an approval or a budget is answered with `cellwright approvals`, which shows exactly what will happen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from cellwright.cli.approvals import person_here
from cellwright.cli.journal_options import DatabaseOption, JsonOption, KeyOption, open_records
from cellwright.cli.render import console
from cellwright.errors import UserError
from cellwright.journal import OpenQuestion
from cellwright.policy.display_text import shown
from cellwright.tools import APPROVAL, BUDGET

app = typer.Typer(help="What runs want to know from you.", no_args_is_help=True)


@app.command("list")
def list_command(as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None) -> None:
    """List plain questions that wait for an answer, oldest first."""
    found = [_view(question) for question in anyio.run(_pending, database, key)]
    if as_json:
        console.as_json({"questions": found})
    else:
        console.plain_questions([_readable(question) for question in found])


@app.command("answer")
def answer_command(
    question: Annotated[str, typer.Argument(metavar="ID", help="A question, as `list` names it.")],
    answer: Annotated[str, typer.Argument(metavar="ANSWER", help="One of its choices, or any text if it has none.")],
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Answer a plain question; its run goes on."""
    said = _view(anyio.run(_answer, question, answer, database, key))
    if as_json:
        console.as_json(said)
    else:
        console.note(f"Answered {said['id']}: {said['answer']}.")


def _view(found: OpenQuestion) -> dict[str, Any]:
    return {
        "id": found.id,
        "run": found.run,
        "topic": found.question.topic,
        "text": found.question.text,
        "choices": list(found.question.choices),
        "state": found.state,
        "answer": found.answer,
        "by": found.answered_by,
    }


def _readable(view: dict[str, Any]) -> dict[str, Any]:
    """An agent wrote it, and a terminal obeys some characters instead of showing them."""
    return {**view, "text": shown(view["text"]), "choices": [shown(choice) for choice in view["choices"]]}


async def _pending(database: str | None, key: Path | None) -> list[OpenQuestion]:
    async with open_records(database, key) as records:
        pending = await records.questions.pending()
    return [found for found in pending if found.question.topic not in {APPROVAL, BUDGET}]


async def _answer(number: str, said: str, database: str | None, key: Path | None) -> OpenQuestion:
    async with open_records(database, key) as records:
        found = await records.questions.get(number)
        if found is not None and found.question.topic in {APPROVAL, BUDGET}:
            raise UserError(
                f"{number!r} asks about {found.question.topic}.", hint=f"See `cellwright approvals show {number}`."
            )
        return await records.questions.answer(number, said, by=person_here().name)
