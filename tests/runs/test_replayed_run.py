"""A run that was recorded once comes to the same notebook and the same answer again, without any provider."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart

from cellwright.agents.agent_context import ModelAccess as AskedModels
from cellwright.app.runs import Runs
from cellwright.models.calls import ModelAnswer, ModelCall, Payer, Request
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.models.config.names import CallId, ModelName
from cellwright.runs.deliver.delivery import Delivery, parse_delivery
from cellwright.settings import Settings
from tests.models.recording import Replay, read_recording
from tests.models.testbed import Warm
from tests.runs.recorded.retold import CellNames, Retold, gist, replayed
from tests.runs.recorded.retold_runs import NOTEBOOK, NOWHERE, RUN, TALK, goal_in, lay_out, open_retold_runs


def answers() -> list[ModelAnswer]:
    return [each.ending for each in read_recording(TALK) if isinstance(each.ending, ModelAnswer)]


def last_words() -> str:
    """The answer with which whoever spoke last finished."""
    [*_, last] = [part for part in answers()[-1].response.parts if isinstance(part, ToolCallPart)]
    return last.args_as_dict()["answer"]


@asynccontextmanager
async def open_replay(tmp_path: Path, cache: Path, warm: Warm, talk: Path) -> AsyncGenerator[tuple[Runs, list[Replay]]]:
    """Runs whose models are this file: nobody listens where the gateway would ask."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "models.toml").write_text(NOWHERE.format(base_url="http://127.0.0.1:9/v1"))
    # Ready, so that agents are told what it can do; never asked.
    keys = {ModelName.parse(answers()[0].model).provider: "sk-replay-0123456789abcdef"}
    launch = GatewayLaunch(home=home, keys=keys, command=warm.command("gateway"))
    replays: list[Replay] = []

    def tell(gateway: AskedModels) -> Retold:
        retold, replay = replayed(gateway, talk)
        replays.append(replay)
        return retold

    async with open_retold_runs(replace(Settings.read(), home=home, cache=cache), launch, tell) as runs:
        yield runs, replays
    async with Models.open(home, launch=launch) as models:
        await models.stop_gateway(at_once=True)


async def deliver(runs: Runs, project: Path) -> Delivery:
    lay_out(project)
    with anyio.fail_after(300):
        await runs.start(goal_in(project, [answers()[0].model]), run=RUN)
        return parse_delivery(await runs.result(RUN))


@pytest.mark.slow
async def test_a_recorded_run_comes_to_the_same_notebook_and_answer_without_a_provider(
    tmp_path: Path, project: Path, cache: Path, warm: Warm
) -> None:
    async with open_replay(tmp_path, cache, warm, TALK) as (runs, replays):
        delivery = await deliver(runs, project)
    assert (delivery.why, delivery.status) == ("", "done")
    assert delivery.answer == last_words()
    assert all(check.has_passed for check in delivery.checks)
    assert delivery.checks
    assert (project / "sales.py").read_text() == NOTEBOOK.read_text()
    assert [replay.unasked for replay in replays] == [0]


@pytest.mark.slow
async def test_what_was_not_recorded_is_not_made_up(tmp_path: Path, project: Path, cache: Path, warm: Warm) -> None:
    talk = tmp_path / "talk.jsonl"
    talk.write_text("".join(TALK.read_text().splitlines(keepends=True)[1:]))
    async with open_replay(tmp_path, cache, warm, talk) as (runs, _):
        delivery = await deliver(runs, project)
    assert delivery.status == "failed"
    assert "talk.jsonl does not hold this request" in delivery.why
    assert '+   "content": "coder recorded/agent:1#1"' in re.sub(r"\+ +", "+   ", delivery.why)


def test_the_recording_holds_nothing_of_the_machine_it_was_made_on() -> None:
    kept = TALK.read_text() + NOTEBOOK.read_text()
    assert re.findall(r"(?<![\w.:])/(?:root|home|work|tmp|usr|var|Users|private)\b[^\s\"]*", kept) == []
    assert re.findall(r"https?://[^\s\"]*|\b127\.0\.0\.1\b|\blocalhost\b|\bsk-\w+", kept) == []
    assert all("timestamp" not in json.dumps(each.request) for each in read_recording(TALK))


# ── what a call is found by ──


def asking(*messages: ModelMessage, step: str = "recorded/agent:2#2") -> ModelCall:
    return ModelCall(id=CallId("any"), request=Request(messages=messages), payer=Payer(role="coder", step=step))


def shown(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def applied(cell: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("apply", {"edits": [{"op": "edit", "cell": cell, "code": "x = 1"}]})])


def test_equal_steps_are_one_request_whatever_fences_cells_and_wording_are_called() -> None:
    gists: list[Request] = []
    for nonce, cell, took in (("473872d1", "Wcsm", 57), ("2a7f3019", "dnbW", 4)):
        names = CellNames()
        seen = shown(f"<data-{nonce}>\n[2] {cell} 'total' v1 ok\n[total ({cell}) v1] ok {took} ms\n</data-{nonce}>")
        names.learn([seen])
        gists.append(gist(asking(seen, applied(cell), shown(f"Step 2, after {took} ms")), names))
    assert gists[0].hash == gists[1].hash


def test_another_step_or_another_call_before_is_another_request() -> None:
    names = CellNames()
    first = gist(asking(applied("total")), names)
    assert gist(asking(applied("other")), names).hash != first.hash
    assert gist(asking(applied("total"), step="recorded/agent:2#3"), names).hash != first.hash


def test_a_cell_is_kept_by_its_number_and_found_again_by_its_id_here() -> None:
    then, now = CellNames(), CellNames()
    then.learn([shown("[1] Hbol v1 not run\ndefines mo"), shown("Stale.\n[total (Wcsm) v1] failed 3 ms\n[sJRL v2] ok")])
    now.learn([shown("[1] Hbol v1 not run\ndefines mo"), shown("Stale.\n[total (dnbW) v1] failed 9 ms\n[zAcG v2] ok")])
    kept = then.kept('{"cell": "Wcsm", "code": "Wcsm_2 = sJRL"}')
    assert kept == '{"cell": "cell‹2›", "code": "Wcsm_2 = cell‹3›"}'
    assert now.here(kept) == '{"cell": "dnbW", "code": "Wcsm_2 = zAcG"}'
