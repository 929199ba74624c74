"""Edits of cells as a model writes them, and the edits they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from cellwright.notebook import Document, Edit, parse_edits
from cellwright.tools.cell_changes import Change

_MOST_SECONDS: Final = 3_600

Seconds = Annotated[float, Field(gt=0, le=_MOST_SECONDS, description="Deadline; what still runs then is interrupted.")]


class CellEdit(BaseModel):
    """One edit. `create` takes code, and name and a place if wanted; all others take cell and base_version."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["create", "edit", "delete", "move", "rename", "configure"]
    cell: Annotated[str | None, Field(description="Id or name of an existing cell.")] = None
    base_version: Annotated[int | None, Field(description="The cell's version you have read.")] = None
    code: str | None = None
    name: str | None = None
    after: Annotated[str | None, Field(description="Place it behind this cell.")] = None
    before: str | None = None
    at: Literal["start", "end"] | None = None
    config: Annotated[dict[str, bool] | None, Field(description="hide_code, disabled")] = None


def edits_of(edits: Sequence[CellEdit], document: Document) -> list[Edit]:
    """The edits a model wrote, for this document. Raises `UserError`."""
    return parse_edits([edit.model_dump(exclude_none=True) for edit in edits], document)


def code_of(changes: Sequence[Change]) -> str:
    """The code that a change brings."""
    return "\n\n".join(change.after.code for change in changes if change.after is not None)
