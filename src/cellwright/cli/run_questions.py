"""Questions of a run: asked at this terminal, or told together with the command that answers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cellwright.cli import run_render
from cellwright.cli.approvals import person_here
from cellwright.cli.run_typing import ask_line
from cellwright.errors import UserError
from cellwright.journal import OpenQuestion, Records
from cellwright.policy import AnswerRefused, Masker, No
from cellwright.runs.answers import picked, read_typed
from cellwright.runs.asked import ON_DESK
from cellwright.tools import Desk, OnDesk

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
class Asking:
    """Asks the person at this terminal what a run wants to know."""

    records: Records
    masker: Masker

    async def ask(self, found: OpenQuestion) -> bool:
        """Ask until it is answered; whether it was. False at the end of input."""
        if found.question.topic in ON_DESK:
            return await self._ask_on_desk(found)
        return await self._ask_plainly(found)

    async def _ask_on_desk(self, found: OpenQuestion) -> bool:
        desk = Desk(self.records, masker=self.masker)
        shown = await desk.show(found.id)
        show_on_desk(shown)
        while True:
            typed = await ask_line("Your answer:")
            if typed is None:
                return False
            reply = read_typed(typed, shown.question.offers)
            if reply is None:
                run_render.say(f"One of: {', '.join([*shown.question.offers, 'no'])}.", style="dim")
                continue
            if isinstance(reply, No):
                feedback = await ask_line("Anything the agent should know? (Enter: nothing)")
                reply = No(feedback=feedback or "")
            said = await desk.answer(found.id, reply, person_here(), shown.question.fingerprint)
            if not isinstance(said, AnswerRefused):
                return True
            run_render.say(said.message, style="yellow")
            if said.why in {"already-answered", "lapsed"}:
                return True

    async def _ask_plainly(self, found: OpenQuestion) -> bool:
        show_plainly(found)
        choices = found.question.choices
        while True:
            typed = await ask_line("Your answer:")
            if typed is None:
                return False
            answer = picked(typed, choices)
            if answer is None:
                run_render.say("A number or one of the choices, please." if choices else "A few words, please.")
                continue
            try:
                await self.records.questions.answer(found.id, answer, by=person_here().name)
            except UserError as problem:
                # Somebody was faster, or the run has ended.
                run_render.say(problem.message, style="yellow")
            return True


# ── what is shown ──


def show_on_desk(found: OnDesk) -> None:
    """Exactly what will happen, and every answer that is possible."""
    question = found.question
    run_render.say(f"The run asks ({question.id}):", style="bold yellow")
    run_render.say(question.describe())
    for offer in (*question.offers, "no"):
        run_render.say(f"  {offer:<10} {_WORDS[offer]}", style="dim")


def show_plainly(found: OpenQuestion) -> None:
    """The question and its choices."""
    run_render.say(f"The run asks ({found.id}):", style="bold yellow")
    run_render.say(found.question.text)
    for number, choice in enumerate(found.question.choices, start=1):
        run_render.say(f"  {number}  {choice}")


def show_told(told: Sequence[dict[str, Any]]) -> None:
    """What waits for an answer, for people who are not there to type it."""
    for question in told:
        run_render.say(f"waits for an answer to {question['id']}:", style="yellow")
        run_render.say(str(question["what"]))
        if question["offers"]:
            run_render.say(f"Possible answers: {', '.join(question['offers'])}", style="dim")
        run_render.say("Answer with:", style="dim")
        run_render.command(str(question["answer_with"]))
