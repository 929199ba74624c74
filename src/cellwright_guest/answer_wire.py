"""What is asked of a kernel when an agent hands in its answer: a text filled with values, and the notebook's tests.

A field is `{name}`, `{name.attribute}`, `{name[item]}`, each with a format such as `:.2f`. Everything else in a text,
other braces too, stays letter for letter. Light on purpose: host and guest read it.
"""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

FIELD: Final = re.compile(
    r"\{(?P<name>[^\W\d]\w{0,99})(?P<path>(?:\.\w{1,100}|\[[^\[\]{}]{1,100}\]){0,8})(?:!(?P<conversion>[rs]))?"
    r"(?::(?P<format>[^{}]{0,40}))?\}"
)
"""One field of a text."""
MOST_FIELDS: Final = 200
MOST_CHARACTERS: Final = 20_000

Doubt = Literal["", "missing", "NaN", "infinite", "empty", "no rows", "no share"]
"""What is odd about a value. no share: a percentage below 0 or above 100."""
TestVerdict = Literal["passed", "failed", "not here"]
"""not here: it is no plain function, so the check from scratch runs it, with pytest."""


class FilledField(msgspec.Struct, frozen=True, kw_only=True):
    """One field and what stands for it."""

    field: str
    text: str
    doubt: Doubt = ""


class NotebookTest(msgspec.Struct, frozen=True, kw_only=True):
    """One test of the notebook and how it went."""

    name: str
    verdict: TestVerdict
    message: str = ""


class FillText(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Put the notebook's values into a text."""

    request: int
    text: str


class TextFilled(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Answer to `FillText`."""

    request: int
    text: str = ""
    fields: list[FilledField] = []
    error: str = ""
    """Why it cannot be filled; then there is no text."""


class RunTests(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Call test functions of the notebook with its values as they are."""

    request: int
    names: list[str]


class NotebookTests(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Answer to `RunTests`, in their order."""

    request: int
    tests: list[NotebookTest] = []


class MutatedTest(msgspec.Struct, frozen=True, kw_only=True):
    """What a test does when what it reads is changed a little."""

    name: str
    tried: int
    """So many small changes; 0: there was nothing to change, or no time for it."""
    noticed: int = 0
    """So many of them it noticed."""
    reads: list[str] = []
    """The variables that were changed."""


class MutateTests(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Call test functions, which pass, with what they read changed a little."""

    request: int
    names: list[str]


class MutantsTold(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Answer to `MutateTests`; one that cannot be called alone is left out."""

    request: int
    tests: list[MutatedTest] = []


AnswerRequest = FillText | RunTests | MutateTests
AnswerReply = TextFilled | NotebookTests | MutantsTold
