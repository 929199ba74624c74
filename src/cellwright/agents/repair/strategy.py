"""What to do about a failure: a deterministic repair where there is one, else a model with what it needs.

Failures that come back identical are met with more each time, and never the same way for ever:
a repair or advice → advice → another way → the person → giving up.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Final, assert_never

from cellwright.agents.assignment import Note
from cellwright.agents.repair.choices import (
    AbandonRepair,
    AskPerson,
    ChangeStrategy,
    DeterministicRepair,
    FailureContext,
    FocusedAdvice,
    RepairChoice,
)
from cellwright.agents.repair.deterministic import deterministic_repair
from cellwright.agents.repair.failure_rules import FailureKind
from cellwright.agents.repair.failures import CellAttempt, ObservedFailure, attempts, find_flickering
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.prompt_summary import clip
from cellwright.tools.tool import ToolResult

_CODE_TOKENS: Final = 700
_PREVIEW_TOKENS: Final = 150
_PREVIEWS: Final = 4
_NAMES: Final = 12
_KEEP_THE_GOAL: Final = "Do not make the goal smaller to get past it."
_ADVICE: Final[dict[FailureKind, str]] = {
    "syntax": "The code cannot be read. Repair exactly the place that the error names, in the same cell.",
    "name-conflict": (
        "A global name must be defined by exactly one cell. Names that only this cell needs begin with `_`; a "
        "value that is changed step by step gets a new name per step, or the steps go into one cell; cells "
        "that need each other are joined or cut apart. A name that no cell defines is misspelt or missing."
    ),
    "missing-package": "This module is not there. Use what is installed, or ask for the package that holds it.",
    "missing-file": (
        "There is no file at this path. Take one that exists; if none fits, ask. Never make up its content."
    ),
    "missing-column": (
        "There is no column, key or table of this name. Take one that exists; look at the data if unsure."
    ),
    "type-shape": (
        "A value is not what the code takes it for: its type, its shape or what it can do. Look at the value, "
        "find where it became so, and repair that place rather than convert at the end."
    ),
    "time-out": (
        "It took longer than it was given. Give it more `seconds` if it is simply long, or do the same faster: "
        "vectorise, read only the columns needed, join before you loop. Edit this cell instead of adding a "
        "second one. If only less data would do, say so and ask first."
    ),
    "network-refused": (
        "The notebook cannot reach this host. Use what is in the project; if it must come from there, ask the "
        "person, naming the host. Do not try other ways out."
    ),
    "connection-refused": (
        "The notebook may not read this database yet. Use what is there; if it must come from there, ask the person, "
        "naming the connection."
    ),
    "flaky": (
        "The same code fails at one time and passes at another. Make it certain: a fixed seed, an order that "
        "is stated, a retry with a limit around what is outside."
    ),
    "failed-check": (
        "A check does not hold. Find out which is wrong, the result or the check, from the data. Never weaken, "
        "catch or delete a check to get past it."
    ),
    "kernel-lost": (
        "The kernel ended while this cell ran; another one starts with the next call and runs what had run. "
        "Do what the cell does in another way, in smaller steps: run again unchanged it will end again."
    ),
    "edit-refused": (
        "Nothing was changed: what you wanted to change is not as you read it. Look at it as it is now, base "
        "the change on that, and keep what somebody else did."
    ),
    "refused": "It was not allowed. Do not try to get there in another way.",
    "unknown": "Read the error and the values it met before you change anything; repair the cause.",
    "resource": (
        "It needs more memory than there is. First do the same in less: only the columns needed, smaller "
        "types, chunks, an aggregation while reading. A sample is a smaller goal: say so, and ask before you "
        "use one."
    ),
}
_NOT_WRITTEN: Final = (
    "The code may not write there, or not so much. Keep it in memory, or write less, into the project."
)
_RESOURCE_ADVICE: Final = {
    "disk": _NOT_WRITTEN,
    "files": _NOT_WRITTEN,
    "processes": "Too many threads, processes or open files. Use fewer at once and close what is done.",
    "recursion": "It calls itself too often. Use a loop, or find why it does not end.",
}


def focused_advice(failure: ObservedFailure, context: FailureContext) -> FocusedAdvice:
    """What to tell a model about this failure."""
    words = _advice_words(failure, context)
    return FocusedAdvice(
        words=f"{words} {_KEEP_THE_GOAL}" if words else "", material=tuple(_material(failure, context))
    )


def _advice_words(failure: ObservedFailure, context: FailureContext) -> str:
    if encodings := _encodings(failure, context):
        named = " or ".join(f"`encoding={name!r}`" for name in encodings)
        return f"The file is not in the encoding it was read with. Its profile found another: read it with {named}."
    if failure.error_type == "bad-arguments":
        # The error says all there is to say.
        return ""
    if failure.error_type == "unavailable":
        return "It was not there at that moment. Try once more; if it stays so, do without it, or say that you cannot."
    is_resource = failure.kind == "resource" and failure.subject in _RESOURCE_ADVICE
    return _RESOURCE_ADVICE[failure.subject] if is_resource else _ADVICE[failure.kind]


def _encodings(failure: ObservedFailure, context: FailureContext) -> list[str]:
    """Of the files the failed cell names, or lie in a folder it names, else of all; only where a text was not read."""
    if not _UNDECODABLE.search(f"{failure.error_type} {failure.message}"):
        return []
    cell = context.document.find(failure.cell) if failure.cell is not None else None
    code = cell.code if cell is not None else ""
    known = {PurePosixPath(path): encoding for path, encoding in context.encodings.items()}
    by_name = {encoding for path, encoding in known.items() if path.name in code}
    by_folder = {encoding for path, encoding in known.items() if path.parent.name and path.parent.name in code}
    found = by_name or by_folder or set(known.values())
    return sorted(filter(None, map(_codec, found)))


def _codec(name: str) -> str:
    """The name Python has for an encoding: what came out of a cage is not told as advice."""
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""


_UNDECODABLE: Final = re.compile(r"UnicodeDecodeError|codec can't decode|[Ii]nvalid (?:utf-?8|UTF-?8|unicode)")


# ── material ──


def _material(failure: ObservedFailure, context: FailureContext) -> Iterator[Note]:
    cell = context.document.find(failure.cell) if failure.cell is not None else None
    if cell is not None:
        # The error itself stands in the history, once.
        yield Note(name=f"cell {cell.id} version {cell.version}", text=clip(cell.code, _CODE_TOKENS))
    match failure.kind:
        case "missing-file":
            yield from _listed("files of the project, nearest first", nearest(failure.subject, context.files))
        case "missing-column" | "type-shape":
            yield from _listed("names there are, nearest first", _nearest_columns(failure, context))
            yield from _previews(failure, context)
        case "name-conflict":
            yield from _listed("cells that define it", _defining(failure, context))
        case "failed-check" | "unknown" | "resource" | "time-out":
            yield from _previews(failure, context)
        case _:
            pass


def _listed(name: str, found: Sequence[str]) -> Iterator[Note]:
    if found:
        yield Note(name=name, text="\n".join(found))


def _nearest_columns(failure: ObservedFailure, context: FailureContext) -> list[str]:
    known = [column for columns in context.columns.values() for column in columns] or list(failure.evidence)
    return [repr(column) for column in nearest(failure.subject, known)]


def nearest(wanted: str, known: Sequence[str]) -> list[str]:
    """The names that are there, first those called the same but for letter case, blanks, `-`, `_` and their folder."""
    names = {name: _bare(name) for name in known[:5_000]}
    close = get_close_matches(_bare(wanted), list(names.values()), n=_NAMES, cutoff=0.6) if wanted else []
    by_nearness = sorted(names, key=lambda name: close.index(names[name]) if names[name] in close else len(close))
    return by_nearness[:_NAMES]


def _bare(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name.replace("\\", "/").rpartition("/")[2]).casefold()


def _defining(failure: ObservedFailure, context: FailureContext) -> list[str]:
    nodes = graph(context.document).nodes
    return [
        f"{name}: {', '.join(cell for cell, node in nodes.items() if name in node.defs) or 'no cell'}"
        for name in failure.subjects[:_NAMES]
    ]


def _previews(failure: ObservedFailure, context: FailureContext) -> Iterator[Note]:
    """The variables the cell reads, and only those."""
    node = graph(context.document).nodes.get(failure.cell) if failure.cell is not None else None
    wanted = node.refs if node is not None else frozenset[str]()
    read = [preview for preview in context.previews if preview.name in wanted and preview.kind not in _DULL]
    for preview in read[:_PREVIEWS]:
        yield Note(name=f"variable {preview.name}: {preview.type}", text=clip(preview.text, _PREVIEW_TOKENS))


_DULL: Final = frozenset({"module", "function"})


MOST_IDENTICAL: Final = 4
"""The fifth identical failure is the last."""
_CELL_STRATEGY: Final = 6
_CELL_ASK: Final = 9
_CELL_GIVE_UP: Final = 12
"""One cell that fails in ever new ways also comes to an end."""
_TRY_ON: Final = "try on as you think best"
_STOP: Final = "stop here"
_SHOWN_TOKENS: Final = 120


def decide_repairs(
    result: ToolResult, history: Sequence[CellAttempt], context: FailureContext
) -> tuple[tuple[ObservedFailure, RepairChoice], ...]:
    """What to do about everything that failed in one call, and about what failed before and passed unchanged."""
    now = attempts(result, document=context.document)
    failed = [attempt for attempt in now if isinstance(attempt, ObservedFailure)]
    found = [*failed, *find_flickering(history, now)]
    return tuple((failure, choose_repair(failure, history, context)) for failure in found)


def choose_repair(
    failure: ObservedFailure, history: Sequence[CellAttempt], context: FailureContext | None = None
) -> RepairChoice:
    """What to do about one failure, after all that was tried before; `history` is without this failure."""
    context = context if context is not None else FailureContext()
    match _rung(failure, history):
        case 0:
            return deterministic_repair(failure, context) or focused_advice(failure, context)
        case 1:
            again = focused_advice(failure, context)
            return replace(again, words=f"The same failure again: what was tried did not change it. {again.words}")
        case 2:
            return ChangeStrategy(why=_another_way(failure))
        case 3 if context.is_attended:
            where = f" in cell {failure.cell}" if failure.cell is not None else ""
            asked = f"I cannot get past this failure{where} ({failure.kind}): {_shown(failure)} What should I do?"
            return AskPerson(question=asked, options=(_TRY_ON, _STOP))
        case _:
            return AbandonRepair(why=f"It failed again and again, in spite of other ways: {_shown(failure)}")


def _rung(failure: ObservedFailure, history: Sequence[CellAttempt]) -> int:
    """How far up the ladder: by how often exactly this came before, and how often its cell failed in a row."""
    identical = sum(
        1 for attempt in history if isinstance(attempt, ObservedFailure) and attempt.essence == failure.essence
    )
    if failure.kind == "refused":
        # A no is a no: not advice how to try again, but another way at once.
        identical += 2
    of_cell = [attempt for attempt in history if attempt.cell == failure.cell]
    in_a_row = sum(1 for _ in takewhile(lambda attempt: isinstance(attempt, ObservedFailure), reversed(of_cell)))
    steps = ((_CELL_GIVE_UP, 4), (_CELL_ASK, 3), (_CELL_STRATEGY, 2))
    by_cell = next((rung for least, rung in steps if in_a_row >= least), 0)
    return max(min(identical, MOST_IDENTICAL), by_cell)


def _another_way(failure: ObservedFailure) -> str:
    if failure.kind == "refused":
        return "It was not allowed, and will not be by asking again. Reach the goal without it, or say that you cannot."
    return (
        "This has failed the same way three times: repairing it further will not help. Undo what you tried for it, and "
        "reach the same goal in another way: other functions, another order of steps, other data that says the same. "
        "The goal stays what it is; if it cannot be reached, say so."
    )


def _shown(failure: ObservedFailure) -> str:
    kind = f"{failure.error_type}: " if failure.error_type else ""
    return clip(" ".join(f"{kind}{failure.message}".split()), _SHOWN_TOKENS)


def advise(recovery: RepairChoice) -> str:
    """What an agent should consider, in our words alone: the errors themselves stand, fenced, in the history."""
    match recovery:
        case DeterministicRepair(calls=calls, wants=wants):
            first = f"call `{calls[0].name}`" if calls else "repair it"
            return f"Next: ask for permission to reach that host, then {first}." if wants else f"Next: {first}."
        case FocusedAdvice(words=words):
            return words
        case ChangeStrategy(why=why):
            return why
        case AskPerson():
            return "Ask the person now (`ask_person`): say what fails, what you tried and what the choices are."
        case AbandonRepair():
            return "Finish now with what you have, and say plainly what could not be done and why."
        case _:
            assert_never(recovery)
