"""Named places where a process may die, so that tests can let it die exactly there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from enum import StrEnum


class CrashPoint(StrEnum):
    """Where the durable path can be cut."""

    RUN_BEGUN = "run-begun"
    """The run is told as started; none of its code has run."""
    STEP_CHECKED = "step-checked"
    """It has no result yet and is told as started; its work has not begun."""
    STEP_WORKED = "step-worked"
    """Its work is done; nothing of it is recorded."""
    BLOB_WRITTEN = "blob-written"
    """A large result is kept; the step that refers to it is not."""
    STEP_COMMITTING = "step-committing"
    """Result and event are written; the transaction is open."""
    STEP_COMMITTED = "step-committed"
    """The step is recorded; its caller does not know yet."""
    EFFECT_INTENDED = "effect-intended"
    """The intent to change the world is recorded; the world is as before."""
    EFFECT_HAPPENED = "effect-happened"
    """The world is changed; the journal does not know."""
    QUESTION_OPENED = "question-opened"
    """The question can be seen and answered; nobody waits for it yet."""
    ANSWER_COMMITTING = "answer-committing"
    """The answer, its event and whatever is told with it are written; the transaction is open."""
    ANSWER_COMMITTED = "answer-committed"
    """The answer is kept; whoever gave it does not know yet."""
    QUESTION_CLOSED = "question-closed"
    """The answer was read; the step that asked is not recorded."""
    CHILD_STARTING = "child-starting"
    """A child is about to be started."""
    CHILD_ENDED = "child-ended"
    """A child has its result recorded and its parent goes on."""
    RUN_ENDING = "run-ending"
    """All its code has run; its end is not told."""
    RUN_TOLD = "run-told"
    """Its end is told; its result is not recorded."""
    RECOVERY_CLAIMED = "recovery-claimed"
    """One of the lost workflows was put back in the queue; others may not have been."""


AtCrashPoint = Callable[[CrashPoint], None]
"""Called at every crash point, in whatever thread gets there."""


def carry_on(point: CrashPoint) -> None:
    """Do nothing: what happens outside of tests."""


def crash_at(point: CrashPoint, visit: int = 1) -> AtCrashPoint:
    """Kill this process with -9 at the given visit to the point."""
    visits = 0

    def at(reached: CrashPoint) -> None:
        nonlocal visits
        if reached is point:
            visits += 1
            if visits == visit:
                os.kill(os.getpid(), signal.SIGKILL)

    return at
