"""Questions of a run: asked at this terminal, or told together with the command that answers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cellwright.cli.approvals import person_here
from cellwright.cli.render import run_output
from cellwright.cli.terminal_input import ask_line
from cellwright.errors import UserError
from cellwright.journal import OpenQuestion, Records
from cellwright.policy import AnswerRefused, Masker, No
from cellwright.runs.views.questions import INBOX_TOPICS, match_choice, parse_typed_answer
from cellwright.tools import Inbox, InboxItem

_WORDS: Final = {
    "once": "yes, exactly this",
    "run": "yes, until the run ends",
    "always": "yes, in this project from now on",
    "raise": "raise the budget: raise 2.50",
    "price": "count it as: price 0.10",
    "uncounted": "go on without counting it",
    "no": "no",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPrompt:
    """Asks the person at this terminal what a run wants to know."""

    records: Records
    masker: Masker

    async def ask(self, found: OpenQuestion) -> bool:
        """Ask until it is answered; whether it was. False at the end of input."""
        if found.question.topic in INBOX_TOPICS:
            return await self._ask_on_desk(found)
        return await self._ask_plainly(found)

    async def _ask_on_desk(self, found: OpenQuestion) -> bool:
        desk = Inbox(self.records, masker=self.masker)
        shown = await desk.show(found.id)
        show_approval(shown)
        while True:
            typed = await ask_line("Your answer:")
            if typed is None:
                return False
            reply = parse_typed_answer(typed, shown.question.offers)
            if reply is None:
                run_output.say(f"One of: {', '.join([*shown.question.offers, 'no'])}.", style="dim")
                continue
            if isinstance(reply, No):
                feedback = await ask_line("Anything the agent should know? (Enter: nothing)")
                reply = No(feedback=feedback or "")
            said = await desk.answer(found.id, reply, person_here(), shown.question.fingerprint)
            if not isinstance(said, AnswerRefused):
                return True
            run_output.say(said.message, style="yellow")
            if said.why in {"already-answered", "lapsed"}:
                return True

    async def _ask_plainly(self, found: OpenQuestion) -> bool:
        show_question(found)
        choices = found.question.choices
        while True:
            typed = await ask_line("Your answer:")
            if typed is None:
                return False
            answer = match_choice(typed, choices)
            if answer is None:
                run_output.say("A number or one of the choices, please." if choices else "A few words, please.")
                continue
            try:
                await self.records.questions.answer(found.id, answer, by=person_here().name)
            except UserError as problem:
                # Somebody was faster, or the run has ended.
                run_output.say(problem.message, style="yellow")
            return True


# ── what is shown ──


def show_approval(found: InboxItem) -> None:
    """Exactly what will happen, and every answer that is possible."""
    question = found.question
    run_output.say(f"The run asks ({question.id}):", style="bold yellow")
    run_output.say(question.describe())
    for offer in (*question.offers, "no"):
        run_output.say(f"  {offer:<10} {_WORDS[offer]}", style="dim")


def show_question(found: OpenQuestion) -> None:
    """The question and its choices."""
    run_output.say(f"The run asks ({found.id}):", style="bold yellow")
    run_output.say(found.question.text)
    for number, choice in enumerate(found.question.choices, start=1):
        run_output.say(f"  {number}  {choice}")


def show_open_questions(told: Sequence[dict[str, Any]]) -> None:
    """What waits for an answer, for people who are not there to type it."""
    for question in told:
        run_output.say(f"waits for an answer to {question['id']}:", style="yellow")
        run_output.say(str(question["what"]))
        if question["offers"]:
            run_output.say(f"Possible answers: {', '.join(question['offers'])}", style="dim")
        run_output.say("Answer with:", style="dim")
        run_output.command(str(question["answer_with"]))
