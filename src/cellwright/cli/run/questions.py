"""Questions of a run: asked at this terminal, or shown together with the command that answers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from cellwright.cli.render import run_output
from cellwright.cli.render.remedies import hint_text
from cellwright.cli.terminal_input import ask_line, person_here
from cellwright.errors import UserError
from cellwright.policy.approvals import AnswerRefused, No
from cellwright.tools import Inbox, InboxItem, TypedAnswer

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
