"""Prompts: words a person picks in their client, which lead its model to the right tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cellwright.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptText:
    """One of them."""

    name: str
    says: str
    takes: str
    """The one argument it has."""
    about: str
    words: Callable[[str], str]


PROMPTS: Final = (
    PromptText(
        name="goal",
        says="Reach a goal with a checked notebook",
        takes="goal",
        about="What is wanted, in words.",
        words=lambda goal: (
            f"Start a Cellwright run for the goal between the lines with start_run. Follow it with "
            "follow_run until it is over; if it asks something, show me the question and wait: only I answer it. Then "
            f"read its report and tell me what was found and how far to trust it.\n---\n{goal}\n---"
        ),
    ),
    PromptText(
        name="explain_run",
        says="Explain what a run found",
        takes="run",
        about="The run's name.",
        words=lambda run: (
            f"Read cellwright://runs/{run}/report and cellwright://runs/{run}/notebook. Explain what "
            "was found, how the goal was read, what was checked, and what is uncertain."
        ),
    ),
)


def prompt_words(name: str, arguments: Mapping[str, str]) -> str:
    """What the person's client says to its model. Raises `UserError`."""
    for prompt in PROMPTS:
        if prompt.name == name:
            if not (said := arguments.get(prompt.takes, "").strip()):
                raise UserError(f"The prompt {name!r} needs {prompt.takes!r}.")
            return prompt.words(said)
    raise UserError(f"There is no prompt {name!r}.", hint=f"Known: {', '.join(each.name for each in PROMPTS)}.")
