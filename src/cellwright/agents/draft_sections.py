"""What of an answer is shown while it is made: words, and the code in the arguments of its calls. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic_core import from_json

SectionKind = Literal["words", "code", "call"]
_KINDS: Final[dict[str, SectionKind]] = {
    "code": "code",
    "how": "code",
    "summary": "words",
    "answer": "words",
    "question": "words",
    "markdown": "words",
}
"""Arguments worth showing, by name; a person has no use for the others before the call is made."""
_TITLES: Final = ("name", "cell", "title")
_MAX_DEPTH: Final = 6
MAX_SECTIONS: Final = 60
_LONGEST_TITLE: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftSection:
    """A part of an answer that is being made."""

    kind: SectionKind
    """call: a tool is being called, nothing of whose arguments is shown yet."""
    call: int = 0
    """Of which call of the answer, 1, 2, 3 …; 0: said beside the calls."""
    title: str = ""
    """The cell's name, as soon as it is known; of a call the tool's."""
    text: str = ""


def sections_of_call(call: int, tool: str, arguments: str) -> tuple[DraftSection, ...]:
    """What is shown of a call whose arguments may be only the beginning of a JSON text."""
    try:
        value = from_json(arguments or "{}", allow_partial="trailing-strings")
    except ValueError:
        value = {}
    found = tuple(_sections_in(value, call, _MAX_DEPTH))[:MAX_SECTIONS]
    return found or (DraftSection(kind="call", call=call, title=tool[:_LONGEST_TITLE]),)


def _sections_in(value: Any, call: int, depth: int) -> Iterator[DraftSection]:
    if isinstance(value, list) and depth:
        for each in value:
            yield from _sections_in(each, call, depth - 1)
    elif isinstance(value, dict) and depth:
        named = next((name for key in _TITLES if isinstance(name := value.get(key), str)), "")
        for key, each in value.items():
            if isinstance(each, str) and key in _KINDS:
                yield DraftSection(kind=_KINDS[key], call=call, title=named[:_LONGEST_TITLE], text=each)
            elif not isinstance(each, str):
                yield from _sections_in(each, call, depth - 1)
