"""What a call did at the notebook desk, as a tool answers it: what there is to know first, then the cells."""

from __future__ import annotations

from dataclasses import replace

from cellwright.journal import Finding, Found, NotFound
from cellwright.kernel import Observation
from cellwright.tools.branch_trials import BRANCHES, tried_json
from cellwright.tools.desk_outcomes import Applied
from cellwright.tools.going_back import WORDS
from cellwright.tools.notebook_desk import NotebookDesk
from cellwright.tools.notebook_report import observation_json, observation_text, refused_edit
from cellwright.tools.pictures import picture_of
from cellwright.tools.tool import Calling, Done, ToolError, ToolResult, result_json


def found(desk: NotebookDesk, calling: Calling) -> Finding:
    """Whether a call's turn is in the notebook; its cells were run again when the desk came back."""
    turn = desk.done(calling.key)
    if turn is None:
        return NotFound()
    wanted = [change.id for change in turn.changes if change.after is not None]
    known = desk.notebook.outcomes
    observation = Observation(cells=tuple(known[cell] for cell in wanted if cell in known))
    return Found(result=result_json(told(desk, Applied(observation=observation, news=desk.take_news()))))


def told(desk: NotebookDesk, applied: Applied) -> ToolResult:
    """What a call did, as a model reads it."""
    observation = applied.observation
    if observation.refused is not None:
        return with_news(refused_edit(observation.refused), applied.news)
    head = [WORDS[applied.back_by]] if applied.back_by else []
    head += [_in_branch(applied)] if applied.tried else []
    text = "\n".join([*head, observation_text(observation, desk.notebook)])
    image = next((shown for cell in reversed(observation.cells) if (shown := picture_of(cell))), None)
    value = observation_json(observation)
    if applied.tried:
        value |= {BRANCHES: [tried_json(each) for each in applied.tried], "kept": applied.is_kept}
    value |= {} if applied.is_kept else {"ok": False}
    value |= {"by": applied.back_by} if applied.back_by else {}
    done = Done(text=text, value=value, image=image, is_untrusted=True)
    return with_news(done, applied.news)


def _in_branch(applied: Applied) -> str:
    """Where it was tried first, and what that means for the notebook."""
    [tried] = applied.tried
    if applied.is_kept:
        return f"Tried in a branch first ({tried.way}), where it passed; then made in the notebook."
    if tried.status == "passed":
        return "It passed in a branch, and could not be made in the notebook, which is as it was. In the branch:"
    return f"Tried in a branch ({tried.way}), where it failed: the notebook and its versions are as before. There:"


def with_news(result: ToolResult, news: str) -> ToolResult:
    """The answer, after what the agent did not know."""
    if not news:
        return result
    match result:
        case Done(text=text):
            return replace(result, text=f"{news}\n\n{text}")
        case ToolError(message=message):
            return replace(result, message=f"{news}\n\n{message}")
        case _:
            return result
