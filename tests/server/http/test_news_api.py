"""What happens in a run, in words and waited for; its report as markdown; a run that is begun once per key."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest
from dirty_equals import IsInt, IsStr

from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.questions import Question
from cellwright.runs.events import EVENT_TYPES
from tests.server.a_daemon import TinyRuns
from tests.server.http.a_served_folder import SECONDS, Served, ready_settings, serve


async def body(flow: Flow, what: Any) -> str:
    return str(await flow.ask(Question(text="What colour?"))) if what == "asks" else "done"


@pytest.fixture(scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory, template: Path) -> AsyncGenerator[tuple[Served, Journal]]:
    folder = tmp_path_factory.mktemp("news")
    settings = ready_settings(folder, template)
    workflows = [Workflow(name="run", body=body)]
    async with (
        Journal.open(settings.home / "journal.db", version="1", workflows=workflows, types=EVENT_TYPES) as journal,
        serve(folder / "folder", settings, TinyRuns(journal, folder)) as served,
    ):
        yield served, journal


async def test_news_are_waited_for_until_something_happens_and_then_until_it_is_over(
    door: tuple[Served, Journal],
) -> None:
    served, journal = door
    await journal.run("run", "asks", run="asking")
    with anyio.fail_after(SECONDS):
        news: Any = {"questions": [], "last": 0}
        while not news["questions"]:
            news = await served.get(f"/runs/asking/news?after={news['last']}&wait_seconds=25")
    assert news == {
        "run": "asking",
        "lines": [IsStr(regex="asks .*What colour\\?")],
        "last": IsInt(gt=0),
        "is_over": False,
        "questions": [{**news["questions"][0], "what": "What colour?"}],
    }
    early = await served.get("/runs/asking/report", status=409)
    assert "still at work" in early["error"]["message"]
    heard: list[Any] = []
    async with anyio.create_task_group() as tasks:

        async def listen() -> None:
            told = news
            while not told["is_over"]:
                told = await served.get(f"/runs/asking/news?after={told['last']}&wait_seconds=25")
                heard.append(told)

        tasks.start_soon(listen)
        question = news["questions"][0]["id"].replace("#", "%23")
        await served.post(f"/questions/{question}/answer", {"answer": "blue"})
    assert any("answered" in line for told in heard for line in told["lines"])
    report = await served.client.get("/api/v1/runs/asking/report")
    assert report.headers["content-type"].startswith("text/markdown")


async def test_a_key_means_the_same_run_for_the_same_person(door: tuple[Served, Journal]) -> None:
    served, _ = door
    asked = {"goal": "why?", "models": ["near:one"], "notebook": "why.py", "key": "k1"}
    first, again = [await served.post("/runs", asked, status=201) for _ in range(2)]
    other = await served.post("/runs", {**asked, "key": "k2", "notebook": "other.py"}, status=201)
    assert first == again != other
