"""What to do about a failure: the certain mend where there is one, else a model with what it needs; then more.

Failures that come back identical are met with more each time, and never the same way for ever:
a mend or advice → advice → another way → the person → giving up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final, assert_never

from cellwright.agents.certain_mends import certain_mend
from cellwright.agents.failures import Attempt, Failure, Observed, Passed, attempts, attempts_in_text, flickering
from cellwright.agents.focus import focus
from cellwright.agents.history import Turn
from cellwright.agents.reading_answers import Evaluate, Listed, evaluate_answer
from cellwright.agents.recoveries import (
    AskPerson,
    ChangeStrategy,
    Deterministic,
    Focused,
    GiveUp,
    Mend,
    Recovery,
    Scene,
)
from cellwright.notebook import clip, graph

MOST_IDENTICAL: Final = 4
"""The fifth identical failure is the last."""
_CELL_STRATEGY: Final = 6
_CELL_ASK: Final = 9
_CELL_GIVE_UP: Final = 12
"""One cell that fails in ever new ways also comes to an end."""
_TRY_ON: Final = "try on as you think best"
_STOP: Final = "stop here"
_SHOWN_TOKENS: Final = 120
_FRAMES_LOOKED_AT: Final = 6


def mend(observed: Observed, history: Sequence[Attempt], scene: Scene) -> tuple[Mend, ...]:
    """What to do about everything that failed in one call, and about what failed before and passed unchanged."""
    now = attempts(observed, document=scene.document)
    failed = [attempt for attempt in now if isinstance(attempt, Failure)]
    found = [*failed, *flickering(history, now)]
    return tuple(Mend(failure=failure, recovery=recovery(failure, history, scene)) for failure in found)


def recovery(failure: Failure, history: Sequence[Attempt], scene: Scene | None = None) -> Recovery:
    """What to do about one failure, after all that was tried before; `history` is without this failure."""
    scene = scene if scene is not None else Scene()
    match _rung(failure, history):
        case 0:
            return certain_mend(failure, scene) or focus(failure, scene)
        case 1:
            again = focus(failure, scene)
            return replace(again, words=f"The same failure again: what was tried did not change it. {again.words}")
        case 2:
            return ChangeStrategy(why=_another_way(failure))
        case 3 if scene.is_attended:
            return AskPerson(question=_question(failure), options=(_TRY_ON, _STOP))
        case _:
            return GiveUp(why=f"It failed again and again, in spite of other ways: {_shown(failure)}")


def _rung(failure: Failure, history: Sequence[Attempt]) -> int:
    """How far up the ladder: by how often exactly this came before, and how often its cell failed in a row."""
    identical = sum(1 for attempt in history if isinstance(attempt, Failure) and attempt.essence == failure.essence)
    if failure.kind == "refused":
        # A no is a no: not advice how to try again, but another way at once.
        identical += 2
    in_a_row = _in_a_row(failure, history)
    steps = ((_CELL_GIVE_UP, 4), (_CELL_ASK, 3), (_CELL_STRATEGY, 2))
    by_cell = next((rung for least, rung in steps if in_a_row >= least), 0)
    return max(min(identical, MOST_IDENTICAL), by_cell)


def _in_a_row(failure: Failure, history: Sequence[Attempt]) -> int:
    of_cell = [attempt for attempt in history if attempt.cell == failure.cell]
    return sum(1 for _ in takewhile(lambda attempt: not isinstance(attempt, Passed), reversed(of_cell)))


def _another_way(failure: Failure) -> str:
    if failure.kind == "refused":
        return "It was not allowed, and will not be by asking again. Reach the goal without it, or say that you cannot."
    return (
        "This has failed the same way three times: mending it further will not help. Undo what you tried for it, and "
        "reach the same goal in another way: other functions, another order of steps, other data that says the same. "
        "The goal stays what it is; if it cannot be reached, say so."
    )


def _question(failure: Failure) -> str:
    where = f" in cell {failure.cell}" if failure.cell is not None else ""
    return f"I cannot get past this failure{where} ({failure.kind}): {_shown(failure)} What should I do?"


def _shown(failure: Failure) -> str:
    kind = f"{failure.error_type}: " if failure.error_type else ""
    return clip(" ".join(f"{kind}{failure.message}".split()), _SHOWN_TOKENS)


# ── advice from history ──


def advise(turns: Sequence[Turn]) -> str:
    """What an agent should consider after its last turn, from what it was told; fits `Studio.advise`. Pure.

    In our words alone: the errors themselves stand, fenced, in the history.
    """
    if not turns:
        return ""
    history = tuple(attempt for turn in turns[:-1] for attempt in _of_turn(turn))
    now = _of_turn(turns[-1])
    found = (recovery(failure, history) for failure in now if isinstance(failure, Failure))
    return "\n".join(dict.fromkeys(filter(None, (_advice(each) for each in found))))


def _of_turn(turn: Turn) -> tuple[Attempt, ...]:
    return tuple(attempt for did in turn.did for attempt in attempts_in_text(did.text))


def _advice(recovery: Recovery) -> str:
    match recovery:
        case Deterministic(calls=calls, wants=wants):
            first = f"call `{calls[0].name}`" if calls else "mend it"
            return f"Next: ask for leave to reach that host, then {first}." if wants else f"Next: {first}."
        case Focused(words=words):
            return words
        case ChangeStrategy(why=why):
            return why
        case AskPerson():
            return "Ask the person now (`ask_person`): say what fails, what you tried and what the choices are."
        case GiveUp():
            return "Finish now with what you have, and say plainly what could not be done and why."
        case _:
            assert_never(recovery)


# ── looking closer ──


async def with_columns(failures: Iterable[Failure], scene: Scene, evaluate: Evaluate) -> Scene:
    """The scene with the exact column names of the tables that a failed cell reads, asked of the kernel."""
    nodes = graph(scene.document).nodes
    cells = {failure.cell for failure in failures if failure.kind == "missing-column" and failure.cell is not None}
    read = {name for cell in cells if cell in nodes for name in nodes[cell].refs}
    tables = [preview.name for preview in scene.previews if preview.kind == "dataframe" and preview.name in read]
    columns = dict(scene.columns)
    for name in sorted(tables)[:_FRAMES_LOOKED_AT]:
        answer = await evaluate_answer(f"[str(_column) for _column in {name}.columns]", evaluate)
        if isinstance(answer, Listed) and answer.is_whole:
            columns[name] = answer.texts()
    return replace(scene, columns=columns)
