"""`/runs/{run}/branches`: what a run tried before it changed its notebook."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from cellwright.runs.tried_branches import Lanes, lane_json, with_lane
from cellwright.server.web.folding import Folded
from cellwright.server.web.house import House
from cellwright.server.web.run_finding import Reader, RunName, check_run
from cellwright.server.web.shapes.branches import Branches, BranchShape

_TAGS: Final = ["changes"]


def branches_routes(house: House) -> APIRouter:
    """What was tried."""
    router = APIRouter(tags=[*_TAGS])
    lanes = Folded(house.live.records.log, begin=lambda run: Lanes(), add=with_lane)

    @router.get("/runs/{run}/branches", operation_id="list_branches", summary="What a run tried in branches")
    async def list_branches(_: Reader, run: RunName) -> Branches:
        await check_run(house.live.records, run)
        found = (await lanes.of(run)).lanes
        return Branches(branches=[BranchShape.model_validate(lane_json(lane)) for lane in found])

    return router
