"""What agents are being answered, over HTTP: between the events of a run, masked, whole for whoever comes back."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from cellwright.agents.events import AgentSpoke
from cellwright.journal.names import stream_of
from cellwright.testing import CallTool, Fault
from tests.models.testbed import Warm
from tests.runs.factory import create, finish
from tests.server.http.a_follower import Told, following
from tests.server.http.served_runs import Works, open_works

KEY = f"sk-ant-{'a1B2c3D4' * 6}"
WORDS = f"I add forty and two. The key {KEY} is not needed for that, and nobody should see it, so I leave it out."
CODE = "\n".join(f"step_{number} = {number}" for number in range(40)) + "\ntotal = step_39 + 3\ntotal"
ANSWER = CallTool("apply", {"edits": [create(CODE, "total")]}, text=WORDS, chunks=40)
LAST = "step_28 = 28"
"""Of what is shown of the answer until it is released."""
HELD = Fault("stall", answer=ANSWER, after_chunks=len(WORDS.split()) + 30)


@pytest.fixture
async def works(tmp_path: Path, warm_gateway: Warm, cache: Path) -> AsyncGenerator[Works]:
    async with open_works(tmp_path, warm_gateway, cache) as opened:
        yield opened


def has_ended(told: list[Told]) -> bool:
    return any(each.kind == "run-delivered" for each in told)


@pytest.mark.slow
async def test_an_answer_is_followed_while_it_is_made_by_several_and_after_a_reconnect(works: Works) -> None:
    works.factory.script(HELD, finish("It is 42."))
    run = await works.start()
    path = f"/runs/{run}/events"
    async with following(works.served, path), following(works.served, path) as first:
        # The other one never reads.
        seen = await first.until_drafted(LAST)
        last = first.told[-1].id
        async with following(works.served, path, last=last) as second:
            again = await second.until_drafted(LAST)
            assert again == seen
            assert second.told == []
            assert [each.kind for each in seen.sections] == ["words", "code"]
            assert CODE.startswith(seen.sections[1].text)
            assert "agent-spoke" not in {each.kind for each in first.told}
            works.factory.testbed.provider.release()
            assert (await works.factory.delivery(run)).status == "done"
            for follower in (first, second):
                await follower.until(has_ended)
            assert [each.id for each in first.told] == [*range(1, first.told[-1].id + 1)]
            assert [each.id for each in second.told] == [*range(last + 1, second.told[-1].id + 1)]
            assert KEY[7:20] not in first.received + second.received
            assert "[masked anthropic-key]" in first.received
    log = works.factory.runs.records.log
    spoken = [each.event async for each in log.read_all(stream_of(run)) if isinstance(each.event, AgentSpoke)]
    assert [event.text for event in spoken] == [WORDS.replace(KEY, "[masked anthropic-key]")]


@pytest.mark.slow
async def test_a_stop_over_http_ends_what_is_being_written(works: Works) -> None:
    works.factory.script(HELD)
    run = await works.start()
    async with following(works.served, f"/runs/{run}/events") as follower:
        await follower.until_drafted(LAST)
        await works.served.post(f"/runs/{run}/stop", {})
        await follower.until(lambda _: follower.drafts == ())
        await works.factory.delivery(run)
    assert not works.factory.testbed.provider.charged[-1].is_finished
    assert "total" not in (works.factory.project / "sums.py").read_text()
