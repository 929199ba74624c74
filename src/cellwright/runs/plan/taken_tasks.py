"""Tasks that people took: what a run asks while it waits for one, and what the answer means. All pure."""

from __future__ import annotations

from typing import Final

from cellwright.journal.questions import Question
from cellwright.runs.plan.plan import HandBackTask, Task

TAKEN: Final = "taken-task"
"""The topic of the question a run waits at when only tasks are left that people took."""
DONE: Final = "done"
AGENT: Final = "let an agent do it"
LOOK_AGAIN: Final = "look again"
"""Not offered: the plan, the goal or what is wanted of the run changed, so it should look whether it still waits."""


def taken_question(task: Task) -> Question:
    """What a run waits for when it can do nothing without this task."""
    text = f"{task.taken_by} does this: {task.title!r}. Everything else is done. Is it done, or should an agent do it?"
    return Question(topic=TAKEN, text=text, choices=(DONE, AGENT, LOOK_AGAIN), body={"task": task.id})


def answered_edit(task: Task, answer: object) -> HandBackTask | None:
    """What the answer changes about the plan; None: nothing."""
    match answer:
        case "done":
            return HandBackTask(task=task.id, is_done=True)
        case "let an agent do it":
            return HandBackTask(task=task.id, is_done=False)
        case _:
            return None
