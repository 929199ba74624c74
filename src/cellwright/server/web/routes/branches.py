"""`/runs/{run}/branches`: what a run tried before it changed its notebook, and a person's word about what waits."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Final

from fastapi import APIRouter, Path

from cellwright.runs import branch_decisions
from cellwright.runs.branch_decisions import Decided, NoSuchBranch, NotWaiting
from cellwright.runs.tried_branches import Lanes, lane_json, open_choices, with_lane
from cellwright.server.web.folding import Folded
from cellwright.server.web.house import House
from cellwright.server.web.problems import Conflict, NotFound
from cellwright.server.web.run_finding import Approver, Reader, RunName, check_run
from cellwright.server.web.shapes.branches import BranchDecided, Branches, BranchShape

BranchName = Annotated[str, Path(min_length=1, max_length=400, description="A branch, as `/branches` names it.")]
_TAGS: Final = ["changes"]


def branches_routes(house: House) -> APIRouter:
    """What was tried, and what is decided about it."""
    router = APIRouter(tags=[*_TAGS])
    lanes = Folded(house.live.records.log, begin=lambda run: Lanes(), add=with_lane)

    @router.get("/runs/{run}/branches", operation_id="list_branches", summary="What a run tried in branches")
    async def list_branches(_: Reader, run: RunName) -> Branches:
        await check_run(house.live.records, run)
        # The questions first: one that was answered meanwhile is then decided in the lanes.
        choices = await open_choices(house.live.records, run)
        found = (await lanes.of(run)).lanes
        return Branches(branches=[BranchShape.model_validate(lane_json(lane, choices)) for lane in found])

    _add_decisions(router, house)
    return router


def _add_decisions(router: APIRouter, house: House) -> None:
    records = house.live.records

    @router.post(
        "/runs/{run}/branches/{branch:path}/accept", operation_id="accept_branch", summary="Keep a branch that waits"
    )
    async def accept_branch(caller: Approver, run: RunName, branch: BranchName) -> BranchDecided:
        await check_run(records, run)
        return await _decided(branch_decisions.accept(records, run, branch, caller.as_person))

    @router.post(
        "/runs/{run}/branches/{branch:path}/drop", operation_id="drop_branch", summary="Drop a branch that waits"
    )
    async def drop_branch(caller: Approver, run: RunName, branch: BranchName) -> BranchDecided:
        await check_run(records, run)
        return await _decided(branch_decisions.drop(records, run, branch, caller.as_person))


async def _decided(deciding: Awaitable[Decided]) -> BranchDecided:
    try:
        return BranchDecided.model_validate((await deciding).json())
    except NoSuchBranch as problem:
        raise NotFound(problem.message, hint=problem.hint) from problem
    except NotWaiting as problem:
        raise Conflict(problem.message, hint=problem.hint) from problem
