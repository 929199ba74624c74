"""Hand-offs as agents read them: who gets what, in how few words. All pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from cellwright.agents.assignment import Note
from cellwright.notebook.prompt_summary import clip, estimate_tokens
from cellwright.runs.plan.brief import STORY_TASK
from cellwright.runs.plan.handoffs import HandedVariable, HandOff
from cellwright.runs.plan.plan import Plan, Task

HANDOFF_TOKENS: Final = 400
"""What one hand-off may cost whoever reads it."""
_NOTE_TOKENS: Final = 1_200
"""What all hand-offs to one task may."""
_SHOWN_DIGEST: Final = 8
_FIXER: Final = "fixer"


def receivers(plan: Plan, task: str) -> tuple[str, ...]:
    """The tasks that are still to be done and need what this one made."""
    return tuple(each.id for each in plan.tasks if not each.is_over and task in givers(plan, each))


def givers(plan: Plan, task: Task) -> tuple[str, ...]:
    """The tasks whose results this one needs: those it names; in a plan that is only a list, all before it."""
    if task.role == _FIXER:
        return ()
    ids = [each.id for each in plan.tasks]
    has_needs = any(each.after for each in plan.tasks if each.id != STORY_TASK)
    before = ids[: ids.index(task.id)] if task.id in ids else ids
    return tuple(each for each in ids if each in task.after or (not has_needs and each in before))


def handed_notes(handed: Iterable[HandOff]) -> tuple[Note, ...]:
    """What an agent is told of what others made for it; nothing where there is none."""
    texts = [handoff_text(each) for each in handed]
    return (Note(name="handed over to you", text=_within(texts, _NOTE_TOKENS), is_data=True),) if texts else ()


def handoff_text(handed: HandOff) -> str:
    """One as whoever does a task after it reads it, within `HANDOFF_TOKENS`."""
    lines = [clip(f"{handed.task}: {handed.title}", HANDOFF_TOKENS // 4)]
    lines += [clip(handed.words, HANDOFF_TOKENS // 2)] if handed.words else []
    lines += [_variable_line(each) for each in handed.variables]
    lines += [f"tests: {', '.join(f'{each.name} {each.verdict}' for each in handed.tests)}"] if handed.tests else []
    lines += [f"read as: {each}" for each in handed.readings]
    return _within(lines, HANDOFF_TOKENS)


def _variable_line(variable: HandedVariable) -> str:
    size = f", {variable.size}" if variable.size not in {"", variable.type} else ""
    digest = f" #{variable.digest[:_SHOWN_DIGEST]}" if variable.digest else ""
    return f"- {variable.name}: {variable.type}{size}{digest}"


def _within(lines: Sequence[str], tokens: int) -> str:
    """As many of the lines as fit, and how many are left out."""
    kept: list[str] = []
    for number, line in enumerate(lines):
        more = f"… {len(lines) - number} more"
        if estimate_tokens("\n".join([*kept, line, more])) > tokens:
            return "\n".join([*kept, more])
        kept.append(line)
    return "\n".join(kept)
