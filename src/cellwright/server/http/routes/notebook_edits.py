"""`/notebooks/{id}/edits` and `/undo`: a program changes cells of a notebook that a person has open.

Each edit names the version of the cell it was made for: what somebody typed meanwhile is never overwritten.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import anyio
from pydantic import Field, StringConstraints

from cellwright.errors import CellwrightError, Defect
from cellwright.notebook.edit_json import parse_edits
from cellwright.notebook.edits import EditRefused
from cellwright.server.http import notebook_views as views
from cellwright.server.http.auth.dependencies import Steerer
from cellwright.server.http.errors import Conflict
from cellwright.server.http.notebook_index import Index, NotebookIndex
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources
from cellwright.server.http.routes.notebooks import NotebookId
from cellwright.server.http.schemas.model import RequestModel, ResponseModel
from cellwright.server.http.schemas.notebooks import Ran
from cellwright.tools.history.moves import MoveRefused, NothingToMove, change_text
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.saved_notebook import EditOutcome

logger = logging.getLogger(__name__)
router = ApiRouter(tags=["notebooks"])
WaitSeconds = Annotated[float, Field(ge=0, le=30)]
"""How long to wait for the cells before answering; they go on."""


class EditsBody(RequestModel):
    """Edits, all of which are made or none."""

    edits: list[dict[str, Any]] = Field(min_length=1, max_length=200)
    """`{"op": "create|edit|delete|move|rename|configure", …}`; all but `create` name `cell` and `base_version`."""
    run: Literal["affected", "none"] = "affected"
    key: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    """Asked again with the same key, nothing is done twice."""
    wait_seconds: WaitSeconds = 0


class UndoEditsBody(RequestModel):
    """How long it may take."""

    wait_seconds: WaitSeconds = 0


class Edited(ResponseModel):
    """What became of the cells."""

    changes: list[str]
    """In words; empty: nothing, or it is still being done."""
    news: str
    """What whoever asked did not know: what somebody else changed meanwhile."""
    ran: Ran


@router.post("/notebooks/{id}/edits")
async def edit_notebook(_: Steerer, resources: Resources, index: Index, id: NotebookId, body: EditsBody) -> Edited:
    """Change cells, run what that affects, and save."""
    editor, key = await _editor(index, id), body.key or secrets.token_hex(8)
    if (done := editor.done(key)) is not None:
        return _edited(resources, EditOutcome(observation=editor.outcomes_of(done), changes=done.changes))

    async def change() -> EditOutcome:
        return await editor.apply(lambda document: parse_edits(body.edits, document), key=key, run=body.run)

    return _edited(resources, await _PendingEdit(change).wait(index, body.wait_seconds))


@router.post("/notebooks/{id}/undo")
async def undo_edits(_: Steerer, resources: Resources, index: Index, id: NotebookId, body: UndoEditsBody) -> Edited:
    """Take back the last edits that were made here."""
    editor = await _editor(index, id)

    async def undo() -> EditOutcome:
        undone = await editor.history.undo(key=secrets.token_hex(8))
        if isinstance(undone, NothingToMove | MoveRefused):
            raise Conflict(undone.why)
        return undone

    return _edited(resources, await _PendingEdit(undo).wait(index, body.wait_seconds))


@dataclass(slots=True)
class _PendingEdit:
    """Goes on when whoever asked does not wait for it: half of an edit is none."""

    make: Callable[[], Awaitable[EditOutcome]]
    done: anyio.Event = field(default_factory=anyio.Event)
    outcome: EditOutcome | CellwrightError | None = None

    async def wait(self, index: NotebookIndex, seconds: float) -> EditOutcome | None:
        """What came of it; None: it is still being done."""
        index.opened.tasks.start_soon(self._do)
        with anyio.move_on_after(seconds):
            await self.done.wait()
        if isinstance(self.outcome, CellwrightError):
            raise self.outcome
        return self.outcome

    async def _do(self) -> None:
        try:
            self.outcome = await self.make()
        except CellwrightError as problem:
            self.outcome = problem
        except Exception:
            # The task group is that of every open notebook: what escaped here would end them all.
            self.outcome = mistake = Defect("An edit met our own mistake.")
            logger.exception("an edit of a notebook met our own mistake (%s)", mistake.report_id)
        finally:
            self.done.set()


async def _editor(index: NotebookIndex, id: str) -> NotebookEditor:
    if index.run_of(id) is not None:
        raise Conflict(f"The run {id!r} works in this notebook.", hint="Tell the run what you want, or stop it first.")
    await index.get(id)
    if (editor := await index.opened.editor(id)) is None:
        raise Conflict("This notebook was closed at this very moment.", hint="Open it again.")
    return editor


def _edited(resources: ApiResources, outcome: EditOutcome | None) -> Edited:
    if outcome is None:
        return Edited(changes=[], news="", ran=Ran(is_running=True, cells=[], stale=[], problem=""))
    if (refused := outcome.observation.refused) is not None:
        raise Conflict(f"Edit {refused.index + 1}: {refused.message}", hint=_now(resources, refused))
    return Edited(
        changes=[resources.mask(change_text(each)) for each in outcome.changes],
        news=resources.mask(outcome.news),
        ran=views.ran(outcome.observation, resources.masker),
    )


def _now(resources: ApiResources, refused: EditRefused) -> str:
    if refused.current is None:
        return "Look at the notebook again."
    return f"The cell is at version {refused.current.version} now:\n{resources.mask(refused.current.code)}"
