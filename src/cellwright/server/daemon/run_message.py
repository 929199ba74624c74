"""The body of the request that begins a run. Apart from the others: it takes the whole of a goal to read it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from cellwright.runs.goal.goal import Goal
from cellwright.server.http.schemas.model import RequestModel


class StartRunBody(RequestModel):
    """A whole goal, and how its run connects."""

    goal: Goal
    connection: dict[
        Annotated[str, StringConstraints(min_length=1, max_length=200)],
        Annotated[str, StringConstraints(max_length=8_000)],
    ] = Field(default={}, repr=False)
    """Proxies, certificates and indexes in force where the run was started; they hold for it and go into no journal."""
