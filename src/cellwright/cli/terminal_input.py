"""Who sits at this terminal, and lines they type: waiting for one blocks nothing and can be given up.

Questions of a run are asked here, or shown together with the command that answers them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import anyio

from cellwright.background import current_person
from cellwright.cli.render import run_output
from cellwright.cli.render.remedies import hint_text
from cellwright.errors import UserError
from cellwright.policy.approvals import AnswerRefused, No, Person
from cellwright.tools.approval.inbox import Inbox, InboxItem
from cellwright.tools.approval.typed_answers import TypedAnswer

_MOST_BYTES: Final = 4096


def person_here() -> Person:
    """Who sits at this terminal, as the system knows them; what the environment claims does not count."""
    return Person(name=current_person(), door="cli")


async def ask_line(text: str) -> str | None:
    """What is typed after these words; None at the end of input (Ctrl-D)."""
    run_output.prompt(text)
    # Not `input`: a thread that waits for a line cannot be called back when the question is answered elsewhere.
    typed = await next_line()
    return None if typed is None else typed.strip()


async def next_line() -> str | None:
    """The next line of this terminal, which hands over whole lines; None at the end of input."""
    descriptor = sys.stdin.fileno()
    await anyio.wait_readable(descriptor)
    typed = os.read(descriptor, _MOST_BYTES)
    return typed.decode("utf-8", "replace").rstrip("\n") if typed else None


async def ask_to_keep_changes(reason: str) -> bool:
    """Whether the person at this terminal wants more changed files kept than the limits let pass."""
    answer = await ask_line(f"The notebook left {reason}. Keep them? [y/N] ")
    return answer is not None and answer.lower() in {"y", "yes"}


# ── questions of a run ──

_WORDS: Final = {
    "once": "yes, exactly this",
    "run": "yes, until the run ends",
    "always": "yes, in this project from now on",
    "raise": "raise the budget: raise 2.50",
    "price": "count it as: price 0.10",
    "uncounted": "go on without counting it",
    "no": "no",
}


async def ask_person(inbox: Inbox, item: InboxItem) -> bool:
    """Ask at this terminal until the question is closed; False at the end of input."""
    _show_question(item)
    while (typed := await ask_line("Your answer:")) is not None:
        try:
            reply = inbox.parse(item, TypedAnswer(words=typed))
        except UserError as problem:
            run_output.say(hint_text(problem.advice), style="dim")
            continue
        if isinstance(reply, No):
            reply = No(feedback=await ask_line("Anything the agent should know? (Enter: nothing)") or "")
        said = await inbox.answer(item.question.id, reply, person_here(), item.question.fingerprint)
        if isinstance(said, AnswerRefused):
            run_output.say(said.message, style="yellow")
        # Dropping one of several branches leaves the question open, as a refused answer may.
        if (await inbox.show(item.question.id)).state != "open":
            return True
    return False


# ── what is shown ──


def _show_question(item: InboxItem) -> None:
    """Exactly what is asked or will happen, and every answer that is possible."""
    run_output.say(f"The run asks ({item.question.id}):", style="bold yellow")
    run_output.say(item.question.describe())
    for number, offer in enumerate(item.offers, start=1):
        if item.question.fingerprint:
            run_output.say(f"  {offer:<10} {_WORDS[offer]}", style="dim")
        else:
            run_output.say(f"  {number}  {offer}")


def show_open_questions(questions: Sequence[dict[str, Any]]) -> None:
    """What waits for an answer, for people who are not there to type it."""
    for question in questions:
        run_output.say(f"waits for an answer to {question['id']}:", style="yellow")
        run_output.say(str(question["what"]))
        if question["offers"]:
            run_output.say(f"Possible answers: {', '.join(question['offers'])}", style="dim")
        run_output.say("Answer with:", style="dim")
        run_output.command(str(question["answer_with"]))
